//! Forward mode: drivers, any number of directions, passive variables, and agreement with reverse mode.

use tapewright::prelude::*;
use tapewright::strategies::Directions;
use tapewright::strategies::policy::Strict;
use tapewright::{
    Error, Number, Rules, check_gradient, dot, external, jacobian_forward_into, linear_combination, logsumexp, pause,
    preaccumulate, sum, value_and_derivative,
};
use tapewright_kit_tests::panics::panic_of;
use tapewright_problems::random::SplitMix64;
use tapewright_problems::{Burgers, ExpSq, Gmm, Laplacian, Libor, Lstm, Problem, RepeatedSin};

const INF: f64 = f64::INFINITY;

/// Five inputs, three outputs; with a function of slices, a literal, a passive variable and an output that is an input.
fn three<S: Taping>(x: &[Real<S>]) -> Vec<Real<S>> {
    let passive = Real::from(0.5);
    let mut y: Real<S> = (&x[0] * &x[1] + x[2].sin() * 2.0).into();
    y *= &x[3];
    y += &passive * &x[4];
    vec![(y * x[1].exp()).into(), dot(&x[..2], &x[3..]), x[2].clone()]
}

/// The Jacobian of [`three`], by hand.
fn three_by_hand(x: &[f64; 5]) -> [[f64; 5]; 3] {
    let [a, b, c, d, e] = *x;
    let (y, s) = ((a * b + 2.0 * c.sin()) * d + 0.5 * e, b.exp());
    let first = [b * d * s, (a * d + y) * s, 2.0 * c.cos() * d * s, (a * b + 2.0 * c.sin()) * s, 0.5 * s];
    [first, [d, e, 0.0, a, b], [0.0, 0.0, 1.0, 0.0, 0.0]]
}

fn assert_is_the_jacobian_of_three<S: Forward>(tolerance: f64) {
    let x = [0.5, -0.25, 1.5, 2.0, -1.0];
    let rounded: Vec<S::Value> = x.iter().map(|x| S::Value::from_f64(*x)).collect();
    let (values, rows) = jacobian_forward::<S>(three, &rounded);
    assert_eq!((values[2], rows.len()), (rounded[2], 3));
    let mut into = ([S::Value::ZERO; 3], [S::Value::ZERO; 15]);
    jacobian_forward_into::<S, _>(three, &rounded, &mut into.0, &mut into.1).expect("there is as much memory");
    assert_eq!((&into.0[..], &into.1[..]), (&values[..], &rows.concat()[..]));
    for (row, expected) in rows.iter().zip(three_by_hand(&x)) {
        assert_eq!(row.len(), 5);
        for (found, expected) in row.iter().zip(expected) {
            let close = (found.as_f64() - expected).abs() <= tolerance * expected.abs();
            assert!(close, "{found}, expected {expected} under {}", core::any::type_name::<S>());
        }
    }
}

#[test]
fn any_number_of_directions_gives_the_jacobian() {
    assert_is_the_jacobian_of_three::<Tangent>(4e-15);
    assert_is_the_jacobian_of_three::<Tangent<2>>(4e-15);
    assert_is_the_jacobian_of_three::<Tangent<8>>(4e-15);
    assert_is_the_jacobian_of_three::<Tangent<3, f32>>(2e-6);
    assert_is_the_jacobian_of_three::<Tangent<16, f32, Strict>>(2e-6);
}

#[test]
fn without_inputs_or_outputs_there_are_empty_rows_or_none() {
    let constant = |_: &[Real<Tangent<3>>]| vec![Real::from(7.0), Real::from(8.0)];
    assert_eq!(jacobian_forward(constant, &[]), (vec![7.0, 8.0], vec![vec![], vec![]]));
    assert_eq!(jvp(constant, &[], &[]), Ok((vec![7.0, 8.0], vec![0.0, 0.0])));
    let nothing = |_: &[Real<Tangent<3>>]| vec![];
    assert_eq!(jacobian_forward(nothing, &[1.0]), (vec![], vec![]));
}

#[test]
fn several_directions_are_taken_as_many_at_once_as_there_is_room_for() {
    let x = [0.5, -0.25, 1.5, 2.0, -1.0];
    let directions: Vec<[f64; 5]> = (0..7).map(|k| [0.0, 0.5, 1.0, 1.5, 2.0].map(|h| f64::from(k) - h)).collect();
    let mut runs = 0;
    let counted = |x: &[Real<Tangent<3>>]| {
        runs += 1;
        three(x)
    };
    let (values, products) = jvps(counted, &x, &directions).expect("lengths agree");
    assert_eq!((runs, products.len()), (3, 7));
    for (direction, products) in directions.iter().zip(&products) {
        assert_eq!(jvp::<Tangent>(three, &x, direction), Ok((values.clone(), products.clone())));
    }
    let none: [[f64; 5]; 0] = [];
    assert_eq!(jvps::<Tangent>(three, &x, &none), Ok((values, vec![])));
}

