//! The log of the driver: calls that are not supported, and on request every call.

use crate::code::{Code, describe};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

struct Log {
    file: Option<Mutex<File>>,
    every_call: bool,
}

fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let path = std::env::var("RUSTWARP_SIM_LOG").unwrap_or_default();
        let open = || File::options().create(true).append(true).open(&path).ok();
        Log {
            file: if path.is_empty() || path == "-" { None } else { open().map(Mutex::new) },
            every_call: std::env::var("RUSTWARP_SIM_TRACE").is_ok_and(|value| value == "1"),
        }
    })
}

/// Writes a line.
pub fn line(text: &str) {
    let text = format!("cuda_sim: {text}\n");
    match &log().file {
        // Nothing can be done about a full disk here, and the program's result does not depend on it.
        Some(file) => drop(file.lock().unwrap_or_else(PoisonError::into_inner).write_all(text.as_bytes())),
        None => write(STDERR, &text),
    }
}

/// Writes a line that was not written before: a program may try several images, or call a missing function in a loop.
pub fn once(text: &str) {
    static WRITTEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let is_new = written.len() < MOST && written.insert(text.to_owned());
    drop(written);
    if is_new {
        line(text);
    }
}

/// Greatest number of lines that are remembered.
const MOST: usize = 10_000;

/// Descriptors of the program's standard output and standard error output.
pub const STDOUT: i32 = 1;
pub const STDERR: i32 = 2;

/// Writes to a descriptor, also from exit handlers.
pub fn write(descriptor: i32, text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the buffer has as many bytes.
        let written = unsafe { libc::write(descriptor, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(written) {
            Ok(written) if written > 0 => rest = &rest[written.min(rest.len())..],
            _ => return,
        }
    }
}

/// Logs a call with its result, if every call is logged.
pub fn called(name: &str, code: u32) {
    if log().every_call {
        let result = describe(code).map_or("?", |(symbol, _)| symbol.trim_end_matches('\0'));
        line(&format!("{name} -> {result}"));
    }
}

/// Logs by name what is not supported, and returns the code for the program.
pub fn unsupported(name: &str) -> Code {
    once(&format!("{name} is not supported"));
    Code::NOT_SUPPORTED
}
