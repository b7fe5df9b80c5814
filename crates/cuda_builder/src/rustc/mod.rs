//! Kernels to bitcode: cargo and the device rustc, with a linker that only records what it would link.

use std::{
    io::{BufRead, BufReader, IsTerminal},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::OnceLock,
};

use cargo_metadata::Message;

use crate::{TARGET, arch::Arch, error::Error, options::DebugInfo, process, toolchain::Toolchain};

mod core_library;
mod record;

pub(crate) use core_library::sysroot;
pub(crate) use record::Record;

const RECORD_LINK: &str = include_str!("record-link.sh");

/// Variables of an outer cargo that would change the device build.
const FOREIGN_VARIABLES: [&str; 9] = [
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "CARGO_BUILD_RUSTC_WRAPPER",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET",
    "CARGO_MAKEFLAGS",
    "CARGO_BUILD_INCREMENTAL",
    "TARGET",
];

/// The attributes that a crate of kernels needs on the device, so that its source needs no header. Crates that have one
/// repeat the attributes, and libraries do not use the feature: the lints against that are off.
const HEADER: [&str; 5] = [
    "-Zcrate-attr=no_std",
    "-Zcrate-attr=feature(abi_ptx)",
    "-Aduplicate_features",
    "-Aunused_attributes",
    "-Aunused_features",
];

/// One compilation of one crate for one architecture.
pub(crate) struct Request<'a> {
    pub toolchain: &'a Toolchain,
    /// Folder with the device's `core`.
    pub sysroot: &'a Path,
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
    /// Whether the output of this compilation is shown as it appears.
    pub watch: Watch<'a>,
}

/// Several compilations of one crate run side by side and print the same messages, so those of one are shown.
#[derive(Clone, Copy)]
pub(crate) enum Watch<'a> {
    /// cargo's progress and rustc's messages appear as they come. The lock opens when cargo has begun to compile: until
    /// then cargo holds locks of its own, and another cargo would print that it waits for them.
    Live(&'a OnceLock<()>),
    /// Waits for the lock; its messages become part of the error if it fails.
    Quiet(&'a OnceLock<()>),
}

/// Compiles the crate, and returns the path of the link record.
pub(crate) fn compile(request: &Request<'_>) -> Result<PathBuf, Error> {
    let linker = write_linker(request.target_dir)?;
    let mut command = cargo_rustc(request, &linker);
    let start = |reason| Error::Start {
        program: "cargo".to_owned(),
        purpose: format!("compile {} for {}", request.package, request.arch),
        reason,
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
    link_output(&output.stdout).ok_or_else(|| Error::Answer {
        program: "cargo rustc --message-format=json".to_owned(),
        problem: "expected an artifact that ends in .ptx".to_owned(),
        output: String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned(),
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

fn cargo_rustc(request: &Request<'_>, linker: &Path) -> Command {
    let mut command = cargo(request.toolchain, request.package_dir, &flags(request, linker));
    command
        .args(["rustc", "--lib", "--crate-type", "cdylib", "--target", TARGET])
        .arg("--message-format=json-render-diagnostics")
        .arg("--target-dir")
        .arg(request.target_dir)
        // rustc refuses to optimise at link time and to compile incrementally at once; LLVM sees the whole module
        // later.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_DEV_LTO", "off")
        .env("CARGO_INCREMENTAL", "1");
    if request.release {
        command.arg("--release");
    }
    command.args(request.build_args);
    command
}

/// cargo in `folder`, with the device's rustc and its flags.
fn cargo(toolchain: &Toolchain, folder: &Path, flags: &[String]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(folder);
    for name in FOREIGN_VARIABLES {
        command.env_remove(name);
    }
    command
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    process::add_library_path(&mut command, &toolchain.library_path);
    command
}

/// Flags of the kernel crate and its dependencies: incremental, with one bitcode file per Rust module, so that an edit
/// changes few files.
fn flags(request: &Request<'_>, linker: &Path) -> Vec<String> {
    let mut flags = code_flags(request.toolchain, request.debug);
    flags.extend([
        "--sysroot".to_owned(),
        request.sysroot.display().to_string(),
        format!("-Clinker={}", linker.display()),
        format!("-Ctarget-cpu={}", request.arch),
        // More units than any crate has modules, so that none are merged.
        "-Ccodegen-units=9999".to_owned(),
        // The file's name identifies the module: `link` groups entries into families by it.
        "-Zhuman-readable-cgu-names=yes".to_owned(),
    ]);
    flags.extend(HEADER.map(str::to_owned));
    if request.release {
        // An incremental build leaves MIR inlining out unless asked for it.
        flags.push("-Zinline-mir=yes".to_owned());
    }
    flags
}

/// Flags of everything that runs on the device. rustc writes bitcode as plain as it can: LLVM's optimiser must see the
/// kernels only after the IR pass.
fn code_flags(toolchain: &Toolchain, debug: DebugInfo) -> Vec<String> {
    let library = toolchain.rust_src.to_string_lossy();
    let mut flags = vec![
        "-Cno-prepopulate-passes".to_owned(),
        // rustc's own optimiser (MIR) does not model convergence: this pass copies barriers into the arms of a
        // divergent branch.
        "-Zmir-enable-passes=-JumpThreading".to_owned(),
        "-Clinker-plugin-lto".to_owned(),
        "-Cpanic=abort".to_owned(),
        format!("-Cdebuginfo={}", debug.rustc_level()),
        format!("--remap-path-prefix={library}=/rust/library"),
    ];
    // Packages link the source into place, and rustc then sees either name.
    if let Ok(real) = toolchain.rust_src.canonicalize()
        && real != toolchain.rust_src
    {
        flags.push(format!("--remap-path-prefix={}=/rust/library", real.display()));
    }
    flags
}

/// Writes the linker script if its text changed: cargo compares its modification time.
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
fn link_output(messages: &[u8]) -> Option<PathBuf> {
    let artifacts = Message::parse_stream(messages).filter_map(|message| match message.ok()? {
        Message::CompilerArtifact(artifact) => Some(artifact),
        _ => None,
    });
    let files = artifacts.flat_map(|artifact| artifact.filenames);
    files.filter(|file| file.extension() == Some("ptx")).last().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_link_output_in_cargos_messages() {
        let artifact = |file: &str| {
            format!(
                concat!(
                    r#"{{"reason":"compiler-artifact","package_id":"path+file:///k#0.1.0","#,
                    r#""manifest_path":"/k/Cargo.toml","#,
                    r#""target":{{"kind":["cdylib"],"crate_types":["cdylib"],"name":"k","src_path":"/k/src/lib.rs","#,
                    r#""edition":"2024","doc":true,"doctest":false,"test":true}},"profile":{{"opt_level":"3","#,
                    r#""debuginfo":0,"debug_assertions":false,"overflow_checks":false,"test":false}},"features":[],"#,
                    r#""filenames":["{}"],"executable":null,"fresh":true}}"#,
                    "\n"
                ),
                file
            )
        };
        let end = "{\"reason\":\"build-finished\",\"success\":true}\n";
        let dependency = artifact("/t/release/deps/libcuda_std-1.rlib");
        let messages = dependency.clone() + &artifact("/t/release/kernels_gpu.ptx") + end;
        assert_eq!(link_output(messages.as_bytes()), Some(PathBuf::from("/t/release/kernels_gpu.ptx")));
        assert_eq!(link_output((dependency + end).as_bytes()), None);
    }
}
