//! A stream that is read and written until a deadline, and waits that end at one.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A stream whose reads and writes fail behind the deadline, however the other side spreads its bytes.
pub struct Timed<'a> {
    /// The stream.
    pub stream: &'a TcpStream,
    /// The deadline of all reads and writes together.
    pub deadline: Instant,
}

impl Timed<'_> {
    fn remaining(&self) -> io::Result<Duration> {
        let remaining = self.deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(remaining) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.remaining()?))?;
        (&*self.stream).read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.remaining()?))?;
        (&*self.stream).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The time at which the limit ends. A limit beyond what the clock can express ends in 100 years.
pub fn deadline(limit: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(limit).unwrap_or(now + Duration::from_secs(100 * 365 * 24 * 3600))
}

/// Waits for a notification until the deadline; the result is whether there was time left.
pub fn wait_until<'a, T>(changed: &Condvar, guard: MutexGuard<'a, T>, deadline: Instant) -> (MutexGuard<'a, T>, bool) {
    let remaining = deadline.saturating_duration_since(Instant::now());
    if remaining.is_zero() {
        return (guard, false);
    }
    let (guard, _) = changed.wait_timeout(guard, remaining).unwrap_or_else(PoisonError::into_inner);
    (guard, true)
}
