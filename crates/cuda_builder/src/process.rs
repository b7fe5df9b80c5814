//! Runs other programs. An error quotes the output of the program that failed.

use std::{
    ffi::OsStr,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use crate::error::Error;

/// Variable with the dynamic linker's search path, which unpacked toolchains need.
const LIBRARY_PATH: &str = if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };

/// Runs `command` to its end.
///
/// # Errors
/// [`Error::Start`] if it does not start; [`Error::Tool`] with its output if it fails.
pub(crate) fn run(command: &mut Command, purpose: &str) -> Result<Output, Error> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|reason| Error::Start {
        program: program.clone(),
        purpose: purpose.to_owned(),
        reason,
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    Err(Error::Tool { program, purpose: purpose.to_owned(), status: output.status.to_string(), output: text })
}

/// Like [`run`], and returns the standard output.
pub(crate) fn read(command: &mut Command, purpose: &str) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(&run(command, purpose)?.stdout).into_owned())
}

/// Prepends `folders` to those in which `command` finds its shared libraries.
pub(crate) fn add_library_path(command: &mut Command, folders: &[PathBuf]) {
    if folders.is_empty() {
        return;
    }
    let inherited = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
    let all = folders.iter().cloned().chain(std::env::split_paths(&inherited).filter(|path| path != OsStr::new("")));
    if let Ok(joined) = std::env::join_paths(all) {
        command.env(LIBRARY_PATH, joined);
    }
}
