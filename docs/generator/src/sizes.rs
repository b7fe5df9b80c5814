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
    parentheses, our time in microseconds. Of several libraries, the fastest at that size counts; without one, there \
    is our time alone.\n";

/// The text and the plot; `None` before there are measurements.
///
/// # Errors
/// Fails if the measurements cannot be read, or contain a wrong result.
pub fn page() -> Result<Option<(String, String)>> {
    let (paths, rows) = results::sizes()?;
    if rows.is_empty() {
        return Ok(None);
    }
    let (mut text, mut measurements) = (TEXT.to_owned(), Vec::new());
    for family in FAMILIES {
        let own: Vec<&Row> = rows.iter().filter(|row| row.family == family.name).collect();
        let mut subjects: Vec<String> = Vec::new();
        for subject in own.iter().map(|row| row.subject()) {
            if !subjects.contains(&subject) {
                subjects.push(subject);
            }
        }
        for subject in subjects {
            let rows: Vec<&Row> = own.iter().copied().filter(|row| row.subject() == subject).collect();
            text += &table(family, &subject, &rows);
            measurements.extend(rows.into_iter().map(|row| measurement(family, &subject, row)));
        }
    }
    let paths: Vec<_> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    text += &format!("\nThese rows, with their machine: {}.\n", paths.join(", "));
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

/// The ratios of all sizes, in one line.
fn table(family: &Family, subject: &str, rows: &[&Row]) -> String {
    let mut sizes: BTreeMap<u64, (String, [Option<f64>; 2])> = BTreeMap::new();
    for row in rows {
        let (_, pair) = sizes.entry(row.n).or_insert_with(|| (row.size(), [None, None]));
        let time = &mut pair[usize::from(is_peer(family, row))];
        *time = Some(time.map_or(row.median_us, |other| other.min(row.median_us)));
    }
    let cells = sizes.values().filter_map(|(size, pair)| match *pair {
        [Some(ours), Some(theirs)] => Some(format!("{size} {:.2} ({ours:.1})", theirs / ours)),
        [Some(ours), None] => Some(format!("{size} ({ours:.1})")),
        [None, _] => None,
    });
    format!("\n`{}` {subject}: {}\n", family.name, cells.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ladders::kernels::family;

    #[test]
    fn a_size_is_compared_with_the_fastest_library() {
        let text = "family,variant,op,dtype,n,median_us\nvecadd,best,,f32,1024,2\nvecadd,Thrust,,f32,1024,5\n\
            vecadd,CUB,,f32,1024,3\nvecadd,best,,f32,7,4\nvecadd,CUB,,f32,9,1\n";
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<Row> = reader.deserialize().collect::<std::result::Result<_, _>>().expect("rows");
        let line = table(family("vecadd").expect("a family"), "f32", &rows.iter().collect::<Vec<_>>());
        assert_eq!(line, "\n`vecadd` f32: 7 (4.0), 2^10 1.50 (2.0)\n");
    }
}
