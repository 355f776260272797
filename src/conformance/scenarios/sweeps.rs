//! Sweeps other than the complete one with one adjoint vector.

use crate::conformance::check::{
    Recorded, all_close, close, ensure, floats, needs_marks, needs_singular_points, recorded,
};
use crate::conformance::{Outcome, Unproven};
use crate::tape::{AdjointVector, LaneVector};
use crate::{Error, Number, Real, Reverse, SweepError, sum};
use tapewright_strategies::same;

/// Four outputs of three inputs, with statements of several kinds; the second passive.
fn several<S: Reverse>(x: &[Real<S>]) -> Vec<Real<S>> {
    let product = (&x[0] * &x[1] - &x[2] * 0.5).eval();
    let root = x[2].sqrt().eval();
    let wide: Vec<Real<S>> = (0..30).map(|k| x[k % 3].clone()).collect();
    let total = (&sum(&wide) * &product + &root).eval();
    vec![product, Real::from(2.0), (-&total).eval(), (&root * &root).eval()]
}

/// Several adjoint vectors in one sweep give, bit for bit, the results of a sweep for each, also where a seed is 0 and
/// a partial infinite.
pub fn lanes_are_sweeps_of_their_own<S: Reverse>() -> Outcome {
    needs_singular_points::<S>()?;
    for at in [[1.5, -2.0, 0.25], [0.5, 4.0, 0.0]] {
        let mut recorded = recorded::<S>(&at, several);
        for width in [1, 3, 8] {
            // As many seeds for each of the four outputs, in a cycle of five.
            let cycle = floats::<S::Value>(&[1.0, 0.0, -2.5, -0.0, 0.75].repeat(4));
            let Recorded { tape, x, y } = &mut recorded;
            let seeds = |output: usize| &cycle[3 * output % 5..][..width];
            let mut lanes = LaneVector::new(width);
            let pairs = [(&y[0], seeds(0)), (&y[1], seeds(1)), (&y[2], seeds(2)), (&y[3], seeds(3))];
            let adjoints = tape.sweep_lanes_with(&mut lanes, &pairs)?;
            let mut found = Vec::new();
            for x in &*x {
                found.extend_from_slice(adjoints.of(x)?);
            }
            for lane in 0..width {
                let seed = |output: usize| (&y[output], seeds(output)[lane]);
                let alone = tape.sweep(&[seed(0), seed(1), seed(2), seed(3)])?.of_all(x)?;
                for (i, alone) in alone.into_iter().enumerate() {
                    let found = found[i * width + lane];
                    ensure(
                        same(found, alone),
                        format_args!("input {i} has the adjoint {found} in lane {lane} of {width}, alone {alone}"),
                    )?;
                }
            }
        }
    }
    Ok(())
}

/// A forward sweep over the recording gives the derivatives along a direction, unless the strategy says that it has
/// none.
pub fn forward_sweep_gives_the_tangents<S: Reverse>() -> Outcome {
    let [a, b, c] = [1.5, -2.0, 0.25];
    let mut recorded = recorded::<S>(&[a, b, c], several);
    let [da, db, dc] = [0.5, 2.0, -1.0];
    let Recorded { tape, x, y } = &mut recorded;
    let along = floats(&[da, db, dc]);
    let tangents = [(&x[0], along[0]), (&x[1], along[1]), (&x[2], along[2])];
    let found = match tape.jvp(&tangents, &[&y[0], &y[1], &y[2], &y[3]]) {
        Err(Error::Sweep(SweepError::Unsupported { what })) => return Err(Unproven::Skipped(what)),
        found => found?,
    };
    let product = (a * b - 0.5 * c, da * b + a * db - 0.5 * dc);
    let (total, moved) = (10.0 * (a + b + c), 10.0 * (da + db + dc));
    let root = 0.5 * dc / c.sqrt();
    let expected = [product.1, 0.0, -(moved * product.0 + total * product.1 + root), dc];
    all_close("the derivatives along a direction", &found, &expected)?;
    recorded.sweep_gives("the gradient after a forward sweep", &[1.0, 0.0, 0.0, 0.0], &[b, a, -0.5])
}

