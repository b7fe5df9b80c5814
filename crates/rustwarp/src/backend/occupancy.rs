//! How many blocks of a kernel are resident on a multiprocessor: the simulator's calculator, with ptxas's count of
//! registers where there is a ptxas. Beside `sim`, the only file that names `ptx_sim`.

use crate::error::{Error, Result};
use crate::ptx::Image;
use cuda_builder::{Arch, Cache, check, cuda_tools};
use ptx_sim::occupancy::{Demand, estimate_registers, occupancy};
use ptx_sim::{Profile, Program, Stop};
use std::collections::HashMap;
use std::path::Path;

/// Where a count of registers comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Registers {
    /// The user.
    Given,
    /// ptxas, for the profile's compute capability.
    Ptxas,
    /// What is live at once in the PTX: ptxas's count may differ by a third.
    Estimate,
}

/// One entry on one multiprocessor.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Occupancy {
    /// The `.entry`.
    pub entry: String,
    /// The device profile's name.
    pub profile: String,
    /// Threads of a block.
    pub block: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Where that number comes from.
    pub registers_from: Registers,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared_bytes: u64,
    /// Resident blocks.
    pub blocks: u32,
    /// Resident warps.
    pub warps: u32,
    /// Resident threads.
    pub threads: u32,
    /// Warps over the most that a multiprocessor holds.
    pub occupancy: f64,
    /// What limits the blocks.
    pub limits: Vec<String>,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Entry; all of the file when `None`.
    pub entry: Option<&'a str>,
    /// Threads of a block.
    pub block: u32,
    /// Registers of a thread, when they are known.
    pub registers: Option<u32>,
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// A profile's name, or a file's path.
    pub profile: &'a str,
}

/// Answers for one entry of a PTX file, or all.
///
/// # Errors
/// No such profile or entry, or a file that is no PTX.
pub fn occupancies(image: &Image, question: &Question<'_>) -> Result<Vec<Occupancy>> {
    let profile = Profile::find(question.profile).map_err(usage)?;
    let name = image.path.display();
    let text = std::str::from_utf8(&image.bytes).map_err(|_| Error::BadPtx(format!("{name} is no PTX text")))?;
    let program = Program::parse(text).map_err(|error| Error::BadPtx(format!("{name}: {error}")))?;
    let entries: Vec<&str> = match question.entry {
        Some(entry) => vec![entry],
        None => program.entries().map(|entry| entry.name.as_str()).collect(),
    };
    let counted = match question.registers {
        Some(_) => HashMap::new(),
        None => counted(&image.path, &profile),
    };
    let answer = |entry: &str| {
        let (registers, registers_from) = match (question.registers, counted.get(entry)) {
            (Some(registers), _) => (registers, Registers::Given),
            (None, Some(&registers)) => (registers, Registers::Ptxas),
            (None, None) => (estimate_registers(&program, entry).unwrap_or(0), Registers::Estimate),
        };
        let demand = Demand::of(&program, entry, question.block, question.shared, registers).map_err(usage)?;
        let found = occupancy(&profile, &demand);
        Ok(Occupancy {
            entry: entry.to_owned(),
            profile: profile.name.clone(),
            block: question.block,
            registers,
            registers_from,
            shared_bytes: demand.shared_bytes,
            blocks: found.blocks,
            warps: found.warps,
            threads: found.threads,
            occupancy: found.fraction,
            limits: found.limits.iter().map(ToString::to_string).collect(),
        })
    };
    entries.into_iter().map(answer).collect()
}

/// By entry, what ptxas counts; empty without a ptxas, or when it can't assemble the file for the device.
fn counted(path: &Path, profile: &Profile) -> HashMap<String, u32> {
    let (major, minor) = profile.compute_capability;
    let usages = cuda_tools::find("ptxas", &Cache::default()).and_then(|ptxas| {
        let arch: Arch = format!("{major}.{minor}").parse().ok()?;
        check::assemble(&ptxas, path, arch, Path::new("/dev/null")).ok()
    });
    usages.unwrap_or_default().into_iter().map(|usage| (usage.entry, usage.registers)).collect()
}

fn usage(stop: Stop) -> Error {
    let diagnostic = stop.diagnostic();
    let help = diagnostic.help.as_ref().map(|help| format!(" ({help})"));
    Error::Usage(format!("{}{}", diagnostic.title, help.unwrap_or_default()))
}
