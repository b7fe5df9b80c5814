//! `cargo xtask bench`: measures the kernels on a GPU, beside the same kernels in CUDA C++ and the vendor's libraries.
//! `dist/run.sh bench` does the same on a machine without Rust.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::{build_ptx, command, setup, workspace};

/// The kernels of Harris 2007 (`docs/sources.md`) compiled by nvcc, which `host` loads in place of ours. Every other
/// source in `bench/peers` is a program that measures a library.
const LADDER: &str = "ladder.cubin";

/// Arguments for `host` that run the first rungs.
const RUNGS: &str = "reduce --variant interleaved,interleaved_strided,sequential --dtype i32 --n 2^22 --block 128 \
    --warm --repeat 101 --device gpu";

/// Options of the task.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Passed on to `host bench`, e.g. `reduce --n 2^22`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// Runs the measurements.
///
/// Ends with [`command::NO_GPU`] on a machine without a GPU.
///
/// # Errors
/// Fails if a program cannot be compiled or run.
pub fn run(options: &Options) -> Result<ExitCode> {
    // Nothing is compiled for a measurement that cannot be made.
    if let Err(error) = cuda_driver::load() {
        eprintln!("error: {error}: run `cargo xtask bench` on a machine with a GPU (`cargo xtask doctor` checks it)");
        return Ok(ExitCode::from(command::NO_GPU));
    }
    setup::toolchain()?;
    build_ptx::all()?;
    let peers = build_peers()?;
    println!("== the first rungs of reduce in Rust");
    command::run(command::host().args(RUNGS.split(' ')))?;
    let mut bench = command::host();
    bench.arg("bench");
    if let Some(folder) = peers {
        println!("== the same rungs in CUDA C++, compiled by nvcc");
        command::run(command::host().args(RUNGS.split(' ')).arg("--ptx").arg(folder.join(LADDER)))?;
        if !options.arguments.iter().any(|word| word == "--peers") {
            bench.arg("--peers");
        }
    }
    command::run(bench.args(&options.arguments))?;
    Ok(ExitCode::SUCCESS)
}

/// Compiles the programs that are older than their sources or a header, copies the scripts, and returns the folder with
/// both; `None` on a machine without nvcc.
fn build_peers() -> Result<Option<PathBuf>> {
    if !Command::new("nvcc").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("nvcc is not on the PATH: NVIDIA's libraries are not measured");
        return Ok(None);
    }
    let folder = workspace::root().join("target/peers");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for source in sources("py")? {
        let product = folder.join(source.file_name().unwrap_or_default());
        std::fs::copy(&source, &product).with_context(|| format!("cannot write {}", product.display()))?;
    }
    for source in sources("cu")? {
        let product = folder.join(source.file_stem().unwrap_or_default());
        let (product, options): (_, &[&str]) = match source.ends_with("ladder.cu") {
            true => (product.with_extension("cubin"), &["-cubin"]),
            false => (product, &["-std=c++17", "-lcublas", "-lcublasLt"]),
        };
        if !is_newer(&product, &inputs(&source)?) {
            let mut nvcc = Command::new("nvcc");
            nvcc.args(["-O3", "-arch=native"]).arg(&source).args(options).arg("-o").arg(&product);
            command::run(&mut nvcc)?;
        }
    }
    Ok(Some(folder))
}

/// Sources with this extension: `cu` for nvcc, `h` for what those include, `py` for Python.
fn sources(language: &str) -> Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for entry in std::fs::read_dir(workspace::peers()).context("cannot read bench/peers")? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == language) {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}

/// The files that a program is compiled from: its source, and every header, since any source may include any.
fn inputs(source: &Path) -> Result<Vec<PathBuf>> {
    Ok(sources("h")?.into_iter().chain([source.to_owned()]).collect())
}

/// Whether the product was written after each of the files that it is made of.
fn is_newer(product: &Path, inputs: &[PathBuf]) -> bool {
    let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    time(product).is_some_and(|built| inputs.iter().all(|input| time(input).is_some_and(|written| written <= built)))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    /// nvcc does not link a program without `main`; a cubin needs none.
    #[test]
    fn programs_have_a_main_and_the_ladder_has_none() {
        let sources = sources("cu").expect("bench/peers");
        assert!(sources.len() > 1);
        for source in sources {
            let text = std::fs::read_to_string(&source).expect("a source");
            assert_eq!(text.contains("int main("), !source.ends_with("ladder.cu"), "{}", source.display());
        }
    }

    #[test]
    fn a_program_is_compiled_again_after_a_change_of_any_input() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, seconds: u64| {
            let path = folder.path().join(name);
            let file = std::fs::File::create(&path).expect("a file");
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).expect("its time");
            path
        };
        let (inputs, product) = ([write("peer.h", 20), write("a.cu", 10)], write("a", 30));
        assert!(is_newer(&product, &inputs));
        assert!(!is_newer(&folder.path().join("absent"), &inputs));
        write("peer.h", 40);
        assert!(!is_newer(&product, &inputs));
        write("peer.h", 20);
        write("a.cu", 40);
        assert!(!is_newer(&product, &inputs));
    }

    #[test]
    fn every_included_file_is_an_input() {
        let mut included = 0;
        for source in sources("cu").expect("bench/peers") {
            let inputs = inputs(&source).expect("bench/peers");
            assert!(inputs.contains(&source));
            for input in &inputs {
                let text = std::fs::read_to_string(input).expect("a source");
                for name in text.lines().filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"')) {
                    assert!(inputs.contains(&workspace::peers().join(name)), "{}: {name}", input.display());
                    included += 1;
                }
            }
        }
        assert!(included > 1, "{included} quoted includes");
    }

    #[test]
    fn run_sh_compiles_and_measures_the_same() {
        let script = crate::dist::RUN_SH;
        assert!(script.contains(RUNGS), "run.sh measures other rungs than `{RUNGS}`");
        for words in ["nvcc -O3 -arch=native", "-cubin -o", "-std=c++17 -lcublas -lcublasLt -o"] {
            assert!(script.contains(words), "run.sh compiles otherwise: {words}");
        }
    }
}
