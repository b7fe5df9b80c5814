//! The device toolchain: a rustc with the NVPTX target, the source of its `core`, and LLVM's tools of the same major
//! version.

use std::{
    fmt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{error::Error, process};

mod discover;
mod version;

pub use discover::{Candidate, Search, candidates, discover};
pub use version::RustcVersion;

/// Names of LLVM's tools that a build runs.
pub const LLVM_TOOLS: [&str; 4] = ["llvm-nm", "llvm-link", "opt", "llc"];

/// The oldest major version of LLVM that works: earlier ones lack intrinsics and debug forms that the build uses.
const OLDEST_LLVM: u32 = 22;

/// A complete device toolchain.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Toolchain {
    /// How it was found.
    pub origin: Origin,
    /// The folder with `bin/rustc`.
    pub root: PathBuf,
    /// The compiler.
    pub rustc: PathBuf,
    /// Version of the compiler.
    pub version: RustcVersion,
    /// Folder of `core`'s source: `…/lib/rustlib/src/rust/library`.
    pub rust_src: PathBuf,
    /// Paths of LLVM's tools, in the order of [`LLVM_TOOLS`].
    pub llvm: [PathBuf; LLVM_TOOLS.len()],
    /// Folders that the dynamic linker must search, because the toolchain is not at the path that it was built for.
    pub library_path: Vec<PathBuf>,
}

/// How a toolchain was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Named by the user, by `--toolchain` or `RUSTWARP_TOOLCHAIN`, as a path or a name.
    Asked(String),
    /// Found as the rustup toolchain of this name.
    Rustup(String),
    /// Found among the packages of the system.
    System,
    /// Found in the user's cache, where `setup` unpacked it.
    Cache,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(name) => write!(f, "named `{name}`"),
            Self::Rustup(name) => write!(f, "rustup toolchain `{name}`"),
            Self::System => f.write_str("system packages"),
            Self::Cache => f.write_str("cache"),
        }
    }
}

impl Toolchain {
    /// The toolchain in `root`, the folder with `bin/rustc`.
    ///
    /// # Errors
    /// The pieces that it lacks, one line each.
    pub fn at(root: &Path, origin: Origin) -> Result<Self, Vec<String>> {
        let rustc = root.join("bin").join("rustc");
        if !rustc.is_file() {
            return Err(vec![format!("no rustc ({})", rustc.display())]);
        }
        let library_path = library_path(root);
        let version = RustcVersion::of(&rustc, &library_path).map_err(|error| vec![error.to_string()])?;

        let mut missing = Vec::new();
        if version.llvm_major().parse().unwrap_or(0) < OLDEST_LLVM {
            missing.push(format!(
                "rustc {} is built on LLVM {}: at least {OLDEST_LLVM} is needed",
                version.release, version.llvm
            ));
        }
        let about = about(&rustc, &library_path).map_err(|error| vec![error.to_string()])?;
        // rustc derives its sysroot from the real path of its executable; `root` may be a link to another folder.
        let sysroot = about.lines().next().unwrap_or_default();
        let rust_src = Path::new(sysroot).join("lib/rustlib/src/rust/library");
        if !rust_src.join("core/src/lib.rs").is_file() {
            missing.push(format!("no source of `core` ({}): component rust-src", rust_src.display()));
        }
        if !about.lines().any(|line| line == crate::TARGET) {
            missing.push("this rustc was built without the target nvptx64-nvidia-cuda".to_owned());
        }
        let folders = llvm_folders(root, &version);
        let llvm = LLVM_TOOLS.map(|tool| folders.iter().map(|folder| folder.join(tool)).find(|path| path.is_file()));
        let absent: Vec<_> =
            LLVM_TOOLS.iter().zip(&llvm).filter(|(_, path)| path.is_none()).map(|(tool, _)| *tool).collect();
        if !absent.is_empty() {
            missing.push(format!("no {} of LLVM {}: component llvm-tools", absent.join(", "), version.llvm_major()));
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        let llvm = llvm.map(Option::unwrap_or_default);
        Ok(Self { origin, root: root.to_owned(), rustc, version, rust_src, llvm, library_path })
    }

    /// A command that runs one of [`LLVM_TOOLS`] with its libraries.
    pub(crate) fn llvm(&self, tool: &str) -> Command {
        let place = LLVM_TOOLS.iter().zip(&self.llvm).find(|(name, _)| **name == tool).map(|(_, path)| path.as_path());
        let mut command = Command::new(place.unwrap_or(Path::new(tool)));
        process::add_library_path(&mut command, &self.library_path);
        command
    }

    /// Runs one of [`LLVM_TOOLS`], and returns its version.
    ///
    /// # Errors
    /// [`Error::Start`] or [`Error::Tool`] if it does not run; [`Error::Answer`] if it can't read rustc's bitcode or
    /// can't write PTX.
    pub fn llvm_version(&self, tool: &str) -> Result<String, Error> {
        let mut command = self.llvm(tool);
        let text = process::read(command.arg("--version"), "print its version")?;
        let version = text
            .lines()
            .find_map(|line| line.split_once("LLVM version "))
            .map(|(_, version)| version.trim().to_owned());
        let answer =
            |problem: String| Error::Answer { program: format!("{tool} --version"), problem, output: String::new() };
        let version = version.ok_or_else(|| answer("expected a line `LLVM version …`".to_owned()))?;
        if version.split('.').next() != Some(self.version.llvm_major()) {
            return Err(answer(format!(
                "it belongs to LLVM {version}, and rustc writes bitcode of LLVM {}",
                self.version.llvm
            )));
        }
        if tool == "llc" && !text.contains("nvptx64") {
            return Err(answer("it was built without the NVPTX back end".to_owned()));
        }
        Ok(version)
    }

    /// Text that identifies the compilers: a build with another text is stale.
    pub(crate) fn fingerprint(&self) -> String {
        let RustcVersion { release, commit, llvm, .. } = &self.version;
        format!("{} {release} {} {llvm}", self.rustc.display(), commit.as_deref().unwrap_or("unknown"))
    }
}

/// Folders of shared libraries below `root`. Debian keeps libLLVM and rustc's driver in `lib/<multiarch>`, which the
/// dynamic linker searches below `/usr` only.
fn library_path(root: &Path) -> Vec<PathBuf> {
    let multiarch = format!("{}-linux-gnu", std::env::consts::ARCH);
    if root == Path::new("/usr") {
        return Vec::new();
    }
    [root.join("lib").join(multiarch), root.join("lib")].into_iter().filter(|folder| folder.is_dir()).collect()
}

/// Folders that may hold LLVM's tools: rustup's component, Debian's package below the same root, the installed package.
fn llvm_folders(root: &Path, version: &RustcVersion) -> [PathBuf; 3] {
    let versioned = format!("lib/llvm-{}/bin", version.llvm_major());
    [root.join("lib/rustlib").join(&version.host).join("bin"), root.join(&versioned), Path::new("/usr").join(versioned)]
}

/// The sysroot of `rustc` on the first line, then one target per line.
fn about(rustc: &Path, library_path: &[PathBuf]) -> Result<String, Error> {
    let mut command = Command::new(rustc);
    command.args(["--print", "sysroot", "--print", "target-list"]);
    process::add_library_path(&mut command, library_path);
    process::read(&mut command, "print its sysroot and targets")
}
