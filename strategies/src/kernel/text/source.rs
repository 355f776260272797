//! The source of a kernel.

use super::dialect::Dialect;
use super::emitter::{Form, Writer};
use super::functions::own;
use crate::Number;
use crate::kernel::ir::kernel::{Kernel, KernelInfo};
use crate::kernel::memory::device::Precision;
use crate::kernel::targets::kernel::BoundKernel;
use core::fmt;

/// Error: a kernel has a function for which there is no C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoText {
    /// Name of the rule of the function.
    rule: String,
}

impl NoText {
    fn of(rule: &str) -> Self {
        Self { rule: own(rule).unwrap_or(rule).to_owned() }
    }

    /// Name of the rule of the function.
    #[must_use]
    pub fn rule(&self) -> &str {
        &self.rule
    }
}

impl fmt::Display for NoText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a kernel with the function {} cannot be written in C, which has no such function", self.rule)
    }
}

impl core::error::Error for NoText {}

/// Writes a kernel in a dialect of C: its values and, by gathering, its adjoints. `g` is the shape of the views and the
/// range of the points.
///
/// * `NAME(g, x…, c…, y…)` writes the values at the points: `xK` is operand K before the launch, `cK` a uniform scalar,
///   `yK` the array that operand K is written to.
/// * `NAME_sums(g, x…, c…, sums)` writes the sums of a reduction over chunks, which [`Inputs::total`] adds up.
/// * `NAME_adjoint(g, x…, c…, z…, s…, w…, d…, h…)` gathers in `dK`, at all elements, the contributions for operand K,
///   or does nothing for it if `dK` is null. With `hK` = 0 they are added, with 1 they replace what is there, with 2
///   they do so at the points of the launch. `sK` are the adjoints of the values written to operand K, one for all
///   elements if `wK` is 0, else one for each (1); and `zK` the written values. A reduction has `s` and `w` in their
///   place, and with `w` = 2 one adjoint for each row of the range. Only arrays that the partial derivatives need are
///   parameters.
/// * `NAME_scalars(g, x…, c…, z…, s…, w…, sums)` writes the sums over chunks of the adjoints of uniform scalars, those
///   of the first scalar for all chunks, then those of the next one, in the order of the operands.
/// * `NAME_alongK(g, b, x…, c…, z…, s…, w…, sums)` writes what operand K, of lower rank, gets as adjoints from each
///   block of points, where `b` has the extents of a block ([`Division`]): those of the first block for all elements,
///   then those of the next one. `NAME_alongK_add(g, b, …, sums, d)` adds them to the adjoints `d`; it has the
///   parameters of the other function unless the operand lies along the last dimension.
///
/// On a device, kernels have one work item for each point or element, along three dimensions; those of sums for each
/// chunk and row; `NAME_alongK` for each element and block, along two, and `NAME_alongK_add` for each element, along
/// one. Work items beyond the end of these dimensions do nothing.
///
/// The C dialect also has an entry point `NAME_run(const tw_job *)` for each of these, whose signature does not depend
/// on the kernel.
///
/// # Errors
///
/// [`NoText`] for a function that C does not have.
///
/// # Panics
///
/// When `name` is not an identifier of C.
///
/// [`Inputs::total`]: crate::kernel::targets::Inputs::total
/// [`Division`]: crate::kernel::targets::Division
#[track_caller]
pub fn source<P: Kernel>(name: &str, program: &P, dialect: Dialect, precision: Precision) -> Result<String, NoText> {
    let mut constants = Vec::new();
    program.constants(&mut |number| constants.push(number));
    written(name, Form { dialect, precision }, P::PLAN, &constants)
}

#[track_caller]
fn written(name: &str, form: Form, plan: &KernelInfo, constants: &[f64]) -> Result<String, NoText> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fit = name.chars().all(letters) && name.starts_with(|c: char| c.is_ascii_alphabetic());
    assert!(fit, "{name:?} is no name of a function in C");
    Writer { name, form, plan, constants }.source().map_err(|rule| NoText::of(&rule))
}

impl<V: Number> BoundKernel<V> {
    /// Writes the kernel in a dialect of C, as [`source`] does, for a target that compiles it.
    ///
    /// # Errors
    ///
    /// [`NoText`] for a function that C does not have.
    ///
    /// # Panics
    ///
    /// When `name` is not an identifier of C.
    #[track_caller]
    pub fn source(&self, name: &str, dialect: Dialect, precision: Precision) -> Result<String, NoText> {
        let constants: Vec<f64> = self.constants.iter().map(|constant| constant.lane(0).as_f64()).collect();
        written(name, Form { dialect, precision }, self.plan(), &constants)
    }
}
