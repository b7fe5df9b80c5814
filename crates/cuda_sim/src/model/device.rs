//! A simulated device.

use super::handle::Handle;
use crate::settings::Settings;
use ptx_sim::{Config, Machine, Profile};

/// Size of the address ranges of all devices, which share it: their addresses differ, as under unified addressing.
const RANGE: u64 = 14 << 40;
const MIB: u64 = 1 << 20;
/// Lowest address of the first device: that of `ptx_sim`.
const FIRST: u64 = 0x7000_0000_0000;

/// A simulated device.
pub struct Device {
    /// Number in the list of devices.
    pub number: usize,
    pub profile: Profile,
    pub machine: Machine,
    /// The primary context, once it has been retained for the first time: it exists while the second is not 0.
    pub primary: Option<Handle>,
    pub retained: usize,
    pub primary_flags: u32,
    /// The pool that exists from the start, and the current one.
    pub default_pool: Handle,
    pub pool: Handle,
    /// Bytes in use, and all.
    pub used: u64,
    pub memory: u64,
    /// Number of the latest allocation, for its name.
    pub allocations: u64,
}

impl Device {
    pub fn new(number: usize, settings: &Settings) -> Self {
        let range = RANGE / settings.devices.max(1) as u64;
        let config = Config {
            checks: settings.checks,
            counters: false,
            seed: settings.seed,
            profile: settings.profile.clone(),
            accesses: settings.streams,
            first_address: FIRST + number as u64 * range,
            address_bytes: Some(range),
            timeout: settings.timeout,
            fuel: settings.fuel,
            keep_going: settings.keep_going,
            ..Config::default()
        };
        Self {
            number,
            profile: settings.profile.clone(),
            machine: Machine::new(config),
            primary: None,
            retained: 0,
            primary_flags: 0,
            default_pool: 0,
            pool: 0,
            used: 0,
            memory: host_memory(),
            allocations: 0,
        }
    }
}

/// Returns three quarters of the host's memory in bytes, rounded down to MiB: a program that fills half of the device's
/// memory must find room.
fn host_memory() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let bytes = u64::try_from(pages).unwrap_or(0).saturating_mul(u64::try_from(size).unwrap_or(0));
    bytes / 4 * 3 / MIB * MIB
}
