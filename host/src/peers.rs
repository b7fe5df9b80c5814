//! Other people's libraries, measured by small programs of ours (`bench/peers/*.cu`) that print JSON lines.

use crate::bench::Cache;
use crate::error::{Error, Result};
use serde::Deserialize;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What to measure: the same as our own variants in the same run.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Operation.
    pub op: &'a str,
    /// Element type.
    pub dtype: &'a str,
    /// Elements.
    pub n: u64,
    /// Of the generated input, which is the same as ours.
    pub seed: u64,
    /// Samples.
    pub repeat: u32,
    /// State of the L2 cache.
    pub cache: Cache,
    /// Number of the GPU.
    pub gpu: u32,
}

/// One measurement.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    /// The library: `CUB`.
    pub library: String,
    /// The result, as text that reads back exactly.
    pub value: String,
    /// Median.
    pub time_ms: f64,
    /// Fastest.
    pub min_ms: f64,
    /// Slowest.
    pub max_ms: f64,
    /// Half the distance between the quartiles, as a fraction of the median.
    pub spread: f64,
}

/// Runs the program of this family.
///
/// # Errors
/// [`Error::Unsupported`] for a program that is not built, [`Error::Device`] for one that fails.
pub fn run(family: &str, request: &Request<'_>) -> Result<Vec<Line>> {
    let program = find(family)?;
    let failed = |why: String| Error::Device(format!("{}: {why}", program.display()));
    let cache = match request.cache {
        Cache::Cold => "cold",
        Cache::Warm => "warm",
    };
    let output = Command::new(&program)
        .args([request.op, request.dtype, &request.n.to_string(), &request.seed.to_string()])
        .args([&request.repeat.to_string(), cache, &request.gpu.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(format!("it ended with {}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| failed(format!("'{line}': {error}")))).collect()
}

/// Where it may lie: `RUSTWARP_PEERS_DIR` alone when set, else `peers` beside the program or one level up (a folder made by
/// `cargo xtask dist`), else `target/peers` above the current folder.
fn find(family: &str) -> Result<PathBuf> {
    let mut folders = Vec::new();
    if let Some(folder) = std::env::var_os("RUSTWARP_PEERS_DIR").filter(|folder| !folder.is_empty()) {
        folders.push(PathBuf::from(folder));
    } else {
        let program = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
        for folder in program.iter().flat_map(|folder| folder.ancestors().take(2)) {
            folders.push(folder.join("peers"));
        }
        let current = std::env::current_dir().ok();
        folders.extend(current.iter().flat_map(|folder| folder.ancestors()).map(|folder| folder.join("target/peers")));
    }
    let place = folders.iter().map(|folder| folder.join(family)).find(|program| program.is_file());
    place.ok_or_else(|| {
        Error::Unsupported(format!(
            "the peer program '{family}' is not built: compile it with `nvcc -O3 -std=c++17 -arch=native \
             bench/peers/{family}.cu -o target/peers/{family}`, or leave --peers out (RUSTWARP_PEERS_DIR names another place)"
        ))
    })
}
