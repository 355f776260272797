//! What many evaluations share: a statement over packs, and a kernel over an array.

use crate::canvas::{At, Canvas, Paint};

/// Draws cells one after the other, each as wide as its bytes, and returns where they end.
fn cells(c: &mut Canvas, [mut x, y]: [f64; 2], cells: &[(String, usize, Paint)]) -> f64 {
    for (name, bytes, paint) in cells {
        let width = if *bytes == 1 { 18.0 } else { 20.0 + 4.5 * *bytes as f64 };
        c.labelled([x, y], [width, 32.0], *paint, name);
        x += width + 2.0;
    }
    x
}

/// Code and identifiers of the statement `t = x·y`, and its partial derivatives in these evaluations.
fn record(sets: std::ops::RangeInclusive<usize>) -> Vec<(String, usize, Paint)> {
    let digit = |set: usize| ["₀", "₁", "₂", "₃", "₄"][set];
    let lanes =
        |name: &str| -> Vec<_> { sets.clone().map(|set| (format!("{name}{}", digit(set)), 8, Paint::Green)).collect() };
    let head = [("c", 1, Paint::Plain), ("x", 4, Paint::Blue), ("y", 4, Paint::Blue)];
    let head = head.map(|(name, bytes, paint)| (name.to_owned(), bytes, paint));
    [&head[..], &lanes("y"), &lanes("x")].concat()
}

/// The statement `t = x·y` for four sets of inputs: four recordings, and one over packs of four.
pub(crate) fn packs() -> String {
    let mut c = Canvas::new(720.0, 330.0);
    c.text([20.0, 30.0], At::Start, "head", "t = x·y for four sets of inputs: four recordings");
    for set in 1..=4 {
        let y = 12.0 + 36.0 * set as f64;
        c.text([20.0, y + 21.0], At::Start, "small", &format!("set {set}"));
        cells(&mut c, [70.0, y], &record(set..=set));
    }
    let notes = [
        "c, the byte that says what the record is, and the",
        "identifiers of x and y are the same each time. Only the",
        "partial derivatives differ: y and x of each set.",
    ];
    for (line, note) in notes.into_iter().enumerate() {
        c.text([320.0, 82.0 + 19.0 * line as f64], At::Start, "small", note);
    }
    c.text([320.0, 162.0], At::Start, "", "4 · (1 + 2·4 + 2·8) = 100 bytes");
    c.text([20.0, 235.0], At::Start, "head", "One recording over Pack<4>");
    cells(&mut c, [70.0, 250.0], &record(1..=4));
    c.text([20.0, 312.0], At::Start, "", "1 + 2·4 + 2·4·8 = 73 bytes");
    c.text([260.0, 312.0], At::Start, "small", "The sweep computes with the four lanes side by side.");
    c.svg("A product recorded four times takes 100 bytes; over packs of four lanes it is recorded once and takes 73")
}

/// A loop over six elements as statements, and as one launch.
pub(crate) fn launch() -> String {
    const N: usize = 6;
    let mut c = Canvas::new(720.0, 370.0);
    let row = |c: &mut Canvas, y: f64, paint: Paint, name: &dyn Fn(usize) -> String| {
        for k in 0..N {
            c.labelled([150.0 + 72.0 * k as f64, y], [66.0, 32.0], paint, &name(k));
        }
    };
    c.text([20.0, 30.0], At::Start, "head", "y = x² at six points, as statements: everything six times");
    c.text([20.0, 71.0], At::Start, "", "records");
    row(&mut c, 50.0, Paint::Green, &|_| "c x ∂".to_owned());
    c.text([20.0, 111.0], At::Start, "", "adjoints");
    row(&mut c, 90.0, Paint::Blue, &|k| format!("ȳ {k}"));
    c.text([20.0, 172.0], At::Start, "head", "As a kernel: one entry, whatever the number of points");
    c.text([20.0, 213.0], At::Start, "", "entry");
    let parts = [("the kernel x²", 138.0), ("range 0..6", 102.0), ("reads x", 84.0), ("writes y", 84.0)];
    let mut x = 150.0;
    for (name, width) in parts {
        c.labelled([x, 192.0], [width, 32.0], Paint::Orange, name);
        x += width + 6.0;
    }
    c.text([20.0, 281.0], At::Start, "", "array x");
    row(&mut c, 260.0, Paint::Purple, &|k| format!("x {k}"));
    c.arrow([438.0, 224.0], [438.0, 260.0], "");
    c.text([452.0, 247.0], At::Start, "small", "kept, since the slope 2x needs it");
    let notes = [
        "The array is kept as it is, not copied: the next launch that writes x takes another buffer.",
        "A linear kernel, such as 3x, keeps no array: its slope is known without the numbers.",
    ];
    for (line, note) in notes.into_iter().enumerate() {
        c.text([20.0, 328.0 + 20.0 * line as f64], At::Start, "small", note);
    }
    c.svg("A loop over six points leaves six records as statements, and one entry that keeps the array x as a kernel")
}

/// The drawing says 25 bytes for each set, and 73 for a pack of four.
#[test]
fn bytes_of_a_product_are_those_of_a_tape() {
    use tapewright::packs::Pack;
    use tapewright::{Jacobian, Number, Tape};
    fn bytes<V: Number>() -> usize {
        let mut tape = Tape::<Jacobian<V>>::new();
        tape.record(|scope| (scope.input(V::ONE) * scope.input(V::ONE)).eval());
        let report = tape.memory();
        report.total().used - report.usage("tables").used - report.usage("adjoints").used
    }
    assert_eq!((4 * bytes::<f64>(), bytes::<Pack<4>>()), (100, 73));
}
