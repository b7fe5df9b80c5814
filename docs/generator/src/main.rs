//! `cargo xtask docs`: generates `docs/ladders`, a page and a plot per family, and the tables of `README.md` from the
//! list of families, the kernels' sources, the simulator's counters, and the measurements in `docs/results`.
//!
//! It runs in the root of the workspace. With `--check` it writes nothing, and fails if a page would change.

mod floats;
mod page;
mod readme;
mod results;
mod simulation;
mod sizes;
mod source;

use anyhow::{Result, bail};
use ladders::kernels::{FAMILIES, Family};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn main() -> Result<()> {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        other => bail!("usage: docs-generator [--check], not {}", other.join(" ")),
    };
    let readme = readme::updated()?;
    let files: Vec<_> = pages()?.into_iter().map(|(name, text)| (Path::new(FOLDER).join(name), text)).collect();
    let files = files.into_iter().chain([(readme::PATH.into(), readme)]).collect();
    if check { compare(&files) } else { write(&files) }
}

/// The folder of the pages, which holds no other files.
const FOLDER: &str = "docs/ladders";

/// Every page and plot, by file name, with the page about sums of floats. Families are simulated in parallel, each by a
/// simulator of its own.
fn pages() -> Result<BTreeMap<PathBuf, String>> {
    let (measured, published) = (results::measured()?, results::published()?);
    let files = |family: &'static Family| -> Result<Vec<(PathBuf, String)>> {
        let of = |rows: &[results::Row]| rows.iter().filter(|row| row.family == family.name).cloned().collect();
        let rows = page::Rows { measured: of(&measured), published: of(&published) };
        let (plot, explained) = (rows.plot(family)?, simulation::explain(family, &rows.main())?);
        let text = page::page(family, &explained, &rows, plot.is_some())?;
        let plot = plot.map(|svg| (format!("{}.svg", family.name).into(), svg));
        Ok([(format!("{}.md", family.name).into(), text)].into_iter().chain(plot).collect())
    };
    let families: Vec<_> = FAMILIES.par_iter().map(files).collect::<Result<_>>()?;
    let index = (PathBuf::from("README.md"), page::index());
    let floats = floats::pages()?;
    let of_sizes =
        |(text, plot)| [(format!("{}.md", sizes::NAME).into(), text), (format!("{}.svg", sizes::NAME).into(), plot)];
    let sizes = sizes::page()?.map(of_sizes);
    Ok(families.into_iter().flatten().chain([index]).chain(floats).chain(sizes.into_iter().flatten()).collect())
}

fn write(files: &BTreeMap<PathBuf, String>) -> Result<()> {
    std::fs::create_dir_all(FOLDER)?;
    for path in present()?.into_iter().filter(|path| !files.contains_key(path)) {
        std::fs::remove_file(path)?;
    }
    for (path, text) in files {
        std::fs::write(path, text)?;
    }
    println!("wrote {} files to {FOLDER}, and the tables of {}", files.len() - 1, readme::PATH);
    Ok(())
}

fn compare(files: &BTreeMap<PathBuf, String>) -> Result<()> {
    let differs = |path: &PathBuf, text: &String| std::fs::read_to_string(path).ok().as_ref() != Some(text);
    let mut stale: Vec<_> = files.iter().filter(|(path, text)| differs(path, text)).map(|(path, _)| path).collect();
    let present = present()?;
    stale.extend(present.iter().filter(|path| !files.contains_key(*path)));
    if stale.is_empty() {
        println!("{} files in {FOLDER} and the tables of {} are up to date", files.len() - 1, readme::PATH);
        return Ok(());
    }
    let names: Vec<_> = stale.iter().map(|path| path.display().to_string()).collect();
    bail!("stale: {}: run `cargo xtask docs` and commit what it writes", names.join(" "))
}

/// The files in the folder; empty if there is no folder.
fn present() -> Result<Vec<PathBuf>> {
    let Ok(entries) = std::fs::read_dir(FOLDER) else { return Ok(Vec::new()) };
    entries.map(|entry| Ok(entry?.path())).collect()
}
