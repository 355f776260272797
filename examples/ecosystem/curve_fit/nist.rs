//! Three data sets for nonlinear regression with certified results: NIST's *Statistical Reference Datasets*, which are in
//! the public domain.
#![allow(clippy::unreadable_literal, reason = "numbers are as NIST writes them")]

use tapewright::prelude::*;
use tapewright::residuals::{Linearization, Problem, Residual, ResidualError, Trivial};

/// A curve, its observations, and the certified fit.
pub(crate) struct Reference {
    pub(crate) name: &'static str,
    /// Observations: x and y.
    pub(crate) data: &'static [[f64; 2]],
    /// Both start values that NIST gives: one far from the fit, one near.
    pub(crate) starts: [&'static [f64]; 2],
    /// Certified parameters, and their standard deviations.
    pub(crate) certified: &'static [[f64; 2]],
    /// Certified sum of the squares of residuals.
    pub(crate) squares: f64,
    add: Add,
}

/// Adds the observations of a curve to a problem with this parameter block.
type Add = fn(&mut Problem, usize, &[[f64; 2]]) -> Result<(), ResidualError>;

impl Reference {
    /// The problem with one parameter block.
    pub(crate) fn problem(&self, start: &[f64]) -> Result<Problem, ResidualError> {
        let mut problem = Problem::new();
        let block = problem.add_parameters(start);
        (self.add)(&mut problem, block, self.data)?;
        Ok(problem)
    }

    /// Number of observations minus number of parameters.
    pub(crate) fn freedom(&self) -> f64 {
        u32::try_from(self.data.len() - self.certified.len()).map_or(f64::NAN, f64::from)
    }

