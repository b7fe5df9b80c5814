//! Order of bulk copies and of the threads that use their memory: a copy that some threads do not wait for is found in
//! every schedule, and not only while it is in flight.

use ptx_sim::{Checks, Config, Launch, Machine, Program};

/// Thread 0 copies 64 words to shared memory, which both warps read between `{wait}` and `{again}`.
const LOAD: &str = "
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<24>;
    .shared .align 128 .b8 tile[256];
    .shared .align 8 .b8 bar[16];
    ld.param.b64 %rd1, [out];
    ld.param.b64 %rd2, [in];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 2;
    add.s32 %r4, %r2, %r3;
    mov.u32 %r5, bar;
    setp.ne.s32 %p1, %r1, 0;
    setp.gt.u32 %p2, %r1, 31;
    @%p1 bra READY;
    mbarrier.init.shared.b64 [%r5], 1;
    mbarrier.init.shared.b64 [%r5+8], 64;
READY:
    bar.sync 0;
    @%p1 bra ISSUED;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 256;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 256, [%r5]; // the copy
ISSUED:
    {wait}
    ld.shared.b32 %r6, [%r4]; // the read
    st.global.b32 [%rd4], %r6;
    {again}
    ret;
}";

const WAIT: &str = "
W0: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], 0;
    @!%p3 bra W0;";

/// Only the first warp waits.
const FIRST_WAITS: &str = "
    @%p2 bra ONWARD;
W0: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], 0;
    @!%p3 bra W0;
ONWARD:";

/// A second copy to the same memory, after what `{free}` waits for.
const AGAIN: &str = "
    mbarrier.arrive.shared::cta.b64 _, [%r5+8];
    @%p1 bra DONE;
    {free}
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 256;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd2], 256, [%r5]; // the second copy
W1: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5], 1;
    @!%p3 bra W1;
DONE:";

const FREE: &str = "
W2: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r5+8], 0;
    @!%p3 bra W2;";

/// Thread 0 copies shared memory to `out`; the second warp overwrites it after `{wait}`.
const STORE: &str = "
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 in)
{
    .reg .pred %p<8>; .reg .b32 %r<32>; .reg .b64 %rd<24>;
    .shared .align 128 .b8 tile[256];
    ld.param.b64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 2;
    add.s32 %r4, %r2, %r3;
    setp.ne.s32 %p1, %r1, 0;
    setp.gt.u32 %p2, %r1, 31;
    st.shared.b32 [%r4], %r1;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 bra ISSUED;
    cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 256; // the copy
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
ISSUED:
    {wait}
    @!%p2 bra DONE;
    st.shared.b32 [%r4], 7; // the write
DONE:
    ret;
}";

/// Returns the codes and lines of the findings of a run with a seed.
fn run(text: &str, seed: u64) -> Vec<(String, String)> {
    let checks = Checks { race: true, ..Checks::NONE };
    let mut machine = Machine::new(Config { checks, workers: 1, seed: Some(seed), ..Config::default() });
    let out = machine.alloc(256, "out").expect("alloc");
    let from = machine.alloc(256, "in").expect("alloc");
    machine.write(from, &[3; 256]).expect("write");
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let params = [out.to_le_bytes().to_vec(), from.to_le_bytes().to_vec()];
    let launch = Launch { entry: "k", grid: [1; 3], block: [64, 1, 1], params: &params, ..Launch::default() };
    match machine.launch(&program, &launch) {
        Ok(report) => {
            let found = |finding: &ptx_sim::Finding| (finding.diagnostic.code.to_owned(), finding.to_string());
            report.findings.iter().map(found).collect()
        }
        Err(stop) => vec![(stop.diagnostic().code.to_owned(), stop.to_string())],
    }
}

fn load(wait: &str, again: &str) -> String {
    LOAD.replace("{wait}", wait).replace("{again}", again)
}

/// Checks that every schedule has a finding, that one of them has the code, and what its text contains.
fn found_always(text: &str, code: &str, words: &[&str]) {
    let mut shown = None;
    for seed in 0..24 {
        let found = run(text, seed);
        assert!(!found.is_empty(), "seed {seed} finds nothing");
        shown = shown.or(found.into_iter().find(|(name, _)| name == code));
    }
    let (_, report) = shown.unwrap_or_else(|| panic!("no seed finds {code}"));
    assert!(words.iter().all(|word| report.contains(word)), "{report}");
}

fn clean(text: &str) {
    for seed in 0..24 {
        assert_eq!(run(text, seed), [], "seed {seed}");
    }
}

#[test]
fn every_reader_waits_for_a_copy() {
    clean(&load(WAIT, ""));
    // One warp waits, and a barrier orders the other one after it.
    clean(&load(&format!("{FIRST_WAITS} bar.sync 0;"), ""));
    let words = ["the earlier write of a copy, issued by thread (0, 0, 0)", "wait for the mbarrier"];
    found_always(&load(FIRST_WAITS, ""), "race-raw", &words);
    // A barrier before the wait orders nothing.
    found_always(&load(&format!("bar.sync 0; {FIRST_WAITS}"), ""), "race-raw", &words);
}

#[test]
fn a_stage_is_overwritten_after_its_readers() {
    clean(&load(WAIT, &AGAIN.replace("{free}", FREE)));
    let words = ["the later write of a copy", "the issuing thread waits for first"];
    found_always(&load(WAIT, &AGAIN.replace("{free}", "")), "race-war", &words);
}

#[test]
fn the_source_of_a_store_is_overwritten_after_the_wait() {
    clean(&STORE.replace("{wait}", "bar.sync 0;"));
    let words = ["the earlier read of a copy, issued by thread (0, 0, 0)"];
    found_always(&STORE.replace("{wait}", ""), "race-war", &words);
}
