//! The book as a module of the documentation: each chapter becomes the text of a module of `tapewright::guide`.

/// Chapters about the repository, which the documentation of a package does without.
pub const FOR_CONTRIBUTORS: [&str; 2] = ["architecture", "rows"];

/// The name of the module for `book/src/kernel-recipes.md`, or for a link to it: `kernel_recipes`. `None` for what is
/// no chapter of the guide.
#[must_use]
pub fn module(link: &str) -> Option<String> {
    let name = link.rsplit('/').next()?.strip_suffix(".md")?;
    (!FOR_CONTRIBUTORS.contains(&name) && name != "SUMMARY").then(|| name.replace('-', "_"))
}

/// The text of a chapter for the documentation: formulas are `MathML`, links lead to modules, drawings are left out.
///
/// # Errors
///
/// The formula that is not LaTeX, and why.
pub fn chapter(markdown: &str) -> Result<String, String> {
    let text = tapewright_book_formulas::convert(markdown)?;
    Ok(with_links(&text, &|path, anchor| module(path).map(|name| format!("crate::guide::{name}{anchor}"))))
}

/// The contents of the guide, from the book's list of chapters.
#[must_use]
pub fn contents(summary: &str) -> String {
    let parts = summary.split("\n# For contributors").next().unwrap_or_default();
    // Chapters before the first part are not items of a list there.
    let items = parts
        .lines()
        .skip(1)
        .map(|line| if line.starts_with('[') { format!("- {line}\n") } else { format!("{line}\n") });
    with_links(items.collect::<String>().trim(), &|path, anchor| {
        module(path).map(|name| format!("crate::guide::{name}{anchor}"))
    }) + "\n"
}

/// The README for the page of a package, from which no relative link leads anywhere: their texts remain.
#[must_use]
pub fn readme(markdown: &str) -> String {
    with_links(markdown, &|_, _| None)
}

/// `markdown` without drawings, and with other targets for its relative links, from path and anchor; where there is none,
/// the text of the link remains. Links within the file stay.
fn with_links(markdown: &str, target: &dyn Fn(&str, &str) -> Option<String>) -> String {
    let (mut text, mut prose, mut is_code) = (String::new(), String::new(), false);
    for line in markdown.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        if is_code || is_fence {
            text += &relinked(&core::mem::take(&mut prose), target);
            text += line;
        } else if !line.starts_with("![") {
            prose += line;
        }
        is_code ^= is_fence;
    }
    text + &relinked(&prose, target)
}

/// The same for a text without fences and drawings.
fn relinked(prose: &str, target: &dyn Fn(&str, &str) -> Option<String>) -> String {
    // Brackets in spans of code open and close nothing.
    let masked: String = prose.split('`').enumerate().fold(String::new(), |text, (k, part)| {
        let part = if k % 2 == 0 { part.to_owned() } else { "x".repeat(part.len()) };
        if k == 0 { part } else { text + "`" + &part }
    });
    let (mut text, mut done) = (String::new(), 0);
    for (close, _) in masked.match_indices("](") {
        let (Some(open), Some(length)) = (masked[done..close].rfind('['), masked[close..].find(')')) else { continue };
        let (open, link) = (done + open, &prose[close + 2..close + length]);
        let (path, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
        if link.contains("://") || path.is_empty() {
            continue;
        }
        let words = &prose[open + 1..close];
        text += &prose[done..open];
        text += &target(path, anchor).map_or_else(|| words.to_owned(), |target| format!("[{words}]({target})"));
        done = close + length + 1;
    }
    text + &prose[done..]
}
