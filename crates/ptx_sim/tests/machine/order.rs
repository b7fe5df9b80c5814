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

/// Each thread increments an element of its own, and the last thread of a block, if there is a next one, that block's
/// first element, too.
fn increments(into_the_next: bool) -> ptx_sim::Program {
    let next = "setp.eq.u32 %p1, %r1, 127; add.u32 %r4, %r2, 1; setp.lt.u32 %p2, %r4, %r5;
        and.pred %p1, %p1, %p2; @%p1 ld.global.b32 %r6, [%rd5+4]; add.u32 %r6, %r6, 1;
        @%p1 st.global.b32 [%rd5+4], %r6;";
    kernel(&format!(
        "mov.u32 %r2, %ctaid.x; mov.u32 %r5, %nctaid.x; mad.lo.u32 %r3, %r2, 128, %r1; mul.wide.u32 %rd4, %r3, 4;
        add.s64 %rd5, %rd1, %rd4; ld.global.b32 %r6, [%rd5]; add.u32 %r6, %r6, 1; st.global.b32 [%rd5], %r6; {}",
        if into_the_next { next } else { "" }
    ))
}

#[test]
fn large_launches_are_checked_for_races_by_all_workers() {
    let blocks = 300;
    let run = |into_the_next, workers, launches: u32| {
        let progress = Arc::new(AtomicU64::new(0));
        let (checks, counter) = (Checks::DEFECTS, Some(progress.clone()));
        let mut machine = Machine::new(Config { workers, checks, progress: counter, ..Config::default() });
        let bytes = 4 * 128 * u64::from(blocks);
        let a = machine.alloc(bytes, "a").expect("alloc");
        machine.fill(a, 0, bytes).expect("fill");
        let program = increments(into_the_next);
        let reports: Vec<_> = (0..launches)
            .map(|_| launch(&mut machine, &program, blocks, 128, a).expect("runs"))
            .map(|report| (report.findings, report.counters))
            .collect();
        assert_eq!(progress.load(Ordering::Relaxed), u64::from(launches * blocks));
        let mut values = vec![0; bytes as usize];
        machine.read(a, &mut values).expect("read");
        (reports, values)
    };
    let clean = run(false, 4, 2);
    assert!(clean.0.iter().all(|(findings, _)| findings.is_empty()) && clean == run(false, 1, 2));
    assert_eq!(clean.1, [2, 0, 0, 0].repeat(128 * blocks as usize));
    // What several workers began is taken back: one worker increments what was there before.
    let racy = run(true, 4, 2);
    assert!(racy.0.iter().all(|(findings, _)| findings.iter().any(|finding| finding.diagnostic.code == "race-waw")));
    assert_eq!(racy, run(true, 1, 2));
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
