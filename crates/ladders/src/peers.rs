//! Measurements of other libraries, by small programs (`bench/peers/*.cu` and `*.py`) that print JSON lines.

use crate::bench::Cache;
use crate::compare::Verdict;
use crate::error::{Error, Result};
use crate::kernels::Settings;
use crate::kernels::spelling::PEERS;
use rustwarp::diagnostic::note;
use rustwarp::element::{Array, Dtype};
use rustwarp::tensor::Tensor;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Longest chain of additions that is assumed for a library whose order is not known: more than any tree on a full GPU
/// needs for 2^32 elements.
pub const DEPTH: u64 = 1 << 14;

/// A request for a measurement: the same as for our own variants in the same run.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Name of the family; a program may serve several.
    pub family: &'a str,
    /// Operation; empty for a family with a single one.
    pub op: &'a str,
    /// Element type.
    pub dtype: Dtype,
    /// Size, as in [`crate::kernels::Case`].
    pub size: &'a [u64],
    /// The family's settings; those that were given are passed on.
    pub settings: &'a Settings,
    /// Seed of the generated input, which is the same as ours.
    pub seed: u64,
    /// Number of samples.
    pub repeat: u32,
    /// State of the L2 cache.
    pub cache: Cache,
    /// Number of the GPU.
    pub gpu: u32,
}

/// One measurement, as a program prints it.
#[derive(Clone, Debug, Deserialize)]
pub struct Line {
    /// Name of the library, such as `CUB`.
    pub library: String,
    /// Shape of the result.
    pub shape: Vec<usize>,
    /// Element type of the result, in the form of [`Dtype::name`].
    pub dtype: String,
    /// File of the result's elements, little-endian, in the folder that the program was given.
    pub file: String,
    /// Median time in milliseconds.
    pub time_ms: f64,
    /// Fastest sample in milliseconds.
    pub min_ms: f64,
    /// Slowest sample in milliseconds.
    pub max_ms: f64,
    /// Half the distance between the quartiles, as a fraction of the median.
    pub spread: f64,
    /// Largest error that passes where the library's definition allows more than our bound, such as another rounding.
    #[serde(default)]
    pub tolerance: f64,
}

/// A library's measurement, and its result.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The line that the program printed.
    pub line: Line,
    /// The result that it computed.
    pub result: Tensor,
}

impl Peer {
    /// The verdict on the result by our bound, or by the library's own where that allows more. A result of the wrong
    /// shape has no error that passes.
    pub fn judged(&self, verdict: Verdict) -> Verdict {
        let passes = self.line.tolerance > 0.0 && verdict.error <= self.line.tolerance;
        Verdict { verified: verdict.verified || passes, ..verdict }
    }
}

