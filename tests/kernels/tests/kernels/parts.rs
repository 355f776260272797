//! Parts of views, with and without steps: taken, written, and changed in place by launches.

use super::{close, numbers};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::kernels::{View, fill, parallel_for, parallel_sum};
use tapewright::packs::Pack;
use tapewright::prelude::*;
use tapewright::{Dual, Number, jacobian, jacobian_forward, pause};
use tapewright_test_support::panic_message;

/// Launches over parts of a matrix: two that share no element, one with steps, parts of parts, and a part that is only
/// read.
fn by_parts<S: Taping>(x: &[Real<S>]) -> Vec<Real<S>> {
    let mut x = View::of_variables([4, 6], x);
    let before = x.clone();
    x.with_parts([[0..4, 0..2], [0..4, 3..5]], |[left, right]| {
        parallel_for(left.all(), (&*left, right), |(l, r)| (l.at::<0, 0>() * r.at::<0, 0>().sin(),));
    });
    x.with_part([(0..4).step_by(3), (1..6).step_by(2)], |corners| {
        parallel_for([0..2, 1..3], &mut *corners, |x| (x.at::<0, 0>() * x.at::<0, -1>(),));
        corners.with_part([1..2, 0..3], |last| *last -= 0.5);
    });
    let ends = x.slice([(0..4).step_by(1), (0..6).step_by(5)]);
    x.set([(1..4).step_by(2), (2..5).step_by(2)], &ends.slice([1..3, 0..2]));
    let sum = x.with_parts([[1..2, 0..6], [3..4, 0..6]], |[a, b]| {
        parallel_sum(a.all(), (&*a, &*b), |(a, b)| a.at::<0, 0>() * b.at::<0, 0>())
    });
    let old = parallel_sum([0..4, 2..3], &before, |x| x.at::<0, 0>().square());
    let mut outputs = x.to_variables();
    outputs.extend([sum, old]);
    outputs
}

/// Statements that compute what [`by_parts`] does.
fn by_statements<S: Taping>(x: &[Real<S>]) -> Vec<Real<S>> {
    let mut x = x.to_vec();
    let old = (0..4).map(|i| (&x[6 * i + 2] * &x[6 * i + 2]).eval()).sum();
    for i in 0..4 {
        for j in 0..2 {
            x[6 * i + 3 + j] = (&x[6 * i + j] * x[6 * i + 3 + j].sin()).eval();
        }
    }
    for i in [0, 3] {
        let [a, b, c] = [1, 3, 5].map(|j| x[6 * i + j].clone());
        x[6 * i + 3] = (&a * &b).eval();
        x[6 * i + 5] = (&b * &c).eval();
    }
    for j in [1, 3, 5] {
        x[18 + j] = (&x[18 + j] - 0.5).eval();
    }
    for (i, from) in [(1, 1), (3, 2)] {
        x[6 * i + 2] = x[6 * from].clone();
        x[6 * i + 4] = x[6 * from + 5].clone();
    }
    let sum = (0..6).map(|j| (&x[6 + j] * &x[18 + j]).eval()).sum();
    x.extend([sum, old]);
    x
}

fn assert_same((values, slopes): (Vec<f64>, Vec<Vec<f64>>), expected: &(Vec<f64>, Vec<Vec<f64>>)) {
    let pairs = values.iter().zip(&expected.0).chain(slopes.iter().flatten().zip(expected.1.iter().flatten()));
    for (found, expected) in pairs {
        assert!(close(*found, *expected, 1.0), "{found} for {expected}");
    }
}

#[test]
fn parts_have_the_derivatives_of_statements() {
    let at = numbers(24, 3);
    let expected = jacobian::<Jacobian>(|x| by_statements(x), &at);
    assert!(expected.1.iter().flatten().filter(|slope| **slope != 0.0).count() > 40);
    assert_same(jacobian::<Jacobian>(|x| by_parts(x), &at), &expected);
    assert_same(jacobian::<PrimalValue>(|x| by_parts(x), &at), &expected);
    assert_same(jacobian::<Continuation>(|x| by_parts(x), &at), &expected);
    assert_same(jacobian_forward::<Tangent<24>>(|x| by_parts(x), &at), &expected);
}

