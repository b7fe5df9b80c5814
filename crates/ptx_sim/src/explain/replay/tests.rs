//! Small kernels, recorded and replayed.

use super::*;
use crate::session::Report;
use crate::trace::Trace;
use crate::{Config, Launch, Machine as Simulator};

/// The report of a kernel with this body, whose blocks are recorded, one of `every`.
fn traced(body: &str, blocks: u32, every: u32) -> (Report, Program) {
    let text = format!(
        ".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .pred \
         %p<3>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<20>;\n\
         ld.param.u64 %rd1, [a];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, \
         %rd2;\n{body}\nret;\n}}\n"
    );
    let program = Program::parse(&text).expect("PTX");
    let trace = Trace { every, ..Trace::default() };
    let mut machine = Simulator::new(Config { trace: Some(trace), ..Config::default() });
    let memory = machine.alloc(1 << 20, "a").expect("memory");
    machine.fill(memory, 0, 1 << 20).expect("memory");
    let params = [memory.to_le_bytes().to_vec()];
    let launch = Launch {
        entry: "k",
        grid: [blocks, 1, 1],
        block: [128, 1, 1],
        dynamic_shared: 4096,
        params: &params,
        ..Launch::default()
    };
    (machine.launch(&program, &launch).expect("runs"), program)
}

/// Cycles of blocks of a kernel with this body, and the causes.
pub(super) fn cycles(body: &str, blocks: u32, resident: u32) -> (f64, [f64; CAUSES]) {
    let replayed = replayed(body, blocks, resident);
    (replayed.ends.last().copied().expect("a block"), replayed.causes)
}

fn replayed(body: &str, blocks: u32, resident: u32) -> Replayed {
    replayed_of(body, blocks, resident, None)
}

/// One block without some of its work.
fn replayed_without(body: &str, without: Option<Without>) -> Replayed {
    replayed_of(body, 1, 1, without)
}

fn replayed_of(body: &str, blocks: u32, resident: u32, without: Option<Without>) -> Replayed {
    let (report, program) = traced(body, blocks, 1);
    let traced = report.traced.expect("a trace");
    let rates = Rates { l2: 1.0, bulk: 1.0, dram: 2.0, line: 3.5, atomic: 100.0, first: 1.0, read: 1.0, written: 1.0 };
    let others = Others { first: &traced.shared, at_once: u64::from(blocks), relay: traced.relayed > 0 };
    let setting = Setting { resident, start: 10.0, cache_bytes: 1 << 16, rates, others, without };
    let recorded: Vec<&BlockTrace> = traced.blocks.iter().collect();
    let replayed = replay(&program, &recorded, &setting, &Costs::default());
    assert_eq!(replayed.ends.len(), blocks as usize);
    replayed
}

#[test]
fn predicated_code_is_issued_once_whichever_lanes_enter_it() {
    // The body is elsewhere, so the lanes that skip it jump over a jump.
    let wavefronts = |lanes: u32| {
        let body = format!(
            "setp.lt.u32 %p1, %r1, {lanes};\nmov.b32 %r3, 0;\n@%p1 bra BODY;\nbra.uni \
             NEXT;\nNEXT:\nst.global.u32 [%rd3], %r1;\nret;\nBODY:\nst.shared.u32 [%r3], %r1;\nbra.uni NEXT;"
        );
        replayed(&body, 1, 1).busy[Cause::Shared as usize] / Costs::default().wavefront_cycles
    };
    assert_eq!([0, 16, 32, 128].map(wavefronts), [4.0; 4]);
    let issues = |lanes: u32| {
        let body = format!(
            "setp.lt.u32 %p1, %r1, {lanes};\nmov.b32 %r3, 0;\n@%p1 bra BODY;\nbra.uni NEXT;\nNEXT:\n\
             st.global.u32 [%rd3], %r1;\nret;\nBODY:\nmul.wide.u32 %rd4, %r1, 8;\nadd.s64 %rd5, %rd1, %rd4;\nadd.s64 \
             %rd6, %rd5, %rd5;\nst.global.u64 [%rd5], %rd6;\nbra.uni NEXT;"
        );
        replayed(&body, 1, 1).busy[Cause::Issue as usize]
    };
    assert_eq!(issues(0), issues(128));
    assert_eq!(issues(0), issues(16));
    // Lanes that skip the last code of a kernel end before the others enter it.
    let last = |lanes: u32| {
        let body = format!(
            "setp.ge.u32 %p1, %r1, {lanes};\n@%p1 bra DONE;\nmul.wide.u32 %rd4, %r1, 8;\nadd.s64 %rd5, %rd1, \
             %rd4;\nadd.s64 %rd6, %rd5, %rd5;\nst.global.u64 [%rd5], %rd6;\nDONE:"
        );
        replayed(&body, 1, 1).busy[Cause::Issue as usize]
    };
    // Both ways have an end then.
    assert_eq!([0, 16, 48].map(last), [0.0, 1.0, 1.0].map(|ends| last(128) + ends));
}

