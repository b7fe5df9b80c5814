//! Runs cargo and other programs for a task, and prints each command.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use cargo_metadata::Message;

use crate::workspace;

/// The exit code of `host` where no GPU answers.
pub const NO_GPU: u8 = 3;

/// A command for the cargo that runs this task, in the workspace's folder.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace::root());
    command
}

/// A command for the project's command line, which cargo compiles first.
pub fn host() -> Command {
    let mut cargo = cargo();
    cargo.args(["run", "--quiet", "--release", "--package", "host", "--"]);
    cargo
}

/// Runs `command` to the end with the terminal's input and output; fails unless it succeeds.
///
/// # Errors
/// Fails if the program does not start or does not succeed; the message names the command line.
pub fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Like [`run`], and returns the standard output.
///
/// # Errors
/// As [`run`].
pub fn read(command: &mut Command) -> Result<String> {
    let line = line(command);
    eprintln!("$ {line}");
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({})", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The name and the path of a program.
pub type Executable = (String, PathBuf);

/// Runs cargo to build, and returns the name and path of each executable.
///
/// # Errors
/// Fails if the build fails.
pub fn executables(arguments: &[&str]) -> Result<Vec<Executable>> {
    let mut cargo = cargo();
    cargo.args(arguments).arg("--message-format=json-render-diagnostics");
    let mut found = Vec::new();
    for message in Message::parse_stream(read(&mut cargo)?.as_bytes()) {
        if let Message::CompilerArtifact(artifact) = message.context("cannot read cargo's messages")? {
            found.extend(artifact.executable.map(|path| (artifact.target.name, path.into())));
        }
    }
    Ok(found)
}

/// The command line, for messages.
fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
