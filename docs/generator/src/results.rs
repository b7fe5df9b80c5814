//! Stored measurements: the CSV files of `docs/results`.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A measurement of one of our kernels, of a library, or from a publication.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    /// Name of the family, as on the command line.
    pub family: String,
    /// Name of our variant, or of a library with its version.
    pub variant: String,
    /// The operation; empty for a family with a single one.
    pub op: String,
    /// Element type.
    pub dtype: String,
    /// Number of elements of the first operand.
    pub n: u64,
    /// Shape of the first operand, for `matmul` MxNxK; empty for a vector.
    #[serde(default)]
    pub shape: String,
    /// The settings that differ from the defaults.
    #[serde(default)]
    pub settings: String,
    /// Median time in microseconds.
    pub median_us: f64,
    /// Rate in 10^9 bytes per second, of the bytes that must be moved.
    #[serde(default)]
    pub gbps: Option<f64>,
    /// Rate in 10^12 operations per second, of the operations of the algorithm.
    #[serde(default)]
    pub tflops: Option<f64>,
    /// Whether the result was verified; empty for a publication.
    #[serde(default)]
    pub verified: Option<bool>,
    /// Author and machine of a publication's measurement.
    #[serde(default)]
    pub machine: String,
}

impl Row {
    /// Operation, type and settings: rows with the same subject are compared with each other.
    pub fn subject(&self) -> String {
        let words = [&self.op, &self.dtype, &self.settings];
        words.into_iter().filter(|word| !word.is_empty()).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The size, in the form of [`size`].
    pub fn size(&self) -> String {
        size(self.n, &self.shape)
    }

    /// Number of axes: sizes with the same number are comparable.
    pub fn axes(&self) -> usize {
        self.shape.split('x').count()
    }

    /// Lengths of the axes; empty for a vector.
    pub fn sides(&self) -> Vec<u64> {
        self.shape.split('x').filter_map(|side| side.parse().ok()).collect()
    }

    /// The unit and value of the rate: operations if there are any, else bytes.
    pub fn rate(&self) -> Option<(&'static str, f64)> {
        self.tflops.map(|x| ("TFLOP/s", x)).or(self.gbps.map(|x| ("GB/s", x)))
    }
}

/// The shape as in `4096x4096`, or the number of elements of a vector.
pub fn size(n: u64, shape: &str) -> String {
    match (shape.is_empty(), n.is_power_of_two() && n >= 1 << 10) {
        (false, _) => shape.to_owned(),
        (true, true) => format!("2^{}", n.ilog2()),
        (true, false) => n.to_string(),
    }
}

/// The newest measurements of the whole ladders on an H200; empty before there are any.
///
/// # Errors
/// Fails if the file cannot be read, or contains a wrong result.
pub fn measured() -> Result<Vec<Row>> {
    newest()?.map_or(Ok(Vec::new()), |path| verified(&path))
}

/// Reads a file, and fails if a row's result was wrong.
fn verified(path: &Path) -> Result<Vec<Row>> {
    let rows = read(path)?;
    match rows.iter().find(|row| row.verified == Some(false)) {
        Some(row) => {
            bail!(
                "{}: {} {} has a wrong result: measure it again once it is right",
                path.display(),
                row.family,
                row.variant
            )
        }
        None => Ok(rows),
    }
}

/// The newest of the files that [`measured`] reads, whose names start with a date.
///
/// # Errors
/// Fails if the folder cannot be read.
pub fn newest() -> Result<Option<PathBuf>> {
    newest_of("-ladders.csv")
}

/// The newest measurements of `best` and of the vendor's libraries over many sizes, from all files of them. The rows of
/// one family, operation, type and settings are from one file. Also returns the files, the newest first.
///
/// # Errors
/// Fails if a file cannot be read, or contains a wrong result.
pub fn sizes() -> Result<(Vec<PathBuf>, Vec<Row>)> {
    let files = all_of("-sizes.csv")?.into_iter().rev().map(|path| verified(&path).map(|rows| (path, rows)));
    Ok(newest_of_each(files.collect::<Result<_>>()?))
}

/// The rows of each family and subject from the first file that has them, and the files that have such rows.
fn newest_of_each(files: Vec<(PathBuf, Vec<Row>)>) -> (Vec<PathBuf>, Vec<Row>) {
    let (mut taken, mut paths, mut all) = (BTreeSet::new(), Vec::new(), Vec::new());
    for (path, rows) in files {
        let of = |row: &Row| (row.family.clone(), row.subject());
        let rows: Vec<Row> = rows.into_iter().filter(|row| !taken.contains(&of(row))).collect();
        taken.extend(rows.iter().map(of));
        if !rows.is_empty() {
            paths.push(path);
        }
        all.extend(rows);
    }
    (paths, all)
}

/// The newest file whose name ends so.
fn newest_of(ending: &str) -> Result<Option<PathBuf>> {
    Ok(all_of(ending)?.pop())
}

/// The files whose names end so, the newest last: names start with a date.
fn all_of(ending: &str) -> Result<Vec<PathBuf>> {
    let folder = Path::new("docs/results/h200");
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    let mut paths: Vec<_> = paths.into_iter().filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    paths.sort();
    Ok(paths)
}

/// Measurements in the documents that the ladders are taken from, each on its own machine.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn published() -> Result<Vec<Row>> {
    read(Path::new("docs/results/published.csv"))
}

fn read(path: &Path) -> Result<Vec<Row>> {
    let mut reader = csv::Reader::from_path(path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = reader.deserialize().collect::<std::result::Result<_, _>>();
    rows.with_context(|| format!("{} is not a table of measurements", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_of_the_newest_file_that_has_it() {
        let rows = |text: &str| -> Vec<Row> {
            let text = format!("family,variant,op,dtype,n,median_us\n{text}");
            csv::Reader::from_reader(text.as_bytes())
                .deserialize()
                .collect::<std::result::Result<_, _>>()
                .expect("rows")
        };
        let older = rows("reduce,best,sum,f32,1024,9\nreduce,best,sum,f32,4096,9\nreduce,best,max,f32,1024,8\n");
        let newer = rows("reduce,best,sum,f32,1024,7\nreduce,CUB,sum,f32,1024,7\nscan,best,sum,f32,1024,6\n");
        let replaced = rows("scan,best,sum,f32,1024,5\n");
        let files = [("newer", newer), ("older", older), ("oldest", replaced)];
        let (paths, rows) = newest_of_each(files.map(|(path, rows)| (path.into(), rows)).into());
        assert_eq!(paths, ["newer", "older"].map(PathBuf::from), "the oldest file adds no rows");
        let times: Vec<f64> = rows.iter().map(|row| row.median_us).collect();
        assert_eq!(times, [7.0, 7.0, 6.0, 8.0]);
    }
}
