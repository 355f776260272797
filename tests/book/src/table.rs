//! Markdown tables.

/// A table whose first `left` columns are aligned to the left and the others to the right.
#[must_use]
pub fn table(header: &[&str], left: usize, lines: impl IntoIterator<Item = Vec<String>>) -> String {
    let rule = (0..header.len()).map(|column| if column < left { "---" } else { "--:" });
    let mut text = line(header.iter().copied()) + &line(rule).replace(' ', "");
    for cells in lines {
        text += &line(cells.iter().map(String::as_str));
    }
    text
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<&str> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}