    /// Standard deviations of parameters: roots of the diagonal of s²·(JᵀJ)⁻¹, where s² is the sum of the squares
    /// over the degrees of freedom.
    pub(crate) fn deviations(&self, at: &Linearization<'_>) -> Option<Vec<f64>> {
        let (rows, columns) = (self.data.len(), self.certified.len());
        let entries: Vec<f64> = at.jacobian().to_dense().concat();
        // J = Q·R, so (JᵀJ)⁻¹ = R⁻¹·R⁻ᵀ, without the squares of JᵀJ.
        let inverse = nalgebra::DMatrix::from_row_slice(rows, columns, &entries).qr().r().try_inverse()?;
        let scale = (2.0 * at.cost() / self.freedom()).sqrt();
        Some(inverse.row_iter().map(|row| scale * row.norm()).collect())
    }
}

/// Digits to which a number agrees with a certified one, at most the eleven that are given.
pub(crate) fn digits(found: f64, certified: f64) -> f64 {
    (-((found - certified) / certified).abs().log10()).clamp(0.0, 11.0)
}

/// Declares curves, and how to add their observations to a problem.
macro_rules! curves {
    ($($(#[$doc:meta])* $name:ident($count:literal, $add:ident): |$b:ident, $x:ident| $formula:expr;)*) => { $(
        $(#[$doc])*
        struct $name;

        impl Residual<1, 2, 1> for $name {
            fn sizes(&self) -> [usize; 1] {
                [$count]
            }
            fn residuals<S: Strategy>(&self, [$b]: [&[Real<S>]; 1], [$x, y]: [Real<S>; 2]) -> [Real<S>; 1] {
                [($formula - y).into()]
            }
        }

        fn $add(problem: &mut Problem, block: usize, data: &[[f64; 2]]) -> Result<(), ResidualError> {
            problem.add_residuals($name, Trivial, data.iter().map(|data| ([block], *data))).map(|_| ())
        }
    )* };
}
curves! {
    /// Volume of nitrogen that is adsorbed by a powder, under pressure x: b₀·(1 − exp(−b₁·x)).
    Misra1a(2, add_misra1a): |b, x| b[0] * (1.0 - (-b[1] * x).exp());
    /// Mobility of electrons, over the logarithm of their density: a quotient of cubic polynomials.
    Thurber(7, add_thurber): |b, x| (b[0] + x * (b[1] + x * (b[2] + x * b[3])))
        / (1.0 + x * (b[4] + x * (b[5] + x * b[6])));
    /// Kowalik's and Osborne's reaction of an enzyme: a quotient of quadratic polynomials.
    Mgh09(4, add_mgh09): |b, x| b[0] * (x * (x + b[1])) / (x * (x + b[2]) + b[3]);
}

/// All three, from the easiest to the hardest.
pub(crate) const ALL: [Reference; 3] = [MISRA1A, THURBER, MGH09];

const MISRA1A: Reference = Reference {
    name: "Misra1a",
    data: &[
        [77.6, 10.07],
        [114.9, 14.73],
        [141.1, 17.94],
        [190.8, 23.93],
        [239.9, 29.61],
        [289.0, 35.18],
        [332.8, 40.02],
        [378.4, 44.82],
        [434.8, 50.76],
        [477.3, 55.05],
        [536.8, 61.01],
        [593.1, 66.40],
        [689.1, 75.47],
        [760.0, 81.78],
    ],
    starts: [&[500.0, 0.0001], &[250.0, 0.0005]],
    certified: &[[2.3894212918e2, 2.7070075241], [5.5015643181e-4, 7.2668688436e-6]],
    squares: 1.2455138894e-1,
    add: add_misra1a,
};

const THURBER: Reference = Reference {
    name: "Thurber",
    data: &[
        [-3.067, 80.574],
        [-2.981, 84.248],
        [-2.921, 87.264],
        [-2.912, 87.195],
        [-2.840, 89.076],
        [-2.797, 89.608],
        [-2.702, 89.868],
        [-2.699, 90.101],
        [-2.633, 92.405],
        [-2.481, 95.854],
        [-2.363, 100.696],
        [-2.322, 101.060],
        [-1.501, 401.672],
        [-1.460, 390.724],
        [-1.274, 567.534],
        [-1.212, 635.316],
        [-1.100, 733.054],
        [-1.046, 759.087],
        [-0.915, 894.206],
        [-0.714, 990.785],
        [-0.566, 1090.109],
        [-0.545, 1080.914],
        [-0.400, 1122.643],
        [-0.309, 1178.351],
        [-0.109, 1260.531],
        [-0.103, 1273.514],
        [0.010, 1288.339],
        [0.119, 1327.543],
        [0.377, 1353.863],
        [0.790, 1414.509],
        [0.963, 1425.208],
        [1.006, 1421.384],
        [1.115, 1442.962],
        [1.572, 1464.350],
        [1.841, 1468.705],
        [2.047, 1447.894],
        [2.200, 1457.628],
    ],
    starts: [&[1000.0, 1000.0, 400.0, 40.0, 0.7, 0.3, 0.03], &[1300.0, 1500.0, 500.0, 75.0, 1.0, 0.4, 0.05]],
    certified: &[
        [1.2881396800e3, 4.6647963344],
        [1.4910792535e3, 3.9571156086e1],
        [5.8323836877e2, 2.8698696102e1],
        [7.5416644291e1, 5.5675370270],
        [9.6629502864e-1, 3.1333340687e-2],
        [3.9797285797e-1, 1.4984928198e-2],
        [4.9727297349e-2, 6.5842344623e-3],
    ],
    squares: 5.6427082397e3,
    add: add_thurber,
};

const MGH09: Reference = Reference {
    name: "MGH09",
    data: &[
        [4.0, 0.1957],
        [2.0, 0.1947],
        [1.0, 0.1735],
        [0.5, 0.16],
        [0.25, 0.0844],
        [0.167, 0.0627],
        [0.125, 0.0456],
        [0.1, 0.0342],
        [0.0833, 0.0323],
        [0.0714, 0.0235],
        [0.0625, 0.0246],
    ],
    starts: [&[25.0, 39.0, 41.5, 39.0], &[0.25, 0.39, 0.415, 0.39]],
    certified: &[
        [1.9280693458e-1, 1.1435312227e-2],
        [1.9128232873e-1, 1.9633220911e-1],
        [1.2305650693e-1, 8.0842031232e-2],
        [1.3606233068e-1, 9.0025542308e-2],
    ],
    squares: 3.0750560385e-4,
    add: add_mgh09,
};
