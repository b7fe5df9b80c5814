//! The public interface of the machine: memory, rejected launches, limits, counters.

use ptx_sim::{Checks, Config, Counters, Launch, Machine, Program, Report, Stop, StopKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const HEADER: &str = ".version 7.8\n.target sm_75\n.address_size 64\n";

/// A kernel `k(a)` whose threads have their index in %r1, 4 times the index in %rd2, and `a` in %rd1.
fn kernel(body: &str) -> Program {
    let text = format!(
        "{HEADER}
        .visible .entry k(.param .u64 a)
        {{
        .reg .pred %p<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>;
        .shared .align 16 .b8 smem[8192];
        ld.param.b64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd2, %r1, 4;
        mov.b64 %rd3, smem;
        {body}
        ret;
        }}"
    );
    Program::parse(&text).expect("PTX")
}

fn launch(machine: &mut Machine, program: &Program, blocks: u32, threads: u32, a: u64) -> Result<Report, Stop> {
    let params = [a.to_le_bytes().to_vec()];
    let (grid, block) = ([blocks, 1, 1], [threads, 1, 1]);
    machine.launch(program, &Launch { entry: "k", grid, block, params: &params, ..Launch::default() })
}

fn counters(body: &str) -> Counters {
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(1 << 16, "a").expect("alloc");
    launch(&mut machine, &kernel(body), 1, 32, a).expect("runs").counters
}

#[test]
fn a_discard_is_an_instruction_and_no_access() {
    let store = "shl.b64 %rd4, %rd2, 5; add.s64 %rd4, %rd1, %rd4; st.global.b32 [%rd4], %r1;";
    let without = counters(store);
    let with = counters(&format!("{store} discard.global.L2 [%rd4], 128;"));
    let more: Vec<_> = with.fields().zip(without.fields()).filter(|(with, without)| with != without).collect();
    let more: Vec<_> = more.iter().map(|((name, with), (_, without))| (*name, with - without)).collect();
    assert_eq!(more, [("warp_instructions", 1), ("thread_instructions", 32), ("predicated_on", 32)]);
}

#[test]
fn bank_conflicts_are_wavefronts_beyond_the_ideal() {
    let at = |scale: u32, access: &str| {
        counters(&format!("mul.wide.u32 %rd4, %r1, {scale}; add.s64 %rd5, %rd3, %rd4; {access}"))
    };
    let conflicts = |scale, access| {
        let found = at(scale, access);
        (found.shared_requests, found.shared_wavefronts, found.bank_conflicts)
    };
    assert_eq!(conflicts(4, "st.shared.b32 [%rd5], %r1;"), (1, 1, 0));
    assert_eq!(conflicts(8, "st.shared.b32 [%rd5], %r1;"), (1, 2, 1));
    assert_eq!(conflicts(128, "ld.shared.b32 %r2, [%rd5];"), (1, 32, 31));
    assert_eq!(conflicts(0, "ld.shared.b32 %r2, [%rd5];"), (1, 1, 0));
    assert_eq!(conflicts(8, "ld.shared.b64 %rd6, [%rd5];"), (1, 2, 0));
    assert_eq!(conflicts(16, "ld.shared.v4.b32 {%r2, %r3, %r4, %r5}, [%rd5];"), (1, 4, 0));
}

#[test]
fn sectors_follow_the_addresses() {
    let sectors = |scale: u32| {
        let body = format!("mul.wide.u32 %rd4, %r1, {scale}; add.s64 %rd5, %rd1, %rd4; ld.global.b32 %r2, [%rd5];");
        counters(&body).global_sectors
    };
    assert_eq!([4, 8, 32, 64, 0].map(sectors), [4, 8, 32, 32, 1]);
}

#[test]
fn divergence_is_counted_once_per_branch() {
    let body = "setp.lt.u32 %p1, %r1, 7; @%p1 bra A; add.s32 %r2, %r1, 1; \
                A: setp.lt.u32 %p2, %r1, 99; @%p2 bra B; B: add.s32 %r2, %r1, 1;";
    let found = counters(body);
    assert_eq!((found.branches, found.divergent_branches), (2, 1));
    // 4 instructions of the prologue, 6 for all lanes, 1 for the 25 lanes that do not branch.
    assert_eq!(found.warp_instructions, 11);
    assert_eq!(found.thread_instructions, 10 * 32 + 25);
}

#[test]
fn programs_of_one_shape_do_not_share_their_control_flow() {
    // Two programs with equal entry names, code lengths and variables, which branch at different instructions.
    let early = "setp.lt.u32 %p1, %r1, 16; @%p1 bra L; add.u32 %r2, %r1, 1; L: add.u32 %r3, %r2, 5;";
    let late = "add.u32 %r3, %r1, 1; setp.lt.u32 %p1, %r1, 16; @%p1 bra L; add.u32 %r3, %r1, 7; L:";
    let store = "add.s64 %rd5, %rd1, %rd2; bar.warp.sync 0xffffffff; st.global.b32 [%rd5], %r3;";
    let programs = [early, late].map(|body| kernel(&format!("mov.u32 %r2, 0; {body} {store}")));
    assert_eq!(programs[0].functions()[0].code.len(), programs[1].functions()[0].code.len());
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(4 * 32, "a").expect("alloc");
    let mut run = |program: &Program| {
        let report = launch(&mut machine, program, 1, 32, a).expect("runs");
        let mut bytes = [0; 4 * 32];
        machine.read(a, &mut bytes).expect("read");
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        (word(0), word(4 * 31), report.counters)
    };
    let alone = |program: &Program| {
        let mut machine = Machine::new(Config::default());
        let a = machine.alloc(4 * 32, "a").expect("alloc");
        launch(&mut machine, program, 1, 32, a).expect("runs").counters
    };
    for (program, first, last) in [(&programs[0], 5, 37), (&programs[1], 1, 38), (&programs[0], 5, 37)] {
        assert_eq!(run(program), (first, last, alone(program)));
    }
}

#[test]
fn impossible_launches_are_rejected_with_a_reason() {
    let program = kernel("");
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(4, "a").expect("alloc");
    let params = [a.to_le_bytes().to_vec()];
    let good = Launch { entry: "k", grid: [1; 3], block: [32, 1, 1], params: &params, ..Launch::default() };
    machine.launch(&program, &good).expect("good");
    let wide = [vec![0; 4]];
    let bad = [
        (Launch { entry: "kk", ..good }, "unknown-entry"),
        (Launch { block: [0, 1, 1], ..good }, "block-size"),
        (Launch { block: [1025, 1, 1], ..good }, "block-size"),
        (Launch { block: [64, 32, 1], ..good }, "block-size"),
        (Launch { block: [1, 1, 65], ..good }, "block-size"),
        (Launch { grid: [0, 1, 1], ..good }, "grid-size"),
        (Launch { grid: [1, 65_536, 1], ..good }, "grid-size"),
        (Launch { grid: [u32::MAX, 1, 1], ..good }, "grid-size"),
        (Launch { dynamic_shared: 300 << 10, ..good }, "shared-size"),
        (Launch { dynamic_shared: u64::MAX, ..good }, "shared-size"),
        (Launch { params: &[], ..good }, "parameters"),
        (Launch { params: &wide, ..good }, "parameters"),
    ];
    for (launch, code) in bad {
        let stop = machine.launch(&program, &launch).expect_err(code);
        assert_eq!((stop.kind(), stop.code()), (StopKind::Usage, code), "{stop}");
    }
    let stop = machine.launch(&program, &Launch { entry: "kk", ..good }).expect_err("no such entry");
    assert!(stop.to_string().contains("among them k"), "{stop}");
}

#[test]
fn what_ptxas_refuses_is_refused_at_launch() {
    let mut machine = Machine::new(Config::default());
    let kernel = |shared: u32, call: &str| {
        let text = format!(
            "{HEADER}.extern .func elsewhere();\n.func defined();\n.func defined() {{ ret; }}\n\
             .file 1 \"k/lib.rs\"\n.visible .entry k() {{\n.reg .b64 %rd<2>;\n\
             .shared .align 4 .b8 tile[{shared}];\nmov.b64 %rd1, tile;\n.loc 1 7 5\n{call}\nret;\n}}"
        );
        Program::parse(&text).expect("PTX")
    };
    let launch = Launch { entry: "k", grid: [1; 3], block: [1; 3], ..Launch::default() };
    machine.launch(&kernel(48 << 10, "call.uni defined, ();"), &launch).expect("both are allowed");
    let stop = machine.launch(&kernel(60_000, ""), &launch).expect_err("too much static shared memory");
    assert_eq!((stop.kind(), stop.code()), (StopKind::Usage, "shared-size"));
    assert!(stop.to_string().contains("60000 bytes of static shared memory; ptxas accepts at most 49152"), "{stop}");
    // The call is in a branch that is not taken.
    let call = "bra done;\ncall.uni elsewhere, ();\ndone:";
    let stop = machine.launch(&kernel(16, call), &launch).expect_err("no definition");
    assert_eq!((stop.kind(), stop.code()), (StopKind::Usage, "unknown-function"));
    let text = stop.to_string();
    assert!(text.contains("the function `elsewhere` is not defined") && text.contains("k/lib.rs:7:5"), "{text}");
}

#[test]
fn memory_errors_of_the_host_name_the_buffer() {
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(100, "alpha").expect("alloc");
    let stop = machine.write(a + 96, &[0; 8]).expect_err("too far");
    assert!(stop.to_string().contains("at byte 96 of `alpha` (100 bytes)"), "{stop}");
    assert!(machine.read(0, &mut [0]).is_err());
    machine.fill(a, 7, 100).expect("fill");
    let mut bytes = [0; 100];
    machine.read(a, &mut bytes).expect("read");
    assert_eq!(bytes, [7; 100]);
    machine.free(a).expect("free");
    assert_eq!(machine.free(a).expect_err("twice").code(), "double-free");
    assert_eq!(machine.free(a + 512).expect_err("never").code(), "bad-free");
    assert_eq!(machine.alloc(u64::MAX, "all").expect_err("too large").code(), "out-of-memory");
}

#[test]
fn memory_freed_by_the_host_is_recognised_in_a_kernel() {
    let mut machine = Machine::new(Config::default());
    let program = kernel("add.s64 %rd4, %rd1, %rd2; ld.global.b32 %r2, [%rd4];");
    let a = machine.alloc(128, "alpha").expect("alloc");
    launch(&mut machine, &program, 1, 32, a).expect("still there");
    machine.free(a).expect("free");
    let stop = launch(&mut machine, &program, 1, 32, a).expect_err("gone");
    assert_eq!((stop.kind(), stop.code()), (StopKind::Fault, "use-after-free"));
    assert!(stop.to_string().contains("in `alpha`, which was freed"), "{stop}");
}

#[test]
fn large_buffers_cost_nothing_until_they_are_used() {
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(5 << 30, "large").expect("5 GiB of addresses");
    let last = a + (5 << 30) - 4;
    let program = kernel("setp.ne.b32 %p1, %r1, 0; @%p1 bra END; mov.b32 %r2, 77; st.global.b32 [%rd1], %r2; END:");
    launch(&mut machine, &program, 1, 32, last).expect("in bounds");
    let mut bytes = [0; 4];
    machine.read(last, &mut bytes).expect("read");
    assert_eq!(u32::from_le_bytes(bytes), 77);
}

#[test]
fn global_variables_keep_their_values_between_launches() {
    let text = format!(
        "{HEADER}
        .global .align 4 .u32 launches[1] = {{40}};
        .const .align 4 .u32 step[1] = {{1}};
        .visible .entry k(.param .u64 a)
        {{
        .reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.b64 %rd1, [a];
        ld.global.b32 %r1, [launches];
        ld.const.b32 %r2, [step];
        add.s32 %r3, %r1, %r2;
        st.global.b32 [launches], %r3;
        st.global.b32 [%rd1], %r3;
        ret;
        }}"
    );
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(4, "a").expect("alloc");
    let value = |machine: &mut Machine| {
        let program = Program::parse(&text).expect("PTX");
        launch(machine, &program, 1, 1, a).expect("runs");
        let mut bytes = [0; 4];
        machine.read(a, &mut bytes).expect("read");
        (u32::from_le_bytes(bytes), program)
    };
    assert_eq!(value(&mut machine).0, 41);
    let (second, program) = value(&mut machine);
    assert_eq!(second, 42);
    let (step, bytes) = machine.symbol(&program, "step").expect("constant");
    assert_eq!(bytes, 4);
    machine.write(step, &100_u32.to_le_bytes()).expect("write");
    assert_eq!(value(&mut machine).0, 142);
    assert_eq!(machine.symbol(&program, "stop").expect_err("no such").code(), "unknown-symbol");
}

#[test]
fn fuel_stops_an_endless_loop_and_says_where() {
    let mut machine = Machine::new(Config { fuel: Some(100_000), ..Config::default() });
    let stop =
        launch(&mut machine, &kernel("LOOP: add.s32 %r2, %r1, 1; bra.uni LOOP;"), 3, 64, 0).expect_err("endless");
    assert_eq!((stop.kind(), stop.code()), (StopKind::Stuck, "fuel"));
    assert!(stop.to_string().contains("64 threads of warps 0-1 run"), "{stop}");
}

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

#[test]
fn findings_of_the_machine_name_the_first_block() {
    // Odd blocks read from an absent lane; the lane number grows with the block.
    let body = "mov.u32 %r2, %ctaid.x; and.b32 %r3, %r2, 1; setp.eq.u32 %p1, %r3, 0; @%p1 bra END;
        add.s32 %r4, %r2, 16; setp.gt.u32 %p2, %r1, 15; @%p2 bra END;
        shfl.sync.idx.b32 %r5, %r1, %r4, 31, 65535; END:";
    let program = kernel(body);
    for workers in [1, 2, 5] {
        let mut machine = Machine::new(Config { workers, ..Config::default() });
        let report = launch(&mut machine, &program, 40, 32, 0).expect("runs on");
        let [finding] = report.findings.as_slice() else { panic!("{:?}", report.findings) };
        assert_eq!(finding.diagnostic.thread.map(|thread| thread.block), Some([1, 0, 0]), "{workers} workers");
        assert!(finding.to_string().contains("17"), "{workers} workers: {finding}");
    }
}

#[test]
fn results_in_wide_registers_are_extended() {
    let body =
        "mov.b32 %r2, 0fC2F70000; cvt.rni.sat.s8.f32 %r3, %r2; cvt.sat.u8.s32 %r4, %r3; cvt.s16.s64 %rd4, 0x1ffff;
        st.global.v2.b32 [%rd1], {%r3, %r4}; st.global.b64 [%rd1+8], %rd4;";
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(16, "a").expect("alloc");
    launch(&mut machine, &kernel(body), 1, 1, a).expect("runs");
    let mut bytes = [0; 16];
    machine.read(a, &mut bytes).expect("read");
    let wanted: Vec<u8> = [-124_i32, 0, -1, -1].into_iter().flat_map(i32::to_le_bytes).collect();
    assert_eq!(bytes.as_slice(), wanted);
}

/// A trap in `unwrap`, inlined into a library function that the kernel calls through `helper`.
fn deep_trap(kernel: &str) -> Stop {
    let text = format!(
        "{HEADER}
        .file 1 \"/rust/library/core/src/option.rs\"
        .file 2 \"{kernel}\"
        .func panics()
        {{
        .loc 1 90 5
        .loc 1 10 9, function_name $L__info_string0, inlined_at 1 90 5
        trap;
        ret;
        }}
        .func helper()
        {{
        .loc 2 30 1
        .loc 1 20 9, function_name $L__info_string0, inlined_at 2 30 1
        call.uni panics, ();
        ret;
        }}
        .visible .entry k()
        {{
        .loc 2 40 3
        call.uni helper, ();
        ret;
        }}
        .section .debug_str
        {{
        $L__info_string0:
        .b8 117
        .b8 110
        .b8 119
        .b8 114
        .b8 97
        .b8 112
        .b8 0
        }}"
    );
    let program = Program::parse(&text).expect("PTX");
    let launch = Launch { entry: "k", grid: [1; 3], block: [1; 3], ..Launch::default() };
    Machine::new(Config::default()).launch(&program, &launch).expect_err("trap")
}

#[test]
fn the_headline_is_the_line_of_the_user() {
    let stop = deep_trap("src/kernel.rs");
    let source = stop.diagnostic().user_source().expect("a line");
    assert_eq!((source.file.as_str(), source.line, source.column), ("src/kernel.rs", 30, 1));
    let text = stop.to_string();
    let arrows: Vec<&str> = text.lines().filter_map(|line| line.trim_start().strip_prefix("--> ")).collect();
    let wanted = ["src/kernel.rs:30:1", "src/kernel.rs:40:3", "/rust/library/core/src/option.rs:10:9"];
    assert_eq!(arrows, wanted, "{text}");
    assert!(text.contains("`unwrap` inlined at src/kernel.rs:30:1"), "{text}");
    let library = deep_trap("/rust/library/core/src/iter.rs");
    assert_eq!(library.diagnostic().user_source().map(|source| source.line), Some(10), "{library}");
}

#[test]
fn output_before_a_stop_is_kept() {
    let text = format!(
        "{HEADER}
        .extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
        .global .align 1 .b8 text[5] = {{111, 104, 33, 10}};
        .visible .entry k()
        {{
        .reg .b32 %r<4>; .reg .b64 %rd<4>;
        mov.b64 %rd1, text;
        cvta.global.u64 %rd1, %rd1;
        {{
        .param .b64 param0; .param .b64 param1; .param .b32 retval0;
        st.param.b64 [param0], %rd1;
        st.param.b64 [param1], 0;
        call.uni (retval0), vprintf, (param0, param1);
        }}
        trap;
        exit;
        }}"
    );
    let program = Program::parse(&text).expect("PTX");
    let mut machine = Machine::new(Config::default());
    let launch = Launch { entry: "k", grid: [1; 3], block: [1; 3], ..Launch::default() };
    let stop = machine.launch(&program, &launch).expect_err("trap");
    assert_eq!((stop.code(), stop.printed()), ("trap", "oh!\n"));
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
