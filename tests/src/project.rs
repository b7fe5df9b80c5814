//! Projects that are workspaces of their own, as a user's: cargo runs in them as a user would run it.

use std::path::Path;
use std::process::{Command, Output};

/// Without optimisation: the kernels of these projects are small, and compiling the simulator takes longest.
const QUICK: [&str; 6] = [
    "--config=profile.dev.package.ptx_sim.opt-level=0",
    "--config=profile.test.package.ptx_sim.opt-level=0",
    "--config=profile.dev.package.rustwarp-builder.opt-level=0",
    "--config=profile.dev.debug=false",
    "--config=profile.test.debug=false",
    // With the dependencies that this workspace has fetched.
    "--offline",
];

/// Runs cargo in the project at `folder`, with a target folder that projects share.
///
/// # Panics
/// Panics if cargo does not start.
pub fn cargo(folder: &Path, target: &Path, arguments: &[&str]) -> Output {
    cargo_with(folder, target, arguments, &[])
}

/// Like [`cargo`], with these variables in its environment.
///
/// # Panics
/// Panics if cargo does not start.
pub fn cargo_with(folder: &Path, target: &Path, arguments: &[&str], variables: &[(&str, &Path)]) -> Output {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder).args(QUICK).args(arguments).env("CARGO_TARGET_DIR", target);
    command.envs(variables.iter().copied());
    command.output().expect("cargo starts")
}

/// The text that a command printed.
///
/// # Panics
/// Panics with all of it if the command failed.
pub fn printed(output: &Output) -> String {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    text
}
