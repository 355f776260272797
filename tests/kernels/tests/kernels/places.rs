//! Kernels in odd places.

use super::refusals::refused;
use super::{at_every_level, bits, close, numbers};
use tapewright::checkpoint::closure_stage;
use tapewright::kernels::{Field, View, fill, parallel_for, parallel_max, parallel_sum};
use tapewright::prelude::*;
use tapewright::tape::AdjointVector;
use tapewright::{Dual, Number, Reuse, check_gradient, checkpoint, preaccumulate, preaccumulate_by_reverse};

/// A function of scalars that uses kernels inside.
fn inside<S: Taping<Value = f64>>(x: &[Real<S>; 2]) -> Real<S> {
    let mut v = View::new([3, 12], &numbers(36, 8));
    parallel_for(v.all(), (&mut v, &x[0]), |(v, k)| (v.at::<0, 0>() * k + k,));
    parallel_for(v.interior(1), (&mut v, &x[1]), |(v, k)| ((v.at::<1, -1>() * v.at::<-1, 1>() * k).sin(),));
    parallel_sum(v.all(), &v, |v| v.at::<0, 0>().square())
}

/// A function of the elements of a view.
fn of_elements<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let x = View::of_variables([3, 4], x);
    let mut y = View::new([3, 4], &numbers(12, 5));
    parallel_for(x.interior(1), (&mut y, &x), |(y, x)| (y.at::<0, 0>() * x.at::<-1, 1>() + x.at::<0, -1>().sin(),));
    vec![parallel_sum(y.all(), (&y, &x), |(y, x)| y.at::<0, 0>().square() * x.at::<0, 0>())]
}

#[test]
fn a_gradient_with_kernels_inside_is_checked_against_differences() {
    check_gradient!(Jacobian, of_elements, &numbers(12, 3)).expect("agrees");
    check_gradient!(PrimalValue, of_elements, &numbers(12, 3)).expect("agrees");
}

#[test]
fn stages_and_blocks_with_kernels_inside() {
    let at = [0.7, -1.3];
    let plain = gradient::<Jacobian>(|x| inside(&[x[0], x[1]]), &at);
    for k in 0..2 {
        let moved = |h: f64| {
            let mut at = at;
            at[k] += h;
            inside::<Passive>(&at.map(Real::constant)).value()
        };
        let slope = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((slope - plain[k]).abs() < 1e-7, "{slope} {}", plain[k]);
    }
    let staged = gradient::<Jacobian>(|x| checkpoint!(Jacobian, &[x[0], x[1]], inside), &at);
    assert_eq!(bits(&staged), bits(&plain));
    let staged = gradient::<Jacobian>(|x| closure_stage(|x: &[Real<Jacobian>; 2]| inside(x), &[x[0], x[1]]), &at);
    assert_eq!(bits(&staged), bits(&plain));
    let block =
        gradient::<Jacobian>(|x| preaccumulate_by_reverse::<PrimalValue, _, _, _>(&[x[0], x[1]], |x| inside(x)), &at);
    for k in 0..2 {
        assert!((block[k] - plain[k]).abs() < 1e-13);
    }
    let reuse = gradient::<Jacobian<f64, Reuse>>(|x| inside(&[x[0].clone(), x[1].clone()]), &at);
    assert_eq!(bits(&reuse), bits(&plain));
}

#[test]
fn derivatives_and_blocks_in_forward_mode_have_kernels_inside() {
    let expected = gradient::<Jacobian>(|x| inside(&[x[0], x[1]]), &[0.7, -1.3]);
    let slope = derivative::<Tangent>(|x| inside(&[x, Real::constant(-1.3)]), 0.7);
    assert!(close(slope, expected[0], 1.0), "{slope} for {}", expected[0]);
    let block = gradient::<Jacobian>(|x| preaccumulate(&[x[0], x[1]], |x| inside(x)), &[0.7, -1.3]);
    block.iter().zip(&expected).for_each(|(found, expected)| assert!(close(*found, *expected, 1.0)));
    let slope = derivative::<Tangent>(|x| (x * inside(&[Real::constant(0.7), Real::constant(-1.3)])).into(), 2.0);
    assert_eq!(slope, inside::<Passive>(&[0.7, -1.3].map(Real::constant)).value());
}

