//! Values and derivatives under `Traced<S>` are those under `S`, bit for bit, and so are the records.

use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::policy::{Strict, Tracing};
use tapewright::prelude::*;
use tapewright::strategies::WithPolicy;
use tapewright::{Rules, Spilled, Traced, checkpoint, external};
use tapewright_kit_tests::FewPages;

/// Statements, slices, constants, compound assignments, and an external function among them.
fn program<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    let mut sum = tapewright::sum(x);
    let dot = tapewright::dot(x, x);
    let constant = Real::constant(0.25);
    for (k, v) in (0_u8..).zip(x) {
        sum += &(v * &dot + 0.5).eval().sin().eval();
        sum = (&sum * &constant + v.exp().max(&sum) / (2.0 + f64::from(k))).into();
    }
    let (a, b) = (sum.value(), dot.value());
    let rules = Rules::new("a product", move |outputs: &[f64], inputs: &mut [f64]| {
        inputs[0] += outputs[0] * b;
        inputs[1] += outputs[0] * a + outputs[1];
        Ok(())
    })
    .forward(move |inputs: &[f64], outputs: &mut [f64]| {
        outputs[0] = inputs[0] * b + inputs[1] * a;
        outputs[1] = inputs[1];
        Ok(())
    });
    let results = external(&[sum, dot], &[a * b, b], rules);
    (&results[0] - results[1].sqrt()).into()
}

/// A launch over arrays of a recording, and a reduction.
fn launches<S: Reverse<Value = f64>>(tape: &mut Tape<S>) -> (f64, f64, Vec<f64>) {
    let (k, x, sum) = tape.record(|scope| {
        let (k, x) = (scope.input(2.5), scope.view([3], &[1.0, 2.0, 3.0]));
        let mut y = View::zeros([3]);
        parallel_for(x.all(), (&x, &k, &mut y), |(x, k, _)| (k * x.at::<0>().square(),));
        let sum = parallel_sum(y.all(), &y, |y| y.at::<0>() * 2.0);
        (k.clone(), x, (&sum * &k).eval())
    });
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own");
    (sum.value(), adjoints.of(&k).expect("its own"), adjoints.of_view(&x).expect("its own").to_vec())
}

/// Statements around stages that are recorded during the sweep.
fn stages<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    (0..4).fold(x[0], |y, _| checkpoint!(Traced<Jacobian>, &(y * x[1]).eval(), |y| y.sin().eval()))
}

const X: [f64; 4] = [0.3, -1.25, 2.0, 0.7];

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

/// What can be computed from a recording of the program, all numbers as bits.
fn everything<S: Reverse<Value = f64>>(tape: &mut Tape<S>) -> [Vec<u64>; 4] {
    let mut gradient = [0.0; 4];
    let value = tape.gradient(program, &X, &mut gradient).expect("its own");
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&X);
        let y = program(&x);
        (x, y)
    });
    let tangents: Vec<_> = x.iter().zip([1.0, 0.5, -2.0, 0.0]).collect();
    let forward = tape.jvp(&tangents, &[&y]).expect("all have forward rules");
    let lanes = tape.sweep_lanes(&[(&y, [1.0, -3.0])]).expect("its own");
    let lanes: Vec<f64> = x.iter().flat_map(|x| lanes.of(x).expect("its own")).collect();
    [bits(&[value]), bits(&gradient), bits(&forward), bits(&lanes)]
}

fn assert_same<S: Reverse<Value = f64, Policy = Strict> + WithPolicy<Tracing, Strategy: Reverse>>() {
    let (mut plain, mut traced) = (Tape::<S>::new(), Tape::<Traced<S>>::new());
    for _ in 0..2 {
        assert_eq!(everything(&mut plain), everything(&mut traced));
        let (plain, traced) = (plain.memory(), traced.memory());
        assert_eq!((plain.statements, plain.arguments), (traced.statements, traced.arguments));
        for (name, usage) in plain.streams() {
            assert_eq!(usage.used, traced.usage(name).used, "{name}");
        }
        assert!(traced.usage("trace").used >= 8 * traced.statements);
    }
    assert_eq!(launches(&mut plain), launches(&mut traced));
}

#[test]
fn derivatives_and_records_are_those_of_the_strategy() {
    assert_same::<Jacobian<f64, Linear, Shared>>();
    assert_same::<PrimalValue<f64, Reuse, Spilled<FewPages>>>();
    assert_same::<Hybrid<f64, Reuse>>();
    assert_same::<Continuation>();
}

#[test]
fn stages_are_those_of_the_strategy() {
    let x = [0.7, 1.1];
    assert_eq!(bits(&gradient::<Jacobian>(stages, &x)), bits(&gradient::<Traced<Jacobian>>(stages, &x)));
    assert_eq!(bits(&gradient::<PrimalValue>(stages, &x)), bits(&gradient::<Traced<PrimalValue>>(stages, &x)));
}

/// More records than fit into memory, so that some are read back to be counted.
#[test]
fn records_on_disk_are_counted() {
    let mut tape = Tape::<Traced<Jacobian<f64, Linear, Spilled<FewPages>>>>::new();
    tape.record(|scope| {
        let x = scope.input(1.0);
        (0..20_000).fold(x, |y, _| (x * y).into())
    });
    let trace = tape.trace().expect("records can be read");
    assert_eq!((trace.lines().len(), trace.lines()[0].statements, trace.lines()[0].bytes), (1, 20_000, 25 * 20_000));
    assert!(tape.spill_usage().on_disk > 0);
}
