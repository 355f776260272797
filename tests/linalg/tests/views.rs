//! Products and contractions of views: against scalar statements, on small whole numbers, so that all is exact.

use tapewright::kernels::View;
use tapewright::linalg::{Element, Transposed, contract, matmul};
use tapewright::prelude::*;
use tapewright::{Dual, Spilled, hvp, jvp, pause};
use tapewright_test_support::panic_message;

/// Whole numbers from −3 to 3.
fn whole(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|k| f64::from(u8::try_from((k * 5 + seed * 3 + k * k) % 7).expect("below 7")) - 3.0).collect()
}

/// A product: rows of the first matrix, columns of it, columns of the second one (0 for a vector); and which of them
/// are given by their transposes.
#[derive(Clone, Copy, Debug)]
struct Case {
    shape: [usize; 3],
    transposed: [bool; 2],
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        let shapes = [[1, 1, 1], [3, 2, 4], [5, 7, 1], [1, 4, 6], [17, 9, 13], [4, 3, 0], [9, 33, 0]];
        let sides = [[false, false], [true, false], [false, true], [true, true]];
        let cases = shapes.into_iter().flat_map(move |shape| sides.map(|transposed| Self { shape, transposed }));
        cases.filter(|case| case.shape[2] > 0 || !case.transposed[1])
    }

    fn lengths(self) -> [usize; 2] {
        let [m, k, n] = self.shape;
        [m * k, k * n.max(1)]
    }

    fn numbers(self) -> Vec<f64> {
        whole(self.lengths().iter().sum(), self.shape[0])
    }

    /// The product by views, as variables.
    fn by_views<S: Taping<Value: Element>>(self, x: &[Real<S>]) -> Vec<Real<S>> {
        let (a, b) = x.split_at(self.lengths()[0]);
        let [m, k, n] = self.shape;
        let shape = |rows, columns, transposed| if transposed { [columns, rows] } else { [rows, columns] };
        let a = View::of_variables(shape(m, k, self.transposed[0]), a);
        if n == 0 {
            let b = View::of_variables([k], b);
            let y = if self.transposed[0] { matmul(Transposed(&a), &b) } else { matmul(&a, &b) };
            assert_eq!(y.shape(), [m]);
            return y.to_variables();
        }
        let b = View::of_variables(shape(k, n, self.transposed[1]), b);
        let y = match self.transposed {
            [false, false] => matmul(&a, &b),
            [true, false] => matmul(Transposed(&a), &b),
            [false, true] => matmul(&a, Transposed(&b)),
            [true, true] => matmul(Transposed(&a), Transposed(&b)),
        };
        assert_eq!(y.shape(), [m, n]);
        y.to_variables()
    }

    /// The product by statements.
    fn by_statements<S: Taping>(self, x: &[Real<S>]) -> Vec<Real<S>> {
        let (a, b) = x.split_at(self.lengths()[0]);
        let [m, k, n] = [self.shape[0], self.shape[1], self.shape[2].max(1)];
        let a = |i: usize, l: usize| &a[if self.transposed[0] { l * m + i } else { i * k + l }];
        let b = |l: usize, j: usize| &b[if self.transposed[1] { j * k + l } else { l * n + j }];
        let element = |e: usize| {
            let terms: Vec<Real<S>> = (0..k).map(|l| (a(e / n, l) * b(l, e % n)).into()).collect();
            tapewright::sum(&terms)
        };
        (0..m * n).map(element).collect()
    }
}

/// Values and Jacobian matrix, by sweeps of several adjoint vectors.
fn same_jacobian<S: Reverse<Value = f64>>() {
    for case in Case::all() {
        let x = case.numbers();
        let (found, expected) = (jacobian::<S>(|x| case.by_views(x), &x), jacobian::<S>(|x| case.by_statements(x), &x));
        assert_eq!(found, expected, "{case:?}");
    }
}

#[test]
fn products_are_those_of_statements_under_every_kind_of_strategy() {
    same_jacobian::<Jacobian>();
    same_jacobian::<Jacobian<f64, Reuse>>();
    same_jacobian::<PrimalValue>();
    same_jacobian::<Hybrid>();
    same_jacobian::<Jacobian<f64, Linear, Spilled>>();
}

