//! Patterns of functions that were worked out by hand.

use super::record;
use tapewright::prelude::*;
use tapewright::sparse::{Coloring, Pattern, SparseJacobian};
use tapewright::{Dual, Hybrid, PrimalValue, Reuse, dot, external, linear_combination, statement, with_partials};

fn jacobian_of<S: Reverse<Value = f64>>(f: fn(&[Real<S>]) -> Vec<Real<S>>, x: &[f64]) -> String {
    let mut tape = Tape::<S>::new();
    let (x, y) = record(&mut tape, f, x);
    tape.jacobian_pattern(&x, &y).expect("there is a pattern").to_string()
}

fn hessian_of<S: Reverse<Value = f64>>(f: fn(&[Real<S>]) -> Real<S>, x: &[f64]) -> String {
    let mut tape = Tape::<S>::new();
    let (x, y) = record(&mut tape, f, x);
    let pattern = tape.hessian_pattern(&x, &y).expect("there is a pattern");
    assert!(pattern.is_symmetric());
    pattern.to_string()
}

/// Expressions in x, y and z.
#[test]
fn second_derivatives_are_where_operators_have_them() {
    type R = Real<PrimalValue>;
    type Row = (&'static str, fn(&[R]) -> R, &'static str);
    let rows: [Row; 12] = [
        ("a sum has none", |v| (v[0] + v[1] - 2.0 * v[2]).into(), ".../.../..."),
        ("a product has the pair", |v| (v[0] * v[1] + v[2]).into(), ".x./x../..."),
        ("a square has the diagonal", |v| (v[0] * v[0] + v[1] - v[2]).into(), "x../.../..."),
        ("a quotient has the pair and the denominator", |v| (v[0] / v[1] + v[2]).into(), ".x./xx./..."),
        ("a quotient by a number has none", |v| ((v[0] + v[1] - v[2]) / 3.0).into(), ".../.../..."),
        ("a function has all that it depends on", |v| ((v[0] - v[1]).sin() + v[2]).into(), "xx./xx./..."),
        ("a product of sums has no diagonal", |v| ((v[0] + v[1]) * v[2]).into(), "..x/..x/xx."),
        ("a negation has none", |v| (-(v[0] + v[1] + v[2])).into(), ".../.../..."),
        ("a maximum has none of its own", |v| (v[0].max(v[1]) + v[2]).into(), ".../.../..."),
        ("a maximum has those of its arguments", |v| (v[0] * v[1]).max(v[2] * v[2]).into(), ".x./x../..x"),
        ("a power has all", |v| (v[0].powf(v[1]) + v[2]).into(), "xx./xx./..."),
        ("a product of three has all pairs", |v| (v[0] * v[1] * v[2]).into(), ".xx/x.x/xx."),
    ];
    for (claim, f, pattern) in rows {
        assert_eq!(hessian_of::<PrimalValue>(f, &[0.5, 0.25, 0.75]), pattern.replace('/', "\n") + "\n", "{claim}");
    }
}

#[test]
fn linear_statements_between_pass_domains_on() {
    fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
        let a: Real<S> = (&x[0] + &x[1]).into();
        let b: Real<S> = (&a - 2.0 * &x[2]).into();
        (&b * &x[3]).into()
    }
    assert_eq!(hessian_of::<PrimalValue>(f, &[1.0; 4]), "...x\n...x\n...x\nxxx.\n");
}

/// What the output does not depend on does not count.
#[test]
fn statements_that_lead_nowhere_do_not_count() {
    fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
        let _unused: Real<S> = (&x[0] * &x[1]).into();
        let mut used: Real<S> = (&x[1] * &x[2]).into();
        used += &x[0];
        used
    }
    assert_eq!(hessian_of::<PrimalValue>(f, &[1.0; 3]), "...\n..x\n.x.\n");
    assert_eq!(hessian_of::<PrimalValue<f64, Reuse>>(f, &[1.0; 3]), "...\n..x\n.x.\n");
    assert_eq!(hessian_of::<Jacobian>(f, &[1.0; 3]), "...\n.xx\n.xx\n", "no more is known than which are linear");
}

#[test]
fn of_functions_of_slices() {
    fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
        let inner = dot(&x[..2], &x[2..4]);
        (inner + linear_combination(&[2.0, 3.0], &x[3..])).into()
    }
    assert_eq!(hessian_of::<PrimalValue>(f, &[1.0; 5]), "..x..\n...x.\nx....\n.x...\n.....\n");
}

/// Partials that a user gives may depend on anything.
#[test]
fn given_partials_and_external_functions_are_taken_for_non_linear() {
    let given = |x: &[Real<PrimalValue>]| with_partials(&x[..2], 5.0, &[1.0, 2.0]);
    assert_eq!(hessian_of::<PrimalValue>(given, &[1.0; 3]), "xx.\nxx.\n...\n");
    let named = |x: &[Real<PrimalValue>]| statement([&x[0], &x[2]], |[a, b]| a * b + a);
    assert_eq!(hessian_of::<PrimalValue>(named, &[1.0; 3]), "x.x\n...\nx.x\n");
    let outside = |x: &[Real<PrimalValue>]| called(&x[1..]).remove(0);
    assert_eq!(hessian_of::<PrimalValue>(outside, &[1.0; 3]), "...\n.xx\n.xx\n");
    assert_eq!(jacobian_of::<Jacobian>(|x| called(&x[1..]), &[1.0; 3]), ".xx\n.xx\n");
}

