//! Gathers of a sweep that are ready to run, alone or together.

use crate::Number;
use crate::kernel::ir::access::OUTPUTS;
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::shared::NewArray;
use crate::kernel::targets::jobs::{Accumulation, Accumulations};
use crate::kernel::targets::kernel::{Gather, How};
use crate::number::simd::planes::Place;

/// Adjoints of the outputs.
pub(crate) type Seeds<V> = [Shadow<V>; OUTPUTS];
/// Places of the adjoints outside the range, by output.
pub(crate) type OutsideAdjoints<V> = [Outside<V>; OUTPUTS];

/// Place of the adjoints of an output outside the range, which belong to the view before the launch.
#[derive(Debug)]
pub(crate) enum Outside<V> {
    /// The seed.
    Seed,
    /// The shadow of the view before the launch.
    Shadow,
    /// An array of their own.
    Apart(NewArray<V>),
}

/// Checks a gather whose operands have all been given. Returns an array that stands for values that nobody asks for, if
/// there are any: it must stay alive as long as the gather.
///
/// # Panics
///
/// In the cases of [`Gather::check`].
#[track_caller]
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn check<V: Number>(gather: &mut Gather<'_, V>, shadows: &mut Shadows<V>) -> Option<NewArray<V>> {
    let (grid, device, mut spare) = (gather.grid, gather.memory.device, None);
    gather.check(grid, || spare.insert(shadows.any(grid.elements())).place(device));
    spare
}

/// A gather that has been checked, with the adjoints that it reads.
pub(crate) struct Ready<'a, V: Number> {
    pub(crate) gather: Gather<'a, V>,
    pub(crate) seeds: Seeds<V>,
    pub(crate) outside: OutsideAdjoints<V>,
    /// Keeps an array alive that stands for values that nobody asks for.
    _spare: Option<NewArray<V>>,
}

impl<'a, V: Number> Ready<'a, V> {
    /// Checks a gather whose operands have all been given, with seeds from these arrays.
    ///
    /// # Panics
    ///
    /// In the cases of [`Gather::check`].
    #[track_caller]
    pub(crate) fn new(
        mut gather: Gather<'a, V>,
        adjoints: (Seeds<V>, OutsideAdjoints<V>),
        shadows: &mut Shadows<V>,
    ) -> Self {
        let (spare, (seeds, outside)) = (check(&mut gather, shadows), adjoints);
        Self { gather, seeds, outside, _spare: spare }
    }

    /// Describes the gather as a job.
    pub(crate) fn job(&self) -> Accumulation<'_, V> {
        // SAFETY: the gather has been checked. The seeds are in `self`; the shadows and the arrays read back stay
        // unchanged and alive until the launch is finished; and the other values are shared. Other gathers that are
        // ready at the same time use the same shadows, but at each point they run one after the other.
        unsafe { Accumulation::new(&self.gather, self.gather.grid) }
    }

    /// Describes several gathers as jobs that are carried out together, in this order.
    ///
    /// # Panics
    ///
    /// In the cases of [`Accumulations::new`].
    #[track_caller]
    pub(crate) fn jobs(all: &[Self]) -> Accumulations<'_, V> {
        // A launch that overwrites a view with constants has no operand that gets adjoints, and has kept no values.
        let with_work = all.iter().filter(|ready| ready.gather.views != 0);
        let mut jobs = Accumulations::new(with_work.map(Self::job).collect());
        for (n, ready) in all.iter().enumerate() {
            for seed in &ready.seeds {
                if let Shadow::Dense(seed) = seed
                    && let Some(array) = Self::first_to_fill(&all[..n], seed)
                {
                    // SAFETY: as was just found. The array is dropped with the seeds.
                    unsafe { jobs.pass(array) }
                }
            }
        }
        jobs
    }

    /// Returns the place of this array if the first of the gathers that uses it fills it.
    fn first_to_fill(all: &[Self], array: &Buffer<V>) -> Option<Place<V>> {
        let places = all.iter().flat_map(|ready| ready.gather.to.into_iter().zip(ready.gather.how));
        let is_it = |place: &Place<V>| place.part(0) == array.start().part(0);
        let (place, how) = places.into_iter().find(|(place, _)| is_it(place))?;
        matches!(how, How::Store | How::Replace).then_some(place)
    }
}
