//! Parts that wait for a value from the part before them.

#[cfg(feature = "rayon")]
use crate::kernel::targets::blocks::POINTS;
#[cfg(feature = "rayon")]
use std::collections::VecDeque;
#[cfg(feature = "rayon")]
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Work on each part: first work that needs nothing of others, then `carry` in the order of the parts, then the
/// rest.
pub(super) trait Steps<T>: Sync {
    /// Does what needs no other part.
    fn first(&self, part: &mut T);
    /// Does what needs the carry.
    fn second(&self, part: T);
}

/// Carries out the steps of all parts, possibly on several threads if there are enough `points`. A part is small enough
/// to stay in the cache between its steps.
pub(super) fn chained<T: Send>(
    points: usize,
    parts: &mut (dyn Iterator<Item = T> + Send),
    steps: &dyn Steps<T>,
    carry: &mut (dyn FnMut(&mut T) + Send),
) {
    #[cfg(feature = "rayon")]
    if points > POINTS.unsigned_abs() && rayon::current_num_threads() > 1 {
        return on_threads(parts, steps, carry);
    }
    // Without threads the number of points makes no difference.
    let _ = points;
    for mut part in parts {
        steps.first(&mut part);
        carry(&mut part);
        steps.second(part);
    }
}

/// Parts on their way. No thread ever waits for another: where the carry of a part is not there yet, the thread takes
/// the next part, and whoever brings the carry releases all parts that have waited for it.
#[cfg(feature = "rayon")]
struct Queue<'a, T> {
    left: &'a mut (dyn Iterator<Item = T> + Send),
    carry: &'a mut (dyn FnMut(&mut T) + Send),
    /// Number of parts that have begun, and of those that the carry has passed.
    begun: usize,
    passed: usize,
    /// Parts behind the carry, in order; `None` while the first step runs.
    waiting: VecDeque<Option<T>>,
    ready: VecDeque<T>,
}

#[cfg(feature = "rayon")]
enum Task<T> {
    First(usize, T),
    Second(T),
}

#[cfg(feature = "rayon")]
impl<T> Queue<'_, T> {
    fn next(&mut self) -> Option<Task<T>> {
        if let Some(part) = self.ready.pop_front() {
            return Some(Task::Second(part));
        }
        let part = self.left.next()?;
        self.waiting.push_back(None);
        self.begun += 1;
        Some(Task::First(self.begun - 1, part))
    }

    /// Takes a part back after its first step, and passes the carry on as far as possible.
    fn put(&mut self, n: usize, part: T) {
        self.waiting[n - self.passed] = Some(part);
        while let Some(part) = self.waiting.front_mut().and_then(Option::as_mut) {
            (self.carry)(part);
            self.passed += 1;
            self.ready.extend(self.waiting.pop_front().flatten());
        }
    }
}

#[cfg(feature = "rayon")]
fn on_threads<T: Send>(
    parts: &mut (dyn Iterator<Item = T> + Send),
    steps: &dyn Steps<T>,
    carry: &mut (dyn FnMut(&mut T) + Send),
) {
    let (waiting, ready) = (VecDeque::new(), VecDeque::new());
    let queue = &Mutex::new(Queue { left: parts, carry, begun: 0, passed: 0, waiting, ready });
    let work = || {
        while let Some(task) = { locked(queue).next() } {
            match task {
                Task::First(n, mut part) => {
                    steps.first(&mut part);
                    locked(queue).put(n, part);
                }
                Task::Second(part) => steps.second(part),
            }
        }
    };
    rayon::scope(|scope| (0..rayon::current_num_threads()).for_each(|_| scope.spawn(|_| work())));
}

#[cfg(feature = "rayon")]
fn locked<T>(queue: &Mutex<T>) -> MutexGuard<'_, T> {
    // A rule may panic while the carry is passed on. The carry then stops there, and so does the launch.
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