#[test]
fn tokens_of_other_kernels_are_refused() {
    let x = View::<Passive, 1>::zeros([5]);
    let words = &["reads operand 3 as a view", "has nothing there", "use the tokens that its closure gets"];
    let (mut fourth, mut square): (Option<Field<1, 3>>, Option<Field<2, 0>>) = (None, None);
    _ = parallel_sum(0..5, (&x, &x, &x, &x), |(x, _, _, other)| {
        fourth = Some(other);
        x.at::<0>()
    });
    _ = parallel_sum([0..5, 0..5], &View::<Passive, 2>::zeros([5, 5]), |x| {
        square = Some(x);
        x.at::<0, 0>()
    });
    let (fourth, square) = (fourth.expect("kept"), square.expect("kept"));
    refused(|| parallel_sum(0..5, &x, |_| fourth.at::<0>()), words);
    refused(|| parallel_sum(0..5, &x, |x| fourth.at::<0>().bind::<0, _>(|_| x.at::<0>())), words);
    refused(|| parallel_sum(0..5, &x, |_| square.at::<1, 0>()), &["operand 0", "beyond"]);
    refused(
        || parallel_sum(0..5, &x, |x| x.new()),
        &["`new` of operand 0", "does not write", "give the operand as `&mut`"],
    );
    let mut kept = None;
    _ = parallel_sum(0..5, &x, |x| {
        x.at::<0>().bind::<0, _>(|e| {
            kept = Some(e);
            e
        })
    });
    refused(|| parallel_sum(0..5, &x, |_| kept.expect("kept")), &["outside of the closure", "bind it again"]);
}

#[test]
fn seeds_that_are_infinite_or_nan() {
    let seeds = [f64::INFINITY, f64::NAN, 0.0, -0.0, 1.0, f64::NEG_INFINITY, 1e308, 0.0, f64::NAN, 1.0, 0.0];
    let at = [0.0, 0.0, f64::INFINITY, f64::NAN, 0.0, 1.0, 1e308, -0.0, 3.0, f64::NEG_INFINITY, 2.0];
    let kernel = at_every_level(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.view([11], &at);
            let mut y = View::zeros([11]);
            parallel_for(1..10, (&x, &mut y), |(x, _)| (x.at::<-1>() * x.at::<0>() - 2.0 * x.at::<1>().sqrt(),));
            (x, y)
        });
        let found = tape.sweep_view(&[], (&y, &seeds)).expect("swept");
        found.of_view(&x).expect("x").iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect::<Vec<_>>()
    });
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x: Vec<Real<Jacobian>> = at.iter().map(|x| scope.input(*x)).collect();
        let y: Vec<Real<Jacobian>> = (1..10).map(|k| (x[k - 1] * x[k] - 2.0 * x[k + 1].sqrt()).into()).collect();
        (x, y)
    });
    let seeded: Vec<_> = y.iter().zip(&seeds[1..10]).map(|(y, seed)| (y, *seed)).collect();
    let adjoints = tape.sweep(&seeded).expect("swept");
    for k in 0..11 {
        let expected = adjoints.of(&x[k]).expect("x");
        let found = f64::from_bits(kernel[k]);
        let expected_bits = if expected.is_nan() { 1 } else { expected.to_bits() };
        assert_eq!(kernel[k], expected_bits, "element {k}: {expected}, not {found}");
    }
}

/// Adjoints of a view, of whose rows a launch reads the first and the last, each beside its points.
fn adjoints_in_rows<V: Number>(tape: &mut Tape<Jacobian<V>>, columns: usize) -> Vec<V> {
    let shape = [3, columns];
    let ones = vec![V::from_parts(|_| 1.0); 3 * columns];
    let (x, y) = tape.record(|scope| {
        let (x, mut y) = (scope.view(shape, &ones), View::zeros(shape));
        parallel_for(y.interior(1), (&x, &mut y), |(x, _)| (x.at::<-1, -1>() + x.at::<1, 1>(),));
        (x, y)
    });
    let adjoints = tape.sweep_view(&[], (&y, &ones)).expect("swept");
    adjoints.of_view(&x).expect("an input").to_vec()
}

