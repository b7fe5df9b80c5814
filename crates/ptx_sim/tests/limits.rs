//! Programs that exceed the host's memory, its time, or a device's resources. Each ends with a code.

use ptx_sim::{Checks, Config, Launch, Machine, Profile, Program, Report, Stop};

fn module(rest: &str) -> String {
    format!(".version 8.7\n.target sm_90\n.address_size 64\n{rest}")
}

fn launch(config: Config, text: &str, blocks: u32) -> (Machine, Result<Report, Stop>, u64) {
    let program = Program::parse(&module(text)).expect("PTX");
    let mut machine = Machine::new(Config { workers: 1, checks: Checks::DEFECTS, fuel: Some(1 << 22), ..config });
    let data = machine.alloc(4096, "data").expect("alloc");
    machine.fill(data, 0, 4096).expect("fill");
    let params = [data.to_le_bytes().to_vec()];
    let launch = Launch { entry: "k", grid: [blocks, 1, 1], block: [32, 1, 1], params: &params, ..Launch::default() };
    let result = machine.launch(&program, &launch);
    (machine, result, data)
}

fn code(config: Config, text: &str, blocks: u32) -> &'static str {
    launch(config, text, blocks).1.expect_err("a stop").code()
}

fn small() -> Config {
    Config { host_bytes: 64 << 20, ..Config::default() }
}

#[test]
fn a_frame_larger_than_the_stack() {
    let text = ".visible .entry k(.param .u64 p) { .local .b8 big[4000000000]; ret; }";
    assert_eq!(code(Config::default(), text, 1), "stack-size");
}

#[test]
fn parameters_larger_than_the_stack() {
    let text = ".func f(.param .b8 big[1099511627775], .param .b8 more[1099511627775]) { ret; }
        .visible .entry k(.param .u64 p) { .param .b8 x[16]; call f, (x, x); ret; }";
    assert_eq!(code(Config::default(), text, 1), "stack-overflow");
}

#[test]
fn more_registers_than_the_host_has_room_for() {
    let text = ".visible .entry k(.param .u64 p) { .reg .b64 %r<1000000>; mov.u64 %r999999, 1; ret; }";
    assert_eq!(code(small(), text, 1), "out-of-memory");
}

#[test]
fn recursion_with_many_registers() {
    let text = ".func f() { .reg .b64 %r<20000>; call f; ret; }
        .visible .entry k(.param .u64 p) { call f; ret; }";
    assert_eq!(code(small(), text, 1), "out-of-memory");
}

#[test]
fn every_block_waits_with_a_large_stack() {
    // Blocks that poll stay resident while further blocks start.
    let text = ".visible .entry k(.param .u64 p) {
        .reg .b64 %rd<2>; .reg .b32 %r<2>; .reg .pred %p1;
        .local .b8 big[400000];
        ld.param.u64 %rd1, [p];
    L:  ld.volatile.global.u32 %r1, [%rd1];
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra L;
        ret; }";
    assert_eq!(code(small(), text, 1000), "out-of-memory");
}

#[test]
fn alloca_until_the_stack_is_full() {
    let text = ".visible .entry k(.param .u64 p) { .reg .b64 %rd<2>; L: alloca.u64 %rd1, 60000; bra L; }";
    assert_eq!(code(Config::default(), text, 1), "stack-overflow");
}

#[test]
fn device_memory_that_is_never_freed() {
    // Counts the allocations until malloc returns null.
    let text = ".extern .func (.param .b64 r) malloc(.param .b64 n);
        .visible .entry k(.param .u64 p) {
            .reg .b64 %rd<4>; .reg .pred %p1; .reg .b32 %r<3>;
            .param .b64 n; .param .b64 r;
            ld.param.u64 %rd1, [p];
            mov.u32 %r2, %laneid;
            setp.ne.u32 %p1, %r2, 0;
            @%p1 ret;
            mov.u32 %r1, 0;
        L:  st.param.b64 [n], 16;
            call (r), malloc, (n);
            ld.param.b64 %rd2, [r];
            setp.eq.u64 %p1, %rd2, 0;
            @%p1 bra E;
            add.u32 %r1, %r1, 1;
            bra L;
        E:  st.global.u32 [%rd1], %r1;
            ret; }";
    let (machine, result, data) = launch(Config::default(), text, 1);
    result.expect("runs");
    let mut count = [0; 4];
    machine.read(data, &mut count).expect("read");
    assert_eq!(u32::from_le_bytes(count), 1 << 16);
}

