//! Kernels that have been compiled for a device.

use super::driver::{DeviceError, Driver};
use crate::Number;
use crate::kernel::memory::device::Precision;
use crate::kernel::targets::BoundKernel;
use crate::kernel::text::Dialect;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Name of kernels in their source. The names of functions for sums, adjoints and so on begin with it.
pub(super) const NAME: &str = "tapewright";

/// A kernel as compiled code.
pub(super) struct Compiled<D: Driver> {
    pub(super) program: D::Program,
    /// Parameters of each function of the source, by its name.
    functions: HashMap<String, Vec<Parameter>>,
}

/// Parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    Grid,
    Block,
    Values(usize),
    Scalar(usize),
    Output(usize),
    NewValues(usize),
    /// Adjoint of an output, by the operand it is written to; of a reduction, 0.
    Seed(usize),
    Weight(usize),
    Adjoint(usize),
    /// The adjoint that the function adds to.
    TheAdjoint,
    How(usize),
    Sums,
}

impl Parameter {
    /// Returns the parameter of this name: its first letters are the kind, the rest is an operand.
    fn named(name: &str) -> Option<Self> {
        let kind = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let operand = name[kind.len()..].parse().ok();
        Some(match (kind, operand) {
            ("g", None) => Self::Grid,
            ("b", None) => Self::Block,
            ("sums", None) => Self::Sums,
            ("d", None) => Self::TheAdjoint,
            ("s", operand) => Self::Seed(operand.unwrap_or(0)),
            ("w", operand) => Self::Weight(operand.unwrap_or(0)),
            ("x", Some(k)) => Self::Values(k),
            ("c", Some(k)) => Self::Scalar(k),
            ("y", Some(k)) => Self::Output(k),
            ("z", Some(k)) => Self::NewValues(k),
            ("d", Some(k)) => Self::Adjoint(k),
            ("h", Some(k)) => Self::How(k),
            _ => return None,
        })
    }
}

impl<D: Driver> Compiled<D> {
    fn new(driver: &D, source: &str) -> Result<Self, DeviceError> {
        Ok(Self { program: driver.build(source)?, functions: functions(source, D::DIALECT) })
    }

    /// Returns the parameters of a function; `None` if there is no such function, because it has nothing to do.
    pub(super) fn parameters(&self, function: &str) -> Option<&[Parameter]> {
        self.functions.get(function).map(Vec::as_slice)
    }
}

/// Lists the kernels of a source with their parameters.
fn functions(source: &str, dialect: Dialect) -> HashMap<String, Vec<Parameter>> {
    let mut found = HashMap::new();
    for rest in source.split(dialect.kernel()).skip(1) {
        let Some((name, rest)) = rest.split_once('(') else { continue };
        let Some((parameters, _)) = rest.split_once(')') else { continue };
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let last = |parameter: &str| parameter.rsplit(|c| !is_letter(c)).next().unwrap_or_default().to_owned();
        // A function with other parameters is not called by this table.
        let named = parameters.split(',').map(|parameter| Parameter::named(&last(parameter.trim())));
        if let Some(parameters) = named.collect() {
            found.insert(name.trim().to_owned(), parameters);
        }
    }
    found
}

/// What the source of a kernel depends on: the address of the facts about its type, its constants, and the precision.
type Key = (usize, SmallVec<[u64; 6]>, Precision);

/// The compiled kernels of a device.
pub(super) struct Programs<D: Driver> {
    /// By kernel, so that the source need not be written to find one.
    kernels: Mutex<HashMap<Key, Arc<Compiled<D>>>>,
    /// By source.
    sources: Mutex<HashMap<String, Arc<Compiled<D>>>>,
}

impl<D: Driver> Programs<D> {
    pub(super) fn new() -> Self {
        Self { kernels: Mutex::default(), sources: Mutex::default() }
    }

    /// Number of programs.
    pub(super) fn count(&self) -> usize {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns the code of a kernel, compiled at its first use.
    ///
    /// # Panics
    ///
    /// When a function of the kernel has no source.
    #[track_caller]
    pub(super) fn kernel<V: Number>(
        &self,
        driver: &D,
        kernel: &BoundKernel<V>,
        precision: Precision,
    ) -> Result<Arc<Compiled<D>>, DeviceError> {
        let constants = kernel.constants.iter().map(|constant| constant.as_f64().to_bits()).collect();
        let key = ((&raw const *kernel.plan()).addr(), constants, precision);
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kernels.get(&key) {
            return Ok(Arc::clone(found));
        }
        let source = kernel.source(NAME, D::DIALECT, precision).unwrap_or_else(|error| {
            panic!(
                "{error}, so that it cannot run on {}: bring its views to the host with `in_space::<Host>()`",
                driver.name()
            )
        });
        let compiled = self.source(driver, source)?;
        kernels.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }

    /// Returns the code of a source, compiled at its first use.
    pub(super) fn source(&self, driver: &D, source: String) -> Result<Arc<Compiled<D>>, DeviceError> {
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = sources.get(&source) {
            return Ok(Arc::clone(found));
        }
        let compiled = Arc::new(Compiled::new(driver, &source)?);
        sources.insert(source, Arc::clone(&compiled));
        Ok(compiled)
    }
}

#[cfg(test)]
mod tests {
    use super::{Parameter, functions};
    use crate::kernel::text::Dialect;

    #[test]
    fn parameters_are_found_by_their_names() {
        let source = "static inline void a_at(g, long i0) { }\n__kernel void a(tw_grid g, __global const TW_REAL *x0, \
                      TW_REAL c11, long w, __global TW_REAL *d3, int h3) { if (x0) { } }\n__kernel void a_sums(tw_grid \
                      g, __global TW_REAL *sums) { }";
        let found = functions(source, Dialect::OpenCl);
        let expected = [
            Parameter::Grid,
            Parameter::Values(0),
            Parameter::Scalar(11),
            Parameter::Weight(0),
            Parameter::Adjoint(3),
            Parameter::How(3),
        ];
        assert_eq!(found["a"], expected);
        assert_eq!((&*found["a_sums"], found.len()), (&[Parameter::Grid, Parameter::Sums][..], 2));
    }
}