#[test]
fn adjoints_do_not_depend_on_longer_arrays_that_had_the_memory_before() {
    fn check<V: Number>() {
        at_every_level(|| {
            let mut tape = Tape::new();
            for columns in (3..40).rev() {
                for (k, found) in adjoints_in_rows::<V>(&mut tape, columns).into_iter().enumerate() {
                    let is_read = match k / columns {
                        0 => k < columns - 2,
                        row => row == 2 && k >= 2 * columns + 2,
                    };
                    let expected = if is_read { 1.0 } else { 0.0 };
                    for part in 0..V::PARTS {
                        assert_eq!(found.part(part), expected, "{columns} columns, element {k}, part {part}");
                    }
                }
            }
        });
    }
    check::<f64>();
    check::<Dual<f64, 2>>();
}

/// Tangents go point by point, adjoints by gathering: ⟨seed, tangent⟩ is the same.
#[test]
fn adjoints_and_tangents_of_odd_ranges_agree() {
    for rows in 1..5_usize {
        for columns in [1, 2, 3, 7, 8, 9, 17, 33] {
            for (top, bottom, left, right) in
                [(0, 0, 0, 0), (1, 0, 0, 1), (0, 1, 1, 0), (1, 1, 1, 1), (0, 0, 2, 3), (2, 0, 0, 0)]
            {
                if top + bottom > rows || left + right > columns {
                    continue;
                }
                let range = [top..rows - bottom, left..columns - right];
                at_every_level(|| dot_product([rows, columns], range.clone()));
            }
        }
    }
}

fn dot_product(shape: [usize; 2], range: [std::ops::Range<usize>; 2]) {
    let n = shape[0] * shape[1];
    let mut tape = Tape::<Jacobian>::new();
    let (inputs, y) = tape.record(|scope| {
        let inputs = [0.3, -0.8, 1.7].map(|x| scope.input(x));
        let (p, mut a, mut b) =
            (View::new(shape, &numbers(n, 1)), View::new(shape, &numbers(n, 2)), View::zeros(shape));
        parallel_for(a.all(), (&mut a, &p, &inputs[0]), |(a, p, k)| (a.at::<0, 0>() + p.at::<0, 0>() * k,));
        parallel_for(range.clone(), (&mut a, &inputs[1]), |(a, k)| {
            (a.or_zero::<-1, 2>() * k + a.periodic::<1, -3>() * a.nearest::<0, 7>(),)
        });
        let c = a.clone();
        parallel_for(range.clone(), (&mut b, &c, &mut a, &p), |(b, c, a, p)| {
            (
                c.nearest::<2, -1>() * a.or_zero::<0, 1>() + p.at::<0, 0>(),
                b.new() * b.periodic::<1, 1>() - a.at::<0, 0>() * b.new(),
            )
        });
        parallel_for(range.clone(), (&a, &mut b), |(a, b)| {
            let e = a.at::<0, 0>() * b.at::<0, 0>();
            (a.at::<0, 0>()
                .gt(0.0)
                .and(b.at::<0, 0>().lt(0.2))
                .select(e.bind::<1, _>(|e| e * e + e), b.at::<0, 0>() / (2.5 + c_square(a))),)
        });
        let y = parallel_sum(range.clone(), (&a, &b, &c, &inputs[2]), |(a, b, c, k)| {
            a.at::<0, 0>() * b.or_zero::<1, 0>() + c.periodic::<-1, -1>() * k + b.at::<0, 0>().square()
        });
        (inputs, y)
    });
    let tangents = [0.7, -1.1, 0.4];
    let moved = tape.jvp(&inputs.iter().zip(tangents).collect::<Vec<_>>(), &[&y]).expect("swept forward")[0];
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("swept");
    let right: f64 = inputs.iter().zip(tangents).map(|(x, tangent)| tangent * adjoints.of(x).expect("an input")).sum();
    assert!((moved - right).abs() <= 1e-11 * moved.abs().max(10.0), "{shape:?} {range:?}: {moved} and {right}");
}

