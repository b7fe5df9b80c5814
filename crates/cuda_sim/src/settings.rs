//! The settings, from environment variables.

use crate::log;
use ptx_sim::{Checks, Profile, check};

/// Settings of all devices.
pub struct Settings {
    /// The device.
    pub profile: Profile,
    /// Number of devices.
    pub devices: usize,
    /// Checkers of every launch.
    pub checks: Checks,
    /// Whether races between streams are searched for.
    pub streams: bool,
    /// Seed of the schedule.
    pub seed: Option<u64>,
    /// Whether memory that is not freed is reported when the program ends.
    pub leaks: bool,
    /// File for findings.
    pub report: Option<String>,
}

/// Greatest number of devices.
const MOST_DEVICES: usize = 8;

impl Settings {
    /// Reads the environment. A value that has no meaning is logged and ignored, because the program knows no way to
    /// hear of it.
    pub fn read() -> Self {
        let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let profile = value("RUSTWARP_SIM_PROFILE").and_then(|name| {
            Profile::find(&name).map_err(|stop| log::line(&format!("RUSTWARP_SIM_PROFILE: {stop}"))).ok()
        });
        let (checks, streams) = value("RUSTWARP_SIM_CHECKS").map_or((Checks::NONE, false), |names| checks(&names));
        Self {
            profile: profile.unwrap_or_default(),
            devices: number("RUSTWARP_SIM_DEVICES").map_or(1, |n| (n as usize).clamp(1, MOST_DEVICES)),
            checks,
            streams,
            seed: number("RUSTWARP_SIM_SEED"),
            leaks: value("RUSTWARP_SIM_LEAKS").is_some_and(|value| value == "1"),
            report: value("RUSTWARP_SIM_REPORT"),
        }
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    text.parse().map_err(|_| log::line(&format!("{name}: `{text}` is not a number"))).ok()
}

/// The checker of this library itself, for races between streams.
const STREAMS: &str = "streams";

/// Returns the checkers with these names, and whether races between streams are searched for; `defects` are those whose
/// findings are defects, `all` are all.
fn checks(names: &str) -> (Checks, bool) {
    let (mut checks, mut streams) = (Checks::NONE, false);
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name {
            "none" => (checks, streams) = (Checks::NONE, false),
            "defects" => (checks, streams) = (Checks::DEFECTS, true),
            "all" => {
                streams = true;
                check::CHECKERS.iter().for_each(|checker| {
                    checks.switch(checker.name).into_iter().for_each(|on| *on = true);
                });
            }
            STREAMS => streams = true,
            name => match checks.switch(name) {
                Some(on) => *on = true,
                None => {
                    let known: Vec<&str> = check::CHECKERS.iter().map(|checker| checker.name).collect();
                    let known = known.join(", ");
                    log::line(&format!(
                        "RUSTWARP_SIM_CHECKS: unknown checker `{name}`; expected `defects`, `all`, `none`, \
                         `{STREAMS}` or {known}"
                    ));
                }
            },
        }
    }
    (checks, streams)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkers_by_name() {
        assert_eq!(checks(""), (Checks::NONE, false));
        assert_eq!(checks("defects"), (Checks::DEFECTS, true));
        assert_eq!(checks("race"), (Checks { race: true, ..Checks::NONE }, false));
        assert_eq!(checks("streams"), (Checks::NONE, true));
        assert_eq!(checks("defects, no-such"), (Checks::DEFECTS, true));
        let (all, streams) = checks("all");
        assert!(all.overflow && all.race && streams);
    }
}
