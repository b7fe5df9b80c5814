//! What depends on the order of the warps, and what does not.

use ptx_sim::{Checks, Config, Machine, StopKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{kernel, launch};

#[test]
fn a_livelock_is_recognised_across_workers() {
    let body = "SPIN: ld.volatile.global.b32 %r2, [%rd1]; setp.eq.b32 %p1, %r2, 0; @%p1 bra SPIN;";
    let program = kernel(body);
    for workers in [1, 2, 4] {
        let mut machine = Machine::new(Config { workers, ..Config::default() });
        let flag = machine.alloc(4, "flag").expect("alloc");
        let stop = launch(&mut machine, &program, 9, 64, flag).expect_err("no thread sets it");
        assert_eq!((stop.kind(), stop.code()), (StopKind::Stuck, "livelock"), "{stop}");
        assert!(stop.to_string().contains("64 threads of warps 0-1 run"), "{stop}");
    }
}

#[test]
fn progress_counts_blocks() {
    let progress = Arc::new(AtomicU64::new(0));
    let mut machine = Machine::new(Config { progress: Some(progress.clone()), ..Config::default() });
    launch(&mut machine, &kernel(""), 1000, 32, 0).expect("runs");
    assert_eq!(progress.load(Ordering::Relaxed), 1000);
}

#[test]
fn counters_and_findings_do_not_depend_on_the_workers() {
    let body = "add.s64 %rd4, %rd3, %rd2; st.shared.b32 [smem], %r1; bar.sync 0; atom.global.add.u32 %r3, [%rd1], %r1;";
    let program = kernel(body);
    let run = |workers| {
        let mut machine =
            Machine::new(Config { workers, checks: Checks { race: true, ..Checks::default() }, ..Config::default() });
        let a = machine.alloc(4, "a").expect("alloc");
        let report = launch(&mut machine, &program, 200, 96, a).expect("runs");
        let mut bytes = [0; 4];
        machine.read(a, &mut bytes).expect("read");
        let instructions: Vec<u64> = report.instructions.iter().map(|counts| counts.requests).collect();
        (u32::from_le_bytes(bytes), report.counters, instructions, report.findings)
    };
    let one = run(1);
    assert_eq!(one.0, 200 * (0..96).sum::<u32>());
    assert_eq!(one.3.len(), 1);
    assert_eq!(one.3[0].diagnostic.code, "race-waw");
    assert_eq!(one.3[0].diagnostic.thread.map(|thread| thread.block), Some([0, 0, 0]));
    assert_eq!(run(2), one);
    assert_eq!(run(5), one);
}

/// Warp 1 reads what warp 0 has written, without synchronisation: correct only if warp 0 runs first.
const HURRIED: &str = "
    setp.gt.u32 %p1, %r1, 31;
    @%p1 bra READ;
    st.volatile.shared.b32 [smem], 1;
    ret;
READ:
    ld.volatile.shared.b32 %r2, [smem];
    setp.eq.s32 %p2, %r2, 0;
    @%p2 trap;";

#[test]
fn a_seed_changes_the_order_and_nothing_else_does() {
    let program = kernel(HURRIED);
    let outcome = |seed| {
        let mut machine = Machine::new(Config { seed, ..Config::default() });
        let a = machine.alloc(64, "a").expect("alloc");
        launch(&mut machine, &program, 8, 64, a).map_or_else(|stop| format!("{stop:?}"), |report| format!("{report:?}"))
    };
    assert!(!outcome(None).contains("trap"), "the fixed order hides it");
    let outcomes: Vec<String> = (0..8).map(|seed| outcome(Some(seed))).collect();
    assert!(outcomes.iter().any(|outcome| outcome.contains("trap")), "some seed shows it");
    assert_eq!(outcomes, (0..8).map(|seed| outcome(Some(seed))).collect::<Vec<_>>());
}

#[test]
fn livelocks_are_found_under_every_seed() {
    let program = kernel("LOOP: ld.volatile.global.b32 %r2, [%rd1]; setp.eq.s32 %p1, %r2, 0; @%p1 bra LOOP;");
    for seed in 0..4 {
        let mut machine = Machine::new(Config { seed: Some(seed), ..Config::default() });
        let a = machine.alloc(64, "a").expect("alloc");
        assert_eq!(launch(&mut machine, &program, 3, 64, a).expect_err("spins").code(), "livelock");
    }
}
