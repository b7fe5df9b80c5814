//! The settings, from environment variables.

use crate::log;
use ptx_sim::{Atomics, Checks, Profile, SameValue, Volatile, check};
use std::time::Duration;

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
    /// Whether races with the host are.
    pub host: bool,
    /// Seed of the schedule.
    pub seed: Option<u64>,
    /// Limit on the warp instructions of a launch.
    pub fuel: Option<u64>,
    /// Limit on the time of a launch.
    pub timeout: Option<Duration>,
    /// Whether a launch goes on after a faulty access to memory.
    pub keep_going: bool,
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
        let names = value("RUSTWARP_SIM_CHECKS").unwrap_or_default();
        let Checkers { mut checks, streams, host } = checkers(&names);
        let auto = ("auto", None);
        checks.atomics =
            choice("RUSTWARP_SIM_ATOMICS", &[auto, ("source", Some(Atomics::Source)), ("ptx", Some(Atomics::Ptx))]);
        checks.same_value_writes =
            choice("RUSTWARP_SIM_SAME_VALUE", &[("report", SameValue::Report), ("ignore", SameValue::Ignore)]);
        checks.volatile = choice("RUSTWARP_SIM_VOLATILE", &[("strong", Volatile::Strong), ("weak", Volatile::Weak)]);
        Self {
            profile: profile.unwrap_or_default(),
            devices: number("RUSTWARP_SIM_DEVICES").map_or(1, |n| (n as usize).clamp(1, MOST_DEVICES)),
            checks,
            streams,
            host,
            seed: number("RUSTWARP_SIM_SEED"),
            fuel: number("RUSTWARP_SIM_FUEL"),
            timeout: number("RUSTWARP_SIM_TIMEOUT").map(Duration::from_secs),
            keep_going: value("RUSTWARP_SIM_KEEP_GOING").is_some_and(|value| value == "1"),
            leaks: value("RUSTWARP_SIM_LEAKS").is_some_and(|value| value == "1"),
            report: value("RUSTWARP_SIM_REPORT"),
        }
    }
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    text.parse().map_err(|_| log::line(&format!("{name}: `{text}` is not a number"))).ok()
}

/// Returns the choice that a variable names; the first one if it is not set, or names none.
fn choice<T: Copy>(name: &str, choices: &[(&str, T)]) -> T {
    let text = std::env::var(name).unwrap_or_default();
    let found = choices.iter().find(|(choice, _)| *choice == text);
    if found.is_none() && !text.is_empty() {
        let known: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
        log::line(&format!("{name}: unknown choice `{text}`; expected {}", known.join(" or ")));
    }
    found.unwrap_or(&choices[0]).1
}

/// The checkers of this library itself, for races between streams, and with the host.
const STREAMS: &str = "streams";
const HOST: &str = "host";

/// A choice of checkers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Checkers {
    checks: Checks,
    streams: bool,
    host: bool,
}

const NO_CHECKERS: Checkers = Checkers { checks: Checks::NONE, streams: false, host: false };

/// Returns the checkers with these names; `defects` are those whose findings are defects, `all` are all.
fn checkers(names: &str) -> Checkers {
    let mut chosen = NO_CHECKERS;
    for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match name {
            "none" => chosen = NO_CHECKERS,
            "defects" => chosen = Checkers { checks: Checks::DEFECTS, streams: true, host: true },
            "all" => {
                (chosen.streams, chosen.host) = (true, true);
                check::CHECKERS.iter().for_each(|checker| {
                    chosen.checks.switch(checker.name).into_iter().for_each(|on| *on = true);
                });
            }
            STREAMS => chosen.streams = true,
            // It needs the order of the streams.
            HOST => (chosen.streams, chosen.host) = (true, true),
            name => match chosen.checks.switch(name) {
                Some(on) => *on = true,
                None => {
                    let known: Vec<&str> = check::CHECKERS.iter().map(|checker| checker.name).collect();
                    let known = known.join(", ");
                    log::line(&format!(
                        "RUSTWARP_SIM_CHECKS: unknown checker `{name}`; expected `defects`, `all`, `none`, \
                         `{STREAMS}`, `{HOST}` or {known}"
                    ));
                }
            },
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkers_by_name() {
        let defects = Checkers { checks: Checks::DEFECTS, streams: true, host: true };
        assert_eq!(checkers(""), NO_CHECKERS);
        assert_eq!(checkers("defects"), defects);
        assert_eq!(checkers("race"), Checkers { checks: Checks { race: true, ..Checks::NONE }, ..NO_CHECKERS });
        assert_eq!(checkers("streams"), Checkers { streams: true, ..NO_CHECKERS });
        assert_eq!(checkers("host"), Checkers { streams: true, host: true, ..NO_CHECKERS });
        assert_eq!(checkers("defects, no-such"), defects);
        let all = checkers("all");
        assert!(all.checks.overflow && all.checks.race && all.streams && all.host);
    }
}
