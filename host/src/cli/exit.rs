//! The exit codes, and the text of errors.

use super::{look, replay};
use ladders::Error;
use rustwarp::Diagnostic;
use std::ffi::OsString;

/// Everything was done, and every compared result is right.
pub(super) const CLEAN: u8 = 0;
/// A result is wrong, or a checker found something.
pub(super) const WRONG: u8 = 1;
/// The request or its input is not valid, or a result could not be written.
const USAGE: u8 = 2;
/// There is no such device, driver or PTX, or the program is not one that the simulated driver runs.
pub(super) const UNAVAILABLE: u8 = 3;
/// The kernel faulted.
const FAULT: u8 = 4;
/// The ranks of a group differ, or one is missing or has ended.
const GROUP: u8 = 5;

/// The exit code for an error.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    match (error.downcast_ref::<Error>(), error.downcast_ref::<rustwarp::Error>()) {
        (Some(Error::Fault(_)), _) => FAULT,
        (Some(Error::NoPeer(_)), _) => UNAVAILABLE,
        (Some(Error::Library(error)), _) | (None, Some(error)) => of_library(error),
        _ => USAGE,
    }
}

fn of_library(error: &rustwarp::Error) -> u8 {
    use rustwarp::Error::{Device, Fault, Group, NoDevice, NoPtx, UnreadablePtx, Unsupported};
    match error {
        NoDevice(_) | NoPtx(_) | UnreadablePtx { .. } | Unsupported(_) | Device(_) => UNAVAILABLE,
        Fault(_) => FAULT,
        Group(_) => GROUP,
        _ => USAGE,
    }
}

/// The error's text for standard error; `arguments` are those of the process, its name first.
pub fn describe(error: &anyhow::Error, arguments: impl IntoIterator<Item = OsString>) -> String {
    match (error.downcast_ref::<Error>(), error.downcast_ref::<rustwarp::Error>()) {
        (Some(Error::Fault(fault)), _) | (_, Some(rustwarp::Error::Fault(fault))) => of_fault(fault, arguments),
        _ => error.to_string(),
    }
}

/// The report of a fault; a GPU's has no places, which the simulator would show.
fn of_fault(fault: &Diagnostic, arguments: impl IntoIterator<Item = OsString>) -> String {
    if !fault.places.is_empty() || fault.help.is_none() {
        return look::report(fault).to_owned();
    }
    let arguments: Vec<String> = arguments.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // The library's help is for programs; here, the command is known.
    let event = look::report(fault).lines().next().unwrap_or_default();
    format!("{event}\nhelp: {}", replay::advice(&arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_error_has_its_code() {
        let code = |error: Error| exit_code(&anyhow::Error::from(error));
        let library = |error: rustwarp::Error| [code(error_again(&error)), exit_code(&anyhow::Error::from(error))];
        assert_eq!(code(Error::Usage(String::new())), 2);
        assert_eq!((code(Error::input("x", "y")), code(Error::NoPeer(String::new()))), (2, 3));
        assert_eq!(library(rustwarp::Error::Argument(String::new())), [2, 2]);
        assert_eq!(library(rustwarp::Error::NoPtx(String::new())), [3, 3]);
        let unreadable =
            rustwarp::Error::UnreadablePtx { path: "x.ptx".into(), source: std::io::ErrorKind::NotFound.into() };
        assert_eq!(exit_code(&unreadable.into()), 3);
        assert_eq!(exit_code(&rustwarp::Error::OutOfMemory(String::new()).into()), 2);
        let fault = || rustwarp::Error::Fault(Box::new(Diagnostic::new("fault", "trap", "it trapped", "it trapped")));
        assert_eq!((code(fault().into()), exit_code(&fault().into())), (4, 4));
        let group = || rustwarp::Error::Group("rank 2 has ended".to_owned());
        assert_eq!((code(group().into()), exit_code(&group().into())), (5, 5));
        assert_eq!(exit_code(&anyhow::anyhow!("any other")), 2);
    }

    /// The same error, as the ladders report it.
    fn error_again(error: &rustwarp::Error) -> Error {
        match error {
            rustwarp::Error::Argument(text) => rustwarp::Error::Argument(text.clone()).into(),
            rustwarp::Error::NoPtx(text) => rustwarp::Error::NoPtx(text.clone()).into(),
            other => Error::Usage(other.to_string()),
        }
    }

    #[test]
    fn a_fault_on_a_gpu_leads_to_the_simulator() {
        let fault =
            Diagnostic::new("fault", "CUDA_ERROR_LAUNCH_FAILED", "it trapped", "running the kernel: it trapped");
        let help = "run the same calls on `Device::sim()`";
        let on_gpu =
            Diagnostic { help: Some(help.to_owned()), text: format!("{}\nhelp: {help}", fault.text), ..fault.clone() };
        let line = ["host", "failing", "--variant", "barrier_in_if"].map(OsString::from);
        let text = |fault: Diagnostic| describe(&Error::Fault(Box::new(fault)).into(), line.clone());
        assert_eq!(text(fault), "running the kernel: it trapped");
        assert_eq!(
            text(on_gpu),
            "running the kernel: it trapped\nhelp: to get the source line, run it again on the simulator: host failing \
             --variant barrier_in_if --device sim"
        );
    }
}
