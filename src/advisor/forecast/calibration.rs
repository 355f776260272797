//! Measurement of the time that statements take on this machine.
//!
//! The time of recording and sweep is modeled as g + α·T + c·n + e·a for a function that takes T on plain floats and
//! makes n statements with a arguments: g is the cost of each gradient, c of each statement, e of each argument, and
//! α·T is the cost of the functions themselves, with their partials. The four coefficients of each strategy come from
//! four small programs.
//!
//! A processor may run at half its speed for seconds. So costs are multiples of the time that one of these programs
//! takes on plain floats simultaneously, and that time is measured again for each forecast.

use crate::advisor::measure::contest::Contest;
use crate::advisor::measure::entrant::{Entrant, plain, wall};
use crate::advisor::measure::rounds::{self, Limit, Rounds, Spread};
use crate::advisor::program::Program;
use crate::error::Error;
use crate::expr::Real;
use crate::nary::sum;
use std::sync::LazyLock;
use tapewright_strategies::tape::Counts;
use tapewright_strategies::{Strategy, Taping};

/// Seconds for which each small program is measured.
const SECONDS: f64 = 0.2;
/// Statements in a small program.
const STATEMENTS: usize = 3996;

/// Costs of a strategy, in units; of functions, in multiples of their time on plain floats.
struct Costs {
    strategy: String,
    gradient: f64,
    statement: f64,
    argument: f64,
    function: f64,
}

/// Costs of all strategies.
pub(crate) struct Calibration(Vec<Costs>);

static CALIBRATION: LazyLock<Calibration> = LazyLock::new(Calibration::measure);

impl Calibration {
    /// The calibration of this process, measured at the first call.
    pub(crate) fn get() -> &'static Self {
        &CALIBRATION
    }

    /// Seconds of recording and sweep under a strategy of a program that takes `plain` units on plain floats, where the
    /// unit takes `unit` seconds.
    pub(crate) fn seconds(&self, strategy: &str, counts: &Counts, (plain, unit): (f64, f64)) -> f64 {
        let costs = self.0.iter().find(|costs| costs.strategy == strategy);
        costs.map_or(f64::NAN, |costs| {
            let arguments = (counts.active + counts.passive) as f64;
            let statements = costs.statement * counts.statements as f64 + costs.argument * arguments;
            unit * (costs.function * plain + costs.gradient + statements)
        })
    }

    fn measure() -> Self {
        let [nothing, short, long, functions] =
            [Small::Nothing, Small::Short, Small::Long, Small::Functions].map(Small::measured);
        let of = |strategy: &str, (_, rows): &(f64, Vec<(String, f64)>)| {
            rows.iter().find(|(name, _)| name == strategy).map_or(f64::NAN, |(_, seconds)| *seconds)
        };
        let costs = nothing.1.iter().map(|(strategy, gradient)| {
            let row = |small: &(f64, Vec<(String, f64)>), arguments: usize| {
                let (steps, state) = (STATEMENTS as f64, STATE as f64);
                let arguments = arguments as f64 * steps + 2.0 * state;
                [steps + state, arguments, small.0, of(strategy, small) - gradient]
            };
            let [statement, argument, function] = solved([row(&short, 2), row(&long, 6), row(&functions, 1)]);
            Costs { strategy: strategy.clone(), gradient: *gradient, statement, argument, function }
        });
        Self(costs.collect())
    }
}

/// Returns the time of an entrant in multiples of the unit, and the seconds that the unit takes at this moment. The
/// unit is the time of one of the small programs on plain floats.
pub(crate) fn in_units(entrant: Box<dyn Entrant + '_>, seconds: f64) -> Result<(f64, f64), Error> {
    let x = Small::Functions.inputs();
    let limit = Limit::Seconds { seconds, all: 1 };
    let Rounds { first, others, .. } = rounds::rounds(&mut [plain(&Small::Functions, &x, wall), entrant], &[], limit)?;
    Ok((Spread::of(others[0].iter().map(|times| times.total)).median, first))
}

/// The small programs.
#[derive(Clone, Copy)]
enum Small {
    /// No statement.
    Nothing,
    /// Statements of two arguments.
    Short,
    /// Statements of six arguments.
    Long,
    /// Statements of one argument, whose time goes mostly into functions.
    Functions,
}

