//! A product of matrices as Hopper's kernels compute it: a producer warp with tensor maps, two warpgroups with `wgmma`,
//! a ring of two stages. Every value is compared, and defects that are planted in it are found.

use ptx_sim::tensor::{Element, TensorMap};
use ptx_sim::{Checks, Config, Launch, Machine, Program, Stop};
use std::path::Path;

const ROWS: usize = 128;
const COLUMNS: usize = 256;
/// Steps of 64 columns along k.
const STEPS: usize = 5;
const K: usize = 64 * STEPS;

fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tensor/product.ptx");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Small integers, so that all sums are exact.
fn value(seed: usize, row: usize, k: usize) -> i32 {
    ((row * 7 + k * 13 + seed + row * k) % 9) as i32 - 4
}

/// Runs the kernel; returns the codes of its findings and the number of wrong values.
fn run(text: &str) -> Result<(Vec<&'static str>, usize), Stop> {
    let mut machine = Machine::new(Config { workers: 1, checks: Checks::DEFECTS, ..Config::default() });
    let mut factor = |name: &str, seed: usize, rows: usize| {
        let bits = |at: usize| ((value(seed, at / K, at % K) as f32).to_bits() >> 16) as u16;
        let bytes: Vec<u8> = (0..rows * K).flat_map(|at| bits(at).to_le_bytes()).collect();
        let address = machine.alloc(bytes.len() as u64, name).expect("room");
        machine.write(address, &bytes).expect("write");
        let (sizes, block) = ([K as u64, rows as u64], [64, rows as u32]);
        TensorMap::tiled(Element::Bf16, address, &sizes, &[2 * K as u64], &block, &[], 128).expect("a map").encode()
    };
    let (a, b) = (factor("a", 0, ROWS), factor("b", 5, COLUMNS));
    let c = machine.alloc((4 * ROWS * COLUMNS) as u64, "c").expect("room");
    let params = [a.to_vec(), b.to_vec(), c.to_le_bytes().to_vec(), (STEPS as u32).to_le_bytes().to_vec()];
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let (block, dynamic_shared) = ([384, 1, 1], 2 * 49152);
    let launch = Launch { entry: "k", grid: [1; 3], block, dynamic_shared, params: &params, ..Launch::default() };
    let report = machine.launch(&program, &launch)?;
    let mut bytes = vec![0; 4 * ROWS * COLUMNS];
    machine.read(c, &mut bytes).expect("read");
    let mut wrong = 0;
    for (at, word) in bytes.chunks_exact(4).enumerate() {
        let (row, column) = (at / COLUMNS, at % COLUMNS);
        let sum = (0..K).map(|k| value(0, row, k) * value(5, column, k)).sum::<i32>() as f32;
        wrong += usize::from(f32::from_le_bytes(word.try_into().expect("four bytes")).to_bits() != sum.to_bits());
    }
    Ok((report.findings.iter().map(|found| found.diagnostic.code).collect(), wrong))
}

/// Runs the kernel with one replacement.
fn planted(from: &str, to: &str) -> Result<(Vec<&'static str>, usize), String> {
    let text = text();
    assert!(text.contains(from), "{from}");
    run(&text.replace(from, to)).map_err(|stop| stop.diagnostic().code.to_string())
}

#[test]
fn every_value_is_right_and_nothing_is_found() {
    let (codes, wrong) = run(&text()).unwrap_or_else(|stop| panic!("{stop}"));
    assert_eq!((codes, wrong), (Vec::new(), 0));
}

#[test]
fn descriptors_that_do_not_fit_are_found() {
    // Eight rows of 128 bytes follow each other: the stride is 1024, and the swizzle one of 128 bytes.
    let right = 0x4000_0040_0001_0000_u64;
    let bugs = [
        ("%db", 0x4000_0020_0001_0000_u64, "wgmma-overlap"), // a stride of 512
        ("%da", 0x4000_0080_0001_0000, "wgmma-skipped"),     // a stride of 2048
        ("%da", 0x8000_0040_0001_0000, "wgmma-swizzle"),     // a swizzle of 64 bytes
        ("%db", 0x0000_0040_0001_0000, "wgmma-swizzle"),     // no swizzle
    ];
    for (factor, descriptor, expected) in bugs {
        let line = |descriptor: u64| format!("or.b64 {factor}, {factor}, {descriptor:#018x}");
        let (mut codes, wrong) = planted(&line(right), &line(descriptor)).expect("runs");
        assert_eq!(codes.len(), 4, "one finding for each of four products: {codes:?}");
        codes.dedup();
        assert_eq!(codes, [expected], "{factor} {descriptor:#x}");
        assert!(wrong > ROWS * COLUMNS / 2, "{wrong}");
    }
}

#[test]
fn a_wrong_parity_is_found() {
    // The consumers pass before the data has come.
    let early = planted("[%full], %phase;", "[%full], %v;");
    match early {
        Ok((codes, wrong)) => assert!(!codes.is_empty() || wrong != 0, "{codes:?}"),
        Err(code) => assert_eq!(code, "deadlock"),
    }
    // The producer waits for a stage that no thread has released.
    assert_eq!(planted("xor.b32 %v, %phase, 1;", "mov.u32 %v, %phase;"), Err("deadlock".to_owned()));
}

#[test]
fn products_that_nothing_waits_for_are_found() {
    let (codes, _) = planted("wgmma.wait_group.sync.aligned 0;", "").expect("runs");
    assert!(codes.contains(&"wgmma-not-waited"), "{codes:?}");
}

#[test]
fn a_producer_that_does_not_wait_for_a_stage_is_found() {
    let wait = "mbarrier.try_wait.parity.shared::cta.b64 %p, [%empty], %v;\n\t@!%p bra FREE;";
    assert_eq!(planted(wait, ""), Err("mbarrier-overflow".to_owned()));
}
