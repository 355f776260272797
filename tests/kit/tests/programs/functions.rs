//! Every function of the table, on every instruction set.

use tapewright::kernels::InstructionSet;
use tapewright::prelude::*;
use tapewright::programs::Program;

/// Calls a function with all functions of one argument, and with all of two.
macro_rules! tables {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary { $($(#[$d3:meta])* $ternary:ident: $f3:ident::$r3:ident, $floats3:ident;)* }
        steps $steps:tt
    ) => {
        fn unary<S: Strategy>(x: Real<S>) -> Vec<(&'static str, Real<S>)> {
            vec![$((stringify!($unary), x.$unary().eval())),*]
        }
        fn binary<S: Strategy>(x: Real<S>, y: Real<S>) -> Vec<(&'static str, Real<S>)> {
            vec![$((stringify!($binary), x.$binary(y).eval())),*]
        }
        fn ternary<S: Strategy>(x: Real<S>, y: Real<S>, z: Real<S>) -> Vec<(&'static str, Real<S>)> {
            vec![$((stringify!($ternary), x.$ternary(y, z).eval())),*]
        }
    };
}
tapewright_strategies::for_each_function!(tables);

pub(crate) fn all<S: Strategy>(x: &[Real<S>]) -> Vec<(&'static str, Real<S>)> {
    let mut found = unary(x[0]);
    found.extend(binary(x[0], x[1]));
    found.extend(ternary(x[0], x[1], x[2]));
    found
}

pub(crate) const POINTS: [[f64; 3]; 12] = [
    [0.5, 0.75, 0.25],
    [0.0, 0.5, 0.5],
    [-0.0, 2.0, 0.5],
    [1.0, 1.0, 0.5],
    [-1.0, 0.0, 0.5],
    [2.5, -1.5, 0.5],
    [1e-300, 3.0, 0.5],
    [-0.25, f64::INFINITY, 0.5],
    [750.0, 2.0, 0.5],
    [f64::NAN, 1.0, 0.5],
    [f64::INFINITY, 0.3, 0.5],
    [f64::NEG_INFINITY, 0.3, 0.5],
];

/// True if both are the same, or differ by some units in the last place.
fn agree(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-14 * b.abs()
}

/// The instruction set is that of the process, and other tests compare bits: so this one has a process of its own.
#[test]
fn every_function_has_value_and_derivatives_of_a_tape() {
    const ALONE: &str = "TAPEWRIGHT_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "functions::every_function_has_value_and_derivatives_of_a_tape";
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let output = alone.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        return;
    }
    let names: Vec<_> = all::<Passive>(Real::wrap_slice(&POINTS[0])).into_iter().map(|(name, _)| name).collect();
    let mut all_bits: Option<Vec<u64>> = None;
    for set in [InstructionSet::Baseline, InstructionSet::Middle, InstructionSet::Wide] {
        set.set();
        let program = Program::new(|_, d| all(d).into_iter().map(|(_, y)| y).collect::<Vec<_>>());
        let found = program.gradients(&[], &POINTS).unwrap();
        for (k, point) in POINTS.iter().enumerate() {
            for (output, name) in names.iter().enumerate() {
                let (value, gradient) = value_and_gradient::<PrimalValue>(|x| all(x)[output].1, point);
                let at = k * names.len() + output;
                assert!(agree(found.values[at], value), "{name} at {point:?}: {} and {value}", found.values[at]);
                for (a, b) in found.gradients[at].iter().zip(&gradient) {
                    assert!(agree(*a, *b), "{name}′ at {point:?}: {:?} and {gradient:?}", found.gradients[at]);
                }
            }
        }
        let numbers = found.values.iter().chain(found.gradients.iter().flatten());
        let bits = numbers.map(|x| if x.is_nan() { 0 } else { x.to_bits() }).collect();
        // Without registers, functions are those of the standard library.
        if set != InstructionSet::Baseline {
            assert!(all_bits.is_none_or(|all| all == bits), "{set:?} has other bits");
            all_bits = Some(bits);
        }
    }
    if InstructionSet::best().set() != InstructionSet::Baseline {
        check_single_precision();
    }
}

#[test]
fn functions_of_slices_are_computed_scenario_by_scenario() {
    fn f<S: Strategy>(p: &[Real<S>], d: &[Real<S>]) -> Real<S> {
        let s = tapewright::dot(p, d);
        let n = tapewright::norm(&[s, d[0], p[0]]);
        (n * tapewright::logsumexp(&[d[0], d[1], p[1], n])).into()
    }
    let p = [0.5, -2.0];
    let sets: Vec<[f64; 2]> = (0..30_u8).map(|k| [f64::from(k) * 0.1 - 1.0, 1.0 / f64::from(k + 1)]).collect();
    let found = Program::new(|p, d| [f(p, d)]).gradients(&p, &sets).unwrap();
    let mut sum = [0.0; 2];
    for (k, set) in sets.iter().enumerate() {
        let x: Vec<f64> = p.into_iter().chain(*set).collect();
        let (value, gradient) = value_and_gradient::<PrimalValue>(|x| f(&x[..2], &x[2..]), &x);
        assert!(agree(found.values[k], value));
        assert!(found.gradients[k].iter().zip(&gradient[2..]).all(|(a, b)| agree(*a, *b)));
        sum.iter_mut().zip(&gradient).for_each(|(sum, slope)| *sum += slope / 30.0);
    }
    assert!(found.mean_gradient(0).iter().zip(sum).all(|(a, b)| (a - b).abs() < 1e-14));
}

#[test]
fn rules_of_ones_own_are_computed() {
    use tapewright::{Float, Unary, unary};
    /// x ↦ x³, with 3x² as a companion.
    struct Cube;
    impl Unary for Cube {
        fn value<V: Float>(x: V) -> V {
            x * x * x
        }
        fn derivative<V: Float>(x: V, _: V) -> V {
            V::from_f64(3.0) * x * x
        }
        fn value_and_companion<V: Float>(x: V) -> (V, V) {
            (x * x * x, V::from_f64(3.0) * x * x)
        }
        fn derivative_with_companion<V: Float>(_: V, _: V, companion: V) -> V {
            companion
        }
    }
    let program = Program::new(|p, d| [(unary::<_, Cube, _>(d[0]) * p[0]).eval()]);
    let found = program.gradients(&[10.0], &[[1.0], [2.0], [-3.0]]).unwrap();
    assert_eq!((found.values, found.gradients), (vec![10.0, 80.0, -270.0], vec![vec![30.0], vec![120.0], vec![270.0]]));
}

/// Asserts that functions of single precision are those of double precision, rounded.
fn check_single_precision() {
    let program = Program::<f32>::new(|_, d| {
        let (x, y) = (d[0], d[1]);
        vec![x.exp().eval(), x.ln().eval(), x.tan().eval(), x.tanh().eval(), x.atan().eval(), x.powf(y).eval()]
    });
    let data: Vec<[f32; 2]> = (0..100_u8).map(|k| [0.03 * f32::from(k) + 0.01, 0.1 * f32::from(k) - 4.0]).collect();
    let found = program.values(&[], &data).unwrap();
    for (row, values) in data.iter().zip(found.values.chunks_exact(6)) {
        let [x, y] = row.map(f64::from);
        for (found, expected) in values.iter().zip([x.exp(), x.ln(), x.tan(), x.tanh(), x.atan(), x.powf(y)]) {
            let off = (f64::from(*found) - expected).abs();
            assert!(off <= 0.51 * f64::from(f32::EPSILON) * expected.abs(), "{found} and {expected} at {row:?}");
        }
    }
}
