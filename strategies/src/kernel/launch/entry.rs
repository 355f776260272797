//! Trait of launches, as recordings call them, and the forward sweep through one launch.

use super::dependencies::{Dependencies, OperandView};
use super::replay::{ReplayResult, ReplayState};
use crate::kernel::ir::access::{OPERANDS, OUTPUTS};
use crate::kernel::ir::grid::Grid;
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::shared::NewArray;
use crate::kernel::memory::version::Version;
use crate::{MemoryUsage, Number, SweepError};
use core::any::Any;
use smallvec::SmallVec;

/// A launch in a recording. Launches and statements are kept in the order in which they ran.
pub trait Launch<V: 'static>: Any + Send + Sync {
    /// Propagates the adjoints of the outputs to the inputs. `outputs` and `inputs` are the adjoints of variables, as
    /// for an [external function](crate::External::reverse).
    ///
    /// # Errors
    ///
    /// When the launch cannot propagate adjoints; the sweep ends with the error.
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError>;

    /// Propagates several adjoint vectors, as many as `shadows`: entry `l` of output `k` is `outputs[k·lanes + l]`. The
    /// default calls [`reverse`](Self::reverse) for each vector.
    ///
    /// # Errors
    ///
    /// The errors of [`reverse`](Self::reverse).
    fn reverse_lanes(&self, outputs: &[V], inputs: &mut [V], shadows: &mut [Shadows<V>]) -> Result<(), SweepError>
    where
        V: Number,
    {
        lane_by_lane(self, outputs, inputs, shadows)
    }

    /// Returns the views and points over which launches beside this one can be swept together with it, in one parallel
    /// region: if no variable has an adjoint, and no element's adjoint depends on those of other elements. The default
    /// is `None`.
    #[doc(hidden)]
    fn shared_region(&self) -> Option<&Grid> {
        None
    }

    /// Propagates one adjoint vector through launches with the same [region](Self::shared_region), in this order; this
    /// is one of them. The default reverses one after the other.
    ///
    /// # Errors
    ///
    /// The errors of [`reverse`](Self::reverse).
    #[doc(hidden)]
    fn reverse_together(&self, all: &[&dyn Launch<V>], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        all.iter().try_for_each(|launch| launch.reverse(&[], &mut [], shadows))
    }

    /// Returns true if the launch must run in a sweep even when all incoming adjoints or tangents are zero, because
    /// others wait for what it does.
    fn always(&self) -> bool {
        false
    }

    /// Views among the operands, in order; a uniform scalar has an entry without slots.
    fn views(&self) -> SmallVec<[OperandView; 4]>;

    /// Describes the launch as scalar statements, for sparsity patterns.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] if the launch does not tell its dependencies, which is the default.
    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        Err(SweepError::Unsupported { what: "the recording contains messages, which tell no sparsity pattern".into() })
    }

    /// Propagates tangents from inputs to outputs. `views` are the operands' tangents before the launch, `None` where
    /// they are zero. `results` receive the tangents of the written views; their contents are unspecified at first.
    /// `fetched` reads kept arrays back that are not in memory.
    ///
    /// # Errors
    ///
    /// When the launch cannot propagate tangents; the sweep ends with the error.
    fn forward(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        fetched: &mut ReadCache<V>,
    ) -> Result<(), SweepError>;

    /// Checks that the launch can be recomputed: its computation is known, and the values of passive operands have been
    /// kept.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] if the launch cannot be recomputed.
    fn can_be_replayed(&self) -> Result<(), SweepError> {
        Err(SweepError::Unsupported {
            what:
                "a recording with a stage or loop over views cannot be replayed: what it computed inside was not kept"
                    .into(),
        })
    }

    /// Recomputes the launch. `inputs` are the values of all variables that it reads; `outputs` hold its old results
    /// and receive the new ones; `versions` holds the current values of active views. Returns the argument for
    /// [`accept`](Self::accept).
    ///
    /// # Errors
    ///
    /// The errors of [`can_be_replayed`](Self::can_be_replayed).
    fn replay(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        versions: &mut ReplayState<V>,
    ) -> Result<ReplayResult<V>, SweepError> {
        let _ = (inputs, outputs, versions);
        self.can_be_replayed().map(|()| ReplayResult::default())
    }

    /// Stores what later sweeps need of a replay's results.
    fn accept(&mut self, replayed: ReplayResult<V>) {
        drop(replayed);
    }

    /// Visits the versions of arrays that this launch keeps, so that the caller can make them spillable.
    fn hold(&mut self, each: &mut dyn FnMut(&mut Version<V>)) {
        let _ = each;
    }

    /// Visits the addresses and bytes of the arrays that this launch keeps. Other launches may keep the same arrays.
    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        let _ = each;
    }

    /// Drops the kept operands if this is the launch of a kernel, whose memory later launches reuse. Returns true if
    /// so.
    #[doc(hidden)]
    fn clear(&mut self) -> bool {
        false
    }

    /// Bytes of everything except arrays, snapshots and the launch value itself.
    fn bytes(&self) -> usize;

    /// Bytes of snapshots, as [`External::snapshots`](crate::External::snapshots) has them.
    fn snapshots(&self) -> MemoryUsage {
        MemoryUsage::default()
    }

    /// Describes the reverse sweep of this launch.
    fn inspect(&self) -> Inspection;
}