/// Runs a program of `bench/peers`: `PROGRAM FAMILY OP DTYPE SIZE SEED REPEAT CACHE GPU FOLDER [--SETTING VALUE]…`,
/// with `-` for no operation and sizes like `1080x1920`. A program that cannot measure here, such as a Python program
/// without Python or without its library, explains this on standard error and prints no line.
///
/// # Errors
/// [`Error::NoPeer`] for a program that is not built, [`rustwarp::Error::Device`] for one that fails.
pub fn run(program: &str, request: &Request<'_>) -> Result<Vec<Peer>> {
    let program = find(program)?;
    let failed = |why: String| Error::Library(rustwarp::Error::Device(format!("{}: {why}", program.display())));
    let folder = tempfile::tempdir().map_err(|error| failed(error.to_string()))?;
    let cache = match request.cache {
        Cache::Cold => "cold",
        Cache::Warm => "warm",
    };
    let size: Vec<_> = request.size.iter().map(u64::to_string).collect();
    let op = if request.op.is_empty() { "-" } else { request.op };
    let is_script = program.extension().is_some_and(|extension| extension == "py");
    let mut command = if is_script { Command::new("python3") } else { Command::new(&program) };
    let command = if is_script { command.arg(&program) } else { &mut command };
    let output = command
        .args([request.family, op, request.dtype.name(), &size.join("x"), &request.seed.to_string()])
        .args([&request.repeat.to_string(), cache, &request.gpu.to_string()])
        .arg(folder.path())
        // Settings are passed as plain numbers: the programs do not parse 2^20.
        .args(request.settings.text().split_whitespace())
        .stderr(Stdio::inherit())
        .output();
    let output = match output {
        Err(error) if is_script && error.kind() == std::io::ErrorKind::NotFound => {
            note(format_args!("{} is not run: there is no python3 on the PATH", program.display()));
            return Ok(Vec::new());
        }
        other => other.map_err(|error| failed(error.to_string()))?,
    };
    if !output.status.success() {
        return Err(failed(format!("it ended with {}", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let peer = |text: &str| -> Result<Peer> {
        let line: Line = serde_json::from_str(text).map_err(|error| failed(format!("'{text}': {error}")))?;
        Ok(Peer { result: result(folder.path(), &line).map_err(|error| failed(error.to_string()))?, line })
    };
    text.lines().map(peer).collect()
}

/// Reads the elements that a program wrote.
fn result(folder: &Path, line: &Line) -> Result<Tensor> {
    let dtype: Dtype = line.dtype.parse()?;
    let path = folder.join(&line.file);
    let bytes = std::fs::read(&path).map_err(|error| Error::input(&path, error.to_string()))?;
    let mut data = Array::zeros(dtype, line.shape.iter().product());
    if data.bytes().len() != bytes.len() {
        return Err(Error::input(&path, format!("{} bytes don't have the shape {:?}", bytes.len(), line.shape)));
    }
    data.bytes_mut().copy_from_slice(&bytes);
    Ok(Tensor::new(&line.shape, data)?)
}

/// Path of a program: in `RUSTWARP_PEERS_DIR` alone if it is set, else in `peers` beside this program or one level up
/// (a folder made by `cargo xtask dist`), else in `target/peers` above the current folder. The program is compiled, or
/// written in Python.
fn find(program: &str) -> Result<PathBuf> {
    let mut folders = Vec::new();
    if let Some(folder) = std::env::var_os("RUSTWARP_PEERS_DIR").filter(|folder| !folder.is_empty()) {
        folders.push(PathBuf::from(folder));
    } else {
        let own = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
        for folder in own.iter().flat_map(|folder| folder.ancestors().take(2)) {
            folders.push(folder.join("peers"));
        }
        let current = std::env::current_dir().ok();
        folders.extend(current.iter().flat_map(|folder| folder.ancestors()).map(|folder| folder.join("target/peers")));
    }
    let places = folders.iter().flat_map(|folder| [folder.join(program), folder.join(format!("{program}.py"))]);
    let place = places.into_iter().find(|file| file.is_file());
    place.ok_or_else(|| {
        Error::NoPeer(format!(
            "the peer program '{program}' is not built: compile it with `nvcc -O3 -std=c++17 -arch=native \
             bench/peers/{program}.cu -o target/peers/{program}`, or copy bench/peers/{program}.py and torch_peer.py \
             there; or leave {PEERS} out (RUSTWARP_PEERS_DIR names another place)"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_may_state_a_wider_bound() {
        let peer = |fields: &str| {
            let text = format!(
                "{{\"library\":\"NPP\",\"shape\":[1],\"dtype\":\"u8\",\"file\":\"NPP.bin\",\"time_ms\":1,\"min_ms\":1,\
                 \"max_ms\":1,\"spread\":0{fields}}}"
            );
            let line: Line = serde_json::from_str(&text).expect("a line");
            Peer { line, result: Tensor::new(&[1], Array::zeros(Dtype::U8, 1)).expect("a byte") }
        };
        let (none, one) = (peer(""), peer(",\"tolerance\":1"));
        let passes = |peer: &Peer, verified, error| peer.judged(Verdict { verified, error }).verified;
        assert!(passes(&none, true, 2.0) && passes(&none, true, f64::NAN));
        assert!(!passes(&none, false, 0.0) && !passes(&none, false, 1.0) && passes(&one, false, 1.0));
        assert!(!passes(&one, false, 2.0) && !passes(&one, false, f64::NAN));
        assert_eq!(one.judged(Verdict { verified: false, error: 1.0 }).error, 1.0, "the error stays");
    }
}
