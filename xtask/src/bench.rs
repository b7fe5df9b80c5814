//! `cargo xtask bench`: the kernels against the same kernels by nvcc, and against the vendor's libraries, on a GPU.
//! `dist/run.sh bench` does the same on a machine without Rust.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::{build_ptx, command, setup, workspace};

/// A source in `bench/peers`, and what nvcc makes of it.
#[derive(Debug)]
struct Peer {
    /// The file in `bench/peers`.
    source: &'static str,
    /// What it is compiled to.
    product: &'static str,
    /// Options besides `-O3 -arch=native`.
    options: &'static [&'static str],
}

/// All of them: a library in a program of its own, and kernels that `host` loads in place of ours.
const PEERS: [Peer; 2] = [
    Peer { source: "reduce.cu", product: "reduce", options: &["-std=c++17"] },
    Peer { source: "ladder.cu", product: LADDER, options: &["-cubin"] },
];

const LADDER: &str = "ladder.cubin";

/// The first rungs, for `host`.
const RUNGS: &str = "reduce --variant interleaved,interleaved_strided,sequential --dtype i32 --n 2^22 --block 128 --warm --repeat 101 --device gpu";

/// What to measure.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Passed on to `host bench`, e.g. `reduce --n 2^22`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    arguments: Vec<String>,
}

/// Measures.
pub fn run(options: &Options) -> Result<ExitCode> {
    setup::toolchain()?;
    build_ptx::all()?;
    let peers = build_peers()?;
    println!("== the note's kernels, compiled by us");
    command::run(host().args(RUNGS.split(' ')))?;
    let mut bench = host();
    bench.arg("bench");
    if let Some(folder) = peers {
        println!("== the same, compiled by nvcc");
        command::run(host().args(RUNGS.split(' ')).arg("--ptx").arg(folder.join(LADDER)))?;
        if !options.arguments.iter().any(|word| word == "--peers") {
            bench.arg("--peers");
        }
    }
    command::run(bench.args(&options.arguments))?;
    Ok(ExitCode::SUCCESS)
}

fn host() -> Command {
    let mut cargo = command::cargo();
    cargo.args(["run", "--quiet", "--release", "--package", "host", "--"]);
    cargo
}

/// Compiles what is older than its source, and gives the folder with the products; `None` on a machine without nvcc.
fn build_peers() -> Result<Option<PathBuf>> {
    if !Command::new("nvcc").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("nvcc is not on the PATH: NVIDIA's libraries are not measured");
        return Ok(None);
    }
    let folder = workspace::root().join("target/peers");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for peer in &PEERS {
        let (source, product) = (workspace::peers().join(peer.source), folder.join(peer.product));
        if !is_newer(&product, &source) {
            let mut nvcc = Command::new("nvcc");
            nvcc.args(["-O3", "-arch=native"]).args(peer.options).arg(&source).arg("-o").arg(&product);
            command::run(&mut nvcc)?;
        }
    }
    Ok(Some(folder))
}

fn is_newer(product: &Path, source: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    time(product).is_some_and(|built| time(source).is_some_and(|written| written <= built))
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_source_is_a_peer_and_every_peer_has_a_source() {
        let entries = std::fs::read_dir(workspace::peers()).expect("bench/peers");
        let there: BTreeSet<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        assert_eq!(there, PEERS.iter().map(|peer| peer.source.into()).collect());
    }

    /// nvcc refuses to link a program without `main`, and a cubin has no use for one.
    #[test]
    fn programs_have_a_main_and_cubins_have_none() {
        for peer in &PEERS {
            let text = std::fs::read_to_string(workspace::peers().join(peer.source)).expect("a source");
            assert_eq!(text.contains("int main("), !peer.options.contains(&"-cubin"), "{}", peer.source);
        }
    }

    #[test]
    fn run_sh_compiles_and_measures_the_same() {
        let script = crate::dist::RUN_SH;
        assert!(script.contains(RUNGS), "run.sh measures other rungs than `{RUNGS}`");
        for peer in &PEERS {
            let line = script.lines().find(|line| line.contains(&format!("peers/{}\"", peer.source)));
            let line = line.unwrap_or_else(|| panic!("run.sh does not compile {}", peer.source));
            assert!(line.contains(&format!("peers/{}\"", peer.product)), "{line}");
            for option in ["-O3", "-arch=native"].iter().chain(peer.options) {
                assert!(line.contains(option), "{option} is missing: {line}");
            }
        }
    }
}
