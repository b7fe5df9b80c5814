//! The kernels on the simulator, with every checker on.

use check_a_kernel::{BLOCK, PTX};
use ptx_sim::{Failure, Report};

/// Launches a kernel over `values`, and returns the sums of its blocks.
fn run(entry: &str, values: &[u32]) -> Result<(Vec<u32>, Report), Failure> {
    let blocks = values.len().div_ceil(BLOCK);
    let mut sums = vec![0; blocks];
    let launch = ptx_sim::test_text(PTX)?.entry(entry).grid(blocks as u32).block(BLOCK as u32);
    let report = launch.slice(values).slice_mut(&mut sums).run()?;
    Ok((sums, report))
}

// ANCHOR: right
#[test]
fn sums_are_right_for_lengths_around_a_warp_and_a_block() -> Result<(), Failure> {
    for n in [1, 31, 32, 33, 255, 256, 257, 1000] {
        let values: Vec<u32> = (0..n).map(|i| 3 * i + 1).collect();
        let (sums, _) = run("sum_blocks", &values)?;
        let expected: Vec<u32> = values.chunks(BLOCK).map(|block| block.iter().sum()).collect();
        assert_eq!(sums, expected, "{n} values");
    }
    Ok(())
}
// ANCHOR_END: right

// ANCHOR: wrong
#[test]
fn the_missing_barrier_is_found() {
    let failure = run("sum_blocks_racing", &[1; BLOCK]).expect_err("the kernel has a race");
    assert!(failure.codes().iter().all(|code| code.starts_with("race-")), "{failure}");
    let text = failure.to_string();
    assert!(text.contains("kernels/src/lib.rs") && text.contains("separate"), "{text}");
}
// ANCHOR_END: wrong

// ANCHOR: fast
#[test]
fn memory_is_accessed_without_waste() -> Result<(), Failure> {
    let (_, report) = run("sum_blocks", &[1; 4 * BLOCK])?;
    assert_eq!(report.counters.bank_conflicts, 0);
    // 8 warps of each of 4 blocks read 32 neighbouring words: 4 sectors of 32 bytes each. One thread of each block
    // writes its sum: 1 sector.
    assert_eq!(report.counters.global_sectors, 4 * 8 * 4 + 4);
    Ok(())
}
// ANCHOR_END: fast
