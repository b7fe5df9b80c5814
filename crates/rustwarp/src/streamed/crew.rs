//! Threads that do jobs from one queue.

use crate::error::{Error, Result};
use crate::sync::lock;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, Scope};

/// Threads that do jobs, which they take in order. They end when the crew is dropped: jobs that none has begun are
/// dropped, too.
pub(super) struct Crew<J, R> {
    jobs: Sender<J>,
    done: Receiver<std::thread::Result<R>>,
    stop: Arc<AtomicBool>,
    busy: usize,
}

impl<J, R> Crew<J, R> {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the system starts no more threads.
    pub fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        threads: usize,
        name: &str,
        work: impl Fn(J) -> R + Clone + Send + 'scope,
    ) -> Result<Self>
    where
        J: Send + 'scope,
        R: Send + 'scope,
    {
        let (jobs, queue) = channel();
        let (results, done) = channel();
        let (queue, stop) = (Arc::new(Mutex::new(queue)), Arc::new(AtomicBool::new(false)));
        let crew = Self { jobs, done, stop, busy: 0 };
        for _ in 0..threads.max(1) {
            let (queue, results, stop, work) = (queue.clone(), results.clone(), crew.stop.clone(), work.clone());
            let run = move || serve(&queue, &results, &stop, work);
            Builder::new()
                .name(format!("rustwarp {name}"))
                .spawn_scoped(scope, run)
                .map_err(|error| Error::OutOfMemory(format!("starting {threads} threads: {error}; use fewer")))?;
        }
        Ok(crew)
    }

    /// Adds a job to the queue.
    pub fn give(&mut self, job: J) {
        // The threads end after this sender only.
        if self.jobs.send(job).is_ok() {
            self.busy += 1;
        }
    }

    /// Waits for the next job that is done; `None` if there is none to wait for.
    ///
    /// # Panics
    /// Panics as the job did.
    pub fn take(&mut self) -> Option<R> {
        if self.busy == 0 {
            return None;
        }
        let done = self.done.recv().ok()?;
        self.busy -= 1;
        Some(done.unwrap_or_else(|panic| resume_unwind(panic)))
    }

    /// Number of jobs that were given and not taken.
    pub fn busy(&self) -> usize {
        self.busy
    }
}

/// The work of one thread.
fn serve<J, R>(
    queue: &Mutex<Receiver<J>>,
    results: &Sender<std::thread::Result<R>>,
    stop: &AtomicBool,
    work: impl Fn(J) -> R,
) {
    loop {
        // The lock is held while the thread waits for a job: the others wait for the lock.
        let Ok(job) = lock(queue).recv() else { return };
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let result = catch_unwind(AssertUnwindSafe(|| work(job)));
        if results.send(result).is_err() {
            return;
        }
    }
}

impl<J, R> Drop for Crew<J, R> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once() {
        let mut results = std::thread::scope(|scope| {
            let mut crew = Crew::start(scope, 3, "test", |x: u32| x * 2).expect("threads");
            (0..100).for_each(|x| crew.give(x));
            assert_eq!(crew.busy(), 100);
            std::iter::from_fn(|| crew.take()).collect::<Vec<_>>()
        });
        results.sort_unstable();
        assert_eq!(results, (0..100).map(|x| x * 2).collect::<Vec<_>>());
    }

    #[test]
    fn a_panic_of_a_job_is_one_of_the_caller() {
        let caught = std::panic::catch_unwind(|| {
            std::thread::scope(|scope| {
                let mut crew = Crew::start(scope, 2, "test", |x: u32| assert!(x < 2, "job {x}")).expect("threads");
                (0..9).for_each(|x| crew.give(x));
                while crew.take().is_some() {}
            });
        });
        let panic = caught.expect_err("a panic");
        assert!(panic.downcast_ref::<String>().is_some_and(|text| text.starts_with("job ")), "of the job");
    }
}
