//! The counters compared with an H200: the profiler's readings of whole kernels
//! (`crates/ptx_sim/tests/golden/ladder.csv`), and the measured order of the reduction's rungs.

use ladders::explain::page::Variant;
use ladders::kernels;
use rustwarp::backend::Counters;
use rustwarp::element::Dtype;
use tests::explained::{Explaining, Run, explain, table};

#[test]
fn whole_kernels_count_what_the_profiler_reads() {
    let mut problems = Vec::new();
    let rows = table("crates/ptx_sim/tests/golden/ladder.csv");
    let mut on = Explaining::new(rows[0].run().family);
    for row in &rows {
        let run = row.run();
        if on.family != run.family.name {
            on = Explaining::new(run.family);
        }
        let explained = explain(&on, &run);
        let variant = &explained[0];
        let name = format!("{} {} {} {}", run.family.name, variant.name, row.get("dtype"), row.get("settings"));
        assert_eq!(Some(variant.launches.len()), row.number("launches"), "{name}");
        let mut compare = |column: &str, counted: f64, within: f64| {
            let Some(reading) = row.number::<f64>(column) else {
                // Device memory may read more than the data: see the README beside the table.
                assert_eq!(column, "dram_read", "{name}: no reading of {column}");
                return;
            };
            let differs = (counted - reading).abs() > within * reading;
            match row.reason(column) {
                None if differs => {
                    problems.push(format!("{name} {column}: the profiler read {reading}, counted {counted}"));
                }
                // The number of polls differs between runs.
                Some(reason) if !differs && reason != "polls" => {
                    problems.push(format!(
                        "{name} {column}: the counter agrees with the reading; remove the reason `{reason}`"
                    ));
                }
                _ => {}
            }
        };
        for (column, counted) in counted(&variant.counters) {
            compare(column, counted as f64, 0.02);
        }
        let read: u64 = variant.launches.iter().map(|launch| launch.read_bytes).sum();
        compare("dram_read", read as f64, 0.02);
        compare("active", variant.counters.active_threads(), 0.05);
        compare("bytes_per_sector", variant.counters.bytes_per_sector(), 0.05);
    }
    assert!(rows.len() >= 150, "{} rows", rows.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Each column of the table with the simulator's counter for it.
fn counted(counters: &Counters) -> [(&'static str, u64); 11] {
    [
        ("wavefronts_ld", counters.shared_load_wavefronts),
        ("wavefronts_st", counters.shared_wavefronts - counters.shared_load_wavefronts),
        ("wavefronts_atom", counters.shared_atomic_wavefronts),
        ("requests_ld", counters.global_loads),
        ("requests_st", counters.global_stores),
        ("requests_atom", counters.global_atomics - counters.global_reductions),
        ("requests_red", counters.global_reductions),
        ("sectors_ld", counters.global_load_sectors),
        ("sectors_st", counters.global_store_sectors),
        ("sectors_atom", counters.global_atomic_sectors - counters.global_reduction_sectors),
        ("sectors_red", counters.global_reduction_sectors),
    ]
}

/// Relative difference of times below which two rungs count as a tie (together with the spreads of both): other builds
/// and other runs on the same machine differ by as much.
const NOISE: f64 = 0.02;

#[test]
fn the_predicted_order_of_the_rungs_is_the_measured_one() {
    let n = 1_u64 << 22;
    let family = kernels::family("reduce").expect("a family");
    let variants = family.select("all").expect("variants");
    let run = Run {
        family,
        variants,
        op: family.ops[0],
        settings: Vec::new(),
        dtype: Dtype::F32,
        size: vec![n],
        block: None,
        grid: None,
    };
    let explained = explain(&Explaining::new(family), &run);
    let measured: Vec<(String, f64, f64)> = table("docs/results/h200/2026-11-21.csv")
        .into_iter()
        .filter(|row| {
            row.get("comparison") == "ladder" && row.get("family") == "reduce" && row.get("n") == n.to_string()
        })
        .map(|row| {
            let number = |name: &str| row.number(name).expect("a number");
            (row.get("variant").to_owned(), number("median_us"), number("spread"))
        })
        .collect();
    let predicted = |name: &str| {
        let variant = explained.iter().find(|variant| variant.name == name);
        variant.unwrap_or_else(|| panic!("no variant {name}")).time_us
    };
    let (mut pairs, mut problems) = (0, Vec::new());
    for (i, (a, time_a, spread_a)) in measured.iter().enumerate() {
        for (b, time_b, spread_b) in &measured[..i] {
            let apart = (time_a - time_b).abs() / time_a.min(*time_b);
            if apart <= NOISE + spread_a + spread_b {
                continue;
            }
            pairs += 1;
            if (predicted(a) < predicted(b)) != (time_a < time_b) {
                let (p, q) = (predicted(a), predicted(b));
                problems.push(format!("{a} takes {time_a} us and {b} {time_b} us; predicted {p:.1} and {q:.1}"));
            }
        }
    }
    // There are 55 pairs; far fewer would mean that readings are missing.
    assert!(pairs >= 40, "{pairs} pairs of rungs differ");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Explains one rung of a family, with its default settings.
fn explained(family: &str, variant: &str, size: &[u64], block: Option<u32>) -> Variant {
    let family = kernels::family(family).expect("a family");
    let on = Explaining::new(family);
    let run = Run {
        family,
        variants: family.select(variant).expect("a variant"),
        op: family.ops.first().copied().unwrap_or_default(),
        settings: Vec::new(),
        dtype: family.dtypes[0],
        size: size.to_vec(),
        block,
        grid: None,
    };
    explain(&on, &run).remove(0)
}

#[test]
fn changes_give_the_time_of_the_rung_that_makes_them() {
    // The rungs differ by an unused column of the tile, and by the order of the loop over a matrix.
    let pairs = [
        ("transpose", "tiled", "padding", "padded", 0.9),
        // At best: the loop down a column has other latencies.
        ("access", "row_walk", "coalescing", "column_walk", 0.7),
    ];
    for (family, slow, name, fast, least) in pairs {
        let slow = explained(family, slow, &[1024, 1024], None);
        let fast = explained(family, fast, &[1024, 1024], None);
        let kernel = slow.kernels_us();
        let changes = &slow.longest().expect("a launch").time.changes;
        let change = changes.iter().find(|change| change.name == name);
        let change = change.unwrap_or_else(|| panic!("{family}: no {name} in {changes:?}"));
        let ratio = change.us / fast.kernels_us();
        assert!(
            (least..1.1).contains(&ratio),
            "{family}: {} us by {name}, {} us in {}",
            change.us,
            fast.kernels_us(),
            fast.name
        );
        assert!(changes.iter().all(|change| change.us < kernel), "{kernel} us and {changes:?}");
        let none = fast.longest().expect("a launch").time.changes.iter().find(|change| change.name == name);
        assert_eq!(none, None, "{family} {}", fast.name);
    }
}

#[test]
fn atomics_on_few_addresses_ask_for_private_copies() {
    let shared = explained("histogram", "interleaved", &[1 << 18], None);
    let changes = &shared.longest().expect("a launch").time.changes;
    assert_eq!(changes.first().map(|change| change.name), Some("privatisation"), "{changes:?}");
}

#[test]
fn only_grids_of_several_waves_are_told_to_loop() {
    let names = |variant: &str, block: Option<u32>| -> Vec<&'static str> {
        let explained = explained("vecadd", variant, &[1 << 18], block);
        explained.longest().expect("a launch").time.changes.iter().map(|change| change.name).collect()
    };
    // 8192 blocks of one warp, and 256 blocks on 132 multiprocessors.
    let (many, one) = (names("one_per_thread", Some(32)), names("best", None));
    assert!(many.contains(&"one-wave"), "{many:?}");
    assert!(!one.contains(&"one-wave"), "{one:?}");
}