#[test]
fn a_direction_of_another_length_is_an_error() {
    let wrong = |name, found| Error::LengthMismatch { expected: ("inputs", 5), found: (name, found) };
    assert_eq!(jvp::<Tangent>(three, &[1.0; 5], &[1.0; 4]), Err(wrong("entries of the direction", 4)));
    let directions = [vec![1.0; 5], vec![1.0; 6]];
    assert_eq!(jvps::<Tangent<2>>(three, &[1.0; 5], &directions), Err(wrong("entries of a direction", 6)));
}

#[test]
#[should_panic(expected = "returned 1 outputs, and 2 in another run")]
fn a_function_with_another_number_of_outputs_in_another_run_is_refused() {
    let mut outputs = 0;
    let growing = |x: &[Real<Tangent>]| {
        outputs += 1;
        vec![x[0]; outputs]
    };
    jacobian_forward(growing, &[1.0, 2.0]);
}

#[test]
fn memory_for_another_number_of_partials_is_an_error_and_for_other_outputs_a_panic() {
    let f = |x: &[Real<Tangent<2>>]| [x[0], x[1], x[0]];
    let into = |outputs: usize, entries: usize| {
        let (mut values, mut jacobian) = (vec![0.0; outputs], vec![0.0; entries]);
        jacobian_forward_into(f, &[1.0, 2.0], &mut values, &mut jacobian)
    };
    assert_eq!(into(3, 6), Ok(()));
    for entries in [5, 7] {
        let text = into(3, entries).expect_err("six are needed").to_string();
        assert!(text.contains('6') && text.contains(&entries.to_string()), "{text}");
    }
    let text = panic_of(&mut || _ = into(2, 4));
    assert!(text.contains("3 outputs") && text.contains("memory for 2"), "{text}");
}

#[test]
fn arrays_of_as_many_inputs_as_directions_give_the_bits_of_slices() {
    fn singular<S: Strategy<Value = f64>>(x: &[Real<S>]) -> [Real<S>; 4] {
        let root = (x[0] * x[1]).sqrt().eval();
        let far = (1.0 / x[2] * x[0]).eval();
        [(root * x[2]).into(), (far * x[1] + root.max(x[1])).into(), x[2], Real::constant(2.0)]
    }
    fn agree<S: Forward<Value = f64> + Strategy>(x: [f64; 3]) {
        let mut known = ([0.0; 4], [0.0; 12]);
        let mut by_slice = known;
        let mut runs = 0;
        let counted = |x: &[Real<S>]| {
            runs += 1;
            singular(x)
        };
        jacobian_forward_into::<S, _>(counted, &x, &mut known.0, &mut known.1).expect("there is as much memory");
        jacobian_forward_into::<S, _>(singular, &x[..], &mut by_slice.0, &mut by_slice.1).expect("as much memory");
        let (values, rows) = jacobian_forward::<S>(|x| singular(x).to_vec(), &x);
        let bits = |all: &[f64]| all.iter().map(|x| if x.is_nan() { 0 } else { x.to_bits() }).collect::<Vec<_>>();
        assert_eq!((bits(&known.0), bits(&known.1)), (bits(&by_slice.0), bits(&by_slice.1)), "{x:?}");
        assert_eq!((bits(&known.0), bits(&known.1)), (bits(&values), bits(&rows.concat())), "{x:?}");
        assert_eq!(runs, 3_usize.div_ceil(S::DIRECTIONS));
    }
    for x in
        [[0.5, 2.0, -1.5], [0.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1.0, INF], [f64::NAN, 1.0, 0.0], [-0.0, INF, 1.0]]
    {
        agree::<Tangent>(x);
        agree::<Tangent<2>>(x);
        agree::<Tangent<3>>(x);
        agree::<Tangent<4>>(x);
    }
}