#[test]
fn copies_that_are_never_waited_for() {
    let text = ".visible .entry k(.param .u64 p) {
            .reg .b64 %rd<2>; .reg .b32 %r<3>; .reg .pred %p1;
            .shared .align 16 .b8 s[16];
            ld.param.u64 %rd1, [p];
            mov.u32 %r1, s;
            mov.u32 %r2, 0;
        L:  cp.async.ca.shared.global [%r1], [%rd1], 16;
            add.u32 %r2, %r2, 1;
            setp.lt.u32 %p1, %r2, 4000;
            @%p1 bra L;
            ret; }";
    let config = Config { checks: Checks::NONE, ..Config::default() };
    launch(config, text, 1).1.expect("runs");
}

#[test]
fn a_string_is_read_only_as_far_as_it_is_printed() {
    // All 4096 bytes of `data` are 'a', without a terminator.
    let text = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .global .b8 format[8] = {37, 46, 51, 115, 10, 0, 0, 0};
        .visible .entry k(.param .u64 p) {
            .reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .pred %p1;
            .local .align 8 .b64 list; .param .b64 f; .param .b64 a; .param .b32 r;
            mov.u32 %r2, %laneid;
            setp.ne.u32 %p1, %r2, 0;
            @%p1 ret;
            ld.param.u64 %rd1, [p];
            mov.b32 %r1, 1633771873;
            st.global.u32 [%rd1+4092], %r1;
            add.u64 %rd1, %rd1, 4092;
            st.local.u64 [list], %rd1;
            cvta.global.u64 %rd2, format;
            mov.u64 %rd3, list;
            cvta.local.u64 %rd3, %rd3;
            st.param.b64 [f], %rd2;
            st.param.b64 [a], %rd3;
            call (r), vprintf, (f, a);
            ret; }";
    assert_eq!(launch(Config::default(), text, 1).1.expect("runs").printed, "aaa\n");
}

#[test]
fn tables_of_targets_that_many_branches_share() {
    let labels: String = (0..2000).map(|i| format!("L{i}: ")).collect();
    let list: Vec<String> = (0..2000).map(|i| format!("L{i}")).collect();
    let branches = "brx.idx %r1, ts;\n".repeat(2000);
    let list = list.join(", ");
    let text = format!(".entry k() {{ .reg .b32 %r<2>; ts: .branchtargets {list};\n{branches}{labels} ret; }}");
    let error = Program::parse(&module(&text)).expect_err("too many");
    assert!(error.to_string().contains("brx.idx"), "{error}");
}

/// Texts on which an algorithm of quadratic time would take minutes.
#[test]
fn long_texts_of_one_kind() {
    const MANY: usize = 20_000;
    let many = |each: &dyn Fn(usize) -> String| (0..MANY).map(each).collect::<String>();
    let texts = [
        // Each branch goes back to the one before it.
        format!(".entry k(.param .u64 p) {{ bra L{}; {} }}", MANY - 1, {
            let back = |i: usize| if i == 0 { "L0: ret;".to_owned() } else { format!("L{i}: bra L{};\n", i - 1) };
            many(&back)
        }),
        format!(".entry k(.param .u64 p) {{ .reg .pred %p; {} ret; }}", {
            many(&|i| format!("L{i}: @%p bra L{};\n", i.saturating_sub(i % 64)))
        }),
        // Each function calls the next, and the last one traps.
        format!("{} .func f{MANY}() {{ trap; }} .entry k(.param .u64 p) {{ ret; }}", {
            many(&|i| format!(".func f{}(); .func f{i}() {{ call f{}; ret; }}\n", i + 1, i + 1))
        }),
        // Each indirect call can reach every function whose address is taken.
        format!(".func f() {{ ret; }} .entry k(.param .u64 p) {{ .reg .b64 %r<2>; ret; {} }}", {
            many(&|_| "mov.u64 %r1, f; call %r1, ();\n".to_owned())
        }),
        // Each line points into a section without a zero byte.
        format!(
            ".entry k(.param .u64 p) {{ {} ret; }} .section .debug_str {{ s: {} }}",
            { many(&|i| format!(".loc 1 {i} 0, function_name s+{}, inlined_at 1 1 1\n", i % 7)) },
            many(&|_| ".b8 97, 97, 97\n".to_owned())
        ),
        format!(".entry k(.param .u64 p) {{ {} {} ret; }}", "{".repeat(90), "}".repeat(90)),
        format!(".global .u64 x[] = {{ {} 0 }}; .entry k(.param .u64 p) {{ ret; }}", many(&|_| "x, ".to_owned())),
    ];
    for text in texts {
        launch(Config::default(), &text, 1).1.expect("runs");
    }
}

