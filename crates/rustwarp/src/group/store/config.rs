//! The store's limits of time and number.

use std::time::Duration;

/// The store's limits of time and number, which tests shorten.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Interval at which a connection without other traffic sends a sign of life.
    pub heartbeat: Duration,
    /// Silence after which the other side counts as ended, and limit for sending the rest when a rank leaves.
    pub silence: Duration,
    /// Limit for a connection to authenticate.
    pub handshake: Duration,
    /// Limit for which rank 0 keeps the server when it leaves, so that the others can finish, too.
    pub linger: Duration,
    /// Limit for the ranks to receive why the group has failed, when rank 0 leaves or reports who is missing.
    pub report: Duration,
    /// Number of connections which may be unauthenticated at one time, if the group has no more ranks.
    pub strangers: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(1),
            silence: Duration::from_secs(15),
            handshake: Duration::from_secs(5),
            linger: Duration::from_secs(5),
            report: Duration::from_secs(5),
            strangers: 64,
        }
    }
}
