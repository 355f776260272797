//! Sweeps over records that meet in unusual ways: at the ends of segments, in place, with zeros and infinities.

use super::nodes::{Linear, Lit, Plus, Times, Var, adjoints, eval, input, slot, tape};
use tapewright_strategies::contract::Variable;
use tapewright_strategies::identifier::{LinearId, RecordingId};
use tapewright_strategies::kernel::memory::Shadows;
use tapewright_strategies::recording;
use tapewright_strategies::{Continuation, External, Hybrid, Jacobian, PrimalValue, Reuse, Reverse, SweepError};

under_each! {
    runs_of_equal_records_add_to_arguments_that_come_twice
    passive_arguments_have_their_own_values
    zero_times_anything_is_zero
    inputs_of_an_external_function_need_not_be_neighbors
    inputs_behind_a_position_are_forgotten_with_it
}

/// Adjoints of one variable after the other, from lists of what each statement adds to those of its arguments.
fn by_hand(statements: &[Vec<(usize, f64)>]) -> Vec<f64> {
    let mut adjoints = vec![0.0; statements.len()];
    *adjoints.last_mut().expect("a statement") = 1.0;
    for k in (0..statements.len()).rev() {
        for (argument, partial) in &statements[k] {
            adjoints[*argument] += adjoints[k] * partial;
        }
    }
    adjoints
}

/// A sweep keeps the adjoint of the last argument of such records in a register, until another argument is the same.
fn runs_of_equal_records_add_to_arguments_that_come_twice<S: Linear>() {
    let mut tape = tape::<S>();
    for program in 0_u32..16 {
        let mut state = program;
        let mut random = |n: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) as usize % n
        };
        let (x, y, statements) = tape.record(|number| {
            let mut all = vec![input::<S>(number, 0.5), input::<S>(number, -0.25), input::<S>(number, 0.75)];
            let mut statements = vec![Vec::new(); 3];
            for k in 0..40 {
                let [a, b, c] = [all.len() - 1 - random(2), random(3), all.len() - 1 - random(2)];
                let [(a, x), (b, y), (c, z)] = [a, b, c].map(|at| (at, all[at]));
                let (result, partials) = match k / 10 % 4 {
                    0 => (eval::<S, _>(&Times(x, Lit(0.5))), vec![(a, 0.5)]),
                    1 => (eval::<S, _>(&Plus(x, Times(z, y))), vec![(a, 1.0), (c, y.0.value), (b, z.0.value)]),
                    2 => (eval::<S, _>(&Plus(x, Times(y, z))), vec![(a, 1.0), (b, z.0.value), (c, y.0.value)]),
                    _ => (eval::<S, _>(&Times(y, z)), vec![(b, z.0.value), (c, y.0.value)]),
                };
                all.push(result);
                statements.push(partials);
            }
            (all[..3].to_vec(), all[all.len() - 1], statements)
        });
        assert_eq!(adjoints(&tape, y, &x), by_hand(&statements)[..3], "program {program}");
    }
}

/// Values of passive arguments stand in front of a record, and each belongs to its argument.
fn passive_arguments_have_their_own_values<S: Linear>() {
    let mut tape = tape::<S>();
    for last in [Var::passive(11.0), Var::passive(13.0)] {
        let (x, y, z) = tape.record(|number| {
            let x = input::<S>(number, 3.0);
            let [two, five, seven] = [2.0, 5.0, 7.0].map(Var::passive);
            let statement = |x| Plus(Times(Plus(two, Times(five, x)), Times(seven, x)), Times(x, last));
            // The first one of its type takes another path than those behind it.
            (x, eval::<S, _>(&statement(x)), eval::<S, _>(&statement(x)))
        });
        for y in [y, z] {
            // (2 + 5x)·7x + x·last, by x.
            assert_eq!(adjoints(&tape, y, &[x]), [14.0 + 210.0 + last.0.value]);
        }
    }
}