#[test]
fn products_in_single_precision_are_those_of_statements() {
    for case in Case::all() {
        #[allow(clippy::cast_possible_truncation, reason = "whole numbers")]
        let x: Vec<f32> = case.numbers().iter().map(|x| *x as f32).collect();
        let found = jacobian::<Jacobian<f32>>(|x| case.by_views(x), &x);
        assert_eq!(found, jacobian::<Jacobian<f32>>(|x| case.by_statements(x), &x), "{case:?}");
    }
}

fn sum_of_squares<S: Taping>(y: &[Real<S>]) -> Real<S> {
    tapewright::dot(y, y)
}

#[test]
fn second_derivatives_of_products_are_those_of_statements() {
    for case in Case::all() {
        let (x, v) = (case.numbers(), whole(case.numbers().len(), 5));
        let found = hvp::<Jacobian<Dual<f64, 1>>>(|x| sum_of_squares(&case.by_views(x)), &x, &v);
        let expected = hvp::<Jacobian<Dual<f64, 1>>>(|x| sum_of_squares(&case.by_statements(x)), &x, &v);
        assert_eq!(found, expected, "{case:?}");
    }
}

#[test]
fn tangents_of_products_are_those_of_statements_and_fit_the_adjoints() {
    for case in Case::all() {
        let (x, v) = (case.numbers(), whole(case.numbers().len(), 2));
        let (values, tangents) = jvp::<Tangent<1>>(|x| case.by_views(x), &x, &v).expect("lengths agree");
        let expected = jvp::<Tangent<1>>(|x| case.by_statements(x), &x, &v).expect("lengths agree");
        assert_eq!((&values, &tangents), (&expected.0, &expected.1), "{case:?}");
        // Σ ȳ·ẏ = Σ x̄·ẋ, and the forward sweep over a recording.
        let mut tape = Tape::<Jacobian>::new();
        let (inputs, outputs) = tape.record(|scope| {
            let inputs = scope.inputs(&x);
            let outputs = case.by_views(&inputs);
            (inputs, outputs)
        });
        let seeds: Vec<_> = outputs.iter().zip(whole(outputs.len(), 4)).collect();
        let adjoints = tape.sweep(&seeds).expect("its own").of_all(&inputs).expect("inputs");
        let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert_eq!(inner(&adjoints, &v), inner(&whole(outputs.len(), 4), &tangents), "{case:?}");
        let along: Vec<_> = inputs.iter().zip(v).collect();
        assert_eq!(tape.jvp(&along, &outputs.iter().collect::<Vec<_>>()).expect("its own"), tangents, "{case:?}");
    }
}

#[test]
fn a_replay_multiplies_again_with_passive_operands_too() {
    let (a, x) = (whole(6, 1), whole(3, 2));
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (input, y) = tape.record(|scope| {
        let input = scope.view([3], &x);
        let y = matmul(&View::new([2, 3], &a), &input);
        let y = matmul(&y.reshape([2, 1]), Transposed(&y.reshape([2, 1])));
        (input, y.to_variables())
    });
    let new = [4.0, -1.0, 2.0];
    tape.new_inputs().view(&input, &new).expect("its own").replay().expect("all is kept");
    let once: Vec<f64> = (0..2).map(|i| (0..3).map(|k| a[3 * i + k] * new[k]).sum()).collect();
    for (k, y) in y.iter().enumerate() {
        assert_eq!(tape.value_of(y).expect("its own"), once[k / 2] * once[k % 2]);
    }
    let slopes = tape.sweep(&[(&y[1], 1.0)]).expect("its own").of_view(&input).expect("an input").to_vec();
    let expected: Vec<f64> = (0..3).map(|k| a[k] * once[1] + a[3 + k] * once[0]).collect();
    assert_eq!(slopes, expected);
}