/// A sweep from the end to a position, and from there to the start, equals a complete sweep; and the part after a
/// position can be forgotten. For strategies that have positions.
pub fn sweeps_between_positions_are_the_whole<S: Reverse>() -> Outcome {
    needs_marks::<S>()?;
    let mut tape = crate::Tape::<S>::new();
    let (x, half) = tape.record(|scope| {
        let x = scope.input(S::Value::from_f64(0.5));
        (x.clone(), chain(&x, &x))
    });
    let middle = tape.position();
    // The slopes are near 2⁻²⁰.
    let (seed, scale) = (S::Value::from_f64(1_048_576.0), 1_048_576.0);
    for _ in 0..2 {
        let y = tape.resume(|scope| -> Result<_, Error> { Ok(chain(&scope.renew(&half)?, &scope.renew(&x)?)) })?;
        let whole = tape.sweep(&[(&y, seed)])?.of(&x)?;
        let mut adjoints = AdjointVector::new();
        tape.seed(&mut adjoints, &[(&y, seed)])?;
        let at_middle = tape.sweep_between(&mut adjoints, &tape.position(), &middle)?.of(&half)?;
        let slope = (0..20)
            .fold((half.value().as_f64(), scale), |(y, slope), _| ((y * 0.5).sin(), slope * (y * 0.5).cos() * 0.5));
        close("the adjoint of what is made before the position", at_middle, slope.1)?;
        let parts = tape.sweep_from_position(&mut adjoints, &middle)?.of(&x)?;
        ensure(same(parts, whole), format_args!("the adjoint is {parts} in two parts, {whole} in one"))?;
        tape.reset_to(&middle)?;
        let stale = tape.sweep(&[(&y, seed)]).map(|_| ());
        ensure(
            matches!(stale, Err(Error::ForeignVariable { .. })),
            "a variable from behind a position was accepted after the recording was reset to it",
        )?;
    }
    let expected = (0..20).fold((0.5_f64, 1.0), |(y, slope), _| ((y * 0.5).sin(), (y * 0.5).cos() * (slope * 0.5 + y)));
    let found = tape.sweep(&[(&half, seed)])?.of(&x)?;
    close("the gradient of what lies before the position", found, scale * expected.1)
}

/// Zero times anything is zero between statements: a partial that is 0 takes nothing from an adjoint that is infinite
/// or NaN.
pub fn zero_partial_below_an_infinite_adjoint<S: Reverse>() -> Outcome {
    needs_singular_points::<S>()?;
    let clipped = |x: &[Real<S>]| vec![x[0].max(0.0).eval().sqrt().eval()];
    recorded::<S>(&[-1.0], clipped).sweep_gives("the gradient of √max(x, 0) at −1", &[1.0], &[0.0])?;
    let square = |x: &[Real<S>]| vec![(&x[0] * &x[0]).eval().sqrt().eval()];
    recorded::<S>(&[0.0], square).sweep_gives("the gradient of √(x·x), two statements, at 0", &[1.0], &[0.0])?;
    let beside = |x: &[Real<S>]| {
        let wide: Vec<Real<S>> = (0..30).map(|k| x[k % 2].clone()).collect();
        vec![(&(&x[0] + &x[1] * 0.0).eval() + &crate::dot(&wide, &vec![Real::from(0.0); 30])).eval()]
    };
    let mut recorded = recorded::<S>(&[1.0, 2.0], beside);
    for seed in [f64::INFINITY, f64::NEG_INFINITY] {
        recorded.sweep_gives("the gradient of x + 0·y for an infinite seed", &[seed], &[seed, 0.0])?;
    }
    Ok(())
}

/// Twenty statements.
fn chain<S: Reverse>(start: &Real<S>, x: &Real<S>) -> Real<S> {
    (0..20).fold(start.clone(), |y, _| (&y * x).sin().into())
}
