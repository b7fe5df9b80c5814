//! Whether a problem fits: memory of a device and of the host.

use super::interface::Backend;
use super::units::human;
use crate::error::{Error, Result};

/// Checks that `bytes` fit in device memory, before anything is allocated; `advice` is the last part of the message.
///
/// # Errors
/// [`Error::OutOfMemory`] with both sizes, if they do not fit; [`Error::Argument`] for a size that 64 bits cannot
/// represent.
pub fn require_memory(device: &dyn Backend, bytes: Option<u64>, what: &str, advice: &str) -> Result<()> {
    let free = device.free_memory()?;
    match bytes {
        Some(bytes) if bytes <= free => Ok(()),
        Some(bytes) => Err(Error::OutOfMemory(format!(
            "{what} needs {} of device memory, and {} has {} free: {advice}",
            human(bytes),
            device.info().device,
            human(free)
        ))),
        None => Err(Error::Argument(format!("{what} needs more bytes than 64 bits can represent: {advice}"))),
    }
}

/// Checks that `bytes` of data fit in the free memory of this machine; `advice` is the last part of the message.
///
/// # Errors
/// [`Error::OutOfMemory`] with both sizes, if they do not fit.
pub fn require_host_memory(bytes: u64, what: &str, advice: &str) -> Result<()> {
    let free = host_memory("MemAvailable:");
    if bytes <= free {
        return Ok(());
    }
    let (bytes, free) = (human(bytes), human(free));
    Err(Error::OutOfMemory(format!("{what} needs {bytes} of this machine's memory, and {free} are free: {advice}")))
}

/// The value of a line of `/proc/meminfo` in bytes; 8 GiB if there is no such file.
pub(super) fn host_memory(line: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text.lines().find_map(|l| l.strip_prefix(line)?.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.map_or(8 << 30, |n| n * 1024)
}