/// y = (A·x)∘c, where c is A·x as well, computed while the recording is paused; and Σₖ Aₖᵢ·yₖ.
#[test]
fn products_in_a_pause_are_constants_in_sweeps_of_several_vectors_and_replays() {
    let (a, x) = (whole(6, 1), whole(3, 2));
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (a_input, input, y) = tape.record(|scope| {
        let (a, x) = (scope.view([2, 3], &a), scope.view([3], &x));
        let fixed = pause(|| matmul(&a, &x));
        assert!(!fixed.is_active());
        let mut y = matmul(&a, &x);
        assert_eq!(fixed.values(), y.values());
        y *= &fixed;
        let z: View<_, 1> = contract(&a, 0, &y, 0);
        (a, x, z.to_variables())
    });
    let at = |x: &[f64], k: usize| (0..3).map(|i| a[3 * k + i] * x[i]).sum::<f64>();
    let fixed = [at(&x, 0), at(&x, 1)];
    let new = [4.0, -1.0, 2.0];
    for (x, replays) in [(&x[..], false), (&new[..], true)] {
        if replays {
            tape.new_inputs().view(&input, x).expect("its own").replay().expect("all is kept");
        }
        for (i, z) in y.iter().enumerate() {
            let expected: f64 = (0..2).map(|k| a[3 * k + i] * at(x, k) * fixed[k]).sum();
            assert_eq!(tape.value_of(z).expect("its own"), expected);
        }
        // Nothing, the first result, and two of them.
        let seeds = [[0.0, 0.0], [1.0, 0.0], [2.0, -3.0]];
        let lanes = tape.sweep_lanes(&[(&y[0], seeds.map(|[s, _]| s)), (&y[2], seeds.map(|[_, s]| s))]);
        let lanes = lanes.expect("its own");
        for (lane, [first, last]) in seeds.into_iter().enumerate() {
            let seed = |k: usize| (first * a[3 * k] + last * a[3 * k + 2]) * fixed[k];
            let of_x: Vec<f64> = (0..3).map(|i| (0..2).map(|k| a[3 * k + i] * seed(k)).sum()).collect();
            assert_eq!(*lanes.of_view(&input, lane).expect("an input"), of_x);
            let of_z = [first, 0.0, last];
            let of_a = |n: usize| x[n % 3] * seed(n / 3) + of_z[n % 3] * at(x, n / 3) * fixed[n / 3];
            assert_eq!(*lanes.of_view(&a_input, lane).expect("an input"), (0..6).map(of_a).collect::<Vec<_>>());
        }
    }
}

/// Bytes of arrays that a recording keeps beside its views.
fn kept(active: [bool; 2]) -> usize {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let (a, b) = (vec![1.0; 6000], vec![1.0; 400]);
        let a = if active[0] { scope.view([300, 20], &a) } else { View::new([300, 20], &a) };
        let b = if active[1] { scope.view([20, 20], &b) } else { View::new([20, 20], &b) };
        matmul(&a, &b).to_variables().truncate(1);
    });
    tape.memory().usage("arrays").used
}

#[test]
fn a_product_keeps_each_array_that_the_other_adjoint_needs_and_shares_it() {
    let [of_a, of_b] = [6000 * 8 + 512, 400 * 8 + 512];
    assert_eq!([kept([true, false]), kept([false, true]), kept([true, true])], [of_b, of_a, of_a + of_b]);
    assert_eq!(kept([false, false]), 0);
}

#[test]
fn zero_times_anything_is_zero_in_sweeps_through_products() {
    let huge = [f64::INFINITY, 1.0, f64::NAN, 2.0];
    let mut tape = Tape::<Jacobian>::new();
    let (a, b, y) = tape.record(|scope| {
        let (a, b) = (scope.view([2, 2], &[1.0, 2.0, 3.0, 4.0]), scope.view([2, 2], &huge));
        let y = matmul(&a, &b);
        (a, b, y)
    });
    let adjoints = tape.sweep_view(&[], (&y, &[0.0, 1.0, 0.0, 0.0])).expect("its own");
    assert_eq!(*adjoints.of_view(&a).expect("an input"), [1.0, 2.0, 0.0, 0.0]);
    assert_eq!(*adjoints.of_view(&b).expect("an input"), [0.0, 1.0, 0.0, 2.0]);
    // A seed that is infinite, beside zeros in A and B.
    let mut tape = Tape::<Jacobian>::new();
    let (a, y) = tape.record(|scope| {
        let a = scope.view([1, 2], &[0.0, 1.0]);
        let y = matmul(&a, &View::new([2, 1], &[0.0, 3.0]));
        (a, y)
    });
    let adjoints = tape.sweep_view(&[], (&y, &[f64::INFINITY])).expect("its own");
    assert_eq!(*adjoints.of_view(&a).expect("an input"), [0.0, f64::INFINITY]);
}

