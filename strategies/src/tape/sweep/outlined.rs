//! Sweeps that leave out records which their seeds do not reach, by an outline of the recording.

use crate::contract::AtExternal;
use crate::outline::{Chunk, Outline, Touched};
use crate::storage::Layer;
use crate::tape::store::recording::{Content, Records};
use crate::{IndexManager, Number, SweepError};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Sweeps from these slots; see [`Reverse::reverse_outlined`](crate::Reverse::reverse_outlined).
    pub(crate) fn reverse_outlined(
        &self,
        (lanes, adjoints): (usize, &mut [V]),
        (outline, seeded): (&Outline, &mut dyn Iterator<Item = usize>),
        at: &mut AtExternal<'_, V>,
    ) -> Result<Touched, SweepError> {
        if lanes == 1 {
            return self.reverse_chunks(adjoints, (outline, seeded), at);
        }
        self.reverse_chunks_lanes(lanes, adjoints, (outline, seeded), at)
    }

    /// Returns true if a slot that is written in this chunk has an adjoint that is not 0, in one of the lanes.
    pub(crate) fn has_adjoint(outline: &Outline, chunk: &Chunk, (lanes, adjoints): (usize, &[V])) -> bool {
        /// Number of adjoints that are looked at together, so that it can be done by vector instructions.
        const TOGETHER: usize = 16;
        let any = |adjoints: &[V]| adjoints.iter().fold(false, |any, adjoint| any | !adjoint.is_nought());
        if !M::REUSES {
            let written = &adjoints[chunk.numbers.start * lanes..chunk.numbers.end * lanes];
            return written.rchunks(TOGETHER).any(any);
        }
        let written = &outline.written[chunk.written.start as usize..chunk.written.end as usize];
        written.iter().any(|slot| any(&adjoints[*slot as usize * lanes..][..lanes]))
    }
}
