//! A drawing of bytes and times.

use super::comparison::{Comparison, Row};
use crate::advisor::text::units::{bytes, seconds};
use std::fmt::Write as _;

/// Pixels: of the names, of the longest bar, of the figure after it, of a row, and above the rows.
const NAME: usize = 250;
const BAR: usize = 220;
const NUMBER: usize = 80;
const ROW: usize = 22;
const TOP: usize = 34;

impl Comparison {
    /// A drawing in SVG: bars for the bytes, and bars for the times.
    #[must_use]
    pub fn svg(&self) -> String {
        draw(&self.rows)
    }
}

/// Two columns of bars, a row for each strategy.
fn draw(rows: &[Row]) -> String {
    let column = BAR + NUMBER;
    let (width, height) = (NAME + 2 * column, TOP + rows.len() * ROW + 10);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (k, row) in rows.iter().enumerate() {
        let name = row.strategy.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(svg, "<text x=\"10\" y=\"{}\">{name}</text>", TOP + k * ROW + 13);
    }
    let sizes = rows.iter().map(|row| (row.bytes() as f64, bytes(row.bytes())));
    svg += &bars("tape and adjoints", "#4e79a7", NAME, &sizes.collect::<Vec<_>>());
    let times = rows.iter().map(|row| (row.total, seconds(row.total)));
    svg += &bars("recording and sweep", "#f28e2b", NAME + column, &times.collect::<Vec<_>>());
    svg + "</svg>\n"
}

/// One column of bars, scaled to the largest value.
fn bars(title: &str, color: &str, left: usize, numbers: &[(f64, String)]) -> String {
    let most = numbers.iter().fold(f64::MIN_POSITIVE, |most, (number, _)| most.max(*number));
    let mut svg = format!("<text x=\"{left}\" y=\"20\" font-weight=\"bold\">{title}</text>\n");
    for (k, (number, text)) in numbers.iter().enumerate() {
        let (top, length) = (TOP + k * ROW, BAR as f64 * number / most);
        let _ = writeln!(svg, "<rect x=\"{left}\" y=\"{top}\" width=\"{length:.1}\" height=\"16\" fill=\"{color}\"/>");
        let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{}\">{text}</text>", left as f64 + length + 5.0, top + 13);
    }
    svg
}
