//! What a stencil reads, forwards and in the reverse sweep.

use crate::canvas::{At, Canvas, Paint};

/// A stencil of three points, and its adjoint: both gather.
pub(crate) fn gather() -> String {
    let mut c = Canvas::new(720.0, 210.0);
    half(&mut c, 20.0, "Forward: y i reads three elements", ["x", "y"], [Paint::Green, Paint::Orange]);
    half(&mut c, 380.0, "Reverse: x̄ i gathers from three points", ["ȳ", "x̄"], [Paint::Blue, Paint::Blue]);
    c.svg("A stencil reads three elements and writes one; in the reverse sweep each adjoint gathers from three and is written once")
}

fn half(c: &mut Canvas, left: f64, title: &str, [above, below]: [&str; 2], [reads, writes]: [Paint; 2]) {
    c.text([left, 30.0], At::Start, "head", title);
    let row = |c: &mut Canvas, top: f64, name: &str, active: std::ops::RangeInclusive<i32>, paint: Paint| {
        for k in -2..=2 {
            let place = match k {
                0 => "i".to_owned(),
                k => format!("i{k:+}").replace('-', "−"),
            };
            let x = left + 62.0 * f64::from(k + 2);
            let paint = if active.contains(&k) { paint } else { Paint::Plain };
            c.labelled([x, top], [56.0, 34.0], paint, &format!("{name} {place}"));
        }
    };
    row(c, 55.0, above, -1..=1, reads);
    row(c, 155.0, below, 0..=0, writes);
    let middle = left + 2.0 * 62.0 + 28.0;
    for shift in [-1.0, 0.0, 1.0] {
        c.arrow([middle + 62.0 * shift, 89.0], [middle + 8.0 * shift, 155.0], "");
    }
}