#[test]
fn an_array_is_differentiated_in_an_evaluation_of_its_own() {
    let mut jacobian = [0.0; 4];
    let inner = |x: &[Real<Tangent<2>>]| {
        let (y, mut slopes) = (x[0], [0.0; 4]);
        let product = |z: &[Real<Tangent<2>>]| [(z[0] * z[1]).eval(), (y * z[0]).eval()];
        jacobian_forward_into(product, &[3.0, 5.0], &mut [0.0; 2], &mut slopes).expect("there is as much memory");
        [y, (y * slopes[0]).into()]
    };
    let text = panic_of(&mut || _ = jacobian_forward_into(inner, &[2.0, 7.0], &mut [0.0; 2], &mut jacobian));
    assert!(text.contains("two evaluations"), "{text}");
    let apart = |x: &[Real<Tangent<2>>]| {
        let mut slopes = [0.0; 4];
        let product = |z: &[Real<Tangent<2>>]| [(z[0] * z[1]).eval(), z[0]];
        jacobian_forward_into(product, &[3.0, 5.0], &mut [0.0; 2], &mut slopes).expect("there is as much memory");
        [x[0], (x[1] * slopes[0]).into()]
    };
    jacobian_forward_into(apart, &[2.0, 7.0], &mut [0.0; 2], &mut jacobian).expect("there is as much memory");
    assert_eq!(jacobian, [1.0, 0.0, 0.0, 5.0]);
    let text = panic_of(&mut || _ = jacobian_forward_into(apart, &[2.0, 7.0], &mut [0.0; 1], &mut [0.0; 2]));
    assert!(text.contains("2 outputs") && text.contains("memory for 1"), "{text}");
}

#[test]
fn functions_of_one_variable_have_a_driver_of_their_own() {
    fn f<S: Taping>(x: Real<S>) -> Real<S> {
        (x.sin() * &x).into()
    }
    let slope = 0.5_f64.cos() * 0.5 + 0.5_f64.sin();
    assert_eq!(derivative::<Tangent>(f, 0.5), slope);
    assert_eq!(value_and_derivative::<Tangent<4>>(f, 0.5), (0.5_f64.sin() * 0.5, slope));
    assert_eq!(derivative::<Tangent<1, f32>>(f, 0.0), 0.0);
    assert_eq!(derivative::<Tangent>(|_| Real::from(3.0), 0.5), 0.0);
}

#[test]
fn variables_carry_the_tangents_they_are_given() {
    let x = Real::<Tangent<3>>::with_tangent(2.0, [1.0, 0.0, -3.0]);
    let y: Real<_> = (x * x).into();
    assert_eq!((y.value(), y.tangent()), (4.0, [4.0, 0.0, -12.0]));
    assert_eq!((y.id()[0], *y.id().as_array(), <[f64; 3]>::from(*y.id())), (4.0, y.tangent(), y.tangent()));
    assert_eq!(Real::<Tangent<3>>::from(2.0).tangent(), [0.0; 3]);
    assert_eq!(Directions::<f32, 2>::default(), Directions::from([0.0, 0.0]));
}

#[test]
fn variables_take_one_number_more_than_there_are_directions_and_a_level() {
    assert_eq!(size_of::<Real<Tangent>>(), 16 + 8);
    assert_eq!(size_of::<Real<Tangent<8>>>(), 72 + 8);
    // The level is aligned to 8 bytes, the value and three derivatives take 16 and are not.
    assert_eq!(size_of::<Real<Tangent<3, f32>>>(), 16 + 8 + 8);
}

const fn assert_plain<T: Copy + Send + Sync + 'static>() {}
const _: () = {
    assert_plain::<Real<Tangent>>();
    assert_plain::<Real<Tangent<8, f32>>>();
};

/// The value and derivative of a function of one active variable.
fn slope(f: impl FnOnce(Real<Tangent<2>>) -> Real<Tangent<2>>, x: f64) -> f64 {
    let y = f(Real::with_tangent(x, [0.0, 1.0]));
    assert_eq!(y.tangent()[0], 0.0, "a direction in which nothing moves");
    y.tangent()[1]
}

#[test]
fn passive_variables_contribute_nothing_although_their_partials_are_infinite_or_nan() {
    let passive = Real::from(0.0);
    let (exponent, not_a_number) = (Real::from(3.0), Real::from(f64::NAN));
    assert_eq!(slope(|x| (passive.sqrt() + x).into(), 2.0), 1.0);
    assert_eq!(slope(|x| (x * passive.cbrt() + x).into(), 2.0), 1.0);
    assert_eq!(slope(|x| x.powf(exponent).into(), -2.0), 12.0);
    assert_eq!(slope(|x| (passive.hypot(passive) + x).into(), 2.0), 1.0);
    assert_eq!(slope(|x| (x - not_a_number).into(), 2.0), 1.0);
    let first = logsumexp(&[passive, Real::from(-INF), Real::with_tangent(-INF, [0.0, 1.0])]);
    assert_eq!(first.tangent(), [0.0, 0.0]);
}