#[test]
fn a_wavefront_returns_no_more_than_8_bytes_for_each_lane() {
    // The four warps' lanes read the same words.
    let wavefronts = |body: &str| {
        let body = format!("mov.b32 %r3, 0;\n{body}");
        (replayed(&body, 1, 1).busy[Cause::Shared as usize] / Costs::default().wavefront_cycles).round()
    };
    assert_eq!(wavefronts("ld.shared.f32 %f1, [%r3];"), 4.0);
    assert_eq!(wavefronts("ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%r3];"), 8.0);
    assert_eq!(wavefronts("ld.shared.v2.f32 {%f1, %f2}, [%r3];"), 4.0);
    let apart: String = (0..4).map(|k| format!("ld.shared.f32 %f{k}, [%r3+{}];\n", 4 * k)).collect();
    assert_eq!(wavefronts(&apart), 8.0);
    // Each lane has its own 16 bytes: a word of each takes four wavefronts, and so do all of them.
    let own = format!("shl.b32 %r3, %r1, 4;\n{apart}");
    assert_eq!(wavefronts(&own), 16.0);
}

#[test]
fn loads_that_the_first_level_cache_serves_have_bank_conflicts() {
    // Each warp loads again and again what has arrived, a word of each of its lanes' lines.
    let cycles = |apart: u32, without: Option<Without>| {
        let load = "ld.global.f32 %f1, [%rd5];\nadd.f32 %f2, %f2, %f1;\nbar.sync 0;\n".repeat(40);
        let body = format!(
            "and.b32 %r2, %r1, 31;\nmul.wide.u32 %rd4, %r2, {apart};\nadd.s64 %rd5, %rd1, %rd4;\n{load}\
             st.global.f32 [%rd3], %f2;"
        );
        replayed_without(&body, without).busy[Cause::Cache as usize] / (4.0 * 40.0)
    };
    assert!((32.0..33.0).contains(&cycles(128, None)), "{}", cycles(128, None));
    assert!((8.0..10.0).contains(&cycles(132, None)), "{}", cycles(132, None));
    let padded = cycles(128, Some(Without::Conflicts));
    assert!((8.0..10.0).contains(&padded), "{padded}");
}

#[test]
fn copies_take_a_cycle_for_each_line() {
    let cycles = |kind: &str, bytes: u32, apart: u32| {
        let copy = format!("cp.async.{kind}.shared.global [%r3], [%rd5], {bytes};\ncp.async.wait_all;\n").repeat(40);
        let body = format!(
            "and.b32 %r2, %r1, 31;\nmul.wide.u32 %rd4, %r2, {apart};\nadd.s64 %rd5, %rd1, %rd4;\nshl.b32 %r3, %r1, \
             4;\n{copy}"
        );
        (replayed(&body, 1, 1).busy[Cause::Cache as usize] / (4.0 * 40.0)).round()
    };
    assert_eq!([cycles("ca", 4, 4), cycles("ca", 4, 132)], [1.0, 32.0]);
    // What bypasses the first-level cache comes from the second one each time, at a cycle for each sector here.
    assert_eq!([cycles("cg", 16, 16), cycles("cg", 16, 144)], [16.0, 32.0]);
}