/// Implements [`Launch::reverse_lanes`] by one call of [`Launch::reverse`] for each adjoint vector.
///
/// # Errors
///
/// The errors of [`Launch::reverse`].
pub fn lane_by_lane<V: Number>(
    launch: &(impl Launch<V> + ?Sized),
    outputs: &[V],
    inputs: &mut [V],
    shadows: &mut [Shadows<V>],
) -> Result<(), SweepError> {
    if let [shadows] = shadows {
        return launch.reverse(outputs, inputs, shadows);
    }
    let lanes = shadows.len();
    let (mut seeds, mut sums) = (SmallVec::<[V; 2]>::new(), SmallVec::<[V; OPERANDS]>::new());
    for lane in 0..lanes {
        seeds.clear();
        seeds.extend(outputs.iter().skip(lane).step_by(lanes).copied());
        sums.clear();
        sums.resize(inputs.len() / lanes, V::ZERO);
        launch.reverse(&seeds, &mut sums, &mut shadows[lane])?;
        inputs.iter_mut().skip(lane).step_by(lanes).zip(&sums).for_each(|(to, sum)| *to = *sum);
        // Arrays read back for one vector serve the next one.
        if let [this, next, ..] = &mut shadows[lane..] {
            this.hand_over(next);
        }
    }
    if let [first, .., last] = shadows {
        last.hand_over(first);
    }
    Ok(())
}

/// Propagates tangents through a launch, and allocates the tangents of its results.
pub(crate) fn flow<V: Number>(
    launch: &dyn Launch<V>,
    inputs: &[V],
    outputs: &mut [V],
    shadows: &mut Shadows<V>,
) -> Result<(), SweepError> {
    let used = launch.views();
    let written = || used.iter().filter_map(|view| view.after);
    let moves = |view: &OperandView| !matches!(shadows.get(view.before), Shadow::Unset);
    if !launch.always() && !used.iter().any(moves) && inputs.iter().all(|tangent| tangent.is_nought()) {
        written().for_each(|after| shadows.put(after, Shadow::Unset));
        return Ok(());
    }
    let mut results: SmallVec<[NewArray<V>; OUTPUTS]> = SmallVec::new();
    let mut filled: SmallVec<[Option<NewArray<V>>; OPERANDS]> = SmallVec::new();
    for view in &used {
        let uniform = match shadows.get(view.before) {
            Shadow::Uniform(tangent) => Some(*tangent),
            _ => None,
        };
        filled.push(uniform.map(|tangent| shadows.filled(view.length, tangent)));
        results.extend(view.after.map(|_| shadows.any(view.length)));
    }
    let mut views: SmallVec<[Option<&Buffer<V>>; OPERANDS]> = SmallVec::new();
    let (list, fetched) = shadows.parts();
    for (view, filled) in used.iter().zip(&filled) {
        views.push(match list.get(view.before) {
            Some(Shadow::Dense(tangents)) => Some(&**tangents),
            _ => filled.as_deref(),
        });
    }
    let mut to: SmallVec<[&mut Buffer<V>; OUTPUTS]> = results.iter_mut().map(|result| &mut **result).collect();
    launch.forward(inputs, outputs, &views, &mut to, fetched)?;
    drop((views, to));
    shadows.end_launch();
    for (after, result) in written().zip(results) {
        shadows.put(after, Shadow::Dense(result));
    }
    Ok(())
}

/// Properties of a launch's reverse sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// For each operand, the number of its elements that each point reads, or 0 if at most one. A reverse sweep that
    /// scatters would need atomic updates for these. 0 for an operand of lower rank: points read one element each, and
    /// its adjoint is a sum over those that share it.
    pub conflicting_reads: Vec<usize>,
}