/// The parts of a number's gradient, for a sum of all outputs.
fn gradient<V: Number>(f: impl Fn(&[Real<Jacobian<V>>]) -> Vec<Real<Jacobian<V>>>, at: &[V]) -> Vec<V> {
    tapewright::gradient::<Jacobian<V>>(|x| f(x).iter().sum(), at)
}

#[test]
fn parts_of_duals_and_packs_have_the_derivatives_of_statements() {
    let (at, along) = (numbers(24, 3), numbers(24, 4));
    let duals: Vec<Dual<f64, 2>> =
        at.iter().zip(&along).map(|(x, t)| Dual { value: *x, tangents: [*t, 1.0] }).collect();
    let (found, expected) = (gradient(by_parts, &duals), gradient(by_statements, &duals));
    for (found, expected) in found.iter().zip(&expected) {
        let parts = |number: &Dual<f64, 2>| [number.value, number.tangents[0], number.tangents[1]];
        assert!(parts(found).iter().zip(parts(expected)).all(|(f, e)| close(*f, e, 1.0)), "{found} for {expected}");
    }
    let packs: Vec<Pack<4>> = at.iter().map(|x| Pack([*x, 0.5, -x, 2.0 * x])).collect();
    let (found, expected) = (gradient(by_parts, &packs), gradient(by_statements, &packs));
    for (found, expected) in found.iter().zip(&expected) {
        assert!((0..4).all(|k| close(found.lane(k), expected.lane(k), 1.0)), "{found} for {expected}");
    }
}

#[test]
fn parts_are_computed_again_at_other_inputs() {
    let (at, other) = (numbers(24, 3), numbers(24, 8));
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&at);
        let y = by_parts(&x);
        (x, y)
    });
    let mut new = tape.new_inputs();
    for (input, value) in x.iter().zip(&other) {
        new = new.variable(input, *value).expect("an input");
    }
    new.replay().expect("replayed");
    let (values, slopes) = jacobian::<PrimalValue>(|x| by_parts(x), &other);
    for (k, y) in y.iter().enumerate() {
        assert_eq!(tape.value_of(y).expect("of it").to_bits(), values[k].to_bits(), "{k}");
        let adjoints = tape.sweep(&[(y, 1.0)]).expect("swept");
        assert_eq!(adjoints.of_all(&x).expect("of it"), slopes[k], "{k}");
    }
}

#[test]
fn a_part_keeps_its_own_elements_and_not_those_of_the_view() {
    let mut tape = Tape::<Jacobian>::new();
    let mut kept = |rows: usize| {
        let y = tape.record(|scope| {
            let mut x = scope.view([rows, 5], &vec![0.5; 5 * rows]);
            x.with_part([3..4, 0..5], |row| parallel_for(row.all(), row, |x| (x.at::<0, 0>().square(),)));
            x
        });
        drop(y);
        tape.memory().usage("arrays").used
    };
    let few = kept(4);
    assert!(few >= 40, "the row before the launch is kept");
    assert_eq!(kept(100_000), few);
}

#[test]
fn a_part_that_is_only_read_is_not_put_back() {
    let mut tape = Tape::<Jacobian>::new();
    let mut recorded = |f: &dyn Fn(&mut View<Jacobian, 1>)| {
        tape.record(|scope| f(&mut scope.view([5], &[1.0; 5])));
        tape.memory().usage("externals").used
    };
    let product = |a: &View<Jacobian, 1>, b: &View<Jacobian, 1>| {
        parallel_sum(a.all(), (a, b), |(a, b)| a.at::<0>() * b.at::<0>())
    };
    let taken = recorded(&|x| _ = product(&x.slice(0..2), &x.slice(3..5)));
    assert_eq!(recorded(&|x| _ = x.with_parts([0..2, 3..5], |[a, b]| product(a, b))), taken);
    let written = recorded(&|x| {
        x.with_parts([0..2, 3..5], |[a, b]| {
            product(a, b);
            *b *= 2.0;
        });
    });
    assert!(written > taken);
}

