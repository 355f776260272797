//! Kernels over numbers of several parts at special points: zeros, infinities, NaN, and numbers whose products overflow
//! or vanish. Loops must give the bits that the interpreter gives, which computes with the operators of single numbers.
//!
//! Unoptimized loops compute single duals; `--release` and miri run the loops in registers.

use super::at_every_level;
use tapewright::kernels::{Space, View, parallel_for, parallel_sum};
use tapewright::packs::Pack;
use tapewright::prelude::*;
use tapewright::strategies::bits;
use tapewright::strategies::kernel::{Host, Interpreter, targets::Target};
use tapewright::{Dual, Number};

/// Launches of views in this space are carried out by the interpreter.
pub(super) struct Interpreted;
impl<V: Number> Space<V> for Interpreted {
    fn target() -> &'static dyn Target<V> {
        &Interpreter
    }
}

/// Values of which most products are finite, and all kinds of values.
const MILD: [f64; 7] = [0.0, -0.0, 1.0, -2.5, 0.5, 1e-310, -1e-160];
pub(super) const WILD: [f64; 11] =
    [0.0, 1.0, -0.0, f64::INFINITY, -2.5, 0.5, f64::NAN, 1e300, f64::NEG_INFINITY, 1e-310, 3.0];

/// Numbers with these parts, in turn; each part begins elsewhere and goes on at its own pace.
pub(super) fn numbers<V: Number>(n: usize, parts: &[f64], shift: usize) -> Vec<V> {
    let part = |i: usize, k: usize| parts[(i * (1 + k % 3) + i / 5 * k + 2 * k + shift) % parts.len()];
    (0..n).map(|i| V::from_parts(|k| part(i, k))).collect()
}

/// The bits of all parts, the same for each NaN.
pub(super) fn parts<V: Number>(numbers: &[V]) -> Vec<u64> {
    numbers.iter().flat_map(|x| (0..V::PARTS).map(move |k| bits(x.part(k)))).collect()
}

/// The bits of 0, ±1, ±∞ or NaN, whichever is of the kind of these bits: a number's sign, and whether it is finite.
pub(super) fn kind(bits: u64) -> u64 {
    let x = f64::from_bits(bits);
    if x.is_finite() && x != 0.0 { x.signum().to_bits() } else { bits }
}

/// The bits of everything that launches over these numbers and their sweeps find.
fn found<V: Number, M: Space<V>>(n: usize, kinds: &[f64], shift: usize) -> Vec<Vec<u64>> {
    let mut tape = Tape::<Jacobian<V>>::new();
    let (inputs, a, outputs, sum) = tape.record(|scope| {
        let [x, w] = [0, 3].map(|more| scope.view([n], &numbers::<V>(n, kinds, shift + more)));
        let a = scope.input(numbers::<V>(1, kinds, shift + 1)[0]);
        let inputs = [x.clone(), w.clone()];
        let [mut x, mut w]: [View<_, 1, M>; 2] = [x, w].map(View::in_space);
        let mut y = View::<_, 1>::zeros([n]).in_space();
        parallel_for(x.all(), (&x, &w, &a, &mut y), |(x, w, a, _)| {
            let (x, w) = (x.at::<0>(), w.at::<0>());
            (x * w * 2.0 + (x / w).abs() - a * x.square() / 3.0 + x.max(w) - w.min(0.5) + x.lt(w).select(x * a, -w),)
        });
        parallel_for(x.interior(1), (&mut x, &y), |(x, y)| {
            (x.at::<-1>() * y.at::<1>() + (y.at::<0>() * 0.25).sqrt() + 1.5 / x.at::<0>(),)
        });
        parallel_for(w.all(), &mut w, |w| (w.at::<0>() * w.or_zero::<2>() - w.nearest::<-1>().exp(),));
        let sum =
            parallel_sum(x.all(), (&x, &w, &y, &a), |(x, w, y, a)| x.at::<0>() * y.at::<0>() * a + w.at::<0>().abs());
        (inputs, a, [x, w, y].map(View::in_space::<Host>), sum)
    });
    let mut found: Vec<_> = outputs.iter().map(|view| parts(&view.values())).collect();
    found.push(parts(&[sum.value()]));
    let mut add = |adjoints: &tapewright::tape::Adjoints<'_, Jacobian<V>>| {
        found.extend(inputs.iter().map(|view| parts(&adjoints.of_view(view).expect("an input"))));
        // The interpreter sums the adjoints of a uniform scalar by other products, which round differently.
        found.push(parts(&[adjoints.of(&a).expect("an input")]).into_iter().map(kind).collect());
    };
    add(&tape.sweep(&[(&sum, V::ONE)]).expect("swept"));
    add(&tape.sweep(&[(&sum, numbers::<V>(1, kinds, shift + 2)[0])]).expect("swept"));
    for view in &outputs {
        add(&tape.sweep_view(&[], (view, &numbers::<V>(n, kinds, shift + 4))).expect("swept"));
    }
    found
}