#[test]
fn values_of_products_follow_floating_point_arithmetic() {
    let a = View::<Passive, 2>::new([1, 2], &[0.0, 1.0]);
    assert!(matmul(&a, &View::new([2], &[f64::INFINITY, 1.0])).values()[0].is_nan());
    assert_eq!(matmul(&a, &View::new([2], &[5.0, f64::INFINITY])).values(), [f64::INFINITY]);
}

/// The tangent of an infinity that does not move is zero, and so is its product with anything.
#[test]
fn zero_times_anything_is_zero_in_tangents_of_products_of_duals() {
    let f = |x: &[Real<Jacobian<Dual<f64, 1>>>]| {
        let a = View::of_variables([1, 2], &x[..2]);
        let y = matmul(&a, &View::of_variables([2], &x[2..])).to_variables();
        Real::from(y[0] * x[0])
    };
    // y = x₀·(x₀·x₂ + x₁·x₃), along x₀, with an infinite x₁.
    let (_, slopes, products) =
        hvp::<Jacobian<Dual<f64, 1>>>(f, &[2.0, f64::INFINITY, 3.0, 5.0], &[1.0, 0.0, 0.0, 0.0]);
    assert_eq!((slopes[1], slopes[2]), (10.0, 4.0));
    assert_eq!((products[1], products[2]), (5.0, 4.0));
    assert_eq!(products[0], 6.0);
}

#[test]
fn a_product_of_a_view_with_itself_adds_both_adjoints() {
    let f = |x: &[Real<Jacobian>]| {
        let x = View::of_variables([2, 2], x);
        sum_of_squares(&matmul(&x, Transposed(&x)).to_variables())
    };
    let statements = |x: &[Real<Jacobian>]| {
        let row = |i: usize, j: usize| -> Real<Jacobian> { (x[2 * i] * x[2 * j] + x[2 * i + 1] * x[2 * j + 1]).into() };
        sum_of_squares(&[row(0, 0), row(0, 1), row(1, 0), row(1, 1)])
    };
    let x = [1.0, -2.0, 3.0, 0.0];
    assert_eq!(gradient::<Jacobian>(f, &x), gradient::<Jacobian>(statements, &x));
}

#[test]
fn the_pattern_of_a_product_is_exact() {
    let case = Case { shape: [2, 3, 2], transposed: [true, false] };
    let pattern = |by_views: bool| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&case.numbers());
            let y = if by_views { case.by_views(&x) } else { case.by_statements(&x) };
            (x, y)
        });
        tape.jacobian_pattern(&x, &y).expect("there is one").to_string()
    };
    assert_eq!(pattern(true), pattern(false));
}

#[test]
fn factors_that_do_not_fit_are_refused_with_both_shapes() {
    let a = View::<Passive, 2>::zeros([2, 3]);
    let found = panic_message(|| matmul(&a, &a));
    assert!(found.contains("2 rows and 3 columns cannot be multiplied with one of 2 rows and 3 columns"), "{found}");
    let found = panic_message(|| matmul(Transposed(&a), &View::zeros([3])));
    assert!(found.contains("3 rows and 2 columns cannot be multiplied with one of 3 rows and 1 columns"), "{found}");
    let found = panic_message(|| -> View<Passive, 2> { contract(&a, 2, &a, 0) });
    assert!(found.contains("shape [2, 3] has dimensions 0 to 1, and no dimension 2"), "{found}");
    let found = panic_message(|| -> View<Passive, 2> { contract(&a, 1, &a, 0) });
    assert!(found.contains("dimension 1 of a view of shape [2, 3] has 3 elements"), "{found}");
}

/// Contraction of views of rank 3 and 2 or 3 by statements.
fn by_loops<S: Taping>(a: &[Real<S>], d: usize, b: &[Real<S>], e: usize, shapes: [&[usize]; 2]) -> Vec<Real<S>> {
    let lines = |shape: &[usize], along: usize| -> Vec<Vec<usize>> {
        let inner: usize = shape[along + 1..].iter().product();
        let first = |line: usize| line / inner * inner * shape[along] + line % inner;
        let count = shape.iter().product::<usize>() / shape[along];
        (0..count).map(|line| (0..shape[along]).map(|k| first(line) + k * inner).collect()).collect()
    };
    let mut results = Vec::new();
    for of_a in lines(shapes[0], d) {
        for of_b in lines(shapes[1], e) {
            let terms: Vec<Real<S>> = of_a.iter().zip(of_b).map(|(i, j)| (&a[*i] * &b[j]).into()).collect();
            results.push(tapewright::sum(&terms));
        }
    }
    results
}