#[test]
fn a_variable_that_fills_memory_is_not_touched() {
    let text = ".global .b8 big[8000000000]; .visible .entry k(.param .u64 p) {
        .reg .b32 %r1; ld.global.u32 %r1, [big+7999999996]; st.global.u32 [big+4], %r1; ret; }";
    // A host without overcommit may refuse the allocation.
    launch(Config::default(), text, 1).1.map(drop).unwrap_or_else(|stop| assert_eq!(stop.code(), "out-of-memory"));
}

#[test]
fn a_grid_that_does_not_fit_is_named_where_its_blocks_wait_for_each_other() {
    let text = ".visible .entry k(.param .u64 p) {
            .reg .pred %q; .reg .b32 %r<3>; .reg .b64 %a;
            .shared .align 4 .b8 large[48000];
            ld.param.u64 %a, [p];
            mov.u32 %r2, %nctaid.x;
            st.shared.u32 [large], %r2;
            atom.global.add.u32 %r1, [%a], 1;
            AGAIN: ld.volatile.global.u32 %r1, [%a];
            setp.lt.u32 %q, %r1, 32000;
            @%q bra AGAIN;
            ret; }";
    let profile = Profile::named("a100").expect("profile");
    // Three blocks fit on each of 108 multiprocessors.
    let stop = launch(Config { profile: profile.clone(), ..Config::default() }, text, 1000).1.expect_err("stuck");
    let report = stop.to_string();
    assert_eq!(stop.code(), "livelock", "{report}");
    assert!(report.contains("676 of the grid's 1000 blocks have not started"), "{report}");
    assert!(report.contains("at most 324 blocks"), "{report}");
    let stop = launch(Config { profile, ..Config::default() }, text, 324).1.expect_err("stuck");
    assert!(stop.code() == "livelock" && !stop.to_string().contains("have not started"), "{stop}");
}

#[test]
fn a_grid_barrier_without_a_cooperative_launch_is_named() {
    let text = |register: &str| {
        format!(
            ".visible .entry k(.param .u64 p) {{
                .reg .pred %q; .reg .b32 %r<3>;
                mov.u32 %r1, {register};
                setp.ne.u32 %q, %r1, 0;
                @%q ret;
                trap; }}"
        )
    };
    let report = |register| launch(Config::default(), &text(register), 1).1.expect_err("a trap").to_string();
    assert!(report("%envreg2").contains("`grid.sync()` traps"), "{}", report("%envreg2"));
    assert!(!report("%tid.y").contains("grid.sync"), "{}", report("%tid.y"));
}

