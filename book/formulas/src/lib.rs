//! Formulas of the book as `MathML`.
//!
//! In the chapters they stand between dollar signs, `$x^2$` in a line and `$$…$$` in lines of their own, as LaTeX writes
//! them. mdBook runs this crate's program over all chapters when it builds the book. What comes out is part of the page:
//! no script and no font has to be loaded from anywhere.

#![forbid(unsafe_code)]

use math_core::{LatexToMathML, MathCoreConfig, MathDisplay};
use serde_json::Value;

/// Replaces the formulas of all chapters in what mdBook sends, a pair of context and book, and returns the book.
///
/// # Errors
///
/// What mdBook sent is not such a pair, or a formula is not LaTeX; the message then names chapter and formula.
pub fn process(sent: &str) -> Result<Value, String> {
    let sent: Value = serde_json::from_str(sent).map_err(|error| format!("not the JSON of mdBook: {error}"))?;
    let Value::Array(mut pair) = sent else { return Err("not a pair of context and book".into()) };
    let mut book = pair.pop().filter(|_| pair.len() == 1).ok_or("not a pair of context and book")?;
    let converter = LatexToMathML::new(MathCoreConfig::default()).map_err(|error| format!("{error:?}"))?;
    convert_chapters(&mut book, &converter)?;
    Ok(book)
}

/// Walks through everything that may hold chapters.
fn convert_chapters(value: &mut Value, converter: &LatexToMathML) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| convert_chapters(item, converter)),
        Value::Object(fields) => {
            let name = fields.get("name").and_then(Value::as_str).unwrap_or("a chapter").to_owned();
            if let Some(Value::String(content)) = fields.get_mut("content") {
                *content = converted(content, converter).map_err(|error| format!("{name}: {error}"))?;
            }
            fields.values_mut().try_for_each(|field| convert_chapters(field, converter))
        }
        _ => Ok(()),
    }
}

/// The text of a chapter with `MathML` in place of its formulas.
///
/// # Errors
///
/// The formula that is not LaTeX, and why.
pub fn convert(markdown: &str) -> Result<String, String> {
    let converter = LatexToMathML::new(MathCoreConfig::default()).map_err(|error| format!("{error:?}"))?;
    converted(markdown, &converter)
}

fn converted(markdown: &str, converter: &LatexToMathML) -> Result<String, String> {
    let mut text = String::new();
    let (mut is_code, mut block) = (false, None::<String>);
    for line in markdown.split_inclusive('\n') {
        let trimmed = line.trim();
        match block.take() {
            Some(formula) if trimmed == "$$" => text += &displayed(&formula, converter)?,
            Some(formula) => block = Some(formula + line),
            None if trimmed.starts_with("```") => {
                is_code = !is_code;
                text += line;
            }
            None if is_code => text += line,
            None if trimmed == "$$" => block = Some(String::new()),
            None => text += &converted_line(line, converter)?,
        }
    }
    block.map_or(Ok(text), |formula| Err(format!("a formula does not end: {}", formula.trim())))
}

/// A formula in lines of its own. The empty line ends what Markdown takes for HTML.
fn displayed(formula: &str, converter: &LatexToMathML) -> Result<String, String> {
    Ok(format!("<div class=\"formula\">{}</div>\n\n", mathml(formula, MathDisplay::Block, converter)?))
}

/// A line of text: what is neither in code spans nor outside of pairs of dollar signs is a formula.
fn converted_line(line: &str, converter: &LatexToMathML) -> Result<String, String> {
    let mut text = String::new();
    for (k, part) in line.split('`').enumerate() {
        let is_span = k % 2 == 1;
        text += if k > 0 { "`" } else { "" };
        if is_span || !part.contains('$') {
            text += part;
            continue;
        }
        let pieces: Vec<&str> = part.split('$').collect();
        if pieces.len().is_multiple_of(2) {
            return Err(format!("a dollar sign without another one: {}", line.trim()));
        }
        for (k, piece) in pieces.into_iter().enumerate() {
            let is_formula = k % 2 == 1;
            text += &if is_formula { mathml(piece, MathDisplay::Inline, converter)? } else { piece.to_owned() };
        }
    }
    Ok(text)
}

/// `MathML` in which nothing means anything to Markdown.
fn mathml(formula: &str, display: MathDisplay, converter: &LatexToMathML) -> Result<String, String> {
    let found = converter.convert_with_local_state(formula.trim(), display);
    let found = found.map_err(|error| format!("{}: {error}", formula.trim()))?.mathml;
    let entity = |character: char| match character {
        '*' | '_' | '`' | '[' | ']' | '|' | '\\' | '~' => format!("&#{};", u32::from(character)),
        '\n' => " ".to_owned(),
        _ => character.to_string(),
    };
    Ok(found.chars().map(entity).collect())
}
