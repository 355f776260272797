//! Where records and adjoints are.

use crate::canvas::{At, Canvas, Paint};

/// Five statements `y = sin y` with linear and with reused indices.
pub(crate) fn indices() -> String {
    let mut c = Canvas::new(720.0, 350.0);
    let halves = [
        ("Linear: every statement has a number of its own", 20.0),
        ("Reuse: a dropped variable returns its number", 190.0),
    ];
    for (half, (title, top)) in halves.into_iter().enumerate() {
        let is_reused = half == 1;
        let index = |k: usize| if is_reused { 1 + k % 2 } else { 1 + k };
        c.text([20.0, top + 10.0], At::Start, "head", title);
        for k in 0..6 {
            let x = 20.0 + 115.0 * k as f64;
            let name = if k == 0 { "y".to_owned() } else { "y = sin y".to_owned() };
            c.labelled([x, top + 22.0], [96.0, 30.0], if k == 0 { Paint::Plain } else { Paint::Green }, &name);
            let [from, to] = [index(k.max(1) - 1), index(k)];
            let text = if k == 0 { format!("input: {to}") } else { format!("{from} → {to}") };
            c.text([x + 48.0, top + 72.0], At::Middle, "code", &text);
        }
        c.text([20.0, top + 112.0], At::Start, "", "adjoints");
        let cells = if is_reused { 2 } else { 6 };
        for k in 0..cells {
            c.labelled([100.0 + 44.0 * f64::from(k), top + 92.0], [40.0, 30.0], Paint::Blue, &(k + 1).to_string());
        }
        let notes = if is_reused {
            ["8 bytes for each variable that is alive; a record", "takes 4 bytes more: whose number it overwrites"]
        } else {
            ["8 bytes for each statement", ""]
        };
        for (line, note) in notes.into_iter().enumerate() {
            let at = [112.0 + 44.0 * f64::from(cells), top + 106.0 + 18.0 * line as f64];
            c.text(at, At::Start, "small", note);
        }
    }
    c.svg("Linear indices number all statements, and there are as many adjoints; reused indices alternate between two numbers")
}

/// Slabs of a tape that spills: the last ones in memory, the others in a file.
pub(crate) fn slabs() -> String {
    let mut c = Canvas::new(720.0, 320.0);
    c.text([20.0, 30.0], At::Start, "head", "Recorded first");
    c.text([610.0, 30.0], At::Start, "head", "last");
    c.arrow([140.0, 25.0], [600.0, 25.0], "");
    for k in 0..8 {
        let x = 20.0 + 86.0 * f64::from(k);
        let (paint, text) = match k {
            0..4 => (Paint::Plain, "written"),
            4 => (Paint::Orange, "writing"),
            7 => (Paint::Green, "filling"),
            _ => (Paint::Green, "full"),
        };
        c.labelled([x, 45.0], [78.0, 44.0], paint, text);
    }
    c.line([360.0, 105.0], [700.0, 105.0], "");
    c.text([530.0, 125.0], At::Middle, "small", "slabs in memory: the budget");
    c.arrow([400.0, 92.0], [300.0, 195.0], "");
    c.text([362.0, 160.0], At::Start, "small", "background threads write the oldest");
    c.cell([20.0, 195.0], [340.0, 84.0], Paint::Plain);
    c.text([34.0, 218.0], At::Start, "head", "File");
    for k in 0..4 {
        c.labelled([34.0 + 80.0 * f64::from(k), 230.0], [72.0, 36.0], Paint::Blue, &format!("slab {}", k + 1));
    }
    c.arrow([190.0, 230.0], [190.0, 95.0], "dashed");
    c.text([34.0, 160.0], At::Start, "small", "a sweep reads ahead");
    c.cell([400.0, 195.0], [300.0, 84.0], Paint::Purple);
    c.text([414.0, 218.0], At::Start, "head", "Always in memory");
    c.text([414.0, 242.0], At::Start, "small", "the adjoints; under PrimalValue and Hybrid");
    c.text([414.0, 262.0], At::Start, "small", "the values: take Reuse to keep them short");
    c.text(
        [20.0, 305.0],
        At::Start,
        "small",
        "A sweep goes from right to left, so what it needs first is still in memory.",
    );
    c.svg("A spilled tape: the last slabs are in memory, background threads write the oldest to a file, and a sweep reads them ahead")
}
