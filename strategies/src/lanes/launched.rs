//! Launches in the list of a recording.

use super::launch::Launch;
use super::recorded::Recorded;
use crate::Number;

/// A launch as a recording keeps it: of a kernel, in memory that is used again, or of anything else.
pub struct Launched<V: 'static> {
    kernel: Option<Box<Recorded<V>>>,
    other: Option<Box<dyn Launch<V>>>,
}

impl<V: Number> Default for Launched<V> {
    /// A launch that is still to be written.
    fn default() -> Self {
        Self { kernel: None, other: None }
    }
}

impl<V: Number> Launched<V> {
    /// A launch that is still to be written, in this memory if it is one of a kernel.
    pub(crate) const fn within(kernel: Option<Box<Recorded<V>>>) -> Self {
        Self { kernel, other: None }
    }

    /// Makes it a launch of something else than a kernel.
    pub fn set_other(&mut self, other: impl Launch<V>) {
        self.other = Some(Box::new(other));
    }

    /// The memory that was given, if it is no launch of a kernel.
    pub(crate) fn unused(&mut self) -> Option<Box<Recorded<V>>> {
        if self.other.is_some() { self.kernel.take() } else { None }
    }

    /// The launch of a kernel, to be set.
    #[inline]
    pub fn kernel(&mut self) -> &mut Recorded<V> {
        self.other = None;
        self.kernel.get_or_insert_default()
    }

    /// The launch.
    ///
    /// # Panics
    ///
    /// When it has not been written.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get(&self) -> &dyn Launch<V> {
        match (&self.other, &self.kernel) {
            (Some(launch), _) => &**launch,
            (None, Some(launch)) => &**launch,
            (None, None) => panic!("a launch that has not been written"),
        }
    }

    /// The launch.
    #[track_caller]
    pub(crate) fn get_mut(&mut self) -> &mut dyn Launch<V> {
        match (&mut self.other, &mut self.kernel) {
            (Some(launch), _) => &mut **launch,
            (None, Some(launch)) => &mut **launch,
            (None, None) => panic!("a launch that has not been written"),
        }
    }

    /// The memory for the launch of a kernel, without what it kept.
    pub(crate) fn into_memory(self) -> Option<Box<Recorded<V>>> {
        let mut kernel = self.kernel?;
        kernel.operands.clear();
        Some(kernel)
    }

    /// Bytes outside the recording's list, without the arrays.
    pub(crate) fn bytes(&self) -> usize {
        let kernel = self.kernel.as_ref().map_or(0, |launch| size_of::<Recorded<V>>() + launch.bytes());
        kernel + self.other.as_ref().map_or(0, |launch| size_of_val(&**launch) + launch.bytes())
    }
}
