//! Compares the counters with Nsight Compute's readings on an H200 for the micro-kernels of `tests/golden/`: one access
//! each, at offsets unknown to the compiler. The values must be equal.

use ptx_sim::{Config, Counters, Launch, Machine, Program};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

#[test]
fn the_profiler_counts_the_same() {
    let table = Table::read("micro.csv");
    let mut programs = HashMap::new();
    let mut problems = Vec::new();
    // An exempt column must differ in at least one case; in some cases it may agree by chance.
    let mut exempt: BTreeMap<(&str, &str), bool> = BTreeMap::new();
    for row in &table.rows {
        let file = row["file"].as_str();
        let program = programs.entry(file.to_owned()).or_insert_with(|| {
            Program::parse(&std::fs::read_to_string(folder().join(file)).expect("PTX")).expect("valid PTX")
        });
        let counters = run(program, &row["entry"], &row["offsets"]);
        for (name, counted) in compared(&counters) {
            let read: u64 = row[name].parse().expect("a number");
            if let Some(why) = another_in_sass(&row["entry"], name) {
                *exempt.entry((why, name)).or_default() |= read != counted;
            } else if read != counted {
                problems.push(format!("{}: {name}: the profiler read {read}, counted {counted}", row["case"]));
            }
        }
    }
    let stale = exempt.iter().filter(|(_, differs)| !**differs);
    problems.extend(stale.map(|((why, name), _)| format!("{name} agrees in all cases: remove its exemption ({why})")));
    assert!(table.rows.len() >= 600, "{} cases", table.rows.len());
    assert!(problems.is_empty(), "{} differ\n{}", problems.len(), problems.join("\n"));
}

/// Columns of the table, each with the simulator's counter.
fn compared(counters: &Counters) -> Vec<(&'static str, u64)> {
    let plain_atomics = counters.global_atomics - counters.global_reductions;
    vec![
        ("shared_ld", counters.shared_loads),
        ("shared_st", counters.shared_stores),
        ("shared_atom", counters.shared_atomics),
        ("wavefronts_ld", counters.shared_load_wavefronts),
        ("wavefronts_st", counters.shared_wavefronts - counters.shared_load_wavefronts),
        ("wavefronts_atom", counters.shared_atomic_wavefronts),
        ("conflicts", counters.bank_conflicts),
        ("requests_ld", counters.global_loads),
        ("requests_st", counters.global_stores),
        ("requests_atom", plain_atomics),
        ("requests_red", counters.global_reductions),
        ("sectors_ld", counters.global_load_sectors),
        ("sectors_st", counters.global_store_sectors),
        ("sectors_atom", counters.global_atomic_sectors - counters.global_reduction_sectors),
        ("sectors_red", counters.global_reduction_sectors),
        ("local_requests_ld", counters.local_loads),
        ("local_requests_st", counters.local_stores),
        ("local_sectors_ld", counters.local_load_sectors),
        ("local_sectors_st", counters.local_store_sectors),
        ("branches", counters.branches + counters.unconditional_branches),
        ("divergent", counters.divergent_branches),
    ]
}

/// Returns why a column may differ: the SASS code is not the PTX code.
fn another_in_sass(entry: &str, column: &str) -> Option<&'static str> {
    let looping = ["atom_add_u64", "dead_add_u64", "atom_add_f32", "dead_add_f32"];
    let looping = entry.strip_prefix("shared_").is_some_and(|name| looping.contains(&name));
    match column {
        // On sm_90, shared memory has no 64-bit and no floating-point addition: ptxas writes a loop of `LDS` and
        // `ATOMS.CAST.SPIN`, whose iterations depend on timing.
        "shared_ld" | "shared_atom" | "wavefronts_ld" | "wavefronts_atom" | "conflicts" if looping => Some("a loop"),
        // The guard `offset == -1` becomes a predicated `EXIT`, which is not a branch.
        "branches" | "divergent" if !entry.starts_with("branch_") && !entry.starts_with("local_") => Some("a guard"),
        // Before a wait for copies ptxas writes three `@!PT LDS`, loads that no lane executes.
        "shared_ld" if entry.starts_with("copy_") => Some("loads that no lane executes"),
        // The profiler counts `ldmatrix` and `stmatrix` separately from loads and stores.
        "shared_ld" if entry.starts_with("matrix_load_") => Some("ldmatrix"),
        "shared_st" if entry.starts_with("matrix_store_") => Some("stmatrix"),
        _ => None,
    }
}

fn run(program: &Program, entry: &str, offsets: &str) -> Counters {
    let mut machine = Machine::new(Config { workers: 1, ..Config::default() });
    let mut buffer = |bytes: u64, name: &str| {
        let address = machine.alloc(bytes, name).expect("memory");
        machine.fill(address, 0, bytes).expect("fill");
        address
    };
    let buffers = [buffer(128, "offsets"), buffer(1 << 16, "data"), buffer(512, "out")];
    let bytes: Vec<u8> = lanes(offsets).iter().flat_map(|offset| offset.to_le_bytes()).collect();
    machine.write(buffers[0], &bytes).expect("write");
    let params = buffers.map(|address| address.to_le_bytes().to_vec());
    let launch = Launch {
        entry,
        grid: [1, 1, 1],
        block: [32, 1, 1],
        dynamic_shared: 16384,
        params: &params,
        ..Launch::default()
    };
    machine.launch(program, &launch).expect("runs").counters
}

/// Parses offsets: `7` is one lane, `7*4` four lanes, `0+4*32` 32 lanes from 0 in steps of 4, `-` an inactive lane.
fn lanes(text: &str) -> Vec<i32> {
    let mut lanes = Vec::new();
    for item in text.split(' ') {
        let (start, times) = item.split_once('*').unwrap_or((item, "1"));
        let (first, step) = start.split_once('+').unwrap_or((start, "0"));
        let (first, step) =
            if first == "-" { (-1, 0) } else { (first.parse().expect("offset"), step.parse().expect("step")) };
        lanes.extend((0..times.parse().expect("lanes")).map(|lane| first + step * lane));
    }
    assert_eq!(lanes.len(), 32, "{text}");
    lanes
}

struct Table {
    rows: Vec<HashMap<String, String>>,
}

impl Table {
    fn read(name: &str) -> Self {
        let text = std::fs::read_to_string(folder().join(name)).expect("readings");
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let header: Vec<&str> = lines.next().expect("header").split(',').collect();
        let row = |line: &str| header.iter().map(ToString::to_string).zip(line.split(',').map(str::to_owned)).collect();
        Self { rows: lines.map(row).collect() }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}