fn c_square<A: tapewright::kernels::Field2>(
    a: A,
) -> tapewright::kernels::Term<impl tapewright::strategies::kernel::ir::Node> {
    a.at::<0, 0>().square()
}

#[test]
fn memory_does_not_grow_with_sweeps_and_recordings() {
    let mut tape = Tape::<Jacobian>::new();
    let mut sizes = Vec::new();
    for _ in 0..12 {
        let y = tape.record(|scope| {
            let mut x = scope.view([100], &numbers(100, 1));
            let k = scope.input(1.0);
            for _ in 0..5 {
                parallel_for(1..99, (&mut x, &k), |(x, k)| (x.at::<-1>() * x.at::<1>() * k,));
            }
            let mut y = x.clone();
            parallel_for(x.all(), (&x, &mut y), |(x, y)| (x.at::<0>() * y.at::<0>(),));
            fill(&k, &mut x);
            parallel_sum(y.all(), (&y, &x), |(y, x)| y.at::<0>().exp() * x.at::<0>())
        });
        for _ in 0..3 {
            tape.sweep(&[(&y, 1.0)]).expect("swept");
        }
        sizes.push(tape.memory().total().reserved);
    }
    println!("{sizes:?}");
    assert_eq!(sizes[2], sizes[11]);
}

#[test]
fn nested_recordings_each_have_their_views() {
    let mut outer = Tape::<Jacobian>::new();
    let (x, y) = outer.record(|scope| {
        let x = scope.view([9], &numbers(9, 1));
        let mut inner = Tape::<Jacobian>::new();
        let (slope, _) = inner.record(|scope| {
            let x = scope.view([9], x.values());
            let y = parallel_sum(x.all(), &x, |x| x.at::<0>().square());
            (x, y)
        });
        _ = slope;
        let y = parallel_max(x.all(), &x, |x| x.at::<0>().square());
        (x, y)
    });
    let found = outer.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("x").into_owned();
    assert_eq!(found.iter().filter(|x| **x != 0.0).count(), 1);
    let mut v = AdjointVector::new();
    assert!(outer.sweep_with(&mut v, &[]).is_ok());
}

#[test]
fn tangents_that_are_infinite_or_nan_count_only_where_partials_are_not_zero() {
    let tangents = [f64::INFINITY, f64::NAN, 1.0, f64::NEG_INFINITY];
    let x = View::<Tangent<1>, 1>::moving([4], &[1.0; 4], |_| tangents.to_vec());
    let (zero, mut y) = (View::zeros([4]), View::zeros([4]));
    parallel_for(x.all(), (&x, &zero, &mut y), |(x, zero, _)| (x.at::<0>() * zero.at::<0>() + 2.0,));
    assert_eq!(y.tangents(0), [0.0; 4]);
    let (one, mut y) = (View::filled([4], 1.0), View::zeros([4]));
    parallel_for(x.all(), (&x, &one, &mut y), |(x, one, _)| (x.at::<0>() * one.at::<0>() + 2.0,));
    assert_eq!(bits(&y.tangents(0)), bits(&tangents));
}

#[test]
fn points_without_adjoint_contribute_nothing_to_the_adjoint_of_a_number() {
    let (mut at, mut seeds) = (vec![2.0; 21], vec![1.0; 21]);
    for (k, odd) in [(3, f64::INFINITY), (11, f64::NAN), (20, f64::NEG_INFINITY)] {
        (at[k], seeds[k]) = (odd, 0.0);
    }
    let slope = at_every_level(|| {
        let mut tape = Tape::<Jacobian>::new();
        let (k, y) = tape.record(|scope| {
            let (k, x, mut y) = (scope.input(3.0), View::new([21], &at), View::zeros([21]));
            parallel_for(x.all(), (&x, &k, &mut y), |(x, k, _)| (x.at::<0>() * k,));
            (k, y)
        });
        tape.sweep_view(&[], (&y, &seeds)).expect("swept").of(&k).expect("an input").to_bits()
    });
    assert_eq!(f64::from_bits(slope), 36.0);
}
