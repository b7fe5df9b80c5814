//! Work that is spread over all processors.

use std::{
    num::NonZero,
    sync::{Mutex, PoisonError},
    thread,
};

/// Does all jobs, the last first, and returns their results in the order in which they end.
///
/// # Errors
/// The first error: the other workers finish what they have begun then, and take nothing more.
pub(crate) fn on_all_processors<J: Send, R: Send, E: Send>(
    jobs: Vec<J>,
    work: impl Fn(J) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len());
    let queue = Mutex::new(jobs);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let outcome = Mutex::new(Ok(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(job) = next() {
                    let result = work(job);
                    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
                    match (result, outcome.as_mut()) {
                        (Ok(result), Ok(results)) => results.push(result),
                        (Err(error), Ok(_)) => {
                            queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
                            *outcome = Err(error);
                        }
                        _ => {}
                    }
                }
            });
        }
    });
    outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_jobs_are_done_once_or_the_first_error_ends_them() {
        let mut done = on_all_processors((0..100).collect(), Ok::<u32, u32>).expect("no error");
        done.sort_unstable();
        assert_eq!(done, Vec::from_iter(0..100));
        assert_eq!(on_all_processors(Vec::new(), Ok::<u32, u32>), Ok(Vec::new()));
        let failing = |job: u32| if job == 50 { Err(job) } else { Ok(job) };
        assert_eq!(on_all_processors((0..100).collect(), failing), Err(50));
    }
}
