//! Standard output, which can be reserved for results that programs read.

use ladders::error::{Error, Result};
use ladders::input;
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The original standard output, once [`reserve`] has replaced it.
static RESERVED: OnceLock<File> = OnceLock::new();

/// Prints a line. A closed pipe (`host list | head`) is not an error: the exit code still reports the command's
/// outcome.
pub(super) fn line(text: &str) -> Result<()> {
    let text = format!("{text}\n");
    let written = match RESERVED.get() {
        Some(mut file) => file.write_all(text.as_bytes()),
        None => {
            let mut out = std::io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        }
    };
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(failed(error)),
        _ => Ok(()),
    }
}

/// Prints a page as JSON or as text; `json` is the value of `--json [FILE]`, and its file gets the JSON beside the
/// text.
pub(super) fn page(
    page: &impl Serialize,
    json: Option<&Option<PathBuf>>,
    text: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    match json {
        Some(None) => return Ok(line(&serde_json::to_string(page)?)?),
        Some(Some(path)) => input::write_text(path, &(serde_json::to_string(page)? + "\n"))?,
        None => {}
    }
    Ok(line(&text())?)
}

/// Reserves standard output for [`line()`] until the process ends: what other code writes there goes to standard error.
/// This is for a GPU's driver, which prints the kernels' text to standard output itself whenever it waits.
#[cfg(unix)]
pub(super) fn reserve() -> Result<()> {
    use std::os::fd::AsFd;
    if RESERVED.get().is_some() {
        return Ok(());
    }
    let own = std::io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    rustix::stdio::dup2_stdout(std::io::stderr()).map_err(|error| failed(error.into()))?;
    // Devices are opened by one thread, so the value is not set yet.
    let _ = RESERVED.set(File::from(own));
    Ok(())
}

/// On other systems there are no descriptors to exchange: what kernels print on a GPU appears between the results.
#[cfg(not(unix))]
pub(super) fn reserve() -> Result<()> {
    Ok(())
}

fn failed(source: std::io::Error) -> Error {
    Error::Write { path: "standard output".into(), source }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    /// Runs in a process of its own, because the reservation lasts until the process ends: this test again, with a
    /// variable set.
    #[test]
    fn what_others_print_goes_elsewhere() {
        const INSIDE: &str = "RUSTWARP_TEST_RESERVED_STDOUT";
        let others = |text: &str| assert!(Command::new("echo").arg(text).status().expect("echo").success());
        if std::env::var_os(INSIDE).is_some() {
            others("before");
            reserve().and_then(|()| line("{\"first\":1}")).expect("reserved");
            others("by the driver");
            reserve().and_then(|()| line("{\"second\":2}")).expect("still reserved");
            return;
        }
        let name = "cli::stdout::tests::what_others_print_goes_elsewhere";
        let own = std::env::current_exe().expect("this program");
        let output = Command::new(own).args(["--exact", name, "--nocapture"]).env(INSIDE, "1").output();
        let output = output.expect("it runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{out}{err}");
        assert!(out.contains("before\n") && out.ends_with("{\"first\":1}\n{\"second\":2}\n"), "{out}");
        assert!(err.contains("by the driver\n"), "{err}");
    }
}
