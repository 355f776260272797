//! Functions by whole registers, against the standard library.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "random numbers need not be exact")]

use tapewright::Number;
use tapewright::packs::Pack;
use tapewright::strategies::rules::FUNCTIONS;

/// The next pseudo-random number between 0 and 1 (a linear congruential generator).
fn next(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1_u64 << 53) as f64
}

/// How many numbers lie between two of the same sign.
fn ulps(a: f64, b: f64) -> u64 {
    if a == b || a.is_nan() && b.is_nan() {
        return 0;
    }
    if a.is_sign_negative() == b.is_sign_negative() { a.to_bits().abs_diff(b.to_bits()) } else { u64::MAX }
}

fn ulps32(a: f32, b: f32) -> u64 {
    if a == b || a.is_nan() && b.is_nan() {
        return 0;
    }
    if a.is_sign_negative() == b.is_sign_negative() { a.to_bits().abs_diff(b.to_bits()).into() } else { u64::MAX }
}

/// A function of packs, the standard library's, where arguments are from, and how many units in the last place they may
/// differ, in double and in single precision.
struct Row {
    name: &'static str,
    pack: fn(Pack<8>) -> Pack<8>,
    plain: fn(f64) -> f64,
    pack32: fn(Pack<8, f32>) -> Pack<8, f32>,
    plain32: fn(f32) -> f32,
    ranges: &'static [(f64, f64)],
    most: (u64, u64),
}

macro_rules! rows {
    ($($name:ident $ranges:expr, $most:expr;)*) => {
        vec![$(Row {
            name: stringify!($name),
            pack: Number::$name,
            plain: f64::$name,
            pack32: Number::$name,
            plain32: f32::$name,
            ranges: $ranges,
            most: $most,
        }),*]
    };
}

fn rows() -> Vec<Row> {
    rows! {
        exp &[(-1.0, 1.0), (-80.0, 80.0), (-700.0, 700.0)], (4, 4);
        exp_m1 &[(-1e-3, 1e-3), (-1.0, 1.0), (-80.0, 80.0), (-700.0, 700.0)], (8, 8);
        ln &[(0.5, 2.0), (1e-3, 1e3), (1e-300, 1e-290), (1e-37, 1e-30), (1e30, 1e37), (1e290, 1e300)], (4, 4);
        ln_1p &[(-0.5, 0.5), (0.0, 1e-6), (1.0, 1e6), (1e30, 1e37)], (8, 8);
        sin &[(-3.0, 3.0), (-100.0, 100.0), (-1e4, 1e4)], (16, 16);
        cos &[(-3.0, 3.0), (-100.0, 100.0), (-1e4, 1e4)], (16, 16);
        sinh &[(-1e-3, 1e-3), (-1.0, 1.0), (-80.0, 80.0)], (8, 8);
        cosh &[(-1.0, 1.0), (-80.0, 80.0)], (8, 8);
        tanh &[(-1e-3, 1e-3), (-1.0, 1.0), (-20.0, 20.0), (-300.0, 300.0)], (8, 8);
        asin &[(-1e-3, 1e-3), (-1.0, 1.0)], (8, 8);
        acos &[(-1.0, 1.0)], (8, 8);
        atan &[(-1e-3, 1e-3), (-1.0, 1.0), (-100.0, 100.0), (-1e15, 1e15)], (8, 8);
    }
}

#[test]
fn every_function_of_registers_has_a_row() {
    let rows = rows();
    let of_registers = FUNCTIONS.iter().filter(|(_, arguments, floats)| *arguments == 1 && *floats == "registers");
    for (name, ..) in of_registers {
        assert!(rows.iter().any(|row| row.name == *name), "`{name}` needs a row in the list of rows here");
    }
}