/// Ways of a block to wait until the word at `%a` is 1: each jumps back to `AGAIN`.
const WAYS: [(&str, &str); 6] = [
    ("volatile", "AGAIN: ld.volatile.global.u32 %r1, [%a]; setp.ne.u32 %q, %r1, 1; @%q bra AGAIN;"),
    ("atomics", "AGAIN: atom.global.add.u32 %r1, [%a], 0; setp.ne.u32 %q, %r1, 1; @%q bra AGAIN;"),
    (
        "longer and longer sleeps",
        "mov.u32 %r2, 8;
        AGAIN: ld.relaxed.gpu.global.u32 %r1, [%a];
        setp.eq.u32 %q, %r1, 1;
        @%q bra END;
        nanosleep.u32 %r2;
        shl.b32 %r2, %r2, 1;
        min.u32 %r2, %r2, 256;
        bra AGAIN; END:",
    ),
    (
        "a flag of each of 100 blocks",
        "AGAIN: mov.u32 %r1, 1; mov.u32 %r2, 0; mov.u64 %b, %a;
        NEXT: ld.volatile.global.u32 %r3, [%b];
        and.b32 %r1, %r1, %r3;
        add.u64 %b, %b, 4;
        add.u32 %r2, %r2, 1;
        setp.lt.u32 %q, %r2, 100;
        @%q bra NEXT;
        setp.ne.u32 %q, %r1, 1;
        @%q bra AGAIN;",
    ),
    (
        "a barrier",
        "AGAIN: ld.volatile.global.u32 %r1, [%a];
        setp.eq.u32 %q, %r1, 1;
        bar.red.or.pred %q, 0, %q;
        @!%q bra AGAIN;",
    ),
    (
        "shared memory",
        "AGAIN: bar.sync 0;
        mov.u32 %r2, %tid.x;
        setp.ne.u32 %q, %r2, 0;
        @%q bra ALL;
        ld.volatile.global.u32 %r1, [%a];
        st.shared.u32 [large], %r1;
        ALL: bar.sync 0;
        ld.shared.u32 %r1, [large];
        setp.ne.u32 %q, %r1, 1;
        @%q bra AGAIN;",
    ),
];

/// A kernel whose block `%ctaid.x == last` sets the words after some time, while the other blocks wait.
fn waiting(way: &str, last: u32, before: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 p) {{
            .reg .pred %q; .reg .b32 %r<5>; .reg .b64 %a; .reg .b64 %b;
            .shared .align 4 .b8 large[48000];
            ld.param.u64 %a, [p];
            mov.u32 %r1, %ctaid.x;
            st.shared.u32 [large], %r1;
            setp.ne.u32 %q, %r1, {last};
            @%q bra WAIT;
            {before}
            mov.u32 %r4, %tid.x;
            shl.b32 %r4, %r4, 2;
            cvt.u64.u32 %b, %r4;
            add.u64 %b, %a, %b;
            mov.u32 %r4, 1;
            st.volatile.global.u32 [%b], %r4;
            st.volatile.global.u32 [%b+128], %r4;
            st.volatile.global.u32 [%b+256], %r4;
            st.volatile.global.u32 [%b+384], %r4;
            ret;
            WAIT: {way}
            ret; }}"
    )
}

fn launch_unchecked(text: &str, blocks: u32) -> Result<Report, Stop> {
    let program = Program::parse(&module(text)).expect("PTX");
    let profile = Profile::named("a100").expect("profile");
    let mut machine = Machine::new(Config { workers: 1, fuel: Some(1 << 26), profile, ..Config::default() });
    let data = machine.alloc(4096, "data").expect("alloc");
    machine.fill(data, 0, 4096).expect("fill");
    let params = [data.to_le_bytes().to_vec()];
    let launch = Launch { entry: "k", grid: [blocks, 1, 1], block: [32, 1, 1], params: &params, ..Launch::default() };
    machine.launch(&program, &launch)
}

/// Blocks that wait for one that does not fit are recognised within a few thousand instructions of each, however they
/// wait.
#[test]
fn waiting_for_a_block_that_does_not_fit_is_recognised() {
    for (name, way) in WAYS {
        let stop = launch_unchecked(&waiting(way, 999, ""), 1000).expect_err(name);
        let report = stop.to_string();
        assert!(stop.code() == "livelock" && report.contains("blocks have not started"), "{name}: {report}");
    }
}

/// A block that computes for long before it sets the flag, in registers or in shared memory, is none of these.
#[test]
fn waiting_for_a_slow_block_is_no_livelock() {
    let registers = "mov.u32 %r2, 0;
        SLOW: add.u32 %r2, %r2, 1;
        setp.lt.u32 %q, %r2, 300000;
        @%q bra SLOW;";
    let shared = "mov.u32 %r2, 0; st.shared.u32 [large+4], %r2;
        SLOW: ld.volatile.shared.u32 %r2, [large+4];
        add.u32 %r2, %r2, 1;
        st.volatile.shared.u32 [large+4], %r2;
        setp.lt.u32 %q, %r2, 50000;
        @%q bra SLOW;";
    for before in [registers, shared] {
        for (name, way) in WAYS {
            let ran = launch_unchecked(&waiting(way, 20, before), 24);
            assert!(ran.is_ok(), "{name}: {}", ran.expect_err("a stop"));
        }
    }
}
