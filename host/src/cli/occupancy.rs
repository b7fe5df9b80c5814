//! `host occupancy`: the number of blocks of a kernel that a multiprocessor holds, and what limits it.

use super::exit::CLEAN;
use super::{look, names, number, output, stdout};
use cuda_builder::{Arch, Cache, check, cuda_tools};
use ladders::error::Error;
use ladders::table::{Column, Grid};
use rustwarp::backend::occupancy::{Question, Registers, occupancies};
use rustwarp::diagnostic::note;
use rustwarp::ptx::{self, Image};
use std::collections::HashMap;
use std::path::Path;

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// A PTX file, or an entry of the built kernels
    #[arg(value_name = "FILE.ptx|KERNEL")]
    target: String,
    /// An entry of the file [default: all]
    #[arg(long)]
    entry: Option<String>,
    /// Threads of a block
    #[arg(long, default_value_t = 256, value_parser = number::positive::<u32>)]
    block: u32,
    /// Registers of a thread [default: ptxas's count, or an estimate if ptxas is not installed]
    #[arg(long, value_parser = number::positive::<u32>)]
    registers: Option<u32>,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = number::any::<u64>)]
    shared: u64,
    /// A device profile: h200, a100, rtx-3050-laptop, geforce-8800-gtx, geforce-gtx-280, course, or a TOML file with a
    /// profile
    #[arg(long, value_name = "NAME|FILE", default_value = "h200")]
    profile: String,
    /// Print one JSON object per entry
    #[arg(long)]
    json: bool,
}

/// Prints one row per entry.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    let path = Path::new(&options.target);
    let file = path.extension().is_some_and(|extension| extension == "ptx") || path.exists();
    let image = if file { Image::read(path)? } else { with_entry(&options.target)? };
    let entry = options.entry.as_deref().or(if file { None } else { Some(options.target.as_str()) });
    let (block, registers, shared) = (options.block, options.registers, options.shared);
    let profile = options.profile.as_str();
    let found = occupancies(&image, &Question { entry, block, registers, shared, profile, counted })?;
    if options.json {
        for row in &found {
            stdout::line(&serde_json::to_string(row)?)?;
        }
        return Ok(CLEAN);
    }
    let columns = [
        Column::sentences("entry", 24),
        Column::text("device").rank(3),
        Column::text("block").rank(1),
        Column::text("registers"),
        Column::text("shared").rank(2),
        Column::text("blocks"),
        Column::text("warps").rank(4),
        Column::text("threads").rank(5),
        Column::text("occupancy"),
        Column::text("limited by"),
    ];
    let mut table = Grid::new(columns, output::ALL);
    for row in &found {
        let registers = match (row.registers_from, row.registers) {
            (Registers::Estimate, 0) => "unknown".to_owned(),
            (Registers::Estimate, count) => format!("about {count}"),
            (_, count) => count.to_string(),
        };
        table.row([
            row.entry.clone(),
            row.profile.clone(),
            row.block.to_string(),
            registers,
            row.shared_bytes.to_string(),
            row.blocks.to_string(),
            row.warps.to_string(),
            row.threads.to_string(),
            format!("{:.0} %", row.occupancy * 100.0),
            row.limits.join(", "),
        ]);
    }
    stdout::line(&table.render(look::stdout()))?;
    if found.iter().any(|row| row.registers_from == Registers::Estimate) {
        note(
            "registers are estimated from the PTX, since ptxas did not assemble it for the device: --registers sets \
             the count",
        );
    }
    Ok(CLEAN)
}

/// The built PTX that has this entry.
fn with_entry(entry: &str) -> anyhow::Result<Image> {
    let images = ptx::find_families("kernels-gpu", None, None)?;
    let start = format!(".entry {entry}(").into_bytes();
    let has = |image: &&Image| image.bytes.windows(start.len()).any(|window| window == start);
    if let Some(found) = images.iter().find(has) {
        return Ok(found.clone());
    }
    let texts: Vec<_> = images.iter().map(|image| String::from_utf8_lossy(&image.bytes)).collect();
    let entries = texts.iter().flat_map(|text| text.split(".entry ").skip(1));
    let mut names: Vec<&str> = entries.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.trim()).collect();
    names.sort_unstable();
    if names.is_empty() {
        anyhow::bail!("the PTX of kernels-gpu is empty: run `cargo xtask build-ptx`");
    }
    let near = names::near(entry, &names);
    Err(Error::Usage(format!("`{entry}` is neither a PTX file nor an entry of the built PTX; {near}")).into())
}

/// Number of registers that ptxas counts for the entry, or for each; empty if ptxas is not installed or cannot assemble
/// the file for the device.
fn counted(image: &Image, entry: Option<&str>, (major, minor): (u32, u32)) -> HashMap<String, u32> {
    let usages = cuda_tools::find("ptxas", &Cache::default()).and_then(|ptxas| {
        let arch: Arch = format!("{major}.{minor}").parse().ok()?;
        match entry {
            Some(entry) => Some(check::usage_of(&ptxas, &image.path, arch, entry).ok()?.into_iter().collect()),
            None => check::assemble(&ptxas, &image.path, arch, Path::new("/dev/null")).ok(),
        }
    });
    usages.unwrap_or_default().into_iter().map(|usage| (usage.entry, usage.registers)).collect()
}
