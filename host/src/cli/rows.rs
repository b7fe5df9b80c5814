//! Tables of rows for people.

use ladders::bench::Cache;
use ladders::input;
use ladders::kernels::Row;
use ladders::table::{Cell, Column, Grid, Tone};
use rustwarp::backend::Counters;
use rustwarp::element::{Dtype, Value};

/// Where the columns are that a table leaves out on a narrow terminal.
pub(super) const ALL: &str = "a wider terminal, COLUMNS=N or --json shows all";

/// The table for a GPU, with times. Columns are left out from the highest rank on.
pub(super) fn timed(rows: &[Row]) -> Grid {
    let columns = [
        Column::text("variant"),
        Column::text("value"),
        Column::number("time"),
        Column::number("GB/s").rank(1),
        Column::number("of peak").rank(3),
        Column::number("speed-up").rank(2),
        Column::number("spread").rank(4),
        Column::text("cache").rank(5),
        Column::text("verified"),
    ];
    let mut table = Grid::new(columns, ALL);
    let first = rows[0].time_ms;
    for row in rows {
        let dash = |text: Option<String>| Cell::from(text.unwrap_or_else(|| "-".into()));
        table.row([
            row.variant.clone().into(),
            value(row).into(),
            dash(row.time_ms.map(time)),
            dash(row.gbps.map(|gbps| format!("{gbps:.0}"))),
            dash(row.fraction_of_limit.map(|fraction| format!("{:.1} %", fraction * 100.0))),
            dash(first.zip(row.time_ms).map(|(first, ms)| format!("{:.2}x", first / ms))),
            dash(row.timing.map(|timing| format!("{:.1} %", timing.spread * 100.0))),
            dash(row.timing.map(|timing| if timing.cache == Cache::Cold { "cold" } else { "warm" }.into())),
            verified(row),
        ]);
    }
    table
}

/// A time in a unit that leaves few digits.
pub(super) fn time(ms: f64) -> String {
    match ms {
        ..100.0 => format!("{:.1} us", ms * 1e3),
        ..10_000.0 => format!("{ms:.1} ms"),
        _ => format!("{:.2} s", ms / 1e3),
    }
}

/// The table for the simulator, with counters instead of times. Columns are left out from the highest rank on.
pub(super) fn counted(rows: &[Row]) -> Grid {
    let columns = [
        Column::text("variant"),
        Column::text("value"),
        Column::number("instructions"),
        Column::number("bank conflicts").rank(1),
        Column::number("divergent branches").rank(3),
        Column::number("global sectors").rank(4),
        Column::number("sectors/request").rank(2),
        Column::number("barriers").rank(5),
        Column::text("verified"),
    ];
    let mut table = Grid::new(columns, ALL);
    for row in rows {
        let counters = row.counters.unwrap_or_default();
        let Counters { global_sectors, global_loads, global_stores, .. } = counters;
        table.row([
            row.variant.clone().into(),
            value(row).into(),
            counters.warp_instructions.to_string().into(),
            counters.bank_conflicts.to_string().into(),
            format!("{} of {}", counters.divergent_branches, counters.branches).into(),
            global_sectors.to_string().into(),
            // Atomics are excluded from both numbers, as in `host explain`.
            if global_loads + global_stores > 0 {
                format!("{:.2}", counters.sectors_per_request()).into()
            } else {
                Cell::from("-")
            },
            counters.barriers.to_string().into(),
            verified(row),
        ]);
    }
    table
}

fn value(row: &Row) -> String {
    match (row.value, row.wrapped) {
        (Some(value), true) => format!("{} (wrapped)", number(row, value)),
        (Some(value), false) => number(row, value),
        (None, _) if row.results == 1 => "1 element".to_owned(),
        (None, _) => format!("{} elements", row.results),
    }
}

/// A number of the row's type: an f32 has the digits of an f32.
pub(super) fn number(row: &Row, value: Value) -> String {
    input::number(value, row.dtype == Dtype::F32.name())
}

fn verified(row: &Row) -> Cell {
    match (row.verified, row.findings.len()) {
        (Some(false), _) => Cell::new("WRONG", Tone::Bad),
        (Some(true), 0) => Cell::new("yes", Tone::Good),
        (Some(true), count) => Cell::new(format!("yes, {count} findings"), Tone::Bad),
        (None, 0) => Cell::new("not judged", Tone::Poor),
        (None, count) => Cell::new(format!("not judged, {count} findings"), Tone::Bad),
    }
}
