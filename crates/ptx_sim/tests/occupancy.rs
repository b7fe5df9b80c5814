//! Compares the occupancy calculator with the exercises of the PMPP slides (`docs/sources.md`) and with NVIDIA's own
//! tables, and tests launches that do not fit.

use ptx_sim::occupancy::{Demand, Limit, Occupancy, occupancy};
use ptx_sim::{Config, Launch, Machine, Profile, Program, StopKind};
use std::path::Path;

fn on(profile: &Profile, threads: u32, registers: u32, shared_bytes: u64) -> Occupancy {
    occupancy(profile, &Demand { threads, registers, shared_bytes })
}

fn profile(name: &str) -> Profile {
    Profile::named(name).expect("a built-in profile")
}

/// Chapter 4 of the PMPP slides: 1,536 threads and 4 blocks per SM; 128, 256, 512 or 1,024 threads per block.
#[test]
fn three_blocks_of_512_fill_1536_threads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles/four-blocks.toml");
    let profile = Profile::from_file(&path).expect("a user's profile");
    let threads = [128, 256, 512, 1024].map(|block| on(&profile, block, 0, 0).threads);
    assert_eq!(threads, [512, 1024, 1536, 1024]);
    let best = on(&profile, 512, 0, 0);
    assert_eq!((best.blocks, best.fraction, best.limits), (3, 1.0, vec![Limit::Threads]));
    assert_eq!(on(&profile, 128, 0, 0).limits, [Limit::Blocks]);
}

/// Chapter 4 of the PMPP slides: blocks of 8 x 8, 16 x 16 or 32 x 32 threads; 1,024 threads and 8 blocks per SM, 512
/// threads per block.
#[test]
fn blocks_of_16_by_16_fill_1024_threads() {
    let profile = profile("GeForce GTX 280");
    let found = [8, 16, 32].map(|side| on(&profile, side * side, 0, 0));
    assert_eq!(found.each_ref().map(|found| (found.blocks, found.threads)), [(8, 512), (4, 1024), (0, 0)]);
    assert_eq!(found.map(|found| found.limits), [vec![Limit::Blocks], vec![Limit::Threads], vec![Limit::Threads]]);
}

/// Chapter 5 of the PMPP slides: 16,384 registers for 1,536 threads are 10 each; with 11, one block of 512 threads no
/// longer fits. (The slides call the remaining 512 threads "a one-third reduction"; a third less than 1,536 is 1,024.)
#[test]
fn an_eleventh_register_costs_a_block() {
    let profile = profile("course");
    let [ten, eleven] = [10, 11].map(|registers| on(&profile, 512, registers, 0));
    assert_eq!((ten.blocks, ten.threads), (3, 1536));
    assert_eq!((eleven.blocks, eleven.threads, eleven.limits), (2, 1024, vec![Limit::Registers]));
}

/// The same exercise on the device that it was first written for: 8,192 registers, 768 threads, blocks of 256; and on
/// one of compute capability 8.6, whose 65,536 registers are allocated to warps in units of 256.
#[test]
fn registers_are_allocated_in_units() {
    let [ten, eleven] = [10, 11].map(|registers| on(&profile("GeForce 8800 GTX"), 256, registers, 0));
    assert_eq!((ten.blocks, eleven.blocks, eleven.limits), (3, 2, vec![Limit::Registers]));
    let laptop = profile("rtx-3050-laptop");
    assert_eq!([32, 33, 40, 41].map(|registers| on(&laptop, 256, registers, 0).blocks), [6, 6, 6, 5]);
    assert_eq!(on(&laptop, 256, 256, 0).blocks, 0);
}

/// Chapter 5 of the PMPP slides: 16 KiB of shared memory and eight blocks give 2 KiB each; with 5 KiB each, only three
/// blocks fit.
#[test]
fn shared_memory_limits_blocks() {
    let profile = profile("course");
    assert_eq!(on(&profile, 64, 0, 2 << 10).blocks, 8);
    let found = on(&profile, 64, 0, 5 << 10);
    assert_eq!((found.blocks, found.limits), (3, vec![Limit::Shared]));
    assert_eq!(on(&profile, 64, 0, (16 << 10) + 1).blocks, 0);
}

/// Values of the CUDA Occupancy Calculator for compute capability 8.0 and 9.0; the system reserves 1 KiB of each block.
#[test]
fn current_devices() {
    let a100 = profile("A100");
    assert_eq!(on(&a100, 256, 32, 0).fraction, 1.0);
    assert_eq!((on(&a100, 256, 64, 0).warps, on(&a100, 256, 128, 0).warps, on(&a100, 1024, 64, 0).warps), (32, 16, 32));
    let h200 = profile("H200");
    assert_eq!([48, 100, 113, 227].map(|kib| on(&h200, 128, 32, kib << 10).blocks), [4, 2, 2, 1]);
    assert_eq!(on(&h200, 128, 32, 228 << 10).blocks, 0);
}

fn empty() -> Program {
    Program::parse(".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }").expect("PTX")
}

#[test]
fn a_cooperative_launch_has_to_fit() {
    let mut machine = Machine::new(Config::default());
    let launch = Launch { entry: "k", grid: [264, 1, 1], block: [1024, 1, 1], cooperative: true, ..Launch::default() };
    machine.launch(&empty(), &launch).expect("two blocks of 1024 threads on each of 132 multiprocessors");
    let stop = machine.launch(&empty(), &Launch { grid: [265, 1, 1], ..launch }).expect_err("too many");
    assert_eq!((stop.kind(), stop.code()), (StopKind::Usage, "cooperative-size"));
    let text = stop.to_string();
    assert!(text.contains("room for 264: 2 on each of 132 multiprocessors, limited by threads"), "{text}");
    machine.launch(&empty(), &Launch { grid: [265, 1, 1], cooperative: false, ..launch }).expect("runs in turns");
    let shared = Launch { registers: Some(128), ..launch };
    assert_eq!(machine.launch(&empty(), &shared).expect_err("registers").code(), "resources");
    let shared = Launch { block: [32, 1, 1], grid: [133, 1, 1], dynamic_shared: 200 << 10, ..launch };
    let text = machine.launch(&empty(), &shared).expect_err("shared memory").to_string();
    assert!(text.contains("limited by shared memory"), "{text}");
}

#[test]
fn clusters_have_to_fit() {
    let mut machine = Machine::new(Config::default());
    let launch = Launch { entry: "k", grid: [8, 2, 1], block: [32, 1, 1], ..Launch::default() };
    machine.launch(&empty(), &Launch { cluster: Some([4, 2, 1]), ..launch }).expect("eight blocks in a cluster");
    for cluster in [[0, 1, 1], [3, 1, 1], [32, 1, 1], [u32::MAX; 3]] {
        let stop = machine.launch(&empty(), &Launch { cluster: Some(cluster), ..launch }).expect_err("refused");
        assert_eq!((stop.kind(), stop.code()), (StopKind::Usage, "cluster-size"), "{stop}");
    }
    machine.config_mut().profile = profile("a100");
    let stop = machine.launch(&empty(), &Launch { cluster: Some([2, 1, 1]), ..launch }).expect_err("no clusters");
    assert!(stop.to_string().contains("A100"), "{stop}");
}