/// Fails where parts of arrays differ in a bit between the loops and the interpreter.
pub(super) fn assert_same(loops: &[Vec<u64>], expected: &[Vec<u64>], here: &str) {
    assert_eq!(loops.len(), expected.len(), "{here}: arrays of loops and interpreter");
    for (which, (loops, expected)) in loops.iter().zip(expected).enumerate() {
        let differs = loops.iter().zip(expected).position(|(loops, expected)| loops != expected);
        let values = differs.map(|k| (k, f64::from_bits(loops[k]), f64::from_bits(expected[k])));
        assert_eq!(values, None, "{here}, array {which}: part, loops, interpreter");
    }
}

fn same<V: Number>() {
    for n in if cfg!(miri) { vec![19] } else { vec![1, 7, 19, 40] } {
        for kinds in [&MILD[..], &WILD[..]] {
            for shift in 0..if cfg!(miri) { 1 } else { kinds.len() } {
                let expected = found::<V, Interpreted>(n, kinds, shift);
                let loops = at_every_level(|| found::<V, Host>(n, kinds, shift));
                assert_same(&loops, &expected, &format!("{n} elements, shift {shift}"));
            }
        }
    }
}

#[test]
fn plain_numbers() {
    same::<f64>();
}

#[test]
fn one_tangent() {
    same::<Dual<f64, 1>>();
}

#[test]
fn as_many_tangents_as_a_pass_has() {
    same::<Dual<f64, 4>>();
}

#[test]
fn tangents_in_passes_that_overlap() {
    same::<Dual<f64, 5>>();
}

#[test]
fn tangents_in_two_passes() {
    same::<Dual<f64, 8>>();
}

#[test]
fn lanes() {
    same::<Pack<3>>();
}

#[test]
fn lanes_with_tangents() {
    same::<Dual<Pack<2>, 2>>();
}

/// Adjoints of a view that a launch has multiplied by a number with parts of which one is infinite.
fn adjoints_of_multiples<V: Number>(n: usize, factor: V, seed: V) -> Vec<u64> {
    let mut tape = Tape::<Jacobian<V>>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.view([n], &vec![V::ONE; n]);
        let mut y = x.clone();
        y *= &Real::constant(factor);
        (x, y)
    });
    parts(&tape.sweep_view(&[], (&y, &vec![seed; n])).expect("swept").of_view(&x).expect("an input"))
}

#[test]
fn a_part_that_is_zero_times_one_that_is_infinite_is_zero_in_each_part() {
    for n in [1, 8, 40, 43] {
        let packs = at_every_level(|| adjoints_of_multiples(n, Pack([f64::INFINITY, 2.0]), Pack([0.0, 3.0])));
        assert_eq!(packs, [0.0, 6.0].map(bits).repeat(n));
        let (factor, seed) = (Dual { value: f64::INFINITY, tangents: [2.0] }, Dual { value: 0.0, tangents: [0.0] });
        let duals = at_every_level(|| adjoints_of_multiples(n, factor, seed));
        assert_eq!(duals, [0.0, 0.0].map(bits).repeat(n));
        let moving = Dual { value: 0.0, tangents: [3.0] };
        let duals = at_every_level(|| adjoints_of_multiples(n, factor, moving));
        assert_eq!(duals, [0.0, f64::INFINITY].map(bits).repeat(n));
    }
}
