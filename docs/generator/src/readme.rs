//! The names of the families and the tables of results in `README.md`, each between a comment that names it and one
//! that ends it. The text around them is written by hand.

use crate::page::{is_peer, table_row, us};
use crate::results::{self, Row};
use anyhow::{Context, Result};
use ladders::kernels::{BEST, FAMILIES, Family};

/// Path of the file from the root of the workspace.
pub const PATH: &str = "README.md";

/// The line that ends a table.
const END: &str = "<!-- /table -->";

/// The file's text with every table made from the stored measurements.
///
/// # Errors
/// Fails if the file or the measurements cannot be read, or the file lacks a table's comments.
pub fn updated() -> Result<String> {
    let text = std::fs::read_to_string(PATH).with_context(|| format!("cannot read {PATH}"))?;
    let measured = results::measured()?;
    let text = replace(&text, "names", &names())?;
    let text = replace(&text, "library", &library(&measured))?;
    let text = replace(&text, "ladder", &ladder(&measured))?;
    let source = results::newest()?
        .map_or(String::new(), |path| format!("\nThese rows, with their machine: `{}`.\n", path.display()));
    replace(&text, "families", &(families(&measured) + &source))
}

/// The text with the table `name` replaced.
fn replace(text: &str, name: &str, table: &str) -> Result<String> {
    let start = format!("<!-- table {name} -->\n");
    let (before, rest) =
        text.split_once(&start).with_context(|| format!("{PATH} has no line `{}`", start.trim_end()))?;
    let (_, after) =
        rest.split_once(END).with_context(|| format!("{PATH} has no `{END}` after `{}`", start.trim_end()))?;
    Ok(format!("{before}{start}{table}{END}{after}"))
}

/// The names of all families.
fn names() -> String {
    format!("`{}`\n", FAMILIES.iter().map(|family| family.name).collect::<Vec<_>>().join(" "))
}

/// A Markdown table with these columns.
fn table(header: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = table_row(&vec!["---".to_owned(); header.len()]);
    [table_row(header), line].into_iter().chain(rows.into_iter().map(|row| table_row(&row))).collect()
}

/// Reductions that the table `library` has, each in columns of its own.
const REDUCTIONS: [&str; 2] = ["sum f32", "sum f64"];

/// `best` of the reductions beside the vendor's library.
fn library(rows: &[Row]) -> String {
    let against: Vec<_> = FAMILIES
        .iter()
        .filter(|family| family.name == "reduce")
        .flat_map(|family| rows.iter().filter(move |row| row.family == family.name && is_peer_or_best(family, row)))
        .filter(|row| REDUCTIONS.contains(&row.subject().as_str()))
        .collect();
    let mut header = vec!["elements".to_owned()];
    for subject in REDUCTIONS {
        let peer = against.iter().find(|row| row.subject() == subject && row.variant != "best");
        let peer = peer.map_or("-", |row| name(&row.variant));
        header.extend([format!("{subject}: `best`"), peer.to_owned(), String::new()]);
    }
    let mut sizes: Vec<u64> = against.iter().map(|row| row.n).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let cells = |n: u64| {
        let mut cells = vec![results::size(n, "")];
        for subject in REDUCTIONS {
            let time = |best: bool| {
                let same = |row: &&&Row| row.n == n && row.subject() == subject && (row.variant == "best") == best;
                against.iter().find(same).map(|row| row.median_us)
            };
            let (ours, theirs) = (time(true), time(false));
            let of = |time: Option<f64>| time.map_or("-".to_owned(), us);
            let over = ours.zip(theirs).map_or("-".to_owned(), |(ours, theirs)| ratio(theirs / ours));
            cells.extend([of(ours), of(theirs), over]);
        }
        cells
    };
    table(&header, sizes.into_iter().map(cells))
}

fn is_peer_or_best(family: &Family, row: &Row) -> bool {
    row.variant == "best" || is_peer(family, row)
}

