//! A simulator whose findings a test asks for.

use rustwarp::Device;
use rustwarp::backend::{Checkers, Checks, Choice, Handle, open};

/// A simulator with every checker on.
pub fn device() -> Device {
    let (backend, _) = open(Choice::Sim, Checks::On(Checkers::default())).expect("the simulator");
    Device::new(backend)
}

/// Fails if the simulator has found a defect since the last call.
pub fn require_no_finding(device: &Device, what: &str) {
    let findings = device.backend().observed().expect("a simulator").findings;
    assert!(findings.is_empty(), "{what}: {}", findings[0].text);
}
