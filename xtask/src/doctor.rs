//! `cargo xtask doctor`: lists the tools that are present, those that are missing, and the commands that add them.
//! Changes nothing.

use std::{
    fmt::{Display, Write as _},
    io::{ErrorKind, Write as _},
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::Result;
use cuda_builder::{
    cuda_tools,
    toolchain::{self, Candidate, LLVM_TOOLS, Search, Toolchain},
};

/// Checks all tools. The exit code is 0 if the kernels can be built.
///
/// # Errors
/// Fails if the report cannot be written.
pub fn run() -> Result<ExitCode> {
    let mut page = Page::default();
    let sound = page.fill();
    match std::io::stdout().write_all(page.text.as_bytes()) {
        // The reader, such as `head`, has closed the pipe.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
    }
}

/// The report, and whether a needed tool is missing.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn fill(&mut self) -> bool {
        let search = Search::default();
        self.line(format_args!("cache: {}", search.cache.root().display()));
        self.line(format_args!("\nfor the host"));
        let host = [
            self.program("cargo", "install Rust with rustup"),
            self.program("rustc", "install Rust with rustup"),
            self.linker(),
        ];
        self.line(format_args!("\nfor the kernels"));
        let device = self.device(&search);
        self.line(format_args!(
            "\nto assemble PTX (cargo xtask test needs it; building and running the kernels do not)"
        ));
        self.cuda_tools(&search);
        self.line(format_args!("\nto run on a GPU (optional; the simulator needs nothing)"));
        self.driver();
        let sound = device && host.iter().all(|&there| there);
        self.line(if sound {
            "\nThe kernels can be built."
        } else {
            "\nThe kernels cannot be built: run the commands above."
        });
        sound
    }

    /// Reports ptxas and nvdisasm and, if they are missing, the tools with which `setup` fetches them.
    fn cuda_tools(&mut self, search: &Search) {
        let mut complete = true;
        for name in cuda_tools::NAMES {
            match cuda_tools::find(name, &search.cache) {
                Some(tool) => {
                    let (major, minor, patch) = tool.version;
                    self.present(name, &format!("{major}.{minor}.{patch}"), &tool.path.display().to_string());
                }
                None => {
                    self.missing(name, "neither in a CUDA toolkit nor in the cache", "cargo xtask setup");
                    complete = false;
                }
            }
        }
        if complete {
            return;
        }
        let fix = "sudo apt-get install python3-pip, or install a CUDA toolkit";
        self.program("python3", fix);
        let pip = Command::new("python3").args(["-m", "pip", "--version"]).output();
        match pip {
            Ok(output) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                self.present("pip", text.split_whitespace().nth(1).unwrap_or("?"), "");
            }
            _ => self.missing("pip", "`cargo xtask setup` fetches ptxas and nvdisasm with it", fix),
        }
    }

    /// Reports the toolchain that a build would use; if there is none, the pieces that each place lacks.
    fn device(&mut self, search: &Search) -> bool {
        let candidates = toolchain::candidates(search);
        let chosen = candidates.iter().position(|candidate| candidate.outcome.is_ok());
        let sound = match chosen.and_then(|index| candidates.get(index)) {
            Some(Candidate { outcome: Ok(toolchain), .. }) => self.pieces(toolchain),
            _ if search.asked.is_some() => {
                let fix = "unset RUSTWARP_TOOLCHAIN, or add what it lacks (rustup component add rust-src llvm-tools \
                    --toolchain NAME)";
                self.missing("toolchain", "the one that RUSTWARP_TOOLCHAIN names is not usable", fix);
                false
            }
            _ => {
                self.missing("toolchain", "no complete one", "cargo xtask setup");
                false
            }
        };
        for (index, candidate) in candidates.iter().enumerate() {
            let place = format!("{}, {}", candidate.origin, candidate.root.display());
            match &candidate.outcome {
                _ if Some(index) == chosen => {}
                Ok(_) => self.line(format_args!("    also usable: {place}")),
                Err(lacks) => self.line(format_args!("    not usable: {place}: {}", lacks.join("; "))),
            }
        }
        sound
    }

    /// Reports each piece of a toolchain, after running it.
    fn pieces(&mut self, toolchain: &Toolchain) -> bool {
        self.present(
            "rustc",
            &toolchain.version.release,
            &format!("{} ({})", toolchain.rustc.display(), toolchain.origin),
        );
        self.present("rust-src", &toolchain.version.release, &toolchain.rust_src.display().to_string());
        let mut sound = true;
        for (name, path) in LLVM_TOOLS.iter().zip(&toolchain.llvm) {
            match toolchain.llvm_version(name) {
                Ok(version) => self.present(name, &version, &path.display().to_string()),
                Err(error) => {
                    self.missing(name, &error.to_string(), "cargo xtask setup");
                    sound = false;
                }
            }
        }
        sound
    }

    /// Reports a program, after running it with `--version`.
    fn program(&mut self, name: &str, fix: &str) -> bool {
        match Command::new(name).arg("--version").output() {
            Ok(output) if output.status.success() => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                self.present(name, text.split_whitespace().nth(1).unwrap_or("?"), "");
                true
            }
            Ok(output) => {
                self.missing(name, String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("it fails"), fix);
                false
            }
            Err(error) => {
                self.missing(name, &error.to_string(), fix);
                false
            }
        }
    }

    /// Reports the system's C compiler, with which rustc links host programs and the kernels' procedural macros.
    fn linker(&mut self) -> bool {
        let answer = Command::new("cc").arg("-dumpfullversion").output();
        match answer {
            Ok(output) if output.status.success() => {
                self.present("cc", String::from_utf8_lossy(&output.stdout).trim(), "the linker for the host");
                true
            }
            _ => {
                self.missing("cc", "the linker for the host", "sudo apt-get install gcc libc6-dev");
                false
            }
        }
    }

    /// Reports the driver, which is opened as the host binary opens it.
    fn driver(&mut self) {
        match cuda_driver::load() {
            Ok(driver) => {
                let (major, minor) = driver.cuda;
                self.present("GPU driver", &format!("CUDA {major}.{minor}"), &driver.library);
            }
            Err(error) => self.absent("GPU driver", &error.to_string()),
        }
        match Path::new("/proc/driver/nvidia/gpus").read_dir() {
            Ok(gpus) => self.present("GPUs", &gpus.count().to_string(), ""),
            Err(_) => self.absent("GPUs", "the kernel driver shows none"),
        }
    }

    fn present(&mut self, name: &str, version: &str, place: &str) {
        self.line(format_args!("  ok       {name:<10} {version:<12} {place}"));
    }

    fn absent(&mut self, name: &str, why: &str) {
        self.line(format_args!("  none     {name:<10} {why}"));
    }

    fn missing(&mut self, name: &str, why: &str, fix: &str) {
        self.line(format_args!("  MISSING  {name:<10} {}", why.trim().replace('\n', "\n           ")));
        self.line(format_args!("           {:<10} fix: {fix}", ""));
    }

    fn line(&mut self, text: impl Display) {
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "{text}");
    }
}
