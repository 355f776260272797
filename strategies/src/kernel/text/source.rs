//! The source of a kernel.

use super::calls::{KERNEL, Purpose};
use super::dialect::Dialect;
use super::emitter::Writer;
use super::functions::own;
use super::lines::{Form, Lines};
use crate::Number;
use crate::kernel::ir::kernel::{Kernel, LoopKind};
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

/// Writes a kernel in a dialect of C: its values and, by gathering, its adjoints.
///
/// * `NAME_values(a, x…, y…)` writes the values at the points: `xK` is operand K before the launch, `yK` the array that
///   operand K is written to.
/// * `NAME_sums(a, x…, parts)` sums the expressions of a reduction: it writes 16 partial sums for each chunk, which
///   `tw_add_pairs(a, parts, sums)` adds in pairs; [`Inputs::total`] adds up the sums of the chunks, and
///   `tw_add_rows(a, sums, totals)` those of each row.
/// * `NAME_extremum(a, x…, parts, places)` finds the largest or smallest value, and its place, of the 16 parts of each
///   chunk, and `tw_best(a, parts, places, sums, found)` that of the chunk.
/// * `NAME_gather(a, x…, z…, s…, d…)` gathers in `dK`, at the elements in `a.box`, the contributions for operand K, or
///   does nothing for it unless bit K of `a.asked` is set. `sK` are the adjoints of output K, and `zK` the written
///   values of operand K.
/// * `NAME_scalars(a, x…, z…, s…, parts)` writes partial sums of the adjoints of uniform scalars, in the order of the
///   operands; `NAME_scalars_in_order(a, …, sums)` adds them point by point, for sums that are not finite.
/// * `NAME_alongK(a, x…, z…, s…, sums)` writes what operand K, of lower rank, gets as adjoints from each block of
///   points ([`Division`]), those of the first block for all elements, then those of the next one; or, unless the
///   operand lies along the last dimension, partial sums. `NAME_alongK_add(a, …, sums, d)` adds them to the adjoints.
///
/// Only arrays that are read or written are parameters. The first one, `NAME_launch a`, has all numbers: the text
/// explains them. Work items are numbered along three dimensions, of which the first one is the contiguous one; a
/// device may have more of them than `a.items`. [`Calls`] has the arguments for each job. In C, functions have loops
/// over the work items, and each `F` has an entry point `F_run(const void *launch, void *const *arrays)`.
///
/// `a.inner` is the box of points all of whose reads lie inside the views or, for a gather, of elements all of whose
/// readers lie in the range, too. There the code is straight; an empty box is right as well, and slow. Adjoints that
/// are not finite are computed by the general code.
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
/// [`Calls`]: super::Calls
#[track_caller]
pub fn source<P: Kernel>(name: &str, program: &P, dialect: Dialect, precision: Precision) -> Result<String, NoText> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fit = name.chars().all(letters) && name.starts_with(|c: char| c.is_ascii_alphabetic());
    assert!(fit, "{name:?} is no name of a function in C");
    let mut constants = Vec::new();
    program.constants(&mut |number| constants.push(number));
    let lines = Lines { form: Form { dialect, precision }, plan: P::PLAN, constants: Some(&constants) };
    written(&Writer { name, lines, is_extreme: P::LOOP == LoopKind::Extremum }, Purpose::Launches)
}

fn written(writer: &Writer<'_>, purpose: Purpose) -> Result<String, NoText> {
    let functions = match purpose {
        Purpose::Launches => writer.functions(),
        Purpose::ForwardSweeps => writer.tangents(),
        Purpose::Scans => writer.scans(),
    };
    Ok(writer.start() + &functions.map_err(|rule| NoText::of(&rule))?)
}

impl<V: Number> BoundKernel<V> {
    /// Writes the kernel in a dialect of C, as [`source`] does, for a target that compiles it and calls its functions
    /// as [`Calls`](super::Calls) says. Captured constants are arguments, so that the source is the same whatever their
    /// values, those of scalars, shapes and ranges are.
    ///
    /// The source for forward sweeps has one function of the kernel. `NAME_tangents(a, x…, z…, dx…, dy…)` writes the
    /// tangents at the points: `dxK` are those of operand K before the launch, null if all are zero, and `dyK` those
    /// after it. For a reduction, `NAME_tangent_sums(a, x…, z…, dx…, parts)` sums them as `NAME_sums` does.
    ///
    /// # Errors
    ///
    /// [`NoText`] for a function that C does not have.
    pub fn source(&self, dialect: Dialect, purpose: Purpose) -> Result<String, NoText> {
        let form = Form { dialect, precision: Precision::of::<V>() };
        let lines = Lines { form, plan: self.plan(), constants: None };
        written(&Writer { name: KERNEL, lines, is_extreme: self.is_extreme() }, purpose)
    }

    /// Key by which a target finds the compiled source of a kernel again without writing it: equal only for equal
    /// sources in the same dialect for the same [`Purpose`].
    #[must_use]
    pub fn source_key(&self) -> (usize, bool) {
        (core::ptr::from_ref(self.plan()).addr(), self.is_extreme())
    }
}
