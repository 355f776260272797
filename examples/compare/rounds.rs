//! Timing in turns.
//!
//! A machine is not equally fast at all times, so two things that are timed one after the other differ even if they are
//! the same. Here all that is compared takes turns: in each *round*, each entrant does one timed *pass*. The next round
//! begins with another entrant, and every second round goes backwards. What is reported are medians over the rounds; a
//! ratio is the median of the ratios within one round, which a slow minute changes little.
//!
//! How many rounds there are follows from how long one takes, see [`Rounds`]: a workload of nanoseconds gets more of them
//! than one of seconds, and no workload is left out.
//!
//! A pass does as many evaluations as take at least [`LEAST`], the same ones for all strategies. Unless that is a
//! single long one, an evaluation that is not timed comes first: it fills the caches again.
//!
//! A pass yields the time of recording and the total. Where an evaluation takes at least [`LONG`], a clock is read
//! between recording and sweep. Shorter ones would be disturbed by that. For those, a pass records all evaluations
//! without sweeping, then computes all gradients; the difference is what sweeps take. It comes with its own
//! uncertainty, the [`Spread`] over the rounds.

use cpu_time::ThreadTime;
use std::sync::LazyLock;
use std::time::Instant;
use tapewright::Error;

/// Seconds that a pass takes at least.
pub(crate) const LEAST: f64 = 5e-3;

/// Seconds of an evaluation whose two parts can be timed by a clock in between. Reading the processor time may take 1
/// µs, so two readings are then at most 1 %.
const LONG: f64 = 200e-6;

/// Seconds since some time in the past.
pub(crate) type Clock = fn() -> f64;

/// The processor time of this thread.
pub(crate) const CPU: Clock = || ThreadTime::now().as_duration().as_secs_f64();

/// The time that passes, for what waits for disks and other threads.
pub(crate) const WALL: Clock = || START.elapsed().as_secs_f64();

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// How many rounds there are.
#[derive(Clone, Copy)]
pub(crate) enum Rounds {
    /// This many, however long they take.
    Exactly(usize),
    /// At least [`FEWEST`]; then further ones as long as all together have taken less than `seconds`. Never more than
    /// `most`.
    Within { seconds: f64, most: usize },
}

/// Rounds of which quartiles can be told.
pub(crate) const FEWEST: usize = 5;

impl Rounds {
    /// Whether a further round begins when some have been done in these seconds.
    fn go_on(self, done: usize, taken: f64) -> bool {
        match self {
            Self::Exactly(rounds) => done < rounds,
            Self::Within { seconds, most } => done < FEWEST.min(most) || (done < most && taken < seconds),
        }
    }

    /// How many there will be if one takes this many seconds.
    pub(crate) fn expected(self, round: f64) -> f64 {
        match self {
            Self::Exactly(rounds) => rounds as f64,
            Self::Within { seconds, most } => (seconds / round).ceil().max(FEWEST as f64).min(most as f64),
        }
    }

    /// The same number where it is smaller, else this one.
    pub(crate) fn at_most(self, limit: usize) -> Self {
        match self {
            Self::Exactly(rounds) => Self::Exactly(rounds.min(limit)),
            Self::Within { seconds, most } => Self::Within { seconds, most: most.min(limit) },
        }
    }
}

/// How the time of recording is told from that of the sweep.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    /// By a clock that is read in between.
    Clock,
    /// By recording without a sweep first.
    Difference,
}

/// What an entrant does between two readings of the clock.
pub(crate) struct Pass {
    pub(crate) clock: Clock,
    pub(crate) split: Split,
    /// The first evaluation, and how many follow each other; after the last one comes the first one of the problem.
    first: usize,
    pub(crate) count: usize,
}

impl Pass {
    /// All evaluations of a problem, in processor time.
    pub(crate) fn whole(evaluations: usize, split: Split) -> Self {
        Self { clock: CPU, split, first: 0, count: evaluations }
    }

    /// Which of a problem's evaluations to do.
    pub(crate) fn evaluations(&self, all: usize) -> impl Iterator<Item = usize> + use<> {
        let next = move |k: &usize| Some(if k + 1 >= all { 0 } else { k + 1 });
        std::iter::successors(Some(self.first % all), next).take(self.count)
    }
}

/// Seconds of one evaluation.
#[derive(Clone, Copy)]
pub(crate) struct Parts {
    /// Of recording; 0 where nothing is recorded.
    pub(crate) record: f64,
    pub(crate) total: f64,
}

/// What takes part.
pub(crate) type Entrant<'e> = Box<dyn FnMut(&Pass) -> Result<Parts, Error> + 'e>;

/// Entrants whose passes have the same evaluations: at least as many as the fastest of them needs.
pub(crate) struct Group<'e> {
    entrants: Vec<Entrant<'e>>,
    count: usize,
    split: Split,
}

impl<'e> Group<'e> {
    /// Finds out how fast the entrants are.
    pub(crate) fn new(mut entrants: Vec<Entrant<'e>>, clock: Clock) -> Result<Self, Error> {
        let mut fastest = f64::INFINITY;
        for entrant in &mut entrants {
            fastest = fastest.min(seconds(entrant, clock)?);
        }
        let split = if fastest < LONG { Split::Difference } else { Split::Clock };
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and at most some millions"
        )]
        let count = (LEAST / fastest).ceil() as usize;
        Ok(Self { entrants, count: count.max(1), split })
    }

    pub(crate) fn split(&self) -> Split {
        self.split
    }
}

/// Seconds of one evaluation.
fn seconds(entrant: &mut Entrant<'_>, clock: Clock) -> Result<f64, Error> {
    let mut count = 1;
    loop {
        let parts = entrant(&Pass { clock, split: Split::Difference, first: 0, count })?;
        if parts.total * count as f64 >= LEAST {
            return Ok(parts.total);
        }
        count *= 2;
    }
}

/// The parts of each round, for each entrant of each group.
pub(crate) fn run(groups: &mut [Group<'_>], clock: Clock, rounds: Rounds) -> Result<Vec<Vec<Vec<Parts>>>, Error> {
    let places: Vec<(usize, usize)> =
        groups.iter().enumerate().flat_map(|(g, group)| (0..group.entrants.len()).map(move |e| (g, e))).collect();
    let mut parts: Vec<Vec<Vec<Parts>>> = groups.iter().map(|group| vec![Vec::new(); group.entrants.len()]).collect();
    let start = WALL();
    for round in (0..).take_while(|done| rounds.go_on(*done, WALL() - start)) {
        for (g, e) in in_turn(&places, round) {
            let &mut Group { ref mut entrants, count, split } = &mut groups[g];
            let pass = |evaluations| Pass { clock, split, first: round * count, count: evaluations };
            if count > 1 {
                entrants[e](&pass(1))?;
            }
            parts[g][e].push(entrants[e](&pass(count))?);
        }
    }
    Ok(parts)
}

/// The order of a round: each begins with another one, and every second goes backwards.
pub(crate) fn in_turn<T: Copy>(places: &[T], round: usize) -> Vec<T> {
    let mut order = places.to_vec();
    order.rotate_left(round % places.len().max(1));
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

/// The median, and the quartiles on both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// Of at least one number.
    pub(crate) fn of(numbers: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = numbers.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len() - 1;
        Self { low: sorted[last / 4], median: sorted[last / 2], high: sorted[last - last / 4] }
    }

    /// Half of the distance between the quartiles.
    pub(crate) fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }
}
