//! What becomes of formulas, and of what only looks like one.

use tapewright_book_formulas::{convert, process};

#[test]
fn formulas_become_mathml() {
    let line = convert("The slope is $x_1^2$, or `$x$` in code.\n").expect("a formula");
    assert!(line.starts_with("The slope is <math") && line.contains("</math>, or `$x$` in code."), "{line}");
    assert!(line.contains("<msubsup>") && !line.contains('_'), "{line}");
    let block =
        convert("so\n\n$$\n\\bar u = \\sum_i \\frac{\\partial w_i}{\\partial u}\n$$\nwhere\n").expect("a formula");
    assert!(block.contains("<div class=\"formula\"><math display=\"block\">"), "{block}");
    assert!(block.contains("<mfrac>") && block.ends_with("</div>\n\nwhere\n"), "{block}");
}

#[test]
fn code_is_left_alone() {
    let text = "```sh\necho $HOME $\n```\n";
    assert_eq!(convert(text).as_deref(), Ok(text));
}

#[test]
fn what_markdown_would_take_for_its_own_is_escaped() {
    let text = convert("| $a * b$ | $|x|$ |\n").expect("formulas");
    assert_eq!(text.matches('|').count(), 3, "{text}");
    assert!(!text.contains('*'), "{text}");
}

#[test]
fn what_is_wrong_is_named() {
    let error = |text: &str| convert(text).expect_err("it is wrong");
    assert!(error("$\\nosuchcommand$\n").contains("\\nosuchcommand"));
    assert!(error("5 $ only\n").contains("without another one: 5 $ only"));
    assert!(error("$$\nx\n").contains("does not end: x"));
}

#[test]
fn all_chapters_of_a_book_are_converted_and_nothing_else() {
    let chapter = r#"{"name":"One","content":"$x$","sub_items":[{"Chapter":{"name":"Two","content":"$y$"}}]}"#;
    let sent = format!(r#"[{{"root":"$r$"}},{{"items":[{{"Chapter":{chapter}}},"Separator"]}}]"#);
    let book = process(&sent).expect("a book").to_string();
    assert_eq!((book.matches("<math").count(), book.contains('$')), (2, false));
    assert!(process(&sent.replace("$y$", "$\\\\nosuchcommand$")).expect_err("it is wrong").starts_with("Two: "));
    assert!(process("{}").is_err() && process("[1]").is_err());
}
