//! `ptxas` and `nvdisasm` from NVIDIA's Python wheels, fetched by pip.

use std::{fs, path::Path, process::Command};

use super::Report;
use crate::{Error, cuda_tools, place, process};

/// The wheels. Release 13 is the first whose `ptxas` supports every architecture from sm_75 to sm_121.
const WHEELS: [&str; 2] = ["nvidia-cuda-nvcc>=13", "nvidia-cuda-nvdisasm>=13"];

/// Ways to call pip, in order of preference.
const PIPS: [&[&str]; 3] = [&["python3", "-m", "pip"], &["pip3"], &["pip"]];

/// Fills `folder` with `bin/ptxas` and `bin/nvdisasm`, and returns the names of the wheels.
pub(super) fn fetch(folder: &Path, report: Report<'_>) -> Result<String, Error> {
    let downloads = folder.join("wheels");
    fs::create_dir_all(&downloads).map_err(Error::io("create", &downloads))?;
    report(&format!("downloading by pip: {}", WHEELS.join(" ")));
    let mut pip = pip()?;
    pip.args(["download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--dest"])
        .arg(&downloads);
    process::run(pip.args(WHEELS), "download ptxas and nvdisasm").map_err(|error| Error::Setup {
        problem: error.to_string(),
        fix: "check the network, or install a CUDA toolkit and set CUDA_HOME to its folder; build-ptx \
              works without these tools"
            .to_owned(),
    })?;
    report("unpacking");
    let unpacked = folder.join("unpacked");
    let mut contents = String::new();
    for wheel in place::children(&downloads)? {
        let mut python = Command::new("python3");
        process::run(python.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked), "unpack a wheel")?;
        contents.push_str(&format!("{}\n", wheel.file_name().unwrap_or_default().to_string_lossy()));
    }
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).map_err(Error::io("create", &bin))?;
    for name in cuda_tools::NAMES {
        let from = tool(&unpacked, name).ok_or_else(|| Error::Setup {
            problem: format!("the wheels contain no `{name}`"),
            fix: "install a CUDA toolkit, and set CUDA_HOME to its folder".to_owned(),
        })?;
        let to = bin.join(name);
        fs::rename(&from, &to).map_err(Error::io("move", &from))?;
        crate::rustc::make_executable(&to)?;
    }
    place::remove(&downloads)?;
    place::remove(&unpacked)?;
    Ok(contents)
}

/// A command that runs pip.
fn pip() -> Result<Command, Error> {
    for words in PIPS {
        let command = || {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            command
        };
        if process::run(command().arg("--version"), "print its version").is_ok() {
            return Ok(command());
        }
    }
    Err(Error::Setup {
        problem: "pip is not on this machine, and ptxas and nvdisasm come as Python wheels".to_owned(),
        fix: "sudo apt-get install python3-pip, or install a CUDA toolkit; build-ptx works without these tools"
            .to_owned(),
    })
}

/// The path `nvidia/<release>/bin/<name>` among the unpacked files.
fn tool(unpacked: &Path, name: &str) -> Option<std::path::PathBuf> {
    let releases = place::children(&unpacked.join("nvidia")).ok()?;
    releases.into_iter().map(|release| release.join("bin").join(name)).find(|path| path.is_file())
}