/// Rungs of `reduce` that the table `ladder` has, from the first to the last; the page of the ladder has all.
const RUNGS: [&str; 11] = [
    "interleaved",
    "interleaved_strided",
    "sequential",
    "first_add",
    "unroll_last_warp",
    "unrolled",
    "many_per_thread",
    "grid_stride",
    "warp_shuffle",
    "atomic",
    "best",
];

/// The rungs of a reduction at a size at which a launch costs most and at one at which memory does.
fn ladder(rows: &[Row]) -> String {
    let (sizes, subject) = ([1 << 22, 1 << 28], REDUCTIONS[0]);
    let is_shown = |row: &&Row| row.family == "reduce" && row.subject() == subject && sizes.contains(&row.n);
    let rungs: Vec<_> = rows.iter().filter(is_shown).collect();
    let header = [format!("rung, {subject}")]
        .into_iter()
        .chain(sizes.iter().flat_map(|&n| [results::size(n, ""), String::new()]));
    let rates = |rung: &str| {
        let of = |n: u64| {
            let row = rungs.iter().find(|row| row.n == n && row.variant == rung);
            let rate =
                row.and_then(|row| row.rate()).map_or("-".to_owned(), |(unit, rate)| format!("{rate:.0} {unit}"));
            [row.map_or("-".to_owned(), |row| us(row.median_us)), rate]
        };
        [rung.to_owned()].into_iter().chain(sizes.iter().flat_map(|&n| of(n))).collect()
    };
    table(&header.collect::<Vec<_>>(), RUNGS.map(rates))
}

/// Every family's `best` beside the vendor's library: with the default settings at every size, with other settings at
/// the largest.
fn families(rows: &[Row]) -> String {
    let header = ["family", "library", "its time over ours", "at"].map(str::to_owned);
    let mut lines = Vec::new();
    for family in FAMILIES {
        let Some(best) = (family.variants)().last().map(|variant| variant.name).filter(|name| *name == BEST) else {
            continue;
        };
        let ours: Vec<_> = rows.iter().filter(|row| row.family == family.name && row.variant == best).collect();
        let peers: Vec<_> = rows.iter().filter(|row| row.family == family.name && is_peer(family, row)).collect();
        let mut subjects: Vec<_> = peers.iter().map(|row| (&row.op, &row.dtype, &row.variant)).collect();
        subjects.dedup();
        let mut seen = Vec::new();
        for subject in subjects {
            if seen.contains(&subject) {
                continue;
            }
            seen.push(subject);
            let (op, dtype, library) = subject;
            let of_it: Vec<_> =
                peers.iter().copied().filter(|row| (&row.op, &row.dtype, &row.variant) == subject).collect();
            let largest = |row: &&&Row| {
                let same = |other: &&&Row| other.settings == row.settings && other.axes() == row.axes();
                of_it.iter().filter(same).all(|other| other.n <= row.n)
            };
            let shown = of_it.iter().filter(|row| row.settings.is_empty() || largest(row));
            let time = |peer: &Row| {
                let same = |row: &&&Row| row.subject() == peer.subject() && row.size() == peer.size();
                ours.iter().find(same).map(|row| peer.median_us / row.median_us)
            };
            let (ratios, places) = runs(shown.filter_map(|row| Some((*row, time(row)?))));
            let words = [format!("`{}`", family.name), op.clone(), dtype.clone()];
            let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
            lines.push(vec![words.join(" "), name(library).to_owned(), ratios, places]);
        }
    }
    table(&header, lines)
}

