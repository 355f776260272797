//! Dependences of all results in a recording, for sparsity patterns.

use crate::contract::{Order, RecordKind};
use crate::external::Entry;
use crate::kernel::launch::{Launch, Source};
use crate::recording::current::list::OwnedTape;
use crate::rules::Curvature;
use crate::{Number, Reverse, SweepError};

/// Numbering of everything that statements and launches of a recording read and write: first the slots of variables,
/// then the elements of views, then the intermediate results of launches.
#[derive(Clone, Debug)]
pub struct Numbering {
    /// The number of the first element of the view in each slot.
    views: Vec<usize>,
    /// The number of the first intermediate result of launches; all launches use the same numbers.
    own: usize,
    count: usize,
}

impl Numbering {
    /// Count of the numbers.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The number of an operand or result of a launch.
    fn of<V: Number>(&self, entry: &Entry<V>, item: Source) -> usize {
        match item {
            Source::Nothing | Source::Element(0, _) => 0,
            Source::Input(k) => entry.inputs.get(k),
            Source::Output(k) => entry.outputs.get(k),
            Source::Element(slot, element) => self.views[slot] + element,
            Source::Own(k) => self.own + k,
        }
    }
}

impl<S: Reverse> OwnedTape<S> {
    /// Returns the numbering of the present recording.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when a launch in the recording does not report its dependences: an exchange of
    /// messages, or a stage or time loop that contains one.
    pub fn numbering(&self) -> Result<Numbering, SweepError> {
        let (mut lengths, mut own) = (Vec::new(), 0);
        for launch in self.externals().list.iter().filter_map(Entry::launch) {
            own = own.max(launch.links()?.own());
            for used in launch.views() {
                for slot in [Some(used.before), used.after].into_iter().flatten() {
                    lengths.resize(lengths.len().max(slot + 1), 0);
                    lengths[slot] = used.length.max(lengths[slot]);
                }
            }
        }
        let mut count = S::identifiers(self.tape());
        let next = |length: &usize| {
            count += length;
            count - length
        };
        let views = lengths.iter().map(next).collect();
        Ok(Numbering { views, own: count, count: count + own })
    }

    /// Calls `tell` for each statement, for each external function, and for each value that a launch computes, with the
    /// numbers of its results, the numbers of its arguments, and the pairs of arguments in which it is not linear. An
    /// external function, which may have several results, counts as not linear in any pair.
    ///
    /// # Errors
    ///
    /// The errors of [`Reverse::visit`] and [`numbering`](Self::numbering).
    ///
    /// # Panics
    ///
    /// When the numbering belongs to another recording.
    pub fn dependences(
        &self,
        numbering: &Numbering,
        order: Order,
        mut tell: impl FnMut(&[usize], &[usize], &Curvature),
    ) -> Result<(), SweepError> {
        let (mut results, mut inputs) = (Vec::new(), Vec::new());
        S::visit(self.tape(), order, &mut |record| {
            match record.kind {
                RecordKind::Inputs => {}
                RecordKind::Statement { result } => tell(&[result], record.arguments, record.curvature),
                RecordKind::External(external) => {
                    let entry = self.entry(external)?;
                    if let Some(launch) = entry.launch() {
                        return launched(launch, entry, numbering, order, &mut tell);
                    }
                    results.clear();
                    results.extend(entry.outputs.iter());
                    inputs.clear();
                    inputs.extend(entry.inputs.iter());
                    tell(&results, &inputs, &Curvature::Everywhere);
                }
            }
            Ok(())
        })
    }
}

/// Reports the dependences of a launch, for [`OwnedTape::dependences`].
fn launched<V: Number>(
    launch: &dyn Launch<V>,
    entry: &Entry<V>,
    numbering: &Numbering,
    order: Order,
    tell: &mut impl FnMut(&[usize], &[usize], &Curvature),
) -> Result<(), SweepError> {
    let links = launch.links()?;
    let (count, mut items, mut arguments) = (links.count(), Vec::new(), Vec::new());
    for k in 0..count {
        let statement = if let Order::Ascending = order { k } else { count - 1 - k };
        items.clear();
        let (result, curvature) = links.link(statement, &mut items);
        arguments.clear();
        arguments.extend(items.iter().map(|item| numbering.of(entry, *item)));
        tell(&[numbering.of(entry, result)], &arguments, &curvature);
    }
    Ok(())
}