/// Infinite partials meet seeds and tangents of 0, infinite seeds meet partials of 0: their products are 0.
fn zero_times_anything_is_zero<S: Linear>() {
    const INFINITE: f64 = f64::INFINITY;
    let mut tape = tape::<S>();
    let (x, [steep, flat], both) = tape.record(|number| {
        let x = [1.0, 2.0].map(|value| input::<S>(number, value));
        let steep = eval::<S, _>(&Plus(Times(x[0], Lit(INFINITE)), x[1]));
        let flat = eval::<S, _>(&Plus(Times(x[0], Lit(0.0)), x[1]));
        (x, [steep, flat], eval::<S, _>(&Plus(Times(flat, Lit(INFINITE)), steep)))
    });
    let length = S::identifiers(tape.tape());
    let of_inputs = |adjoints: &[f64]| x.map(|x| adjoints[slot::<S>(x)]);
    assert_eq!(adjoints(&tape, steep, &x), [INFINITE, 1.0]);
    let mut adjoints = vec![0.0; length];
    adjoints[slot::<S>(flat)] = INFINITE;
    S::reverse(tape.tape(), &mut adjoints).expect("records in memory");
    assert_eq!(of_inputs(&adjoints), [0.0, INFINITE], "a partial of 0");

    for lanes in [2, 3] {
        let mut adjoints = vec![0.0; length * lanes];
        for (y, seeds) in [(both, [0.0, 0.0]), (steep, [0.0, 2.0]), (flat, [1.0, INFINITE])] {
            adjoints[slot::<S>(y) * lanes..][..2].copy_from_slice(&seeds);
        }
        tape.reverse_lanes_between(lanes, None, None, &mut adjoints, &mut []).expect("records in memory");
        let found = x.map(|x| [0, 1].map(|lane| adjoints[slot::<S>(x) * lanes + lane]));
        assert_eq!(found, [[0.0, INFINITE], [1.0, INFINITE]], "{lanes} lanes");
    }

    let mut tangents = vec![0.0; length];
    tangents[slot::<S>(x[1])] = 1.0;
    tape.forward(1, &mut tangents, &mut [Shadows::new()]).expect("records in memory");
    assert_eq!([steep, flat, both].map(|y| tangents[slot::<S>(y)]), [1.0, 1.0, INFINITE]);
}

/// Short records are written without a look at the end of the segment, up to its last place; long ones are not.
#[test]
fn records_of_any_length_end_in_their_segments() {
    type S = Jacobian;
    let mut tape = tape::<S>();
    let (long, short) = if cfg!(miri) { (20, 500) } else { (200, 6000) };
    for shift in (0..40).step_by(if cfg!(miri) { 13 } else { 1 }) {
        let (x, y) = tape.record(|number| {
            let x = input::<S>(number, 0.0625);
            let same = |y, n| (0..n).fold(y, |y, _| eval::<S, _>(&Times(y, Lit(1.0))));
            // The first segment ends among short ones, or among long ones.
            let before = if shift % 2 == 0 { shift } else { short + shift };
            let y = (0..long).fold(same(x, before), |y, _| {
                // 16·x·y by 32 arguments, which take more bytes than a record that is not looked at.
                let two = Plus(Times(x, y), Times(x, y));
                let eight = Plus(Plus(two, two), Plus(two, two));
                eval::<S, _>(&Plus(eight, eight))
            });
            (x, y)
        });
        assert_eq!(adjoints(&tape, y, &[x]), [f64::from(long + 1)], "(16·x)ⁿ·x, shifted by {shift}");
    }
}

/// The product of two numbers, which it holds.
struct Product([f64; 2]);
impl External<f64> for Product {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        let Self([x, y]) = self;
        inputs[0] += outputs[0] * y;
        inputs[1] += outputs[0] * x;
        Ok(())
    }
}

