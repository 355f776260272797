//! Statements of one kind, one behind the other, which the sweep with one adjoint vector reverses in one go.

use crate::lanes::{agrees, bits};
use tapewright::prelude::*;
use tapewright::tape::{AdjointVector, LaneVector, Position};
use tapewright_kit_tests::everywhere;

/// Products added to running sums, and chains of sines, over few variables, so that statements one behind the other
/// have the same arguments, and some have one several times. Adjoints stay finite, or all of them would be NaN.
fn runs_of_statements_of_one_kind<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from((state >> 20) % below).expect("small")
    };
    let (x, y, positions) = tape.record(|scope| {
        let x = scope.inputs(&[0.5, -0.25, 0.125, 0.75]);
        let (mut v, mut y, mut positions) = (x.clone(), Vec::new(), Vec::new());
        for _ in 0..300 {
            let (i, j) = (random(4), random(4));
            let product = random(2) == 0;
            for _ in 0..=random(6) {
                let k = if random(3) == 0 { random(4) } else { j };
                let next = if product { (&v[i] + &v[j] * &v[k]).into() } else { v[k].sin().into() };
                v[if random(4) == 0 { random(4) } else { i }] = next;
                if random(50) == 0 {
                    positions.push((scope.position(), v.clone()));
                }
            }
            v.iter_mut().filter(|v| v.value().abs() > 1.0).for_each(|v| *v = v.sin().into());
            if random(20) == 0 {
                y.push(v[i].clone());
            }
        }
        y.extend(v);
        (x, y, positions)
    });
    for y in &y {
        let seeds = [1.0, -0.75, 2.5];
        let found = tape.sweep_lanes(&[(y, seeds)]).expect("of it");
        let found: Vec<[f64; 3]> = x.iter().map(|x| found.of(x).expect("of it")).collect();
        for (lane, seed) in seeds.into_iter().enumerate() {
            let alone = tape.sweep(&[(y, seed)]).and_then(|adjoints| adjoints.of_all(&x)).expect("of it");
            assert!(alone.iter().all(|adjoint| adjoint.is_finite()), "{alone:?}");
            let found: Vec<u64> = found.iter().map(|lanes| bits(lanes[lane])).collect();
            assert_eq!(found, alone.iter().map(|adjoint| bits(*adjoint)).collect::<Vec<_>>());
        }
    }
    agrees(&mut tape, &x, &y, &mut LaneVector::new(3));
    in_parts_as_in_one(&mut tape, &x, &y[y.len() - 4..], &positions);
}

/// A sweep that stops within runs and goes on there, or begins there anew with the adjoints of all variables that are
/// read behind.
fn in_parts_as_in_one<S: Reverse<Value = f64>>(
    tape: &mut Tape<S>,
    x: &[Real<S>],
    y: &[Real<S>],
    positions: &[(Position, Vec<Real<S>>)],
) {
    let seeds: Vec<_> = y.iter().map(|y| (y, 0.5)).collect();
    let expected = tape.sweep(&seeds).and_then(|adjoints| adjoints.of_all(x)).expect("of it");
    let mut adjoints = AdjointVector::new();
    tape.seed(&mut adjoints, &seeds).expect("of it");
    let mut from = tape.position();
    for (to, v) in positions.iter().rev() {
        let there = tape.sweep_between(&mut adjoints, &from, to).and_then(|found| found.of_all(v)).expect("of it");
        let is_first = |k: usize| (0..k).all(|before| S::locate(v[before].id()) != S::locate(v[k].id()));
        let seeds: Vec<_> = (0..v.len()).filter(|k| is_first(*k)).map(|k| (&v[k], there[k])).collect();
        assert_eq!(tape.sweep(&seeds).and_then(|adjoints| adjoints.of_all(x)), Ok(expected.clone()), "{to:?}");
        from = *to;
    }
    let found = tape.sweep_from_position(&mut adjoints, &from).expect("its positions");
    assert_eq!(found.of_all(x), Ok(expected));
}

everywhere!(runs_of_statements_of_one_kind);
