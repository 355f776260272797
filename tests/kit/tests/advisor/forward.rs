//! Forward mode takes part where there are few inputs, and what is missing is said.
#![allow(clippy::cast_precision_loss, reason = "small numbers")]

use tapewright::advisor::{Contest, Program, compare, forecast, recommend};
use tapewright::prelude::*;
use tapewright::{Rules, external, program};

/// A chain that reads all inputs.
fn chain<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let mut y = x[0].clone();
    for x in x {
        y = (y.sin() + 0.5 * x * &y).into();
    }
    y
}

fn by_value<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    chain(x)
}

fn inputs(n: usize) -> Vec<f64> {
    (0..n).map(|k| 0.3 + 0.01 * (k % 7) as f64).collect()
}

/// The row of forward mode in a comparison, if there is one.
fn forward(program: &impl Program, n: usize) -> Option<String> {
    let x = inputs(n);
    let comparison = Contest::new(program, &x).usual().seconds(0.0).run().expect("in memory");
    assert_eq!(comparison.wrong().count(), 0, "{comparison}");
    let row = comparison.rows.into_iter().find(|row| row.strategy.starts_with("Tangent"))?;
    assert_eq!((row.bytes(), row.reserved, row.record), (0, 0, 0.0));
    Some(row.strategy)
}

#[test]
fn forward_mode_has_as_many_directions_as_there_are_inputs_up_to_eight() {
    let program = program!(chain: Taping);
    let expected = [
        (0, None),
        (1, Some("Tangent")),
        (2, Some("Tangent<4>")),
        (4, Some("Tangent<4>")),
        (5, Some("Tangent<8>")),
        (32, Some("Tangent<8>")),
        (33, None),
    ];
    for (n, name) in expected {
        if n > 0 {
            assert_eq!(forward(&program, n).as_deref(), name, "{n} inputs");
        }
        let forecast = forecast(&program!(constant), &inputs(n));
        let row = forecast.rows().iter().find(|row| row.strategy.starts_with("Tangent"));
        assert_eq!(row.map(|row| row.strategy.as_str()), name, "{n} inputs");
    }
}

fn constant<S: Strategy>(_: &[Real<S>]) -> Real<S> {
    Real::from(1.0)
}

#[test]
fn a_gradient_in_several_runs_is_that_of_a_tape() {
    let x = inputs(11);
    let program = program!(by_value);
    let contest = Contest::new(&program, &x).with_forward::<Tangent<3>>().seconds(0.0);
    let forward = contest.run().expect("in memory");
    let expected = gradient::<Jacobian>(by_value, &x);
    assert_eq!(forward.rows[0].strategy, "Tangent<3>");
    let off = forward.gradient.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(forward.gradient.len() == 11 && off < 1e-14, "{off}");
}

#[test]
fn forward_mode_fits_where_no_tape_does_and_says_how_often_the_function_runs() {
    for (n, strategy, runs) in [
        (1, "Tangent", "(1 run of the function for 1 input)"),
        (9, "Tangent<8>", "(2 runs of the function for 9 inputs)"),
    ] {
        let found = recommend(&program!(chain: Taping), &inputs(n), 1).expect("nothing fails");
        assert_eq!((found.fits, found.strategy.as_str(), found.bytes), (true, strategy, 0));
        assert_eq!(found.code, format!("jacobian_forward::<{strategy}>(|x| vec![f(x)], &x)"));
        assert!(found.reason.contains(runs) && found.reason.ends_with("it is the only one that fits into 1 B."));
        assert!(!found.to_string().contains("Reuse"), "{found}");
    }
}

/// y = Σ x by a rule that cannot be swept forward.
fn without_forward_rule<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    let rules = Rules::new("sum", |outputs: &[f64], inputs: &mut [f64]| {
        inputs.iter_mut().for_each(|input| *input += outputs[0]);
        Ok(())
    });
    external(x, &[x.iter().map(Real::value).sum()], rules).remove(0)
}

fn with_forward_rule<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    let rules = Rules::new("sum", |outputs: &[f64], inputs: &mut [f64]| {
        inputs.iter_mut().for_each(|input| *input += outputs[0]);
        Ok(())
    });
    let rules = rules.forward(|inputs: &[f64], outputs: &mut [f64]| {
        assert!(inputs.iter().any(|tangent| *tangent != 0.0), "it is asked only where something moves");
        outputs[0] += inputs.iter().sum::<f64>();
        Ok(())
    });
    external(x, &[x.iter().map(Real::value).sum()], rules).remove(0)
}

#[test]
fn forward_mode_is_left_out_where_a_rule_is_missing() {
    assert_eq!(forward(&program!(without_forward_rule), 3), None);
    assert_eq!(forward(&program!(with_forward_rule), 3).as_deref(), Some("Tangent<4>"));
    assert_eq!(forecast(&program!(without_forward_rule), &inputs(3)).rows().len(), 4);
    assert_eq!(forecast(&program!(with_forward_rule), &inputs(3)).rows().len(), 5);
}

/// What a comparison, a forecast and a recommendation say.
fn printed(program: &impl Program, x: &[f64]) -> [String; 3] {
    let compared = Contest::new(program, x).usual().seconds(0.0).run().expect("in memory");
    let recommended = recommend(program, x, 10_000).expect("in memory");
    [compared.to_string(), forecast(program, x).to_string(), recommended.to_string()]
}

#[test]
fn missing_rows_of_reuse_are_explained_once() {
    let hint = "To try `Reuse`, too, write the function over `S: Taping`, and `program!(f: Taping)`.";
    let x = inputs(40);
    assert_eq!(printed(&program!(by_value), &x).map(|text| text.matches(hint).count()), [1, 1, 1]);
    assert_eq!(printed(&program!(chain: Taping), &x).map(|text| text.matches(hint).count()), [0, 0, 0]);
    let linear = Contest::new(&program!(by_value), &x).with::<Jacobian>().seconds(0.0).run().expect("in memory");
    assert!(!linear.to_string().contains(hint), "nobody asked for them");
}

#[test]
fn a_contest_without_strategies_knows_the_function() {
    let x = inputs(3);
    let none = Contest::new(&program!(by_value), &x).seconds(0.0).run().expect("nothing fails");
    assert_eq!((none.inputs, none.rows.len(), none.gradient.len()), (3, 0, 0));
    assert_eq!(none.value, by_value::<Passive>(Real::wrap_slice(&x)).value());
    assert!(none.plain > 0.0 && none.fastest().is_none() && none.smallest().is_none());
    let text = none.to_string();
    assert!(text.starts_with("No strategy took part.\n") && !text.contains("NaN"), "{text}");
}

#[test]
fn bytes_from_the_allocator_stand_beside_bytes_that_are_used() {
    let comparison = compare(&program!(by_value), &inputs(3)).expect("in memory");
    let text = comparison.to_string();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().map(|line| line.split_whitespace().collect()).unwrap_or_default();
    assert_eq!(names, ["strategy", "tape", "adjoints", "together", "reserved", "record", "sweep", "all"]);
    let jacobian: Vec<&str> = lines.next().map(|line| line.split_whitespace().collect()).unwrap_or_default();
    let row = comparison.row("Jacobian").expect("it took part");
    // Records lie in segments of 64 KiB.
    assert!(row.bytes() < 1000 && row.reserved > 60_000, "{row:?}");
    let kilobytes = jacobian[7].parse::<f64>().expect("a number") - row.reserved as f64 / 1e3;
    assert!(kilobytes.abs() < 0.051 && jacobian[8] == "kB", "{text}");
}
