//! External functions that are given the adjoints of their inputs to add to.

use crate::lanes::{agrees_in_every_width, bits};
use crate::record;
use tapewright::packs::Pack;
use tapewright::{External, Number, SweepError, external, prelude::*};
use tapewright_kit_tests::everywhere;

/// 0.8·(x₀ + x₂) and 0.8·x₁. What an output adds to an adjoint it adds in two steps, whose order shows in the last bit.
struct Twice;

impl<V: Number> External<V> for Twice {
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        for (to, from) in inputs.iter_mut().zip([outputs[0], outputs[1], outputs[0]]) {
            [0.1, 0.7].into_iter().for_each(|slope| *to += from * V::from_f64(slope));
        }
        Ok(())
    }
    fn accumulates(&self) -> bool {
        true
    }
}

/// Its inputs, which are read behind it, too, lie side by side.
fn twice<S: Taping>(x: &[Real<S>]) -> Vec<Real<S>> {
    let slope = S::Value::from_f64(0.8);
    let y = external(x, &[(x[0].value() + x[2].value()) * slope, x[1].value() * slope], Twice);
    let read_behind: Vec<Real<S>> = x.iter().map(|x| (x * 0.3 - &y[0] * 0.8).into()).collect();
    [y, read_behind, vec![(-&x[1]).into()]].concat()
}

fn a_rule_that_only_adds<S: Reverse<Value = f64>>() {
    let (mut tape, x, y) = record::<S>(&[1.0, 2.0, 3.0], &|x| twice(x));
    agrees_in_every_width(&mut tape, &x, &y);
}

/// Each lane is a sweep of its own here, too, also where no adjoint arrives at the function.
#[test]
fn a_rule_that_only_adds_to_packs() {
    let seeds = |output: usize| [[0.3, -0.0], [0.9, 0.0], [1.7, 0.1], [-0.7, 0.3], [0.6, -0.9], [1.1, -0.0]][output];
    let mut tape = Tape::<Jacobian<Pack<2>>>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[1.0, 2.0, 3.0].map(|x| Pack([x, -x])));
        let y = twice(&x);
        (x, y)
    });
    let alone: Vec<Vec<f64>> = (0..2)
        .map(|lane| {
            let (mut tape, x, y) = record::<Jacobian>(&[1.0, 2.0, 3.0], &|x| twice(x));
            let seeds: Vec<_> = (0..y.len()).map(|k| (&y[k], seeds(k)[lane])).collect();
            tape.sweep(&seeds).and_then(|adjoints| adjoints.of_all(&x)).expect("of it")
        })
        .collect();
    let seeds: Vec<_> = (0..y.len()).map(|k| (&y[k], Pack(seeds(k)))).collect();
    let found = tape.sweep(&seeds).and_then(|adjoints| adjoints.of_all(&x)).expect("of it");
    for (k, found) in found.iter().enumerate() {
        assert_eq!(found.0.map(bits), [bits(alone[0][k]), bits(alone[1][k])], "input {k}");
    }
}

everywhere!(a_rule_that_only_adds);