#[test]
fn a_part_that_becomes_a_constant_has_no_derivative() {
    let squares = |x: &mut View<Jacobian, 1>| {
        x.with_part(0..2, |part| *part = part.constant());
        parallel_sum(x.all(), &*x, |x| x.at::<0>().square())
    };
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let mut x = scope.view([3], &[1.0, 2.0, 3.0]);
        let before = x.clone();
        let y = squares(&mut x);
        (before, y)
    });
    assert_eq!(*tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("an input"), [0.0, 0.0, 6.0]);
    let mut x = View::<Tangent<1>, 1>::moving([3], &[1.0, 2.0, 3.0], |_| vec![1.0; 3]);
    x.with_part(0..2, |part| *part = part.constant());
    assert_eq!(x.tangents(0), [0.0, 0.0, 1.0]);
}

#[test]
fn a_panic_inside_leaves_the_view_as_it_was() {
    let mut x = View::<Passive, 1>::new([4], &[1.0, 2.0, 3.0, 4.0]);
    let failed = catch_unwind(AssertUnwindSafe(|| {
        x.with_part(1..3, |part| {
            *part += 1.0;
            panic!("on purpose");
        });
    }));
    assert!(failed.is_err());
    assert_eq!(x.values(), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn parts_with_common_elements_are_refused() {
    let mut x = View::<Passive, 2>::zeros([6, 9]);
    let text = panic_message(|| x.with_parts([[0..3, 0..4], [4..6, 0..4], [2..5, 3..9]], |_| ()));
    assert_eq!(
        text,
        "parts 0 and 2 of a view of shape [6, 9] overlap: both have the element [2, 3] ([0..3, 0..4] and [2..5, \
         3..9]); take parts without common elements, or one after the other"
    );
    let mut x = View::<Passive, 1>::zeros([20]);
    x.with_parts([(0..20).step_by(2), (1..20).step_by(2)], |[_, odd]| fill(&2.0.into(), odd));
    assert_eq!(x.values()[..4], [0.0, 2.0, 0.0, 2.0]);
    let text = panic_message(|| x.with_parts([(0..20).step_by(3), (1..20).step_by(2)], |_| ()));
    assert!(text.contains("both have the element [3] ([0..19] in steps of [3] and [1..20] in steps of [2])"), "{text}");
    x.with_parts([4..4; 0], |[]| ());
}

#[test]
fn parts_that_cannot_be() {
    let mut x = View::<Passive, 2>::zeros([2, 3]);
    assert!(panic_message(|| x.with_part([0..2, 0..4], |_| ())).contains("0..4 along dimension 1 goes beyond"));
    assert_eq!(
        panic_message(|| x.with_part([0..2, 1..1], |_| ())),
        "the part [0..2, 1..1] of a view of shape [2, 3] has no elements, and a view has one at least: give ranges with \
         elements, or leave the call out where there are none"
    );
    assert!(panic_message(|| x.slice([(2..2).step_by(5), (0..3).step_by(1)])).contains("has no elements"));
    let text = panic_message(|| x.with_part([0..1, 0..2], |part| *part = View::zeros([1, 3])));
    assert!(text.contains("a range of shape [1, 2] cannot hold a view of shape [1, 3]"), "{text}");
}

#[test]
fn a_part_is_a_constant_while_the_recording_is_paused() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let mut x = scope.view([3], &[1.0, 2.0, 3.0]);
        let before = x.clone();
        let text = panic_message(|| pause(|| x.with_part(0..1, |part| *part += 1.0)));
        assert!(text.contains("a part of a view cannot become a constant"), "{text}");
        pause(|| x.with_part(0..1, |part| assert!(!part.is_active())));
        x.with_part(0..3, |all| *all *= 2.0);
        let y = parallel_sum(x.all(), &x, |x| x.at::<0>().square());
        (before, y)
    });
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("it is swept");
    assert_eq!(*adjoints.of_view(&x).expect("an input"), [8.0, 16.0, 24.0]);
}
