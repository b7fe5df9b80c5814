//! `cargo xtask docs`: writes `docs/ladders`, a page and a plot per family, out of what can't go stale: the list of families, the
//! kernels' own sources, the simulator's counters, and the measurements in `docs/results`.
//!
//! Runs in the root of the workspace. With `--check` it writes nothing, and fails when a page would change.

mod page;
mod results;
mod simulation;
mod source;

use anyhow::{Result, bail};
use host::kernels::{FAMILIES, Family};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        other => bail!("usage: ladders [--check], not {}", other.join(" ")),
    };
    let files = pages()?;
    let folder = Path::new("docs/ladders");
    if check { compare(folder, &files) } else { write(folder, &files) }
}

/// Every file of the folder, by name. Families are simulated side by side, each by a simulator of its own.
fn pages() -> Result<BTreeMap<PathBuf, String>> {
    let (measured, published) = (results::measured()?, results::published()?);
    let image = host::ptx::find("kernels-gpu", None, None)?;
    let files = |family: &'static Family| -> Result<Vec<(PathBuf, String)>> {
        let of = |rows: &[results::Row]| rows.iter().filter(|row| row.family == family.name).cloned().collect();
        let rows = page::Rows { measured: of(&measured), published: of(&published) };
        let (plot, explained) = (rows.plot(family)?, simulation::explain(family, &image, &rows.main())?);
        let text = page::page(family, &explained, &rows, plot.is_some())?;
        let plot = plot.map(|svg| (format!("{}.svg", family.name).into(), svg));
        Ok([(format!("{}.md", family.name).into(), text)].into_iter().chain(plot).collect())
    };
    let families: Vec<_> = FAMILIES.par_iter().map(files).collect::<Result<_>>()?;
    let index = (PathBuf::from("README.md"), page::index());
    Ok(families.into_iter().flatten().chain([index]).collect())
}

fn write(folder: &Path, files: &BTreeMap<PathBuf, String>) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for name in present(folder)?.into_iter().filter(|name| !files.contains_key(name)) {
        std::fs::remove_file(folder.join(name))?;
    }
    for (name, text) in files {
        std::fs::write(folder.join(name), text)?;
    }
    println!("wrote {} files to {}", files.len(), folder.display());
    Ok(())
}

fn compare(folder: &Path, files: &BTreeMap<PathBuf, String>) -> Result<()> {
    let differs =
        |name: &PathBuf, text: &String| std::fs::read_to_string(folder.join(name)).ok().as_ref() != Some(text);
    let mut stale: Vec<_> = files.iter().filter(|(name, text)| differs(name, text)).map(|(name, _)| name).collect();
    let present = present(folder)?;
    stale.extend(present.iter().filter(|name| !files.contains_key(*name)));
    if stale.is_empty() {
        println!("{} files in {} are up to date", files.len(), folder.display());
        return Ok(());
    }
    let names: Vec<_> = stale.iter().map(|name| name.display().to_string()).collect();
    bail!("{} is stale ({}): run `cargo xtask docs` and commit what it writes", folder.display(), names.join(" "))
}

/// Names of the files in the folder; none when there is no folder.
fn present(folder: &Path) -> Result<Vec<PathBuf>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    entries.map(|entry| Ok(entry?.file_name().into())).collect()
}