/// Records the product of two variables as an external function.
fn product<S: Linear>(number: RecordingId, x: Var, y: Var) -> Var {
    let values = [x.0.value, y.0.value];
    let arguments = [(x.0.value, &x.0.id), (y.0.value, &y.0.id)];
    let mut result = None;
    let mut each = |value, id| result = Some(Var::new(value, id));
    recording::record_external::<S>(number, &arguments, &[values[0] * values[1]], Box::new(Product(values)), &mut each);
    result.expect("an output")
}

fn inputs_of_an_external_function_need_not_be_neighbors<S: Linear>() {
    let mut tape = tape::<S>();
    let (x, y) = tape.record(|number| {
        let x = [2.0, 3.0, 5.0].map(|value| input::<S>(number, value));
        (x, product::<S>(number, x[0], x[2]))
    });
    assert_eq!(adjoints(&tape, y, &x), [5.0, 0.0, 2.0]);
}

/// Inputs before the first statement have no records. A statement in the place of one that was forgotten has.
fn inputs_behind_a_position_are_forgotten_with_it<S: Linear>() {
    let mut tape = tape::<S>();
    tape.record(|number| input::<S>(number, 2.0));
    let end = tape.place();
    tape.resume(|number| [3.0, 5.0].map(|value| input::<S>(number, value)));
    tape.truncate(end).expect("records in memory");
    let (x, y) = tape.resume(|number| {
        let x = input::<S>(number, 7.0);
        (x, eval::<S, _>(&Times(x, x)))
    });
    assert_eq!(adjoints(&tape, y, &[x]), [14.0]);
    tape.truncate(end).expect("records in memory");
    let (x, y) = tape.resume(|number| {
        let x = LinearId::new(number, 1).map(|id| Var::new(2.0, id)).expect("the first input");
        (x, eval::<S, _>(&Times(x, x)))
    });
    assert_eq!(adjoints(&tape, y, &[x]), [4.0]);
}

/// Results that have the identifier of an argument: a sweep sets the adjoint to 0 before it adds to it.
fn statements_in_place<S: Reverse<Value = f64, Raw = LinearId>>() {
    let leaf = |y: &S::Variable| Var::new(y.value(), S::raw(y.id()));
    let result = |value, id| S::Variable::new(value, id);
    let mut tape = tape::<S>();
    let (x, y) = tape.record(|number| {
        let x = result(3.0, recording::with::<S, _>(number, |tape| S::input(tape, 3.0)));
        let mut y = result(3.0, S::record(&Times(leaf(&x), Lit(1.0))));
        for _ in 0..5 {
            let at = leaf(&y);
            S::assign(&mut y, &Times(at, Lit(2.0)));
        }
        for _ in 0..2 {
            // An identifier is free, which the statement leaves to others.
            drop(S::record(&Times(leaf(&x), Lit(2.0))));
            let at = leaf(&y);
            S::assign(&mut y, &Plus(at, Times(leaf(&x), at)));
        }
        (x, y)
    });
    let mut adjoints = vec![0.0; S::identifiers(tape.tape())];
    assert_eq!(adjoints.len(), 4, "an input, a variable that keeps its identifier, and one that is gone");
    let slot = |x: &S::Variable| S::locate(x.id()).map_or(0, |(_, slot)| slot);
    adjoints[slot(&y)] = 1.0;
    S::reverse(tape.tape(), &mut adjoints).expect("records in memory");
    // y = 32·x·(1 + x)².
    assert_eq!((y.value(), adjoints[slot(&x)]), (1536.0, 32.0 * 16.0 + 32.0 * 3.0 * 8.0));
}

#[test]
fn results_that_keep_the_identifier_of_an_argument() {
    statements_in_place::<Jacobian<f64, Reuse>>();
    statements_in_place::<PrimalValue<f64, Reuse>>();
    statements_in_place::<Hybrid<f64, Reuse>>();
    statements_in_place::<Continuation<f64, Reuse>>();
}
