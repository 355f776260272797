//! Fields of numbers from 0 to 1 as pictures, side by side.

use std::fmt::Write;

/// Shades between the coldest and the hottest.
const SHADES: usize = 24;
/// Pixels of a cell, and between pictures.
const CELL: usize = 5;
const GAP: usize = 16;

/// A picture of each of these fields of `n`·`n` numbers, with its name.
pub(crate) fn svg(n: usize, fields: &[(&str, &[f64])]) -> String {
    let side = n * CELL;
    let (width, height) = (fields.len() * (side + GAP) + GAP, side + 2 * GAP + 14);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"14\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (k, (name, field)) in fields.iter().enumerate() {
        let left = GAP + k * (side + GAP);
        let _ = writeln!(text, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{name}</text>", left + side / 2, GAP);
        let _ = writeln!(
            text,
            "<g transform=\"translate({left} {}) scale({CELL})\" shape-rendering=\"crispEdges\">",
            GAP + 10
        );
        for shade in 0..SHADES {
            cells(&mut text, n, field, shade);
        }
        text.push_str("</g>\n");
    }
    text.push_str("</svg>\n");
    text
}

/// The shade of a number.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small numbers"
)]
fn shade_of(x: f64) -> usize {
    ((x.clamp(0.0, 1.0) * SHADES as f64) as usize).min(SHADES - 1)
}

/// One path for all cells of this shade: runs of cells in a row.
fn cells(text: &mut String, n: usize, field: &[f64], shade: usize) {
    let mut path = String::new();
    for (i, row) in field.chunks(n).enumerate() {
        let mut j = 0;
        while j < n {
            let run = row[j..].iter().take_while(|x| shade_of(**x) == shade).count();
            if run > 0 {
                let _ = write!(path, "M{j} {i}h{run}v1h-{run}z");
            }
            j += run.max(1);
        }
    }
    if !path.is_empty() {
        // From dark blue over red to light yellow.
        let t = shade as f64 / (SHADES - 1) as f64;
        let channel = |from: f64, middle: f64, to: f64| {
            let level =
                if t < 0.5 { from + 2.0 * t * (middle - from) } else { middle + (2.0 * t - 1.0) * (to - middle) };
            level.round()
        };
        let (red, green, blue) = (channel(20.0, 214.0, 255.0), channel(24.0, 62.0, 246.0), channel(82.0, 58.0, 190.0));
        let _ = writeln!(text, "<path fill=\"rgb({red} {green} {blue})\" d=\"{path}\"/>");
    }
}
