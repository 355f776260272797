//! Slots: places in a recording into which launches are written. Launches of kernels reuse the memory of earlier ones.

use super::entry::Launch;
use super::kernel::KernelLaunch;
use crate::Number;
use core::any::Any;

/// Place of one launch in a recording, which is filled once. Launches of kernels reuse the allocation of an earlier
/// one; other launches are boxed anew.
///
/// Only [`kernel`](Self::kernel) names the type of kernel launches, so that a program without kernels does not compile
/// their sweeps.
pub struct LaunchSlot<'m, V: 'static> {
    launch: Option<Box<dyn Launch<V>>>,
    /// Old launches of kernels, whose memory may be reused.
    memory: Option<&'m mut Vec<Box<dyn Launch<V>>>>,
}

impl<V> Default for LaunchSlot<'_, V> {
    /// Returns an empty slot.
    fn default() -> Self {
        Self { launch: None, memory: None }
    }
}

impl<'m, V: Number> LaunchSlot<'m, V> {
    /// Returns an empty slot with the memory of old launches of kernels.
    pub(crate) const fn within(memory: &'m mut Vec<Box<dyn Launch<V>>>) -> Self {
        Self { launch: None, memory: Some(memory) }
    }

    /// Fills the slot with a launch of another kind than a kernel.
    pub fn set_other(&mut self, other: impl Launch<V>) {
        self.launch = Some(Box::new(other));
    }

    /// Fills the slot with the launch of a kernel, which the caller sets.
    #[inline]
    #[allow(clippy::missing_panics_doc, reason = "only memory of kernels is used again")]
    pub fn kernel(&mut self) -> &mut KernelLaunch<V> {
        let old = self.memory.as_mut().and_then(|memory| memory.pop());
        let launch = self.launch.insert(old.unwrap_or_else(|| Box::<KernelLaunch<V>>::default()));
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
    pub fn into_launch(self) -> Box<dyn Launch<V>> {
        self.launch.expect("a launch that has not been written")
    }
}
