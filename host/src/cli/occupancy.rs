//! `host occupancy`: the number of blocks of a kernel that a multiprocessor holds, and what limits it.

use super::exit::CLEAN;
use super::{look, names, number, output, stdout};
use anyhow::Context;
use cuda_builder::cuda_tools::CudaTool;
use cuda_builder::{Arch, Cache, check, cuda_tools};
use ladders::error::Error;
use ladders::table::{Column, Grid};
use rustwarp::backend;
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
    /// Registers of a thread [default: ptxas's count, or an estimate where ptxas cannot count them]
    #[arg(long, value_parser = number::positive::<u32>)]
    registers: Option<u32>,
    /// Bytes of dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = number::any::<u64>)]
    shared: u64,
    /// A device profile: h200, h100, a100, rtx-3050-laptop, geforce-8800-gtx, geforce-gtx-280, course, or a TOML file
    /// with a profile
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
    Ok(CLEAN)
}

/// The built PTX that has this entry.
fn with_entry(entry: &str) -> anyhow::Result<Image> {
    let mut images = ptx::find_families("kernels-gpu", None, None)?;
    // The name of an entry starts with that of its family, whose text is a small part of all.
    let family = |image: &Image| image.path.file_stem().is_some_and(|name| entry.starts_with(&*name.to_string_lossy()));
    images.sort_by_key(|image| !family(image));
    let mut names = Vec::new();
    for image in images {
        let found = entries(&image);
        if found.iter().any(|name| name == entry) {
            return Ok(image);
        }
        names.extend(found);
    }
    if names.is_empty() {
        anyhow::bail!("the PTX of kernels-gpu is empty: run `cargo xtask build-ptx`");
    }
    names.sort_unstable();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = names::near(entry, &names);
    Err(Error::Usage(format!("`{entry}` is neither a PTX file nor an entry of the built PTX; {near}")).into())
}

/// The names of a file's entries.
fn entries(image: &Image) -> Vec<String> {
    let text = String::from_utf8_lossy(&image.bytes);
    let names = text.split(".entry ").skip(1).filter_map(|rest| rest.split_once('('));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

/// Number of registers that ptxas counts for the entry, or for each; empty, with a note that gives the reason, if it
/// cannot be asked.
fn counted(image: &Image, entry: Option<&str>, capability: (u32, u32)) -> HashMap<String, u32> {
    let ptxas = cuda_tools::require("ptxas", &Cache::default(), "count registers");
    let registers = ptxas.map_err(anyhow::Error::from).and_then(|ptxas| registers(&ptxas, image, entry, capability));
    registers.unwrap_or_else(|error| {
        // An entry that the file lacks is the caller's error.
        let lacks = |name: &str| backend::entries(&image.bytes).is_some_and(|all| all.iter().all(|e| e.name != name));
        if !entry.is_some_and(lacks) {
            note(format!("registers are estimated from the PTX (--registers sets the count): {error:#}"));
        }
        HashMap::new()
    })
}

/// Runs ptxas on a file of its own, since the PTX may be in the program only.
fn registers(
    ptxas: &CudaTool,
    image: &Image,
    entry: Option<&str>,
    (major, minor): (u32, u32),
) -> anyhow::Result<HashMap<String, u32>> {
    let arch: Arch = format!("{major}.{minor}").parse()?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder for ptxas")?;
    let path = folder.path().join("kernels.ptx");
    std::fs::write(&path, &image.bytes).with_context(|| format!("cannot write {}", path.display()))?;
    let usages = match entry {
        Some(entry) => check::usage_of(ptxas, &path, arch, entry)?.into_iter().collect(),
        None => check::usages(ptxas, &path, arch)?,
    };
    anyhow::ensure!(!usages.is_empty(), "{} lists no entry of {}", ptxas.path.display(), image.path.display());
    Ok(usages.into_iter().map(|usage| (usage.entry, usage.registers)).collect())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A program in place of ptxas, newer than any other, which runs `script` with the PTX's path as `$ptx`.
    fn ptxas(folder: &Path, script: &str) -> CudaTool {
        let cache = Cache::at(folder);
        let path = cache.cuda().join("bin/ptxas");
        std::fs::create_dir_all(cache.cuda().join("bin")).expect("a folder");
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'release 99.0, V99.0.0'; exit; fi\n\
             for ptx in \"$@\"; do case \"$ptx\" in *.ptx) break; esac; done\n{script}\n"
        );
        std::fs::write(&path, text).expect("a script");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
        let tool = cuda_tools::find("ptxas", &cache).expect("the script");
        assert_eq!(tool.path, path);
        tool
    }

    /// The path of kernels in the program is no file, so ptxas gets their text; its errors are kept.
    #[test]
    fn kernels_in_the_program_are_assembled() {
        let folder = tempfile::tempdir().expect("a folder");
        let listing = "grep -q 'entry sum' \"$ptx\" || exit 1
            echo \"ptxas info : Compiling entry function 'sum' for 'sm_90'\" >&2
            echo \"ptxas info : Used 14 registers, used 1 barriers\" >&2";
        let file = folder.path().join("reduce.ptx");
        std::fs::write(&file, ".entry sum()").expect("a file");
        let mut image = Image::read(&file).expect("read");
        image.path = "in the program/sm_90/reduce.ptx".into();
        for entry in [None, Some("sum")] {
            let found = registers(&ptxas(folder.path(), listing), &image, entry, (9, 0)).expect("it is assembled");
            assert_eq!(found, HashMap::from([("sum".to_owned(), 14)]));
        }

        let error = |script, capability| {
            let found = registers(&ptxas(folder.path(), script), &image, Some("sum"), capability);
            format!("{:#}", found.expect_err("no count"))
        };
        let refused = error("echo 'ptxas fatal : Unsupported .version 9.9' >&2; exit 255", (9, 0));
        assert!(refused.contains("Unsupported .version 9.9"), "{refused}");
        assert!(error("exit 0", (9, 0)).contains("lists no entry of in the program/sm_90/reduce.ptx"));
        assert!(error("exit 0", (1, 0)).contains("1.0"));
    }
}
