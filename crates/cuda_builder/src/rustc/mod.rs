//! Kernels to bitcode: cargo and the device rustc, with a linker that only takes notes.

use std::{
    io::{BufRead, BufReader, IsTerminal},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use crate::{Arch, DebugInfo, Error, TARGET, process, toolchain::Toolchain};

mod record;

pub(crate) use record::Record;

const RECORD_LINK: &str = include_str!("record-link.sh");

/// Variables of an outer cargo that would change the device build's meaning.
const FOREIGN_VARIABLES: [&str; 8] = [
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET",
    "CARGO_MAKEFLAGS",
    "TARGET",
];

/// One compilation of one crate for one architecture.
pub(crate) struct Request<'a> {
    pub toolchain: &'a Toolchain,
    /// Folder of the kernel crate's Cargo.toml.
    pub package_dir: &'a Path,
    /// Its name, for messages.
    pub package: &'a str,
    /// cargo's target folder for this architecture.
    pub target_dir: &'a Path,
    pub arch: Arch,
    pub release: bool,
    pub debug: DebugInfo,
    /// More arguments for cargo.
    pub build_args: &'a [String],
    /// Whether this compilation is the one that the user watches.
    pub watch: Watch<'a>,
}

/// Several compilations of one crate run side by side and say the same things, so one of them is shown.
#[derive(Clone, Copy)]
pub(crate) enum Watch<'a> {
    /// cargo's progress and rustc's messages appear as they come. The lock opens when cargo has begun to compile: until
    /// then it holds locks of its own, and would tell the user that another cargo waits for them.
    Live(&'a OnceLock<()>),
    /// Waits for the lock; its messages become part of the error if it fails.
    Quiet(&'a OnceLock<()>),
}

/// Compiles, and gives the path of the link record.
pub(crate) fn compile(request: &Request<'_>) -> Result<PathBuf, Error> {
    let linker = write_linker(request.target_dir)?;
    let mut command = cargo(request, &linker);
    let start = |source| Error::Start {
        program: "cargo".to_owned(),
        purpose: format!("compile {} for {}", request.package, request.arch),
        source,
    };
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let output = match request.watch {
        Watch::Live(begun) => run_live(&mut command, begun),
        Watch::Quiet(begun) => {
            begun.wait();
            let color = if std::io::stderr().is_terminal() { "always" } else { "never" };
            command.env("CARGO_TERM_COLOR", color).stderr(Stdio::piped()).output()
        }
    };
    let output = output.map_err(start)?;
    if !output.status.success() {
        return Err(Error::Compile {
            package: request.package.to_owned(),
            arch: request.arch,
            messages: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    link_output(&messages).ok_or_else(|| Error::Answer {
        program: "cargo rustc --message-format=json".to_owned(),
        problem: "expected an artifact that ends in .ptx".to_owned(),
        output: messages.lines().last().unwrap_or_default().to_owned(),
    })
}

/// Runs cargo with the user's own standard error, and opens `begun` at its first message.
fn run_live(command: &mut Command, begun: &OnceLock<()>) -> std::io::Result<Output> {
    let mut child = command.spawn()?;
    let mut messages = Vec::new();
    if let Some(out) = child.stdout.take() {
        let mut out = BufReader::new(out);
        while out.read_until(b'\n', &mut messages)? > 0 {
            let _ = begun.set(());
        }
    }
    Ok(Output { status: child.wait()?, stdout: messages, stderr: Vec::new() })
}

fn cargo(request: &Request<'_>, linker: &Path) -> Command {
    let toolchain = request.toolchain;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(request.package_dir)
        .args(["rustc", "--lib", "--crate-type", "cdylib", "--target", TARGET, "-Zbuild-std=core"])
        .arg("--message-format=json-render-diagnostics")
        .arg("--target-dir")
        .arg(request.target_dir);
    if request.release {
        command.arg("--release");
    }
    command.args(request.build_args);
    for name in FOREIGN_VARIABLES {
        command.env_remove(name);
    }
    command
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags(request, linker).join("\u{1f}"));
    process::add_library_path(&mut command, &toolchain.library_path);
    command
}

/// rustc writes bitcode as plain as it can: LLVM's optimiser must see the kernels only after the IR pass.
fn flags(request: &Request<'_>, linker: &Path) -> Vec<String> {
    let library = request.toolchain.rust_src.to_string_lossy();
    let mut flags = vec![
        format!("-Clinker={}", linker.display()),
        format!("-Ctarget-cpu={}", request.arch),
        "-Cno-prepopulate-passes".to_owned(),
        // rustc's own optimiser (MIR) knows no convergence: this pass copies barriers into the arms of a divergent
        // branch.
        "-Zmir-enable-passes=-JumpThreading".to_owned(),
        "-Clinker-plugin-lto".to_owned(),
        "-Ccodegen-units=1".to_owned(),
        "-Cpanic=abort".to_owned(),
        format!("-Cdebuginfo={}", request.debug.rustc_level()),
        format!("--remap-path-prefix={library}=/rust/library"),
    ];
    // Packages link the source into place, and rustc then sees either name.
    if let Ok(real) = request.toolchain.rust_src.canonicalize()
        && real != request.toolchain.rust_src
    {
        flags.push(format!("--remap-path-prefix={}=/rust/library", real.display()));
    }
    flags
}

/// The linker is written only when it changed: cargo looks at its time.
fn write_linker(target_dir: &Path) -> Result<PathBuf, Error> {
    std::fs::create_dir_all(target_dir).map_err(Error::io("create", target_dir))?;
    let path = target_dir.join("record-link.sh");
    if std::fs::read_to_string(&path).is_ok_and(|text| text == RECORD_LINK) {
        return Ok(path);
    }
    // Written aside and renamed, so that a build beside this one never runs half a script.
    let fresh = target_dir.join(format!("record-link.{}.tmp", std::process::id()));
    std::fs::write(&fresh, RECORD_LINK).map_err(Error::io("write", &fresh))?;
    make_executable(&fresh)?;
    std::fs::rename(&fresh, &path).map_err(Error::io("write", &path))?;
    Ok(path)
}

#[cfg(unix)]
pub(crate) fn make_executable(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).map_err(Error::io("make executable", path))
}

#[cfg(not(unix))]
pub(crate) fn make_executable(_: &Path) -> Result<(), Error> {
    Ok(())
}

/// The last `.ptx` among the files that cargo's messages name: dependencies come first, the kernel crate last.
fn link_output(messages: &str) -> Option<PathBuf> {
    let line = messages.lines().rev().find(|line| line.contains("\"compiler-artifact\"") && line.contains(".ptx\""))?;
    let end = line.rfind(".ptx\"")? + ".ptx".len();
    let start = line[..end].rfind('"')? + 1;
    Some(PathBuf::from(line[start..end].replace("\\\\", "\\")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_link_output_in_cargos_messages() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","filenames":["/t/release/deps/libcuda_std-1.rlib"],"fresh":true}"#,
            "\n",
            r#"{"reason":"compiler-artifact","filenames":["/t/release/kernels_gpu.ptx"],"executable":null,"fresh":true}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(link_output(messages), Some(PathBuf::from("/t/release/kernels_gpu.ptx")));
    }
}