#[test]
fn the_same_warp_of_each_block_is_in_another_partition() {
    let sums = "add.f32 %f1, %f2, %f3;\n".repeat(400);
    let body = format!("setp.ge.u32 %p1, %r1, 32;\n@%p1 bra DONE;\n{sums}DONE:");
    let works = |blocks: u32| replayed(&body, blocks, blocks).busy[Cause::Issue as usize];
    assert!(works(4) < 1.1 * works(1), "{} {}", works(4), works(1));
}

#[test]
fn a_chain_of_blocks_takes_the_time_of_its_links() {
    // The first thread of each block waits for a word and writes the next one.
    let us = |waits_for: &str, blocks: u32| {
        let body = format!(
            "mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\nmul.wide.u32 %rd4, %r2, 4;\nadd.s64 \
             %rd5, %rd1, %rd4;\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra \
             PUBLISH;\nWAIT:\nld.relaxed.gpu.global.u32 %r3, [{waits_for}];\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra \
             WAIT;\nPUBLISH:\nst.relaxed.gpu.global.u32 [%rd5+4], 1;\nDONE:"
        );
        time(&body, blocks, 132).kernel_us
    };
    let clock = crate::Profile::default().clock_mhz as f64;
    let link = Costs::default().l2_cycles / clock;
    let more = us("%rd5", 600) - us("%rd5", 300);
    assert!((300.0 * link..360.0 * link).contains(&more), "{more} us, {link} for a link");
    // All blocks wait for the first one.
    assert!(us("%rd1+4", 600) < 60.0 * link, "{} us", us("%rd1+4", 600));
}

#[test]
fn atomics_whose_result_is_not_used_count_lanes() {
    let wavefronts = |body: &str| {
        let body = format!("mov.b32 %r3, 0;\n{body}");
        replayed(&body, 1, 1).busy[Cause::Shared as usize] / Costs::default().wavefront_cycles
    };
    // Four warps of 32 lanes at one word.
    assert_eq!(wavefronts("atom.shared.add.u32 %r4, [%r3], 1;"), 4.0);
    assert_eq!(wavefronts("atom.shared.add.u32 %r4, [%r3], 1;\nst.global.u32 [%rd3], %r4;"), 128.0);
}

#[test]
fn loads_that_do_not_need_each_other_overlap() {
    let load = |k: u32| format!("ld.global.f32 %f{k}, [%rd3+{}];\n", 4096 * k);
    let independent: String = (1..5).map(load).collect();
    let dependent = "ld.global.u64 %rd4, [%rd1];\nadd.s64 %rd3, %rd3, %rd4;\n".repeat(4);
    let (together, _) = cycles(&independent, 1, 1);
    let (one_by_one, causes) = cycles(&dependent, 1, 1);
    assert!(one_by_one > together + 60.0, "{one_by_one} {together}");
    let most = causes.iter().copied().fold(0.0, f64::max);
    assert_eq!(causes[Cause::Latency as usize], most, "{causes:?}");
}

#[test]
fn the_first_level_cache_keeps_lines() {
    let twice = "ld.global.f32 %f1, [%rd3];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd3+8192], %f2;\nbar.sync \
        0;\nld.global.f32 %f3, [%rd3];\nadd.f32 %f4, %f3, %f3;\nst.global.f32 [%rd3+8192], %f4;";
    let other = twice.replace("%f3, [%rd3]", "%f3, [%rd3+65536]");
    let (hit, miss) = (cycles(twice, 1, 1).0, cycles(&other, 1, 1).0);
    assert!(miss > hit + 300.0, "{hit} {miss}");
}

#[test]
fn loads_with_an_order_come_from_device_memory_too() {
    let weak = "ld.global.f32 %f1, [%rd3];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd3+8192], %f2;";
    let cycles = |order: &str| cycles(&weak.replace("ld", order), 1, 1).0;
    let (plain, volatile) = (cycles("ld"), cycles("ld.volatile"));
    let costs = Costs::default();
    assert!((plain - volatile).abs() < 0.5 * (costs.global_cycles - costs.l2_cycles), "{plain} {volatile}");
}