/// The ratios, and the places where they were measured, each as one text: sizes with the default settings, then for
/// each size the other settings.
fn runs<'r>(ratios: impl Iterator<Item = (&'r Row, f64)>) -> (String, String) {
    let mut runs: Vec<(Option<String>, Vec<String>, Vec<String>)> = Vec::new();
    for (row, over) in ratios {
        let size = (!row.settings.is_empty()).then(|| row.size());
        let place = if size.is_some() { row.settings.replace("--", "") } else { row.size() };
        match runs.iter_mut().find(|(have, ..)| *have == size) {
            Some((_, ratios, places)) => {
                ratios.push(ratio(over));
                places.push(place);
            }
            None => runs.push((size, vec![ratio(over)], vec![place])),
        }
    }
    let ratios: Vec<_> = runs.iter().map(|(_, ratios, _)| ratios.join(", ")).collect();
    let places = runs.iter().map(|(size, _, places)| match size {
        Some(size) => format!("{size} with {}", without_repeats(places)),
        None => places.join(", "),
    });
    (ratios.join("; "), places.collect::<Vec<_>>().join("; "))
}

/// Shortens `mask 3, mask 5` to `mask 3, 5`.
fn without_repeats(settings: &[String]) -> String {
    let single = |setting: &str| {
        setting.split_once(' ').filter(|(_, value)| !value.contains(' ')).map(|(name, _)| name.to_owned())
    };
    let mut before = None;
    let shortened = settings.iter().map(|setting| {
        let name = single(setting);
        let repeated = name.is_some() && name == before;
        before = name;
        if repeated { setting.split_once(' ').map_or(setting.as_str(), |(_, value)| value) } else { setting }
    });
    shortened.collect::<Vec<_>>().join(", ")
}

/// The ratio, with about three digits.
fn ratio(ratio: f64) -> String {
    if ratio >= 9.995 { format!("{ratio:.1}x") } else { format!("{ratio:.2}x") }
}

/// The name of a library without its version.
fn name(library: &str) -> &str {
    library.split(' ').next().unwrap_or(library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_names_every_family() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        let text = std::fs::read_to_string(root.to_owned() + PATH).expect("the file");
        assert_eq!(replace(&text, "names", &names()).expect("its place"), text, "run `cargo xtask docs`");
    }

    /// Tables of older measurements are not what this version does.
    #[test]
    fn every_table_of_numbers_is_made_of_the_newest_measurements() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        std::env::set_current_dir(root).expect("the workspace");
        let text = std::fs::read_to_string(PATH).expect("the file");
        assert_eq!(updated().expect("the tables"), text, "run `cargo xtask docs`");
        let measured = results::measured().expect("the measurements");
        for (name, table) in [("library", library(&measured)), ("ladder", ladder(&measured))] {
            assert!(table.lines().count() > 2 && !table.contains(" - "), "{name} has gaps: {table}");
        }
    }

    #[test]
    fn a_table_is_replaced_and_nothing_else() {
        let text = "a\n<!-- table x -->\n| old |\n<!-- /table -->\nb\n<!-- table y -->\n<!-- /table -->\n";
        let new = replace(text, "x", "| new |\n").expect("a table");
        assert_eq!(new, text.replace("old", "new"));
        assert_eq!(replace(&new, "x", "| new |\n").expect("a table"), new);
        assert!(replace(text, "z", "").expect_err("no such table").to_string().contains("<!-- table z -->"));
        assert!(replace("<!-- table x -->\n", "x", "").is_err(), "no end");
    }

    #[test]
    fn settings_follow_their_size() {
        let row = |n: u64, settings: &str| Row {
            family: "histogram".to_owned(),
            variant: "CUB 3.0.1".to_owned(),
            op: String::new(),
            dtype: "u32".to_owned(),
            n,
            shape: String::new(),
            settings: settings.to_owned(),
            median_us: 1.0,
            gbps: None,
            tflops: None,
            verified: None,
            machine: String::new(),
        };
        let large = |settings: &str| row(1 << 28, settings);
        let rows =
            [row(1 << 22, ""), large(""), large("--bins 1024"), large("--bins 2048"), large("--bins 9 --skew 5")];
        let (ratios, places) = runs(rows.iter().zip([0.5, 1.0, 14.46, 3.0, 2.0]));
        assert_eq!(ratios, "0.50x, 1.00x; 14.5x, 3.00x, 2.00x");
        assert_eq!(places, "2^22, 2^28; 2^28 with bins 1024, 2048, bins 9 skew 5");
    }
}
