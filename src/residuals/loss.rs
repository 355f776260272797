//! Loss functions, and how they change residuals and Jacobian matrices.

use core::fmt;

/// A loss function at one point: ρ, ρ′ and ρ″.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rho {
    /// ρ(s).
    pub value: f64,
    /// ρ′(s); not negative.
    pub slope: f64,
    /// ρ″(s).
    pub curvature: f64,
}

/// A loss function ρ of the squared norm s = |r|² of a residual block, by which outliers count less: the cost of the
/// block is ½ρ(s).
///
/// ρ(0) = 0 and ρ′(0) = 1 make it act as no loss on small residuals. ρ′ must not be negative.
///
/// ```
/// use tapewright::residuals::{Loss, Rho};
///
/// /// Geman and McClure's loss: s/(1 + s).
/// struct GemanMcClure;
///
/// impl Loss for GemanMcClure {
///     fn at(&self, s: f64) -> Rho {
///         let inverse = 1.0 / (1.0 + s);
///         let slope = inverse * inverse;
///         Rho { value: s * inverse, slope, curvature: -2.0 * slope * inverse }
///     }
/// }
/// assert_eq!(GemanMcClure.at(1.0), Rho { value: 0.5, slope: 0.25, curvature: -0.25 });
/// ```
pub trait Loss: Send + Sync + 'static {
    /// Evaluates the loss at s ≥ 0.
    fn at(&self, s: f64) -> Rho;

    /// Returns true if the loss is ρ(s) = s, so that nothing needs to be done.
    fn is_trivial(&self) -> bool {
        false
    }
}

/// A loss function that is chosen at run time.
///
/// ```
/// use tapewright::residuals::{Huber, Loss, Trivial};
///
/// let scale = Some(2.0);
/// let loss: Box<dyn Loss> = match scale {
///     Some(scale) => Box::new(Huber::new(scale)),
///     None => Box::new(Trivial),
/// };
/// assert_eq!(loss.at(9.0).value, 8.0);
/// ```
impl Loss for Box<dyn Loss> {
    fn at(&self, s: f64) -> Rho {
        (**self).at(s)
    }
    fn is_trivial(&self) -> bool {
        (**self).is_trivial()
    }
}

/// No loss: ρ(s) = s, plain least squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trivial;

impl Loss for Trivial {
    fn at(&self, s: f64) -> Rho {
        Rho { value: s, slope: 1.0, curvature: 0.0 }
    }
    fn is_trivial(&self) -> bool {
        true
    }
}

/// Declares a loss function with a scale: the norm of a residual block from which on the loss flattens it.
macro_rules! losses {
    ($($(#[$doc:meta])* $name:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq)]
        pub struct $name {
            scale: f64,
        }

        impl $name {
            /// The loss with this scale, in the unit of the residuals.
            ///
            /// # Panics
            ///
            /// When the scale is not positive and finite.
            #[must_use]
            #[track_caller]
            pub fn new(scale: f64) -> Self {
                assert!(
                    scale > 0.0 && scale.is_finite(),
                    "the scale of a loss function must be positive and finite, not {scale}"
                );
                Self { scale }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.scale)
            }
        }
    )* };
}
losses! {
    /// Huber's loss: s up to a², then 2a√s − a². Residuals beyond the scale a count linearly.
    Huber;
    /// Cauchy's loss: a²·ln(1 + s/a²).
    Cauchy;
    /// Tukey's biweight: ⅓a²·(1 − (1 − s/a²)³) up to a², constant from there on. Residuals beyond the scale a do not
    /// count at all.
    Tukey;
    /// The smooth version of Huber's loss: 2a²·(√(1 + s/a²) − 1).
    SoftL1;
}

impl Loss for Huber {
    fn at(&self, s: f64) -> Rho {
        let a = self.scale;
        if s <= a * a {
            return Trivial.at(s);
        }
        let root = s.sqrt();
        let slope = a / root;
        Rho { value: a * (2.0 * root - a), slope, curvature: -0.5 * slope / s }
    }
}

impl Loss for Cauchy {
    fn at(&self, s: f64) -> Rho {
        let square = self.scale * self.scale;
        let slope = 1.0 / (1.0 + s / square);
        Rho { value: square * (s / square).ln_1p(), slope, curvature: -slope * slope / square }
    }
}

impl Loss for Tukey {
    fn at(&self, s: f64) -> Rho {
        let square = self.scale * self.scale;
        if s > square {
            return Rho { value: square / 3.0, slope: 0.0, curvature: 0.0 };
        }
        let part = s / square;
        let rest = 1.0 - part;
        // ⅓a²·(1 − rest³), without cancellation for small s.
        Rho { value: s * (1.0 - part + part * part / 3.0), slope: rest * rest, curvature: -2.0 * rest / square }
    }
}

impl Loss for SoftL1 {
    fn at(&self, s: f64) -> Rho {
        let square = self.scale * self.scale;
        let root = (1.0 + s / square).sqrt();
        // (√(1 + q) − 1) without cancellation for small q.
        Rho { value: 2.0 * s / (root + 1.0), slope: 1.0 / root, curvature: -0.5 / (square * root * root * root) }
    }
}

/// Scales residuals and their Jacobian matrix, row by row, so that plain least squares has the gradient of ½ρ(|r|²) and
/// its Gauss-Newton matrix. Returns ρ.
///
/// With ρ″ > 0 the matrix is ρ′·Jᵀ·J + 2ρ″·Jᵀr·rᵀJ, else ρ′·Jᵀ·J, which stays positive semidefinite and well scaled.
/// (B. Triggs and others, *Bundle adjustment: a modern synthesis*, 1999, equation 11;
/// Ceres Solver leaves out the second term where ρ″ ≤ 0, too.)
pub(super) fn correct(loss: &dyn Loss, residuals: &mut [f64], jacobian: &mut [f64]) -> f64 {
    let s = residuals.iter().map(|r| r * r).sum::<f64>();
    let rho = loss.at(s);
    let root = rho.slope.sqrt();
    let mut alpha = 0.0;
    if rho.curvature > 0.0 && rho.slope > 0.0 && s > 0.0 {
        // The smaller root of ½α² − α − s·ρ″/ρ′ = 0, which is negative.
        alpha = 1.0 - (1.0 + 2.0 * s * rho.curvature / rho.slope).sqrt();
        let width = jacobian.len() / residuals.len();
        for column in 0..width {
            let product: f64 = residuals.iter().enumerate().map(|(i, r)| r * jacobian[i * width + column]).sum();
            for (i, r) in residuals.iter().enumerate() {
                jacobian[i * width + column] -= alpha / s * r * product;
            }
        }
    }
    jacobian.iter_mut().for_each(|entry| *entry *= root);
    residuals.iter_mut().for_each(|r| *r *= root / (1.0 - alpha));
    rho.value
}
