//! Fits in two ways.

use crate::nist::{Reference, digits};
use core::fmt;
use levenberg_marquardt::LevenbergMarquardt;
use std::error::Error;
use tapewright::residuals::Linearization;
use tapewright_ecosystem::adaptors::ForLevenbergMarquardt;
use tapewright_ecosystem::cholesky::Cholesky;
use tapewright_ecosystem::minimize::{End, Limits, minimize};

/// Decrease of the sum of squares, as a part of it, below which a fit ends.
pub(crate) const DECREASE: f64 = 1e-14;

/// Who looks for the minimum.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// The crate `levenberg-marquardt`.
    Crate,
    /// The loop of the examples, with `faer`.
    Loop,
}

impl Way {
    pub(crate) const ALL: [Self; 2] = [Self::Crate, Self::Loop];
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Crate => "levenberg-marquardt",
            Self::Loop => "a loop with faer",
        })
    }
}

/// A fit.
pub(crate) struct Fit {
    pub(crate) x: Vec<f64>,
    /// Standard deviations of the parameters.
    pub(crate) deviations: Vec<f64>,
    /// Sum of the squares of residuals.
    pub(crate) squares: f64,
    pub(crate) evaluations: u64,
}

impl Fit {
    /// Fits a curve.
    pub(crate) fn of(reference: &Reference, start: &[f64], way: Way) -> Result<Self, Box<dyn Error>> {
        let problem = reference.problem(start)?;
        let (x, evaluations) = match way {
            Way::Crate => {
                let solver = LevenbergMarquardt::new().with_tol(DECREASE).with_patience(1000);
                let (found, report) = solver.minimize(ForLevenbergMarquardt::new(&problem)?);
                found.outcome()?;
                if !report.termination.was_successful() {
                    return Err(format!("{}: {:?}", reference.name, report.termination).into());
                }
                (found.x().to_vec(), report.number_of_evaluations as u64)
            }
            Way::Loop => {
                let limits = Limits { iterations: 1000, decrease: DECREASE };
                let mut factors = Cholesky::default();
                let found = minimize(&problem, limits, |normal, gradient| factors.step(normal, gradient), |_| ())?;
                if found.end != End::Converged {
                    return Err(format!("{}: {}", reference.name, found.end).into());
                }
                (found.x, found.iterations)
            }
        };
        let mut at = Linearization::new(&problem)?;
        at.evaluate(&x)?;
        let deviations = reference.deviations(&at).ok_or("the parameters are not independent")?;
        Ok(Self { x, deviations, squares: 2.0 * at.cost(), evaluations })
    }

    /// Digits to which all parameters agree with the certified ones.
    pub(crate) fn digits(&self, reference: &Reference) -> f64 {
        let each = self.x.iter().zip(reference.certified).map(|(x, [certified, _])| digits(*x, *certified));
        each.fold(11.0, f64::min)
    }

    /// Returns true if the parameters are the certified ones, as far as a sum of squares can tell: near its minimum S,
    /// it is above `S·(1 + ε)` where a parameter is off by more than its standard deviation times √(ε·degrees of
    /// freedom). Certified numbers have eleven digits.
    pub(crate) fn is_certified(&self, reference: &Reference) -> bool {
        let part = (DECREASE * reference.freedom()).sqrt();
        let near = |(x, [certified, spread]): (&f64, &[f64; 2])| {
            (x - certified).abs() <= part * spread + 5e-11 * certified.abs()
        };
        self.x.iter().zip(reference.certified).all(near)
            && (self.squares / reference.squares - 1.0).abs() <= DECREASE + 5e-11
    }
}