#[test]
fn errors_in_units_in_the_last_place() {
    let (mut state, mut wrong) = (1, Vec::new());
    for row in rows() {
        let mut worst = (0, 0);
        for (from, to) in row.ranges {
            for _ in 0..4000 {
                let x: Pack<8> = Pack::from_lanes(|_| from + (to - from) * next(&mut state));
                let found = (row.pack)(x);
                let narrow: Pack<8, f32> = Pack(x.0.map(|x| x as f32));
                let found32 = (row.pack32)(narrow);
                for k in 0..8 {
                    worst.0 = worst.0.max(ulps(found[k], (row.plain)(x[k])));
                    worst.1 = worst.1.max(ulps32(found32[k], (row.plain32)(narrow[k])));
                }
            }
        }
        println!("| `{}` | {} | {} |", row.name, worst.0, worst.1);
        if worst.0 > row.most.0 || worst.1 > row.most.1 {
            wrong.push((row.name, worst));
        }
    }
    assert!(wrong.is_empty(), "units in the last place: {wrong:?}");
}

#[test]
fn odd_numbers_are_the_standard_librarys() {
    let odd = [
        0.0,
        -0.0,
        1e-320,
        -1e-320,
        1e-200,
        745.2,
        -745.2,
        710.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e300,
        -1e300,
    ];
    for row in rows() {
        for x in odd {
            for lane in 0..8 {
                // Among ordinary numbers, in each lane.
                let mut pack = Pack([0.3; 8]);
                let alone = (row.pack)(pack);
                pack.0[lane] = x;
                let found = (row.pack)(pack);
                let expected = (row.plain)(x);
                let same = ulps(found[lane], expected) <= row.most.0;
                assert!(same, "{}({x}) is {}, not {expected}, in lane {lane}", row.name, found[lane]);
                let others = (0..8).filter(|k| *k != lane).all(|k| found[k].to_bits() == alone[k].to_bits());
                assert!(others, "{}({x}) in lane {lane} has changed others", row.name);
            }
        }
    }
}

#[test]
fn powers() {
    let (mut state, mut worst) = (7, 0);
    for _ in 0..4000 {
        let x: Pack<8> = Pack::from_lanes(|_| 1e-3 + 20.0 * next(&mut state));
        let y: Pack<8> = Pack::from_lanes(|_| 20.0 * next(&mut state) - 10.0);
        let found = x.powf(y);
        (0..8).for_each(|k| worst = worst.max(ulps(found[k], x[k].powf(y[k]))));
    }
    println!("| `powf` | {worst} | |");
    assert!(worst <= 64, "powf is {worst} ulps off");
    for (x, y) in [
        (0.0, 2.0),
        (-2.0, 3.0),
        (-2.0, 0.5),
        (0.0, 0.0),
        (f64::INFINITY, -1.0),
        (2.0, f64::NAN),
        (1e-200, 3.0),
        (1.0, 1e300),
    ] {
        let found = Pack([x, 2.0]).powf(Pack([y, 3.0]));
        assert!(ulps(found[0], x.powf(y)) <= 64, "{x}^{y} is {}", found[0]);
    }
}

/// Also at the ends of the ranges for which registers are used, as they are in single precision.
#[test]
fn lanes_do_not_depend_on_the_others() {
    for row in rows() {
        let ends = row.ranges.iter().flat_map(|(from, to)| [*from, *to]);
        for end in ends.flat_map(|end| [end.next_down(), end, end.next_up()]) {
            let beside = |other: f64| (row.pack)(Pack::from_lanes(|k| if k == 3 { end } else { other }))[3];
            assert_eq!(ulps(beside(0.5), beside(f64::NAN)), 0, "{} at {end}", row.name);
        }
        let ends = row.ranges.iter().flat_map(|(from, to)| [*from as f32, *to as f32]);
        for end in ends.flat_map(|end| [end.next_down(), end, end.next_up()]) {
            let beside = |other: f32| (row.pack32)(Pack::from_lanes(|k| if k == 3 { end } else { other }))[3];
            assert_eq!(ulps32(beside(0.5), beside(f32::NAN)), 0, "{} at {end} in single precision", row.name);
        }
    }
}
