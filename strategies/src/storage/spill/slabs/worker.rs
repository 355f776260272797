//! Background threads that process jobs, each with buffers that it owns meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Background threads that turn jobs into results. The length of the queue is up to the user.
///
/// Jobs are started in order. With several threads, results may arrive in another order.
pub(crate) struct Worker<J, R> {
    /// Queue of jobs; `None` once there are no more.
    jobs: Option<Sender<J>>,
    /// Queue of results, `None` for a job that panicked. In a mutex only because a receiver is not `Sync`; it is never
    /// locked.
    results: Mutex<Receiver<Option<R>>>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl<J: Send + 'static, R: Send + 'static> Worker<J, R> {
    /// Starts this many threads, or as many as the system has; returns `None` if it has none.
    pub(crate) fn start(name: &str, threads: usize, work: impl Fn(J) -> R + Send + Sync + 'static) -> Option<Self> {
        let (jobs, todo) = channel();
        let (done, results) = channel();
        let (work, todo) = (Arc::new(work), Arc::new(Mutex::new(todo)));
        let start_one = |_| {
            let (work, todo, done) = (Arc::clone(&work), Arc::clone(&todo), Sender::clone(&done));
            let run = move || {
                // One thread waits for a job under the lock, and the others wait for the lock.
                let next = || todo.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok(job) = next() {
                    // The panic has been printed; whoever waits for the result learns that there is none.
                    let result = catch_unwind(AssertUnwindSafe(|| work(job))).ok();
                    let gone = result.is_none();
                    if done.send(result).is_err() || gone {
                        break;
                    }
                }
            };
            thread::Builder::new().name(name.to_owned()).spawn(run).ok()
        };
        let threads: Vec<_> = (0..threads).map_while(start_one).collect();
        (!threads.is_empty()).then(|| Self { jobs: Some(jobs), results: Mutex::new(results), threads })
    }

    /// Passes a job to the threads. Returns false once it is known that a thread has panicked.
    pub(crate) fn send(&self, job: J) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok())
    }

    /// Returns a result if one is available.
    pub(crate) fn try_result(&mut self) -> Option<R> {
        let result = self.results()?.try_recv().ok()?;
        self.or_stop(result)
    }

    /// Waits for the next result; `None` if a thread has panicked. Results that are still on their way are lost then.
    pub(crate) fn wait(&mut self) -> Option<R> {
        let result = self.results()?.recv().ok().flatten();
        self.or_stop(result)
    }

    /// Returns the queue of results; `None` once it is known that a thread has panicked, because all jobs have been
    /// given up.
    fn results(&mut self) -> Option<&mut Receiver<Option<R>>> {
        let working = self.jobs.is_some();
        working.then(|| self.results.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    fn or_stop(&mut self, result: Option<R>) -> Option<R> {
        if result.is_none() {
            self.stop();
        }
        result
    }
}

impl<J, R> Worker<J, R> {
    /// Ends the threads once they have done all their jobs.
    fn stop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // The threads catch panics, so joining them cannot fail.
            drop(thread.join());
        }
    }
}

impl<J, R> Drop for Worker<J, R> {
    fn drop(&mut self) {
        self.stop();
    }
}
