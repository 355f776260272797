//! Writing functions of slices.

use super::common::Common;
use super::layout::Layout;
use super::records::{Content, Records};
use super::write_slowly::{narrow, where_they_belong};
use crate::refusal::Refusal;
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::{IndexManager, LinearId, Nary, Number, Policy, Reverse, Taped, partials_of_slice};

/// Records a function of slices; returns passive if no argument is active.
///
/// # Panics
///
/// As [`Taping::record`](crate::Taping::record), and when there are not as many constants as `R` says.
#[track_caller]
pub(super) fn append_nary<S, R, V, M, L, K>(arguments: &[&[Taped<V, M::Id>]], constants: &[V], value: V) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    R: Nary<V>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    let ids = arguments.iter().copied().flatten().map(|x| M::raw(&x.id));
    assert!(
        Some(constants.len()) == R::CONSTANTS.checked_mul(ids.clone().count()),
        "a function of slices with {} constants for each argument got {}",
        R::CONSTANTS,
        constants.len()
    );
    where_they_belong::<S, M>(ids, |tape| tape.append_nary::<S::Policy, R>(arguments, constants, value))
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Records a function of slices, at least one of whose arguments is active.
    fn append_nary<P: Policy, R: Nary<V>>(
        &mut self,
        arguments: &[&[Taped<V, M::Id>]],
        constants: &[V],
        value: V,
    ) -> Result<LinearId<M::Index>, Refusal> {
        let all = || arguments.iter().copied().flatten();
        let n = all().count();
        let count = u32::try_from(n).expect("a statement has fewer than 2^32 arguments");
        let passive = all().any(|x| !M::raw(&x.id).is_active());
        if K::VALUES
            && !passive
            && let Some(layout) = self.coded(const { &Layout::nary::<P, R, M::Index>() })
        {
            let bytes = size_of_val(constants) + n * size_of::<M::Index>() + size_of::<u32>();
            if !R::REPLAYS {
                self.keeps_partials();
            }
            return self.push(layout, value, bytes, |record| {
                constants.iter().for_each(|constant| record.put(*constant));
                all().for_each(|x| record.put(narrow::<M>(M::raw(&x.id).index())));
                record.put(count);
            });
        }
        if K::VALUES {
            self.keeps_partials();
        }
        if R::UNIT {
            return self.push_sum(all().map(|x| M::raw(&x.id)).filter(|id| id.is_active()), value);
        }
        let mut scratch = Scratch::<V>::new();
        scratch.extend(all().map(|x| x.value));
        scratch.resize(2 * n, V::ZERO);
        let (values, partials) = scratch.split_at_mut(n);
        partials_of_slice::<P, R, V>(values, constants, partials, []);
        self.push_partials(all().map(|x| M::raw(&x.id)).zip(partials.iter().copied()), value)
    }

    /// This layout, if its records have a code here.
    fn coded(&mut self, layout: &'static Layout<V>) -> Option<&'static Layout<V>> {
        self.codes.code(layout).map(|_| layout)
    }

    /// Records the sum of these variables.
    fn push_sum(
        &mut self,
        active: impl Iterator<Item = LinearId<M::Index>> + Clone,
        value: V,
    ) -> Result<LinearId<M::Index>, Refusal> {
        let n = active.clone().count();
        let count = u32::try_from(n).expect("a statement has fewer than 2^32 arguments");
        let bytes = n * size_of::<M::Index>() + size_of::<u32>();
        self.push(Common::<V, M::Index>::ONES, value, bytes, |record| {
            active.for_each(|id| record.put(narrow::<M>(id.index())));
            record.put(count);
        })
    }
}
