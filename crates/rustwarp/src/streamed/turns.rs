//! A limit to the number of threads that do something at a time.

use crate::sync::lock;
use std::sync::{Condvar, Mutex, PoisonError};

/// Turns, of which a number are taken at a time.
#[derive(Debug)]
pub(super) struct Turns {
    left: Mutex<usize>,
    returned: Condvar,
}

/// A turn, which ends when it is dropped.
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// This number of turns at a time, at least one.
    pub fn new(number: usize) -> Self {
        Self { left: Mutex::new(number.max(1)), returned: Condvar::new() }
    }

    /// Waits for a turn.
    pub fn take(&self) -> Turn<'_> {
        let mut left = lock(&self.left);
        while *left == 0 {
            left = self.returned.wait(left).unwrap_or_else(PoisonError::into_inner);
        }
        *left -= 1;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *lock(&self.0.left) += 1;
        self.0.returned.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    #[test]
    fn no_more_than_the_number_are_taken() {
        let (turns, now, most, done) = (Turns::new(2), AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || {
            for _ in 0..100 {
                let _turn = turns.take();
                most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                std::thread::yield_now();
                now.fetch_sub(1, Ordering::Relaxed);
                done.fetch_add(1, Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| (0..5).for_each(|_| drop(scope.spawn(work))));
        assert_eq!(done.into_inner(), 500);
        assert!(most.into_inner() <= 2);
    }

    #[test]
    fn as_many_as_the_number_are_taken_and_another_waits() {
        let (turns, both, ended) = (Turns::new(2), Barrier::new(2), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (first, second) = (
                turns.take(),
                scope.spawn(|| {
                    let turn = turns.take();
                    both.wait();
                    turn
                }),
            );
            // Both have a turn at this point.
            both.wait();
            let second = second.join().expect("a turn");
            let third = scope.spawn(|| {
                let _turn = turns.take();
                assert!(ended.load(Ordering::SeqCst), "a third turn at a time");
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            ended.store(true, Ordering::SeqCst);
            drop(first);
            third.join().expect("the third turn");
            drop(second);
        });
    }
}
