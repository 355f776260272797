//! A thread that does one job after the other, each with buffers that it owns meanwhile.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// A background thread that turns jobs into results, in order. The queue is as long as its user lets it become.
pub(super) struct Worker<J, R> {
    /// `None` once there will be no more.
    jobs: Option<Sender<J>>,
    /// In a mutex only because a receiver is not `Sync`; it is never locked.
    results: Mutex<Receiver<R>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl<J: Send + 'static, R: Send + 'static> Worker<J, R> {
    /// `None` when the system has no thread to spare.
    pub(super) fn start(name: &str, mut work: impl FnMut(J) -> R + Send + 'static) -> Option<Self> {
        let (jobs, todo) = channel();
        let (done, results) = channel();
        let run = move || {
            for job in todo {
                if done.send(work(job)).is_err() {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run).ok()?;
        Some(Self { jobs: Some(jobs), results: Mutex::new(results), thread: Some(thread) })
    }

    /// Whether the job was accepted. It is not when the thread has panicked.
    pub(super) fn send(&self, job: J) -> bool {
        self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok())
    }

    /// A result that is there already.
    pub(super) fn try_result(&mut self) -> Option<R> {
        self.results.get_mut().unwrap_or_else(PoisonError::into_inner).try_recv().ok()
    }

    /// Waits for the next result; `None` when there will be none because the thread has panicked.
    pub(super) fn wait(&mut self) -> Option<R> {
        let result = self.results.get_mut().unwrap_or_else(PoisonError::into_inner).recv().ok();
        if result.is_none() {
            self.stop();
        }
        result
    }
}

impl<J, R> Worker<J, R> {
    /// Ends the thread once it has done the jobs that it was given.
    fn stop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been printed; whoever waits for a result learns that there is none.
            drop(thread.join());
        }
    }
}

impl<J, R> Drop for Worker<J, R> {
    fn drop(&mut self) {
        self.stop();
    }
}
