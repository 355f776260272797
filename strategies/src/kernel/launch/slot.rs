//! Slots: one launch in the list of a recording. Launches of kernels reuse the memory of earlier ones.

use super::entry::Launch;
use super::kernel::KernelLaunch;
use crate::Number;
use core::any::Any;

/// A launch as a recording keeps it: of a kernel, in memory that is used again, or of anything else.
///
/// A program that launches no kernel does not compile how these are swept: only who calls
/// [`kernel`](Self::kernel) knows of them.
pub struct LaunchSlot<V: 'static> {
    launch: Option<Box<dyn Launch<V>>>,
    /// What was a launch of a kernel once.
    memory: Option<Box<dyn Launch<V>>>,
}

impl<V> Default for LaunchSlot<V> {
    /// A launch that is still to be written.
    fn default() -> Self {
        Self { launch: None, memory: None }
    }
}

impl<V: Number> LaunchSlot<V> {
    /// A launch that is still to be written, in this memory if it is one of a kernel.
    pub(crate) const fn within(memory: Option<Box<dyn Launch<V>>>) -> Self {
        Self { launch: None, memory }
    }

    /// Makes it a launch of something else than a kernel.
    pub fn set_other(&mut self, other: impl Launch<V>) {
        self.launch = Some(Box::new(other));
    }

    /// The memory that was given, if it is no launch of a kernel.
    pub(crate) fn unused(&mut self) -> Option<Box<dyn Launch<V>>> {
        self.memory.take()
    }

    /// The launch of a kernel, to be set.
    #[inline]
    #[allow(clippy::missing_panics_doc, reason = "only memory of kernels is used again")]
    pub fn kernel(&mut self) -> &mut KernelLaunch<V> {
        let launch = self.launch.insert(self.memory.take().unwrap_or_else(|| Box::<KernelLaunch<V>>::default()));
        (&mut **launch as &mut dyn Any).downcast_mut().expect("only memory of kernels is used again")
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
        self.launch.as_deref().expect("a launch that has not been written")
    }

    /// The launch.
    #[track_caller]
    pub(crate) fn get_mut(&mut self) -> &mut dyn Launch<V> {
        self.launch.as_deref_mut().expect("a launch that has not been written")
    }

    /// The memory for the launch of a kernel, without what it kept.
    pub(crate) fn into_memory(self) -> Option<Box<dyn Launch<V>>> {
        let mut launch = self.launch?;
        launch.clear().then_some(launch)
    }

    /// Bytes outside the recording's list, without the arrays.
    pub(crate) fn bytes(&self) -> usize {
        self.launch.as_ref().map_or(0, |launch| size_of_val(&**launch) + launch.bytes())
    }
}
