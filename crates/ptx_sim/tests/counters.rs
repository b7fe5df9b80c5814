//! Counters without a reading in `tests/golden`: vectors of atomics, and calls. Also compares the trace with the
//! counters.

use ptx_sim::program::Space;
use ptx_sim::{Config, Launch, Machine, Program, Report, Trace};

/// Runs a kernel with one warp and one buffer, and records a trace.
fn run(functions: &str, body: &str) -> Report {
    let text = format!(
        ".version 8.1\n.target sm_90\n.address_size 64\n{functions}
        .visible .entry k(.param .u64 a)
        {{
        .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;
        .shared .align 16 .b8 smem[16384];
        ld.param.b64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd2, %r1, 8;
        add.s64 %rd3, %rd1, %rd2;
        mov.f32 %f1, 0f3F800000;
        {body}
        ret;
        }}"
    );
    let program = Program::parse(&text).expect("PTX");
    let mut machine = Machine::new(Config { workers: 1, trace: Some(Trace::default()), ..Config::default() });
    let a = machine.alloc(1 << 16, "a").expect("memory");
    machine.fill(a, 0, 1 << 16).expect("fill");
    let params = [a.to_le_bytes().to_vec()];
    let launch = Launch { entry: "k", grid: [1, 1, 1], block: [32, 1, 1], params: &params, ..Launch::default() };
    machine.launch(&program, &launch).expect("runs")
}

#[test]
fn elements_of_vectors_are_atomics() {
    let atom = "atom.global.add.v2.f32 {%f2, %f3}, [%rd3], {%f1, %f1};";
    for (body, reductions) in [
        ("red.global.add.v2.f32 [%rd3], {%f1, %f1};", 2),
        (atom, 2),
        (&format!("{atom} add.f32 %f4, %f3, %f1;"), 0),
        (&format!("{atom} add.f32 %f4, %f2, %f1;"), 0),
    ] {
        let counters = run("", body).counters;
        assert_eq!((counters.global_loads, counters.global_load_sectors), (0, 0), "{body}");
        assert_eq!((counters.global_atomics, counters.global_reductions), (2, reductions), "{body}");
        assert_eq!(counters.global_atomic_sectors, 16, "{body}");
        assert_eq!((counters.atomic_lanes, counters.atomic_addresses), (64, 64), "{body}");
    }
}

#[test]
fn a_fence_anywhere_in_the_kernel_keeps_atomics() {
    let fence = ".func other() { fence.acq_rel.gpu; ret; }";
    let between = ".func between() { call other, (); ret; }";
    let add = "atom.global.add.u32 %r2, [%rd3], 1;";
    let reductions = |functions: &str, body: &str| run(functions, body).counters.global_reductions;
    assert_eq!(reductions("", add), 1);
    assert_eq!(reductions("", &format!("{add} fence.acq_rel.gpu;")), 0);
    assert_eq!(reductions(fence, add), 1);
    assert_eq!(reductions(fence, &format!("{add} call other, ();")), 0);
    assert_eq!(reductions(&format!("{fence}\n{between}"), &format!("{add} call between, ();")), 0);
    let adds = ".func adds(.param .b64 p) { .reg .b32 %r<2>; .reg .b64 %rd<2>; ld.param.b64 %rd1, [p];
        atom.global.add.u32 %r1, [%rd1], 1; ret; }";
    let call = "{ .param .b64 p; st.param.b64 [p], %rd1; call adds, (p); }";
    assert_eq!(reductions(adds, call), 1);
    assert_eq!(reductions(adds, &format!("{call} fence.acq_rel.gpu;")), 0);
}

#[test]
fn copies_past_l1_are_traced_and_counted_alike() {
    // The rows of 16 bytes start at an offset within a sector of shared memory.
    let copy = |cached: &str| {
        let body = format!(
            "mov.u32 %r2, smem; mad.lo.u32 %r3, %r1, 16, %r2; add.u32 %r3, %r3, 16;
            mul.wide.u32 %rd4, %r1, 16; add.s64 %rd5, %rd1, %rd4;
            cp.async.{cached}.shared.global [%r3], [%rd5], 16; cp.async.wait_all;"
        );
        let report = run("", &body);
        let traced = report.traced.as_ref().expect("a trace");
        let requests = traced.sectors[0].requests.iter().enumerate();
        let drawn: u64 = requests.map(|(units, requests)| units as u64 * requests).sum();
        assert_eq!(drawn, report.counters.global_load_sectors, "{cached}");
        let steps = traced.blocks[0].warps[0].steps.iter().filter(|step| step.space == Some(Space::Global));
        assert_eq!(steps.map(|step| u64::from(step.units)).sum::<u64>(), drawn, "{cached}");
        drawn
    };
    assert_eq!((copy("ca"), copy("cg")), (16, 20));
}

#[test]
fn the_last_instruction_of_a_run_is_traced_with_its_accesses() {
    let report = run(
        "",
        "mov.u32 %r2, smem; mad.lo.u32 %r3, %r1, 16, %r2; mul.wide.u32 %rd4, %r1, 16; add.s64 %rd5, %rd1, %rd4;
        cp.async.ca.shared.global [%r3], [%rd5], 16; cp.async.wait_all;
        ld.shared.b32 %r4, [%r3]; ld.global.b32 %r2, [%rd3];",
    );
    let steps = report.traced.as_ref().expect("a trace").blocks[0].warps[0].steps.iter();
    let units: Vec<_> = steps.filter_map(|step| Some((step.space?, step.units))).collect();
    assert_eq!(units, [(Space::Global, 16), (Space::Shared, 4), (Space::Global, 8)]);
}
