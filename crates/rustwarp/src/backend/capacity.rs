//! Whether a problem fits: memory of a device and of the host.

use super::Backend;
use crate::error::{Error, Result};

/// Checks that `bytes` fit in device memory, before anything is allocated; `advice` is the last part of the message.
///
/// # Errors
/// [`Error::Usage`] with both sizes, if they do not fit.
pub fn require_memory(device: &dyn Backend, bytes: Option<u64>, what: &str, advice: &str) -> Result<()> {
    let free = device.free_memory()?;
    match bytes {
        Some(bytes) if bytes <= free => Ok(()),
        Some(bytes) => Err(Error::Usage(format!(
            "{what} needs {} of device memory, and {} has {} free: {advice}",
            human(bytes),
            device.info().device,
            human(free)
        ))),
        None => Err(Error::Usage(format!("{what} needs more bytes than 64 bits can represent: {advice}"))),
    }
}

/// Checks that `bytes` of data fit in the free memory of this machine; `advice` is the last part of the message.
///
/// # Errors
/// [`Error::Usage`] with both sizes, if they do not fit.
pub fn require_host_memory(bytes: u64, what: &str, advice: &str) -> Result<()> {
    let free = host_memory("MemAvailable:");
    if bytes <= free {
        return Ok(());
    }
    let (bytes, free) = (human(bytes), human(free));
    Err(Error::Usage(format!("{what} needs {bytes} of this machine's memory, and {free} are free: {advice}")))
}

/// The value of a line of `/proc/meminfo` in bytes; 8 GiB if there is no such file.
pub(super) fn host_memory(line: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = text.lines().find_map(|l| l.strip_prefix(line)?.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.map_or(8 << 30, |n| n * 1024)
}

/// Formats a number of bytes with two digits and a binary unit.
pub fn human(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (bytes.max(1).ilog2() / 10) as usize;
    match power {
        0 => format!("{bytes} bytes"),
        _ => format!("{:.1} {}", bytes as f64 / (1_u64 << (10 * power)) as f64, units[power]),
    }
}

/// Formats an extent as columns, rows and planes.
pub fn extent_text([x, y, z]: [u64; 3]) -> String {
    format!("{x}x{y}x{z}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        assert_eq!(human(0), "0 bytes");
        assert_eq!(human(1023), "1023 bytes");
        assert_eq!(human(1 << 30), "1.0 GiB");
        assert_eq!(human(u64::MAX), "16.0 EiB");
    }
}
