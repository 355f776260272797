//! Launches in forward mode: their tangents.

use super::directions::Directions;
use crate::Number;
use crate::contract::Dependence;
use crate::kernel::launch::Launch;
use crate::kernel::memory::{Buffer, ReadCache, SharedArray, Tangents};
use crate::level::{self, Common};

/// Returns the level that the operands of a launch have in common; `PASSIVE` if all are passive. Panics when they have
/// two.
#[track_caller]
pub(crate) fn level_of_launch<'i, V: Number, const N: usize>(
    arrays: &[&Dependence<V>],
    ids: impl Iterator<Item = &'i Directions<V, N>>,
) -> u64 {
    let mut common = Common::new();
    for array in arrays {
        if let Dependence::Moving(tangents) = array {
            common.meet(tangents.level);
        }
    }
    ids.for_each(|id| _ = common.meet(id.level));
    common.get()
}

/// Computes the tangents of the arrays and variables that a launch has written: see
/// [`Taping::carry_launch`](crate::Taping::carry_launch).
///
/// # Panics
///
/// When the launch fails, and when its operands belong to several evaluations.
#[track_caller]
pub(crate) fn carry<V: Number, const N: usize>(
    launch: &dyn Launch<V>,
    arrays: &[&Dependence<V>],
    inputs: &[(V, &Directions<V, N>)],
    outputs: &[V],
    each: &mut dyn FnMut(V, Directions<V, N>),
) -> Vec<Dependence<V>> {
    let mut level = level_of_launch(arrays, inputs.iter().map(|(_, id)| *id));
    if launch.always() {
        level = level::joined(level);
    }
    let mut written: Vec<Dependence<V>> = Vec::new();
    written.resize_with(lengths(launch).count(), || Dependence::Moving(Tangents { level, directions: Vec::new() }));
    let mut results = vec![Directions { derivatives: [V::ZERO; N], level }; outputs.len()];
    let mut slopes = vec![V::ZERO; outputs.len()];
    for k in 0..N {
        slopes.fill(V::ZERO);
        let buffers = carry_along(k, level, launch, arrays, inputs, &mut slopes);
        for (written, buffer) in written.iter_mut().zip(buffers) {
            if let Dependence::Moving(tangents) = written {
                tangents.directions.push(buffer.map(SharedArray::new));
            }
        }
        results.iter_mut().zip(&slopes).for_each(|(result, slope)| result.derivatives[k] = *slope);
    }
    outputs.iter().zip(results).for_each(|(value, tangent)| each(*value, tangent));
    written
}

/// The lengths of the views that a launch writes.
fn lengths<V: Number>(launch: &dyn Launch<V>) -> impl Iterator<Item = usize> {
    launch.views().into_iter().filter(|view| view.after.is_some()).map(|view| view.length)
}

/// Computes the tangents, along direction `k`, of the written views (returned) and of the variables that are made
/// (`slopes`).
#[track_caller]
fn carry_along<V: Number, const N: usize>(
    k: usize,
    level: u64,
    launch: &dyn Launch<V>,
    arrays: &[&Dependence<V>],
    inputs: &[(V, &Directions<V, N>)],
    slopes: &mut [V],
) -> Vec<Option<Buffer<V>>> {
    let slope = |(_, id): &(V, &Directions<V, N>)| if id.level == level { id[k] } else { V::ZERO };
    let inputs: Vec<V> = inputs.iter().map(slope).collect();
    let views = arrays.iter().map(|array| array.tangents_at(level).and_then(|tangents| tangents.along(k)));
    let views: Vec<Option<&Buffer<V>>> = views.collect();
    let nothing_moves = views.iter().all(Option::is_none) && inputs.iter().all(|tangent| *tangent == V::ZERO);
    if nothing_moves && !launch.always() {
        return lengths(launch).map(|_| None).collect();
    }
    let mut buffers: Vec<Buffer<V>> = lengths(launch).map(Buffer::unspecified).collect();
    let mut to: Vec<&mut Buffer<V>> = buffers.iter_mut().collect();
    if let Err(error) = launch.forward(&inputs, slopes, &views, &mut to, &mut ReadCache::new()) {
        panic!("{error}");
    }
    buffers.into_iter().map(Some).collect()
}