#[test]
fn functions_of_slices_keep_the_convention() {
    let infinite = Real::<Tangent<2>>::with_tangent(1.0, [INF, 1.0]);
    let zero = Real::with_tangent(0.0, [2.0, 1.0]);
    // ∂/∂infinite is the other factor, 0; in the second direction all is finite.
    assert_eq!(dot(&[infinite], &[zero]).tangent(), [2.0, 1.0]);
    assert_eq!(linear_combination(&[0.0, 3.0], &[infinite, zero]).tangent(), [6.0, 3.0]);
    assert_eq!(sum(&[infinite, zero]).tangent(), [INF, 2.0]);
    assert_eq!(sum::<Tangent<2>>(&[]).tangent(), [0.0, 0.0]);
}

fn inner(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn random(n: usize, seed: u64) -> Vec<f64> {
    let mut random = SplitMix64::new(seed);
    (0..n).map(|_| random.symmetric()).collect()
}

/// u·(J·d) = (Jᵀ·u)·d for random u and d, by forward mode and in reverse.
#[track_caller]
fn assert_products_agree(
    what: &str,
    x: &[f64],
    forward: impl Fn(&[Real<Tangent>]) -> Vec<Real<Tangent>>,
    reverse: impl Fn(&[Real<Hybrid>]) -> Vec<Real<Hybrid>>,
) {
    let direction = random(x.len(), 1);
    let (values, along) = jvp(forward, x, &direction).expect("lengths agree");
    let seeds = random(values.len(), 2);
    let expected = inner(&seeds, &along);
    let (same, product) = vjp(reverse, x, &seeds).expect("lengths agree");
    assert_eq!(values, same, "{what}");
    let scale: f64 = product.iter().zip(&direction).map(|(p, d)| (p * d).abs()).sum();
    let found = inner(&product, &direction);
    assert!((found - expected).abs() <= 1e-12 * scale, "{what}: {found} in reverse, {expected} forward");
}

fn assert_problem_agrees(problem: &impl Problem) {
    for k in 0..problem.evaluations().min(3) {
        assert_products_agree(
            &format!("{} ({}), evaluation {k}", problem.name(), problem.size()),
            &problem.inputs(k),
            |x| vec![problem.eval(k, x)],
            |x| vec![problem.eval(k, x)],
        );
    }
}

#[test]
fn forward_and_reverse_products_agree_on_all_workloads() {
    assert_problem_agrees(&Burgers::new(8, 5).unwrap());
    assert_problem_agrees(&Gmm::iris());
    assert_problem_agrees(&Gmm::synthetic(3, 4, 20).unwrap());
    assert_problem_agrees(&Laplacian::new(50).unwrap());
    assert_problem_agrees(&RepeatedSin::new(1000).unwrap());
    assert_problem_agrees(&Libor::new(20, 8, 3).unwrap());
    assert_problem_agrees(&Lstm::synthetic(2, 5, 12).unwrap());
    assert_problem_agrees(&ExpSq::new(3).unwrap());
}

#[test]
fn forward_and_reverse_products_agree_for_several_outputs() {
    assert_products_agree("three", &[0.5, -0.25, 1.5, 2.0, -1.0], three, three);
}

#[track_caller]
fn names_two_levels(text: &str) {
    let words = text.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
    let levels: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
    assert!(levels.len() == 2 && levels[0] < levels[1] && text.contains("at levels"), "{text}");
}

#[test]
fn a_derivative_inside_a_derivative_does_not_mix_with_it() {
    let outer = derivative::<Tangent>(
        |x| {
            // d/dy (x·y) = x, not x plus what the outer derivative adds.
            names_two_levels(&panic_of(&mut || _ = derivative::<Tangent>(|y| (x * y).into(), 5.0)));
            let slope = derivative::<Tangent>(|y| (Real::constant(x.value()) * y).into(), 5.0);
            assert_eq!(slope, 3.0);
            (x * slope).into()
        },
        3.0,
    );
    assert_eq!(outer, 3.0);
}

#[test]
fn an_inner_derivative_that_returns_an_outer_variable_is_an_error() {
    let text = panic_of(&mut || _ = derivative::<Tangent>(|x| Real::constant(derivative::<Tangent>(|_| x, 5.0)), 3.0));
    assert!(text.contains("returned a variable of another evaluation"), "{text}");
}

#[test]
fn blocks_take_no_variables_of_forward_mode_from_outside() {
    let a = Real::<Tangent<2>>::with_tangent(2.0, [1.0, 0.0]);
    let b = Real::<Tangent<2>>::with_tangent(3.0, [0.0, 1.0]);
    let mut captured = || _ = preaccumulate(&[a, Real::constant(10.0)], |[p, _]| (*p * b).eval());
    names_two_levels(&panic_of(&mut captured));
    let mut returned = || _ = preaccumulate(&[a, Real::constant(10.0)], |_| b);
    assert!(panic_of(&mut returned).contains("another evaluation"));
    let declared = preaccumulate(&[a, b], |[p, q]| (*p * *q).eval());
    assert_eq!(declared.tangent(), [3.0, 2.0]);
}

#[test]
fn tangents_that_a_forward_rule_makes_do_not_meet_those_that_it_captured() {
    let of_rule = |captured: Option<Real<Tangent>>, x: Real<Tangent>| {
        let rules = Rules::new("2x", |_, _| Ok(())).forward(move |inputs, outputs| {
            let two_x = Real::<Tangent>::with_tangent(1.5, [2.0 * inputs[0]]);
            let y: Real<Tangent> = captured.map_or(two_x, |captured| (two_x * captured).into());
            outputs[0] = y.tangent()[0];
            Ok(())
        });
        external(&[x], &[6.0], rules).remove(0)
    };
    assert_eq!(derivative::<Tangent>(|x| of_rule(None, x), 3.0), 2.0);
    names_two_levels(&panic_of(&mut || _ = derivative::<Tangent>(|x| of_rule(Some(x), x), 3.0)));
}

/// A block in a block of as many inputs, on a recording.
fn nested_blocks<S: Strategy<Value = f64>>(x: &[Real<S>], capture: bool) -> Real<S> {
    preaccumulate(&[x[0], x[1]], |[p, q]| {
        let inner = preaccumulate(&[*p, *q], |[u, v]| if capture { (*u * *q).eval() } else { (*u * *v).eval() });
        (inner + *p).eval()
    })
}

#[test]
fn blocks_in_blocks_are_right_or_an_error() {
    assert_eq!(gradient::<Jacobian>(|x| nested_blocks(x, false), &[2.0, 3.0]), [4.0, 2.0]);
    names_two_levels(&panic_of(&mut || _ = gradient::<Jacobian>(|x| nested_blocks(x, true), &[2.0, 3.0])));
    let forward = jacobian_forward::<Tangent<2>>(|x| vec![nested_blocks(x, false)], &[2.0, 3.0]).1;
    assert_eq!(forward, [[4.0, 2.0]]);
}

#[test]
fn variables_made_by_hand_share_one_evaluation_on_all_threads() {
    let x = Real::<Tangent>::with_tangent(2.0, [1.0]);
    let y = std::thread::spawn(|| Real::<Tangent>::with_tangent(3.0, [10.0])).join().unwrap();
    assert_eq!((x * y).eval().tangent(), [23.0]);
}

fn paused<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let c = pause(|| (x[0] * x[0]).eval());
    vec![(c * x[0]).into()]
}