/// Twice each of two numbers, by a rule without a forward rule.
fn called<S: Reverse<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let values = [2.0 * x[0].value(), 2.0 * x[1].value()];
    let rule = tapewright::Rules::new("twice", |outputs: &[f64], inputs: &mut [f64]| {
        inputs.iter_mut().zip(outputs).for_each(|(to, from)| *to += 2.0 * from);
        Ok(())
    });
    external(x, &values, rule)
}

/// Columns that are full, many rows: a forward sweep for each column, unless a rule for that is missing.
#[test]
fn few_columns_are_found_by_forward_sweeps() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[2.0, 3.0]);
        let y: Vec<Real<_>> = (0..50_u32).map(|k| (x[0] * f64::from(k) + x[1].sin()).into()).collect();
        (x, y)
    });
    let mut jacobian = SparseJacobian::new(&tape, &x, &y).expect("there is a pattern");
    assert_eq!((jacobian.sweeps(), jacobian.coloring().colors()), (2, &[0, 1][..]));
    let matrix = jacobian.evaluate(&mut tape, &x, &y).expect("it can be swept forward");
    (0..50_u32).for_each(|k| {
        assert_eq!(matrix.get(k as usize, 0), Some(f64::from(k)));
        assert_eq!(matrix.get(k as usize, 1), Some(3.0_f64.cos()));
    });
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[2.0, 3.0]);
        let first = called(&x);
        let y: Vec<Real<_>> = (0..50_u32).map(|k| (first[0] * f64::from(k) + first[1]).into()).collect();
        (x, y)
    });
    let matrix = jacobian.evaluate(&mut tape, &x, &y).expect("rows need no forward rule");
    assert_eq!((matrix.get(7, 0), matrix.get(7, 1)), (Some(14.0), Some(2.0)));
    assert_eq!(jacobian.sweeps(), 50);
}

#[test]
fn of_inputs_and_passive_variables_themselves() {
    fn f<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![x[2], Real::from(3.0), x[0]]
    }
    assert_eq!(jacobian_of::<Jacobian>(f, &[1.0; 3]), "..x\n...\nx..\n");
    assert_eq!(jacobian_of::<Jacobian>(|_| vec![], &[1.0; 3]), "");
    assert_eq!(jacobian_of::<Jacobian>(|_| vec![Real::from(1.0)], &[]), "\n");
}

/// An input that is listed twice has two equal columns.
#[test]
fn an_input_may_be_listed_twice() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[2.0, 3.0]);
        (vec![x[0], x[1], x[0]], vec![(x[0] * x[1]).eval()])
    });
    let mut jacobian = SparseJacobian::new(&tape, &x, &y).expect("there is a pattern");
    assert_eq!(jacobian.evaluate(&mut tape, &x, &y).expect("it is swept").values(), [3.0, 2.0, 3.0]);
}

/// A sum over 200,000 inputs in as many statements, and one output for each of them: neither takes quadratic time.
#[test]
fn long_sums_take_no_quadratic_time() {
    let n = 200_000;
    let mut tape = Tape::<PrimalValue>::new();
    let (x, sums) = tape.record(|scope| {
        let x = scope.inputs(&vec![0.5; n]);
        let mut sum = Real::from(0.0);
        x.iter().for_each(|x| sum += *x * *x);
        (x, [sum, (sum * 2.0).eval()])
    });
    let jacobian = tape.jacobian_pattern(&x, &sums).expect("there is a pattern");
    assert_eq!(jacobian.entries(), 2 * n);
    let hessian = tape.hessian_pattern(&x, &sums[1]).expect("there is a pattern");
    assert!((0..n).all(|k| hessian.row(k) == [k]));
}

#[test]
fn the_five_point_stencil_takes_five_or_six_colors() {
    for n in [4_usize, 12, 13, 14, 31, 100, 316] {
        let at = |i: usize, j: usize| (i < n && j < n).then(|| i * n + j);
        let row = |k: usize| {
            let (i, j) = (k / n, k % n);
            let around = [at(i, j), at(i + 1, j), at(i, j + 1), at(i.wrapping_sub(1), j), at(i, j.wrapping_sub(1))];
            around.into_iter().flatten()
        };
        let pattern = Pattern::from_rows(n * n, (0..n * n).map(row));
        for coloring in [Coloring::of_columns(&pattern), Coloring::of_rows(&pattern)] {
            assert!(coloring.count() <= 6, "{n}: {}", coloring.count());
            for row in 0..n * n {
                let mut colors: Vec<u32> = pattern.row(row).iter().map(|k| coloring.colors()[*k]).collect();
                colors.sort_unstable();
                assert!(colors.windows(2).all(|pair| pair[0] != pair[1]), "{n}: row {row}");
            }
        }
    }
}

/// Other numbers, other strategies: the same patterns.
#[test]
fn of_duals_and_hybrids() {
    fn f<S: Taping>(x: &[Real<S>]) -> Real<S> {
        (&x[0] * &x[1] + &x[2]).into()
    }
    let mut tape = Tape::<PrimalValue<Dual<f64, 2>>>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[1.0, 2.0, 3.0].map(|value| Dual { value, tangents: [0.0; 2] }));
        let y = f(&x);
        (x, y)
    });
    assert_eq!(tape.hessian_pattern(&x, &y).expect("there is a pattern").to_string(), ".x.\nx..\n...\n");
    let wide = hessian_of::<Hybrid>(f, &[1.0, 2.0, 3.0]);
    assert!(wide.starts_with(".x") || wide.starts_with("xx"), "{wide}");
}
