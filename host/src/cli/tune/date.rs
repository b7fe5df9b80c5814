//! The day of a measurement.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today in UTC, as `2026-11-27`.
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let [year, month, day] = civil(seconds / 86400);
    format!("{year}-{month:02}-{day:02}")
}

/// Year, month and day of the Gregorian calendar, of a number of days since 1970-01-01: `civil_from_days` of Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms". Years begin in March, so that a leap day is the last of its year.
fn civil(days: u64) -> [u64; 3] {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    [year + era * 400 + u64::from(month <= 2), month, day]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        for (days, date) in [
            (0, [1970, 1, 1]),
            (58, [1970, 2, 28]),
            (59, [1970, 3, 1]),
            (789, [1972, 2, 29]),
            (11_016, [2000, 2, 29]),
            (20_783, [2026, 11, 26]),
            (47_540, [2100, 2, 28]),
            (47_541, [2100, 3, 1]),
        ] {
            assert_eq!(civil(days), date);
        }
    }
}
