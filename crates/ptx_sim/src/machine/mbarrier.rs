//! State of an mbarrier: pending arrivals and bytes of a phase. PTX ISA, "Parallel Synchronization and Communication",
//! `mbarrier`.
//!
//! A phase is complete when its pending arrivals and its pending bytes are both zero; the next one begins at once. The
//! 64 bits in memory are opaque to programs. Here they hold the whole state, so an ordinary store to them is detected
//! at the next use.

use crate::observe::Site;
use std::fmt;

/// Largest number of arrivals, and of bytes, that a phase can wait for.
pub const MOST: u32 = (1 << 20) - 1;

/// An mbarrier in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarrier {
    /// Number of arrivals that each phase starts with.
    expected: u32,
    /// Number of arrivals that the current phase still waits for.
    pending: u32,
    /// Number of bytes that the current phase still waits for; negative when copies completed before they were
    /// announced.
    bytes: i32,
    /// Number of completed phases.
    phase: u32,
    /// Instruction that initialised it.
    pub site: Site,
}

/// An invalid operation on an mbarrier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misuse {
    /// Code for [`crate::stop::Diagnostic::code`].
    pub code: &'static str,
    /// End of a sentence whose subject is the mbarrier.
    pub what: String,
}

fn misuse<T>(code: &'static str, what: String) -> Result<T, Misuse> {
    Err(Misuse { code, what })
}

impl Mbarrier {
    /// Creates an mbarrier with `count` arrivals in each phase.
    ///
    /// # Errors
    /// `mbarrier-count` if the count is out of range.
    pub fn new(count: u32, site: Site) -> Result<Self, Misuse> {
        if count == 0 || count > MOST {
            return misuse("mbarrier-count", format!("can't wait for {count} arrivals: 1 to {MOST} are possible"));
        }
        Ok(Self { expected: count, pending: count, bytes: 0, phase: 0, site })
    }

    /// Returns the value in memory, which is also the state that an arrival returns. Never zero.
    pub fn bits(&self) -> u64 {
        let bytes = u64::from((self.bytes + MOST as i32) as u32);
        u64::from(self.phase & 1) << 63
            | 1 << 62
            | bytes << 40
            | u64::from(self.pending) << 20
            | u64::from(self.expected)
    }

    /// Records `count` arrivals; with `drop`, later phases wait for that many fewer.
    ///
    /// # Errors
    /// `mbarrier-overflow` if the phase waits for fewer arrivals.
    pub fn arrive(&mut self, count: u32, drop: bool) -> Result<(), Misuse> {
        if count == 0 || count > self.pending {
            let what = format!(
                "gets {count} arrivals in phase {}, which waits for {} of {}",
                self.phase, self.pending, self.expected
            );
            return misuse("mbarrier-overflow", what);
        }
        if drop {
            self.expected = self.expected.saturating_sub(count);
        }
        self.pending -= count;
        self.settle();
        Ok(())
    }

    /// Increments the pending arrivals of this phase.
    ///
    /// # Errors
    /// `mbarrier-overflow` if the number is at its maximum.
    pub fn increment(&mut self) -> Result<(), Misuse> {
        if self.pending >= MOST {
            return misuse("mbarrier-overflow", format!("waits for more than {MOST} arrivals"));
        }
        self.pending += 1;
        Ok(())
    }

    /// Adds to the pending bytes of this phase; a negative number records bytes that have arrived.
    ///
    /// # Errors
    /// `mbarrier-bytes` if the sum is out of range.
    pub fn expect(&mut self, bytes: i64) -> Result<(), Misuse> {
        match i64::from(self.bytes).checked_add(bytes).filter(|sum| sum.unsigned_abs() <= u64::from(MOST)) {
            Some(sum) => self.bytes = sum as i32,
            None => {
                let what = format!(
                    "counts {} pending bytes and {bytes} more in phase {}; at most {MOST} can be counted",
                    self.bytes, self.phase
                );
                return misuse("mbarrier-bytes", what);
            }
        }
        self.settle();
        Ok(())
    }

    /// Returns the number of arrivals that the current phase waits for.
    pub fn pending(&self) -> u32 {
        self.pending
    }

    /// Returns the number of completed phases.
    pub fn phase(&self) -> u64 {
        u64::from(self.phase)
    }

    /// Whether the phase with that parity is complete.
    pub fn passed(&self, parity: bool) -> bool {
        (self.phase & 1 != 0) != parity
    }

    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase = self.phase.wrapping_add(1);
            self.pending = self.expected;
        }
    }
}

/// Returns the parity of the phase that a state belongs to.
pub fn parity_of(state: u64) -> bool {
    state >> 63 != 0
}

/// Returns the pending arrivals of a state, `mbarrier.pending_count`.
pub fn pending_of(state: u64) -> u32 {
    (state >> 20) as u32 & MOST
}

/// Displays the missing arrivals and bytes of the current phase.
impl fmt::Display for Mbarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "phase {} lacks {} of {} arrivals", self.phase, self.pending, self.expected)?;
        match self.bytes {
            0 => Ok(()),
            bytes if bytes > 0 => write!(f, " and {bytes} bytes of copies"),
            bytes => write!(f, ", and {} bytes of copies arrived unannounced", bytes.unsigned_abs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(count: u32) -> Mbarrier {
        Mbarrier::new(count, Site { function: 0, pc: 0 }).expect("a count in range")
    }

    #[test]
    fn a_phase_waits_for_arrivals_and_bytes() {
        let mut barrier = made(2);
        barrier.expect(64).expect("bytes");
        barrier.arrive(2, false).expect("arrivals");
        assert!(!barrier.passed(false));
        barrier.expect(-64).expect("complete");
        assert!(barrier.passed(false) && !barrier.passed(true));
        assert_eq!((barrier.pending(), pending_of(barrier.bits()), parity_of(barrier.bits())), (2, 2, true));
    }

    #[test]
    fn copies_may_be_complete_before_they_are_announced() {
        let mut barrier = made(1);
        barrier.expect(-16).expect("complete");
        barrier.expect(16).expect("announced");
        assert!(!barrier.passed(false));
        barrier.arrive(1, true).expect("the last arrival");
        assert!(barrier.passed(false));
        assert_eq!(barrier.arrive(1, false).expect_err("no arrival is pending").code, "mbarrier-overflow");
    }

    #[test]
    fn limits() {
        let site = Site { function: 0, pc: 0 };
        assert!(Mbarrier::new(0, site).is_err() && Mbarrier::new(MOST + 1, site).is_err());
        let mut barrier = made(MOST);
        assert!(barrier.increment().is_err());
        assert!(barrier.expect(i64::from(MOST)).is_ok() && barrier.expect(1).is_err());
        assert!(barrier.expect(i64::MIN).is_err());
        assert_ne!(barrier.bits(), 0);
    }
}
