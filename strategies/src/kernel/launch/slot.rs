//! Slots: entries in a recording's list of launches. Launches of kernels reuse the memory of earlier ones.

use super::entry::Launch;
use super::kernel::KernelLaunch;
use crate::Number;
use core::any::Any;

/// One launch in a recording. Launches of kernels reuse the allocation of an earlier one; other launches are boxed
/// anew.
///
/// Only [`kernel`](Self::kernel) names the type of kernel launches, so that a program without kernels does not compile
/// their sweeps.
pub struct LaunchSlot<V: 'static> {
    launch: Option<Box<dyn Launch<V>>>,
    /// An old launch of a kernel, whose memory may be reused.
    memory: Option<Box<dyn Launch<V>>>,
}

impl<V> Default for LaunchSlot<V> {
    /// Returns an empty slot.
    fn default() -> Self {
        Self { launch: None, memory: None }
    }
}

impl<V: Number> LaunchSlot<V> {
    /// Returns an empty slot with the memory of an old launch of a kernel.
    pub(crate) const fn within(memory: Option<Box<dyn Launch<V>>>) -> Self {
        Self { launch: None, memory }
    }

    /// Fills the slot with a launch of another kind than a kernel.
    pub fn set_other(&mut self, other: impl Launch<V>) {
        self.launch = Some(Box::new(other));
    }

    /// Takes back the memory if the launch has not used it.
    pub(crate) fn unused(&mut self) -> Option<Box<dyn Launch<V>>> {
        self.memory.take()
    }

    /// Fills the slot with the launch of a kernel, which the caller sets.
    #[inline]
    #[allow(clippy::missing_panics_doc, reason = "only memory of kernels is used again")]
    pub fn kernel(&mut self) -> &mut KernelLaunch<V> {
        let launch = self.launch.insert(self.memory.take().unwrap_or_else(|| Box::<KernelLaunch<V>>::default()));
        (&mut **launch as &mut dyn Any).downcast_mut().expect("only memory of kernels is used again")
    }

    /// Returns the launch.
    ///
    /// # Panics
    ///
    /// When the slot is empty.
    #[inline]
    #[must_use]
    #[track_caller]
    pub fn get(&self) -> &dyn Launch<V> {
        self.launch.as_deref().expect("a launch that has not been written")
    }

    /// Returns the launch, to change it.
    #[track_caller]
    pub(crate) fn get_mut(&mut self) -> &mut dyn Launch<V> {
        self.launch.as_deref_mut().expect("a launch that has not been written")
    }

    /// Clears the launch of a kernel and returns its memory for reuse; `None` for other launches.
    pub(crate) fn into_memory(self) -> Option<Box<dyn Launch<V>>> {
        let mut launch = self.launch?;
        launch.clear().then_some(launch)
    }

    /// Bytes outside the recording's list, except arrays.
    pub(crate) fn bytes(&self) -> usize {
        self.launch.as_ref().map_or(0, |launch| size_of_val(&**launch) + launch.bytes())
    }
}
