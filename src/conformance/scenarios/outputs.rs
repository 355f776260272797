//! Variables that may be outputs, and repeated sweeps of a recording.

use crate::conformance::Outcome;
use crate::conformance::check::{
    all_close, all_same, close, constant, ensure, floats, gradient_is, needs_singular_points, recorded,
};
use crate::policy::Policy;
use crate::{Error, Number, Real, Reverse, SweepError, Tape};
use tapewright_strategies::policy::SingularSlope;

/// f(x, y) = x.
pub fn output_is_an_input<S: Reverse>() -> Outcome {
    gradient_is::<S>("f = x₀", |x| x[0].clone(), &[2.0, 3.0], 2.0, &[1.0, 0.0])?;
    gradient_is::<S>("f = x₁", |x| x[1].clone(), &[2.0, 3.0], 3.0, &[0.0, 1.0])
}

/// f(x, y) = 7.
pub fn output_is_a_constant<S: Reverse>() -> Outcome {
    gradient_is::<S>("f = 7", |_| Real::from(7.0), &[2.0, 3.0], 7.0, &[0.0, 0.0])?;
    let after_statements = |x: &[Real<S>]| {
        let _unused = (&x[0] * &x[1]).eval();
        constant(7.0)
    };
    gradient_is::<S>("f = 7 after a statement", after_statements, &[2.0, 3.0], 7.0, &[0.0, 0.0])
}

/// Outputs that are listed twice, an input and a computed variable: their seeds add up.
pub fn output_listed_twice<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[2.0, 3.0], |x| {
        let y: Real<S> = (&x[0] * &x[1]).into();
        vec![x[0].clone(), x[0].clone(), y.clone(), y]
    });
    recorded.sweep_gives("the product with the seeds of an input", &[0.5, 4.0, 0.0, 0.0], &[4.5, 0.0])?;
    recorded.sweep_gives("the product with the seeds of a result", &[0.0, 0.0, 0.5, 4.0], &[13.5, 9.0])?;
    recorded.sweep_gives("the product with opposite seeds", &[1.0, -1.0, 1.0, -1.0], &[0.0, 0.0])
}

/// An input that nothing depends on.
pub fn unused_input_has_gradient_zero<S: Reverse>() -> Outcome {
    gradient_is::<S>("f = x₁²", |x| (&x[1] * &x[1]).into(), &[2.0, 3.0, 4.0], 9.0, &[0.0, 6.0, 0.0])
}

/// Each sweep of a recording has the adjoints of its own seeds, whatever was swept before, and always the same bits.
pub fn sweeps_do_not_pollute_each_other<S: Reverse>() -> Outcome {
    let (x, y) = (0.5_f64, 1.25_f64);
    let mut recorded = recorded::<S>(&[x, y], |v| {
        let sine: Real<S> = (&v[0] * &v[1]).sin().into();
        vec![v[0].clone(), sine.clone(), (&sine + &v[0]).into(), (&sine / &v[0]).into()]
    });
    let (sine, cosine) = (x * y).sin_cos();
    // The gradients of x, sin(x·y), sin(x·y) + x and sin(x·y)/x.
    let rows =
        [[1.0, 0.0], [y * cosine, x * cosine], [y * cosine + 1.0, x * cosine], [(y * cosine - sine / x) / x, cosine]];
    let units = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    let mut first = Vec::new();
    for round in 0..3 {
        for (k, seeds) in units.iter().chain(&[[0.0; 4], [1.0; 4], [0.25, 0.5, -2.0, 0.25]]).enumerate() {
            let product = |j: usize| (0..4).map(|i| seeds[i] * rows[i][j]).sum();
            let found = recorded.tape.sweep_all(&recorded.y, &floats(seeds))?.of_all(&recorded.x)?;
            all_close(&format!("the product with {seeds:?}"), &found, &[product(0), product(1)])?;
            if round == 0 {
                first.push(found);
            } else {
                let repeated = all_same(&found, &first[k]);
                ensure(repeated, format_args!("a repeated sweep gives {found:?} instead of {:?}", first[k]))?;
            }
        }
    }
    Ok(())
}

/// A statement whose adjoint is exactly 0 contributes nothing, though its partial is infinite.
pub fn zero_adjoint_ignores_infinite_partials<S: Reverse>() -> Outcome {
    needs_singular_points::<S>()?;
    let root_at_0 = |x: &[Real<S>]| {
        let root = x[0].sqrt().eval();
        (&root * &x[1]).into()
    };
    gradient_is::<S>("√x·y at (0, 0)", root_at_0, &[0.0, 0.0], 0.0, &[0.0, 0.0])?;
    let mut recorded = recorded::<S>(&[0.0, 3.0], |x| {
        let both = (x[0].sqrt() + x[1].sqrt()).eval();
        vec![both, (&x[1] * &x[1]).eval()]
    });
    recorded.sweep_gives("the gradient of y² beside √x", &[0.0, 1.0], &[0.0, 6.0])?;
    recorded.sweep_gives("the gradient for the seed −0", &[-0.0, 0.0], &[0.0, 0.0])
}

/// An infinite partial that is asked for arrives, with its sign; under another policy than `Strict` it is 0, or the
/// sweep fails.
pub fn infinite_partials_arrive<S: Reverse>() -> Outcome {
    let f = |x: &[Real<S>]| (&x[1] * &x[0].sqrt().eval()).into();
    let expected = match S::Policy::SLOPE {
        SingularSlope::Limit => f64::NEG_INFINITY,
        SingularSlope::Zero => 0.0,
        SingularSlope::Refused => {
            let found = Tape::<S>::new().gradient(f, &floats(&[0.0, -2.0]), &mut floats::<S::Value>(&[0.0, 0.0]));
            let refused = matches!(found, Err(Error::Sweep(SweepError::Singular { .. })));
            return ensure(refused, "a singular point was not refused in the sweep");
        }
    };
    gradient_is::<S>("−2·√x at 0", f, &[0.0, -2.0], 0.0, &[expected, 0.0])
}

/// A sweep leaves no adjoint at variables that are not inputs: neither at outputs nor in between.
pub fn adjoints_of_intermediates_are_consumed<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[2.0], |x| {
        let between = (&x[0] * &x[0]).eval();
        let last = (&between * &x[0]).eval();
        vec![between, last]
    });
    let adjoints = recorded.tape.sweep_all(&recorded.y, &floats(&[1.0, 1.0]))?;
    let refused = recorded.y.iter().all(|y| matches!(adjoints.of(y), Err(Error::NotAnInput { .. })));
    ensure(refused, "the adjoint of a variable that is not an input was given")?;
    // Nothing is left in the strategy's own adjoint vector either, which the tape uses again.
    let tape = recorded.tape.tape_mut();
    let mut adjoints = vec![S::Value::ZERO; S::identifiers(tape)];
    let slot = |variable: &Real<S>| S::locate(variable.id()).map_or(0, |(_, slot)| slot);
    adjoints[slot(&recorded.y[1])] = S::Value::ONE;
    S::reverse(tape, &mut adjoints).map_err(Error::from)?;
    close("the input's slot", adjoints[slot(&recorded.x[0])], 12.0)?;
    let elsewhere = [slot(&recorded.y[0]), slot(&recorded.y[1])].map(|slot| adjoints[slot]);
    all_close("the slots of intermediates", &elsewhere, &[0.0, 0.0])
}
