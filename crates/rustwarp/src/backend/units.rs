//! Sizes as text.

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
