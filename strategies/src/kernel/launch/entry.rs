//! The trait of launches, as a recording calls them, and the forward sweep through one.

use super::dependencies::{Dependencies, OperandView};
use super::replay::{ReplayResult, ReplayState};
use crate::kernel::ir::access::{OPERANDS, OUTPUTS};
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::{Buffer, NewArray};
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::version::Version;
use crate::{Number, SweepError};
use core::any::Any;
use smallvec::SmallVec;

/// A launch in a recording. The order of a recording's launches and statements is the order in which they ran.
pub trait Launch<V>: Any + Send + Sync {
    /// Moves the adjoints of what was written to what was read. `outputs` and `inputs` are the adjoints of variables,
    /// as for an [external function](crate::External::reverse).
    ///
    /// # Errors
    ///
    /// The sweep ends with the error.
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError>;

    /// [`reverse`](Self::reverse) for several adjoint vectors, as many as `shadows`: entry `l` of output `k` is
    /// `outputs[k·lanes + l]`. Calls `reverse` for each of them, unless there is something better to do.
    ///
    /// # Errors
    ///
    /// As `reverse`.
    fn reverse_lanes(&self, outputs: &[V], inputs: &mut [V], shadows: &mut [Shadows<V>]) -> Result<(), SweepError>
    where
        V: Number,
    {
        lane_by_lane(self, outputs, inputs, shadows)
    }

    /// Whether sweeps must not leave it out when all adjoints, or tangents, are 0 that arrive: because others wait for
    /// what it does then.
    fn always(&self) -> bool {
        false
    }

    /// The views among its operands, by operand; numbers that all points share have none.
    fn views(&self) -> SmallVec<[OperandView; 4]>;

    /// It as statements of single numbers.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] if it does not tell, which is the default.
    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        Err(SweepError::Unsupported { what: "the recording contains messages, which tell no sparsity pattern".into() })
    }

    /// Computes the tangents of what was written from the tangents of what was read: `views` are the operands' tangents
    /// before the launch, `None` where they are 0, and `results` are written, one for each view that is. They may hold
    /// anything at first. `fetched` is for kept arrays that are not in memory.
    ///
    /// # Errors
    ///
    /// The sweep ends with the error.
    fn forward(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        fetched: &mut ReadCache<V>,
    ) -> Result<(), SweepError>;

    /// Whether it can be computed again: whether it is known how, and passive operands have been kept.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] if it cannot.
    fn can_be_replayed(&self) -> Result<(), SweepError> {
        Err(SweepError::Unsupported {
            what:
                "a recording with a stage or loop over views cannot be replayed: what it computed inside was not kept"
                    .into(),
        })
    }

    /// Computes it again: `inputs` are the values of all variables that it reads, `outputs` its results, the old ones
    /// at first, and `versions` has the present values of views that are not passive. Returns what
    /// [`accept`](Self::accept) will be given.
    ///
    /// # Errors
    ///
    /// As [`can_be_replayed`](Self::can_be_replayed).
    fn replay(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        versions: &mut ReplayState<V>,
    ) -> Result<ReplayResult<V>, SweepError> {
        let _ = (inputs, outputs, versions);
        self.can_be_replayed().map(|()| ReplayResult::default())
    }

    /// Keeps what later sweeps need of what a replay has computed.
    fn accept(&mut self, replayed: ReplayResult<V>) {
        drop(replayed);
    }

    /// Hands over the versions of arrays that it keeps, so that they become ones that may leave memory.
    fn hold(&mut self, each: &mut dyn FnMut(&mut Version<V>)) {
        let _ = each;
    }

    /// Hands over the addresses of the arrays that it keeps, which other launches may keep, too, and their bytes.
    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        let _ = each;
    }

    /// Forgets what it keeps if it is of a kernel, whose memory later ones use; returns whether it is.
    #[doc(hidden)]
    fn clear(&mut self) -> bool {
        false
    }

    /// Bytes of everything else, without the launch itself.
    fn bytes(&self) -> usize;

    /// Elements that are read at several different shifts, so that a scatter would need atomic updates, by operand; and
    /// the numbers of kernels that a reverse sweep runs, and of atomic updates that it issues.
    fn inspect(&self) -> Inspection;
}

/// [`Launch::reverse_lanes`] by a call of [`Launch::reverse`] for each adjoint vector.
///
/// # Errors
///
/// As these.
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
        // What has been read back for one of them serves the others.
        if let [this, next, ..] = &mut shadows[lane..] {
            this.hand_over(next);
        }
    }
    if let [first, .., last] = shadows {
        last.hand_over(first);
    }
    Ok(())
}

/// Moves tangents through a launch.
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

/// What a recorded launch does in a reverse sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// For each operand, how many of its elements each point reads if they are more than one: updates that a reverse
    /// sweep which scatters would have to make atomic.
    pub conflicting_reads: Vec<usize>,
    /// Loops over points in a reverse sweep.
    pub reverse_kernels: usize,
    /// Atomic updates in a reverse sweep: each element gathers, so there are none.
    pub atomic_updates: usize,
}
