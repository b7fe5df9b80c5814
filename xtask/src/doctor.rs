//! `cargo xtask doctor`: what is there, what is missing, and the command that adds it. Changes nothing.

use std::{
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::Result;
use cuda_builder::{
    cuda_tools,
    toolchain::{self, Candidate, LLVM_TOOLS, Search, Toolchain},
};

/// Looks at everything. The exit code says whether the kernels can be built.
pub fn run() -> Result<ExitCode> {
    let search = Search::default();
    println!("cache: {}", search.cache.root().display());
    println!("\nfor the host");
    let host = [program("cargo", "install Rust with rustup"), program("rustc", "install Rust with rustup"), linker()];
    println!("\nfor the kernels");
    let device = device(&search);
    println!("\nto check PTX (optional)");
    for name in cuda_tools::NAMES {
        match cuda_tools::find(name, &search.cache) {
            Some(tool) => {
                let (major, minor, patch) = tool.version;
                present(name, &format!("{major}.{minor}.{patch}"), &tool.path.display().to_string());
            }
            None => missing(name, "neither in a CUDA toolkit nor in the cache", "cargo xtask setup"),
        }
    }
    println!("\nto run on a GPU (optional; the simulator needs nothing)");
    driver();
    if device && host.iter().all(|&there| there) {
        println!("\nThe kernels can be built.");
        return Ok(ExitCode::SUCCESS);
    }
    println!("\nThe kernels cannot be built: run the commands above.");
    Ok(ExitCode::FAILURE)
}

/// The toolchain that a build would use; without one, what each place lacks.
fn device(search: &Search) -> bool {
    let candidates = toolchain::candidates(search);
    let chosen = candidates.iter().position(|candidate| candidate.outcome.is_ok());
    let sound = match chosen.and_then(|index| candidates.get(index)) {
        Some(Candidate { outcome: Ok(toolchain), .. }) => pieces(toolchain),
        _ if search.asked.is_some() => {
            let fix = "unset RUSTWARP_TOOLCHAIN, or add what it lacks (rustup component add rust-src llvm-tools --toolchain NAME)";
            missing("toolchain", "the one that RUSTWARP_TOOLCHAIN names is not usable", fix);
            false
        }
        _ => {
            missing("toolchain", "no complete one", "cargo xtask setup");
            false
        }
    };
    for (index, candidate) in candidates.iter().enumerate() {
        let place = format!("{}, {}", candidate.origin, candidate.root.display());
        match &candidate.outcome {
            _ if Some(index) == chosen => {}
            Ok(_) => println!("    also usable: {place}"),
            Err(lacks) => println!("    not usable: {place}: {}", lacks.join("; ")),
        }
    }
    sound
}

/// Each piece of a toolchain, run and not only looked at.
fn pieces(toolchain: &Toolchain) -> bool {
    present("rustc", &toolchain.version.release, &format!("{} ({})", toolchain.rustc.display(), toolchain.origin));
    present("rust-src", &toolchain.version.release, &toolchain.rust_src.display().to_string());
    let mut sound = true;
    for (name, path) in LLVM_TOOLS.iter().zip(&toolchain.llvm) {
        match toolchain.llvm_version(name) {
            Ok(version) => present(name, &version, &path.display().to_string()),
            Err(error) => {
                missing(name, &error.to_string(), "cargo xtask setup");
                sound = false;
            }
        }
    }
    sound
}

/// A program that is run with `--version`.
fn program(name: &str, fix: &str) -> bool {
    match Command::new(name).arg("--version").output() {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            present(name, text.split_whitespace().nth(1).unwrap_or("?"), "");
            true
        }
        Ok(output) => {
            missing(name, &String::from_utf8_lossy(&output.stderr).replace('\n', " "), fix);
            false
        }
        Err(error) => {
            missing(name, &error.to_string(), fix);
            false
        }
    }
}

/// rustc links host programs, and the kernels' procedural macros, with the system's compiler.
fn linker() -> bool {
    let answer = Command::new("cc").arg("-dumpfullversion").output();
    match answer {
        Ok(output) if output.status.success() => {
            present("cc", String::from_utf8_lossy(&output.stdout).trim(), "the linker for the host");
            true
        }
        _ => {
            missing("cc", "the linker for the host", "sudo apt-get install gcc libc6-dev");
            false
        }
    }
}

/// The driver's library, opened as the host binary opens it.
fn driver() {
    const NAME: &str = "libcuda.so.1";
    // SAFETY: opening the driver's library runs its constructors, which NVIDIA's driver makes safe to run in any process.
    let library = match unsafe { libloading::Library::new(NAME) } {
        Ok(library) => library,
        Err(error) => return absent("GPU driver", &format!("{NAME} cannot be opened ({error})")),
    };
    let mut version = 0i32;
    // SAFETY: cuDriverGetVersion has this signature, and may be called before cuInit.
    let status = unsafe {
        library
            .get::<unsafe extern "C" fn(*mut i32) -> i32>(b"cuDriverGetVersion\0")
            .map(|function| function(&raw mut version))
    };
    match status {
        Ok(0) => present("GPU driver", &format!("CUDA {}.{}", version / 1000, version % 1000 / 10), NAME),
        Ok(code) => absent("GPU driver", &format!("{NAME} answers with error {code}")),
        Err(error) => absent("GPU driver", &format!("{NAME} is no CUDA driver ({error})")),
    }
    match Path::new("/proc/driver/nvidia/gpus").read_dir() {
        Ok(gpus) => present("GPUs", &gpus.count().to_string(), ""),
        Err(_) => absent("GPUs", "the kernel driver shows none"),
    }
}

fn present(name: &str, version: &str, place: &str) {
    println!("  ok       {name:<10} {version:<12} {place}");
}

fn absent(name: &str, why: &str) {
    println!("  none     {name:<10} {why}");
}

fn missing(name: &str, why: &str, fix: &str) {
    println!("  MISSING  {name:<10} {}", why.trim().replace('\n', "\n           "));
    println!("           {:<10} fix: {fix}", "");
}
