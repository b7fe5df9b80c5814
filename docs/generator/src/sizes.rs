//! The page of times over sizes: the rungs to use beside the vendor's libraries, from a launch's own time to the limit
//! of memory.

use crate::page::is_peer;
use crate::results::{self, Row};
use anyhow::Result;
use ladders::kernels::{FAMILIES, Family, Role};
use ladders::plot::{self, Measurement, Size};
use std::collections::BTreeMap;

/// Name of the page without its extension.
pub const NAME: &str = "sizes";

const TEXT: &str = "# Time over size\n\nWritten by `cargo xtask docs`.\n\nThe time of every family's `best` and of the \
    vendor's library for the same problem on an H200, from 2^10 elements on: on the left is what a launch takes by \
    itself, on the right what memory or arithmetic allow. Cold cache, medians, all results verified; both axes are \
    logarithmic.\n\n![times over sizes](sizes.svg)\n\n## The library's time over ours\n\nAbove 1 ours is faster. In \
    parentheses, our time in microseconds.\n";

/// The text and the plot; `None` before there are measurements.
///
/// # Errors
/// Fails if the measurements cannot be read, or contain a wrong result.
pub fn page() -> Result<Option<(String, String)>> {
    let Some((path, rows)) = results::sizes()? else { return Ok(None) };
    let (mut text, mut measurements) = (TEXT.to_owned(), Vec::new());
    for family in FAMILIES {
        let own: Vec<&Row> = rows.iter().filter(|row| row.family == family.name).collect();
        let mut subjects: Vec<String> = own.iter().map(|row| row.subject()).collect();
        subjects.dedup();
        for subject in subjects {
            let rows: Vec<&Row> = own.iter().copied().filter(|row| row.subject() == subject).collect();
            text += &table(family, &subject, &rows);
            measurements.extend(rows.into_iter().map(|row| measurement(family, &subject, row)));
        }
    }
    text += &format!("\nThese rows, with their machine: `{}`.\n", path.display());
    Ok(Some((text, plot::svg(&plot::panels(measurements))?)))
}

fn measurement(family: &Family, subject: &str, row: &Row) -> Measurement {
    Measurement {
        subject: format!("{} {subject}", family.name),
        variant: row.variant.clone(),
        role: if is_peer(family, row) { Role::Library } else { Role::of_variant(&row.variant) },
        size: Size::new(family.name, row.n, &row.sides()),
        value: ("us", row.median_us),
    }
}

/// A line for each size.
fn table(family: &Family, subject: &str, rows: &[&Row]) -> String {
    let mut sizes: BTreeMap<u64, (String, [Option<&Row>; 2])> = BTreeMap::new();
    for row in rows {
        let (_, pair) = sizes.entry(row.n).or_insert_with(|| (row.size(), [None, None]));
        pair[usize::from(is_peer(family, row))] = Some(row);
    }
    let mut text = format!("\n`{}` {subject}: ", family.name);
    let cells = sizes.values().filter_map(|(size, pair)| {
        let [Some(ours), Some(theirs)] = pair else { return None };
        Some(format!("{size} {:.2} ({:.1})", theirs.median_us / ours.median_us, ours.median_us))
    });
    text += &cells.collect::<Vec<_>>().join(", ");
    text + "\n"
}
