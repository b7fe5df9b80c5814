//! Stored measurements.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// A measurement of ours, of a library, or of somebody's publication.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    /// As on the command line.
    pub family: String,
    /// Ours by its name, or a library with its version.
    pub variant: String,
    /// Empty where there is no choice.
    pub op: String,
    /// Element type.
    pub dtype: String,
    /// Elements of the first operand.
    pub n: u64,
    /// Its shape, of `matmul` MxNxK; empty for a vector.
    #[serde(default)]
    pub shape: String,
    /// Those that differ from the defaults.
    #[serde(default)]
    pub settings: String,
    /// Median, in microseconds.
    pub median_us: f64,
    /// Bytes that must be moved, in 10^9 per second.
    #[serde(default)]
    pub gbps: Option<f64>,
    /// Operations that must be done, in 10^12 per second.
    #[serde(default)]
    pub tflops: Option<f64>,
    /// The right result; a publication is taken at its word.
    #[serde(default)]
    pub verified: Option<bool>,
    /// Whose measurement, on what: a publication's.
    #[serde(default)]
    pub machine: String,
    /// What it is measured for, and from which state of the cache: those of [`compared`].
    #[serde(default)]
    pub comparison: String,
    /// `cold` or `warm`.
    #[serde(default)]
    pub cache: String,
}

impl Row {
    /// What is compared with each other: operation, type, settings.
    pub fn subject(&self) -> String {
        let words = [&self.op, &self.dtype, &self.settings];
        words.into_iter().filter(|word| !word.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// As [`size`] has it.
    pub fn size(&self) -> String {
        size(self.n, &self.shape)
    }

    /// What sizes are comparable: vectors with vectors, signals and pictures of one channel with such.
    pub fn axes(&self) -> usize {
        self.shape.split('x').count()
    }

    /// The rate that counts.
    pub fn rate(&self) -> Option<(&'static str, f64)> {
        self.tflops.map(|x| ("TFLOP/s", x)).or(self.gbps.map(|x| ("GB/s", x)))
    }
}

/// `4096x4096`, or the number of elements.
pub fn size(n: u64, shape: &str) -> String {
    match (shape.is_empty(), n.is_power_of_two() && n >= 1 << 10) {
        (false, _) => shape.to_owned(),
        (true, true) => format!("2^{}", n.ilog2()),
        (true, false) => n.to_string(),
    }
}

/// The newest measurements of the whole ladders on an H200; none before there are any.
pub fn measured() -> Result<Vec<Row>> {
    newest()?.map_or(Ok(Vec::new()), |path| verified(&path))
}

/// The newest comparison of the reductions, rung by rung and with the vendor's library, on an H200; none before there
/// are any.
pub fn compared() -> Result<Vec<Row>> {
    // `DATE.csv`, and nothing behind the date.
    let paths =
        csv_files()?.into_iter().filter(|path| path.file_stem().is_some_and(|stem| stem.len() == "2000-01-01".len()));
    paths.max().map_or(Ok(Vec::new()), |path| verified(&path))
}

/// Refuses rows of wrong results.
fn verified(path: &Path) -> Result<Vec<Row>> {
    let rows = read(path)?;
    match rows.iter().find(|row| row.verified == Some(false)) {
        Some(row) => {
            bail!("{}: {} {} gave a wrong result: its time means nothing", path.display(), row.family, row.variant)
        }
        None => Ok(rows),
    }
}

/// The file that [`measured`] reads: names start with a date.
pub fn newest() -> Result<Option<PathBuf>> {
    Ok(csv_files()?.into_iter().filter(|path| path.to_string_lossy().ends_with("-ladders.csv")).max())
}

fn csv_files() -> Result<Vec<PathBuf>> {
    let folder = Path::new("docs/results/h200");
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "csv")).collect())
}

/// What the documents that the ladders come from measured, each on its own machine.
pub fn published() -> Result<Vec<Row>> {
    read(Path::new("docs/results/published.csv"))
}

fn read(path: &Path) -> Result<Vec<Row>> {
    let mut reader = csv::Reader::from_path(path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = reader.deserialize().collect::<std::result::Result<_, _>>();
    rows.with_context(|| format!("{} is no table of measurements", path.display()))
}