#[test]
fn contractions_along_all_pairs_of_dimensions_are_those_of_statements() {
    const LENGTH: usize = 3;
    for d in 0..3 {
        let mut first = [2, 4, 5];
        first[d] = LENGTH;
        let n: usize = first.iter().product();
        for e in 0..3 {
            // Four dimensions in all: of b with one of length 1, which is taken away.
            let mut second = [2, 2];
            second[e % 2] = LENGTH;
            let x = whole(n + 6, d + e);
            let by_views = |x: &[Real<Jacobian>]| {
                let (a, b) = (View::of_variables(first, &x[..n]), View::of_variables(second, &x[n..]));
                let y: View<_, 3> = contract(&a, d, &b, e % 2);
                y.to_variables()
            };
            let expected = jacobian::<Jacobian>(|x| by_loops(&x[..n], d, &x[n..], e % 2, [&first, &second]), &x);
            assert_eq!(jacobian::<Jacobian>(by_views, &x), expected, "{d}, {e}");
            // Rank 4, with a dimension in the middle of b.
            let mut third = [2, 2, 2];
            third[e] = LENGTH;
            let x = whole(n + 12, d + e);
            let by_views = |x: &[Real<Jacobian>]| {
                let (a, b) = (View::of_variables(first, &x[..n]), View::of_variables(third, &x[n..]));
                let y: View<_, 4> = contract(&a, d, &b, e);
                y.to_variables()
            };
            let expected = jacobian::<Jacobian>(|x| by_loops(&x[..n], d, &x[n..], e, [&first, &third]), &x);
            assert_eq!(jacobian::<Jacobian>(by_views, &x), expected, "{d}, {e}, rank 4");
        }
    }
}

#[test]
fn a_spilled_product_sweeps_with_the_arrays_read_back() {
    use tapewright::storage::SpillOptions;
    type OnDisk = Jacobian<f64, Linear, Spilled>;
    fn chain<S: Reverse<Value = f64>>(tape: &mut Tape<S>) -> Vec<f64> {
        let (a, y) = tape.record(|scope| {
            let a = scope.view([40, 40], &whole(1600, 1));
            let mut y = View::new([40, 40], &whole(1600, 2));
            for _ in 0..6 {
                // By a power of two, so that the numbers stay whole multiples of one.
                let mut next = matmul(&a, &y);
                tapewright::kernels::parallel_for(next.all(), &mut next, |y| (y.at::<0, 0>() * 0.125,));
                y = next;
            }
            let y = y.variable([3, 4]);
            (a, y)
        });
        tape.sweep(&[(&y, 1.0)]).expect("read back").of_view(&a).expect("an input").to_vec()
    }
    let options = SpillOptions::default().slab(4096).memory(2 * 4096 + 3 * (1600 * 8 + 512));
    let mut tape = Tape::<OnDisk>::spilled(options).expect("a directory");
    let found = chain(&mut tape);
    assert_eq!(found, chain(&mut Tape::<Jacobian>::new()));
}

#[cfg(feature = "packs")]
#[test]
fn products_of_packs_are_those_of_their_lanes() {
    use tapewright::{Number, packs::Pack};
    for case in Case::all() {
        let lanes = [case.numbers(), whole(case.numbers().len(), 6)];
        let packs: Vec<Pack<2>> = (0..lanes[0].len()).map(|k| Pack([lanes[0][k], lanes[1][k]])).collect();
        let found = gradient::<Jacobian<Pack<2>>>(|x| sum_of_squares(&case.by_views(x)), &packs);
        for (k, numbers) in lanes.iter().enumerate() {
            let lane: Vec<f64> = found.iter().map(|slope| slope.lane(k)).collect();
            assert_eq!(lane, gradient::<Jacobian>(|x| sum_of_squares(&case.by_views(x)), numbers), "{case:?}");
        }
    }
}
