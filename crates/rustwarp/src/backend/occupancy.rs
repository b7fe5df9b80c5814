//! Occupancy: the number of resident blocks of a kernel on a multiprocessor, from the simulator's calculator and the
//! caller's count of registers, if there is one. Besides `sim`, `observed` and `options`, this is the only file that
//! names `ptx_sim`.

use crate::error::{Error, Result};
use crate::ptx::Image;
use ptx_sim::occupancy::{Demand, estimate_registers, occupancy};
use ptx_sim::{Profile, Program, Stop};
use std::collections::HashMap;

/// The source of a count of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Registers {
    /// The count was given by the user.
    Given,
    /// The count is ptxas's, for the profile's compute capability: see [`Question::counted`].
    Ptxas,
    /// The count is the number of values live at once in the PTX: ptxas's may differ by a third.
    Estimate,
}

/// The occupancy of one multiprocessor by one entry.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Occupancy {
    /// Name of the `.entry`.
    pub entry: String,
    /// The device profile's name.
    pub profile: String,
    /// Threads of a block.
    pub block: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Source of that number.
    pub registers_from: Registers,
    /// Bytes of shared memory of a block, static and dynamic.
    pub shared_bytes: u64,
    /// Number of resident blocks.
    pub blocks: u32,
    /// Number of resident warps.
    pub warps: u32,
    /// Number of resident threads.
    pub threads: u32,
    /// Resident warps as a fraction of the multiprocessor's maximum.
    pub occupancy: f64,
    /// The resources that limit the number of blocks.
    pub limits: Vec<String>,
}

/// Parameters of [`occupancies`].
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// Name of the entry; `None` for all entries of the file.
    pub entry: Option<&'a str>,
    /// Threads of a block.
    pub block: u32,
    /// Registers of a thread, if given.
    pub registers: Option<u32>,
    /// Bytes of dynamic shared memory.
    pub shared: u64,
    /// Name of a built-in profile, or path of a file.
    pub profile: &'a str,
    /// Returns the number of registers that ptxas counts for each entry, or for the only one in question, on devices of
    /// a compute capability, e.g. (9, 0); empty if it cannot be run. It is called unless `registers` is given.
    pub counted: Counted,
}

/// Registers of the entries of a PTX file, or of the one named, on devices of a compute capability, e.g. (9, 0).
pub type Counted = fn(&Image, Option<&str>, (u32, u32)) -> HashMap<String, u32>;

/// Computes the occupancy of one entry of a PTX file, or of all.
///
/// # Errors
/// [`Error`] for an unknown profile or entry, and for a file that is not PTX.
pub fn occupancies(image: &Image, question: &Question<'_>) -> Result<Vec<Occupancy>> {
    let profile = Profile::find(question.profile).map_err(usage)?;
    require_possible(question, &profile)?;
    let name = image.path.display();
    let text = std::str::from_utf8(&image.bytes).map_err(|_| Error::BadPtx(format!("{name} is not PTX text")))?;
    let program = Program::parse(text).map_err(|error| Error::BadPtx(format!("{name}: {error}")))?;
    let entries: Vec<&str> = match question.entry {
        Some(entry) => vec![entry],
        None => program.entries().map(|entry| entry.name.as_str()).collect(),
    };
    let counted = match question.registers {
        Some(_) => HashMap::new(),
        None => (question.counted)(image, question.entry, profile.compute_capability),
    };
    let answer = |entry: &str| {
        let (registers, registers_from) = match (question.registers, counted.get(entry)) {
            (Some(registers), _) => (registers, Registers::Given),
            (None, Some(&registers)) => (registers, Registers::Ptxas),
            (None, None) => (estimate_registers(&program, entry).unwrap_or(0), Registers::Estimate),
        };
        let demand = Demand::of(&program, entry, question.block, question.shared, registers).map_err(usage)?;
        require_shared(question, &profile, entry, demand.shared_bytes)?;
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

/// Checks that the device can launch such a block at all.
fn require_possible(question: &Question<'_>, profile: &Profile) -> Result<()> {
    let wrong = |what: &str, asked: u32, least: u32, most: u32| {
        let name = &profile.name;
        Err(Error::Argument(format!("{asked} {what}: {name} allows {least} to {most}; choose a number in that range")))
    };
    let (block, registers) = (question.block, question.registers.unwrap_or(1));
    if !(1..=profile.threads_per_block).contains(&block) {
        return wrong("threads per block", block, 1, profile.threads_per_block);
    }
    if !(1..=profile.registers_per_thread).contains(&registers) {
        return wrong("registers per thread", registers, 1, profile.registers_per_thread);
    }
    Ok(())
}

/// Checks that a block can have this much shared memory, static and dynamic.
fn require_shared(question: &Question<'_>, profile: &Profile, entry: &str, bytes: u64) -> Result<()> {
    let (name, most) = (&profile.name, profile.shared_per_block);
    if bytes <= most {
        return Ok(());
    }
    let least = bytes.saturating_sub(question.shared);
    let advice = match most.checked_sub(least) {
        Some(0) => "give it no dynamic shared memory".to_owned(),
        Some(room) => format!("give it at most {room} bytes of dynamic shared memory"),
        None => "choose a device with more".to_owned(),
    };
    Err(Error::Argument(format!(
        "a block of `{entry}` would have {bytes} bytes of shared memory, {least} of them static, and {name} allows \
         {most}: {advice}"
    )))
}

fn usage(stop: Stop) -> Error {
    let diagnostic = stop.diagnostic();
    let help = diagnostic.help.as_ref().map(|help| format!(" ({help})"));
    Error::Argument(format!("{}{}", diagnostic.title, help.unwrap_or_default()))
}
