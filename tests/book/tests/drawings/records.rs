//! What a statement leaves on a tape, and what a sweep does with it.

use crate::canvas::{At, Canvas, Paint};

/// The tree of `exp(x)·y·y + x`, and its record under two strategies.
pub(crate) fn expression() -> String {
    let mut c = Canvas::new(720.0, 330.0);
    c.text([20.0, 30.0], At::Start, "head", "The expression is a type: a tree");
    let nodes = [
        ("+", [150.0, 70.0], None),
        ("·", [100.0, 130.0], Some(0)),
        ("x", [215.0, 130.0], Some(0)),
        ("·", [65.0, 190.0], Some(1)),
        ("y", [150.0, 190.0], Some(1)),
        ("exp", [40.0, 250.0], Some(3)),
        ("y", [115.0, 250.0], Some(3)),
        ("x", [40.0, 305.0], Some(5)),
    ];
    for (_, at, parent) in nodes {
        if let Some(parent) = parent {
            let [x, y]: [f64; 2] = nodes[parent].1;
            c.line([x, y], at, "");
        }
    }
    for (name, at, _) in nodes {
        let is_variable = ["x", "y"].contains(&name);
        c.circle(at, 17.0, if is_variable { Paint::Blue } else { Paint::Plain });
        if !is_variable {
            c.circle(at, 16.0, Paint::Orange);
        }
        c.text([at[0], at[1] + 5.0], At::Middle, "code", name);
    }
    let parts = |parts: &mut Canvas, y: f64, cells: &[(&str, f64, Paint)]| {
        let mut x = 300.0;
        for (name, bytes, paint) in cells {
            let width = 9.0 * bytes.max(2.0);
            parts.labelled([x, y], [width, 34.0], *paint, name);
            x += width + 2.0;
        }
    };
    c.text([300.0, 30.0], At::Start, "head", "The statement is one record");
    c.text([300.0, 52.0], At::Start, "small", "c is a byte that says what the record is, x and y are 4 bytes each");
    c.text([300.0, 80.0], At::Start, "", "Jacobian: 1 + 4·4 + 3·8 = 41 bytes");
    let ids = [("x", 4.0, Paint::Blue), ("y", 4.0, Paint::Blue), ("y", 4.0, Paint::Blue), ("x", 4.0, Paint::Blue)];
    let code = [("c", 1.0, Paint::Plain)];
    parts(&mut c, 92.0, &[&code[..], &ids].concat());
    parts(
        &mut c,
        132.0,
        &[("y·y·exp x", 12.0, Paint::Green), ("y·exp x", 12.0, Paint::Green), ("y·exp x", 12.0, Paint::Green)],
    );
    c.text([300.0, 186.0], At::Start, "small", "three partial derivatives; that of the last x is 1 and not stored");
    c.text([300.0, 228.0], At::Start, "", "PrimalValue: 1 + 4·4 + 8 = 25 bytes");
    parts(&mut c, 240.0, &[&code[..], &ids].concat());
    parts(&mut c, 280.0, &[("value", 12.0, Paint::Purple)]);
    c.text([424.0, 302.0], At::Start, "small", "partial derivatives are computed in the sweep");
    c.svg("The expression exp(x) times y times y plus x as a tree, and the records of it: 41 bytes under Jacobian, 25 under PrimalValue")
}

/// A tape of two statements, written from left to right and swept from right to left.
pub(crate) fn sweep() -> String {
    let mut c = Canvas::new(720.0, 300.0);
    c.text([20.0, 40.0], At::Start, "head", "Recording");
    c.arrow([120.0, 35.0], [690.0, 35.0], "");
    let columns = [("x = 5.2", 20.0), ("y = −3.9", 160.0), ("t = exp(x)·y", 300.0), ("z = t·y", 520.0)];
    for (k, (name, x)) in columns.into_iter().enumerate() {
        let width = if k < 2 { 120.0 } else { 190.0 - 20.0 * (k as f64 - 2.0) };
        c.text([x + width / 2.0, 75.0], At::Middle, "code", name);
        let (paint, text) = match k {
            2 => (Paint::Green, "∂t/∂x  ∂t/∂y"),
            3 => (Paint::Green, "∂z/∂t  ∂z/∂y"),
            _ => (Paint::Plain, "no record"),
        };
        c.labelled([x, 88.0], [width, 40.0], paint, text);
    }
    c.text(
        [20.0, 165.0],
        At::Start,
        "small",
        "Each record hands its adjoint, times the partial derivatives, on to its arguments:",
    );
    let adjoints = [("x̄", 80.0), ("ȳ", 220.0), ("t̄", 395.0), ("z̄ = 1", 605.0)];
    for (name, x) in adjoints {
        c.labelled([x - 45.0, 215.0], [90.0, 34.0], Paint::Blue, name);
    }
    for (from, to, lift) in [(593.0, 410.0, 203.0), (605.0, 236.0, 183.0), (378.0, 212.0, 203.0), (392.0, 80.0, 193.0)]
    {
        c.line([from, 215.0], [from, lift], "");
        c.line([from, lift], [to, lift], "");
        c.arrow([to, lift], [to, 215.0], "");
    }
    c.arrow([690.0, 275.0], [80.0, 275.0], "strong");
    c.text([20.0, 280.0], At::Start, "head", "Sweep");
    c.svg("A tape of two statements: recording goes from the inputs to the output, the sweep hands adjoints back")
}