#[test]
fn blocks_that_are_resident_together_overlap() {
    let body = "ld.global.f32 %f1, [%rd3];\nadd.f32 %f2, %f1, %f1;\nst.global.f32 [%rd3], %f2;";
    let (in_turn, at_once) = (cycles(body, 8, 1).0, cycles(body, 8, 8).0);
    assert!(in_turn > 3.0 * at_once, "{in_turn} {at_once}");
}

#[test]
fn what_warps_wait_for_is_named() {
    let shares = |body: &str, cause: Cause| {
        let causes = cycles(body, 16, 16).1;
        causes[cause as usize] / causes.iter().sum::<f64>()
    };
    let atomics = "red.global.add.u32 [%rd1], 1;\n".repeat(20);
    assert!(shares(&atomics, Cause::Atomics) > 0.5);
    let conflicts =
        format!("shl.b32 %r2, %r1, 7;\nand.b32 %r2, %r2, 4095;\n{}", "st.volatile.shared.u32 [%r2], %r1;\n".repeat(20));
    assert!(shares(&conflicts, Cause::Shared) > 0.5);
    assert!(shares(&"add.f32 %f1, %f2, %f3;\n".repeat(20), Cause::Issue) > 0.3);
}

/// The estimate of a kernel with this body, whose blocks are recorded, one of `every`.
fn time(body: &str, blocks: u32, every: u32) -> crate::explain::Time {
    let (report, program) = traced(body, blocks, every);
    let launch = Launch { entry: "k", grid: [blocks, 1, 1], block: [128, 1, 1], ..Launch::default() };
    let (profile, costs) = (crate::Profile::default(), Costs::default());
    crate::explain::analyse(&program, &launch, &report, &profile, &costs, 1.0).expect("a trace").time
}

#[test]
fn a_last_block_that_does_more_adds_its_time() {
    let sums = |block: u32| {
        let chain = "add.f32 %f1, %f1, %f2;\n".repeat(200);
        let body = format!("mov.u32 %r2, %ctaid.x;\nsetp.ne.u32 %p1, %r2, {block};\n@%p1 bra DONE;\n{chain}DONE:");
        time(&body, 8, 132)
    };
    let cycles_of_the_chain = 200.0 * Costs::default().alu_cycles;
    // No block has the number 9.
    let us = sums(6).kernel_us - sums(9).kernel_us;
    let clock = crate::Profile::default().clock_mhz as f64;
    assert!((us * clock - cycles_of_the_chain).abs() < 0.05 * cycles_of_the_chain, "{us} us");
}

#[test]
fn warps_of_unequal_work_are_known() {
    let unequal = |lanes: u32| {
        let long = "add.f32 %f1, %f1, %f2;\n".repeat(100);
        let body = format!("setp.ge.u32 %p1, %r1, {lanes};\n@%p1 bra DONE;\n{long}DONE:");
        time(&body, 1, 1).unequal
    };
    assert_eq!(unequal(128), 1.0);
    assert!((3.0..4.0).contains(&unequal(32)), "{}", unequal(32));
}

#[test]
fn units_work_no_longer_than_the_kernel_takes() {
    // The recorded blocks are the heavy ones, so that the others end sooner than their rate says.
    let body = format!(
        "mov.u32 %r2, %ctaid.x;\nsetp.gt.u32 %p1, %r2, 133;\n@%p1 bra DONE;\n{}DONE:",
        "add.f32 %f1, %f1, %f2;\n".repeat(400)
    );
    let time = time(&body, 132 * 8, 132);
    assert!(time.busy_us.iter().all(|&busy| busy <= time.kernel_us), "{time:?}");
}

#[test]
fn the_parts_add_up_to_the_time() {
    let (_, causes) = cycles("ld.global.f32 %f1, [%rd3];\nst.global.f32 [%rd3], %f1;", 16, 4);
    let time = time("st.global.u32 [%rd3], %r1;", 300, 1);
    let sum: f64 = time.limits.iter().map(|limit| limit.us).sum();
    assert!((sum - time.kernel_us).abs() < 1e-6 * time.kernel_us && time.kernel_us > 0.0, "{time:?}");
    assert!(causes.iter().all(|cycles| *cycles >= 0.0), "{causes:?}");
}