#[test]
fn what_is_paused_is_a_constant_in_forward_mode_too() {
    assert_eq!(gradient::<Jacobian>(|x| paused(x)[0], &[3.0]), [9.0]);
    assert_eq!(jvp::<Tangent>(paused, &[3.0], &[1.0]).unwrap().1, [9.0]);
    assert_eq!(gradient::<Jacobian>(|x| preaccumulate(&[x[0]], |x| paused(x)[0]), &[3.0]), [9.0]);
    assert!(check_gradient!(Jacobian, paused, &[3.0]).is_err(), "the difference quotient is that of x³");
}

#[test]
fn a_pause_ends_and_does_not_reach_derivatives_that_begin_in_it() {
    let f = |x: Real<Tangent>| -> Real<Tangent> {
        let inner = pause(|| {
            let constant = (x.sin() * x).eval();
            assert_eq!(constant.tangent(), [0.0]);
            assert_eq!(sum(&[x, x]).tangent(), [0.0]);
            let inner = derivative::<Tangent>(|y| (y * y * constant.value()).into(), 2.0);
            // An outer variable is a constant in there, so it cannot be confused with the inner ones.
            let mixed = derivative::<Tangent>(|y| (y * x).into(), 2.0);
            assert_eq!(mixed, 3.0);
            pause(|| ());
            assert_eq!((x * x).eval().tangent(), [0.0]);
            inner / constant.value()
        });
        (x * x * inner).into()
    };
    assert_eq!(derivative::<Tangent>(f, 3.0), 24.0);
    let unwound = std::panic::catch_unwind(|| pause(|| panic!("in the pause")));
    assert!(unwound.is_err());
    assert_eq!(derivative::<Tangent>(|x| (x * x).into(), 3.0), 6.0);
}
