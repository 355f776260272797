//! Dependencies of all results in a recording, for sparsity patterns.

use crate::external::Entry;
use crate::kernel::{Launch, Source};
use crate::recording::current::list::OwnedTape;
use crate::{Curvature, Number, Order, RecordKind, Reverse, SweepError};

/// Numbers for all that statements and launches of a recording read and write: first the slots of variables, then the
/// elements of views, then what launches compute for themselves.
#[derive(Clone, Debug)]
pub struct Numbering {
    /// The number of the first element of the view in each slot.
    views: Vec<usize>,
    /// The number of the first of what launches compute for themselves: each launch uses the same ones.
    own: usize,
    count: usize,
}

impl Numbering {
    /// How many numbers there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The number of an item of a launch.
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
    /// The numbering of the present recording.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when there is a launch in the recording that does not tell what it depends on: an
    /// exchange of messages, or a stage or time loop with one inside.
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

    /// Gives `tell` the numbers of the results and of the arguments of each statement, of each external function, and
    /// of all that launches compute, and in which arguments it is not linear: an external function, which may have
    /// several results, in any.
    ///
    /// # Errors
    ///
    /// As [`Reverse::visit`] and [`numbering`](Self::numbering).
    ///
    /// # Panics
    ///
    /// When the numbering is of another recording.
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

/// [`OwnedTape::dependences`] of a launch.
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