/// Variables in the state of small programs. There are few rounds over them, so that no value becomes too large.
const STATE: usize = 1005;

impl Small {
    #[inline(always)]
    fn step<S: Taping<Value = f64>>(self, [a, b, c, d, e, f]: &[Real<S>; 6], kind: usize) -> Real<S> {
        match (self, kind) {
            (Self::Nothing, _) => a.clone(),
            (Self::Short, 0) => (a - 0.1 * b).into(),
            (Self::Short, 1) => (a * b).into(),
            (Self::Short, _) => (a - b).into(),
            (Self::Long, 0) => (a - 0.1 * (b * c - d * e) - f).into(),
            (Self::Long, 1) => (a * b + c * d + e * f).into(),
            (Self::Long, _) => (a - 0.1 * b * (c - d) + 0.2 * (e - 2.0 * f + a)).into(),
            (Self::Functions, 0) => a.sin().into(),
            (Self::Functions, 1) => a.tanh().into(),
            (Self::Functions, _) => (1.0 / (1.0 + (-a).exp())).into(),
        }
    }

    fn steps<S: Taping<Value = f64>>(self, x: &[Real<S>]) -> Real<S> {
        let mut u: Vec<Real<S>> = x.iter().map(|x| (0.9 * x).into()).collect();
        let rounds = if matches!(self, Self::Nothing) { 0 } else { STATEMENTS / (STATE - 6) };
        for _ in 0..rounds {
            for k in (0..STATE - 6).step_by(3) {
                for kind in 0..3 {
                    let near = u[k + kind..].first_chunk().expect("there are six behind each");
                    u[k + kind] = self.step(near, kind);
                }
            }
        }
        // All statements have an influence on the sum, so that no sweep leaves any out.
        if rounds == 0 { x[0].clone() } else { sum(&u) }
    }

    fn inputs(self) -> Vec<f64> {
        let state = if matches!(self, Self::Nothing) { 1 } else { STATE };
        (0..state).map(|k| 0.5 + 1e-4 * k as f64).collect()
    }

    /// Times in units: on plain floats, and of recording and sweep for each strategy.
    fn measured(self) -> (f64, Vec<(String, f64)>) {
        let x = self.inputs();
        let contest = Contest::new(&self, &x).tapes().seconds(SECONDS).run();
        let plain = in_units(plain(&self, &x, wall), SECONDS / 10.0);
        contest.and_then(|contest| plain.map(|plain| (contest, plain.0))).map_or_else(
            |_| (f64::NAN, Vec::new()),
            |(contest, plain)| {
                let rows = contest.rows.into_iter().map(|row| (row.strategy, plain * row.total / contest.plain));
                (plain, rows.collect())
            },
        )
    }
}

impl Program for Small {
    fn run<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> Real<S> {
        self.steps(x)
    }
    fn run_reusing<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Option<Real<S>> {
        Some(self.steps(x))
    }
}

/// The solution of three linear equations, each with three coefficients and a right-hand side; negative results are
/// replaced by 0.
fn solved(rows: [[f64; 4]; 3]) -> [f64; 3] {
    let determinant = |columns: [usize; 3]| {
        let [a, b, c] = rows.map(|row| columns.map(|k| row[k]));
        a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0])
    };
    let all = determinant([0, 1, 2]);
    [[3, 1, 2], [0, 3, 2], [0, 1, 3]].map(|columns| (determinant(columns) / all).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::solved;

    #[test]
    fn three_equations_are_solved_and_costs_are_not_negative() {
        let of = |x: [f64; 3], row: [f64; 3]| [row[0], row[1], row[2], row[0] * x[0] + row[1] * x[1] + row[2] * x[2]];
        let rows = |x| [of(x, [4.0, 8.0, 1.0]), of(x, [4.0, 24.0, 2.0]), of(x, [4.0, 4.0, 16.0])];
        assert_eq!(solved(rows([2.0, 0.5, 1.5])), [2.0, 0.5, 1.5]);
        assert_eq!(solved(rows([2.0, -0.5, 1.5])), [2.0, 0.0, 1.5]);
    }
}
