//! Functions of matrices as single entries, right wherever the result has a derivative, however close values come.

mod alignment;
mod determinant;
mod divided;
mod eigenvalues;
mod polar;
mod pseudo_inverse;
mod record;
mod singular_values;
mod spectral;
mod svd;

pub use alignment::{Alignment, align};
pub use determinant::determinant;
pub use eigenvalues::eigenvalues;
pub use polar::{nearest_orthogonal, nearest_rotation};
pub use pseudo_inverse::{least_squares, pseudo_inverse};
pub use singular_values::singular_values;
pub use spectral::{symmetric_exp, symmetric_function, symmetric_inverse_sqrt, symmetric_ln, symmetric_sqrt};
