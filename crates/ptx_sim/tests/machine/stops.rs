//! Launches that end early.

use ptx_sim::{Config, Launch, Machine, Program, Stop, StopKind};
use std::time::Duration;

use crate::{HEADER, kernel, launch};

#[test]
fn fuel_stops_an_endless_loop_and_says_where() {
    let mut machine = Machine::new(Config { fuel: Some(100_000), ..Config::default() });
    let stop =
        launch(&mut machine, &kernel("LOOP: add.s32 %r2, %r1, 1; bra.uni LOOP;"), 3, 64, 0).expect_err("endless");
    assert_eq!((stop.kind(), stop.code()), (StopKind::Stuck, "fuel"));
    assert!(stop.to_string().contains("64 threads of warps 0-1 run"), "{stop}");
}

#[test]
fn a_timeout_stops_an_endless_loop_and_says_where() {
    let mut machine = Machine::new(Config { timeout: Some(Duration::from_millis(1)), ..Config::default() });
    let stop =
        launch(&mut machine, &kernel("LOOP: add.s32 %r2, %r1, 1; bra.uni LOOP;"), 3, 64, 0).expect_err("endless");
    assert_eq!((stop.kind(), stop.code()), (StopKind::Stuck, "timeout"));
    let text = stop.to_string();
    assert!(text.contains("limit of 1ms") && text.contains("64 threads of warps 0-1 run"), "{text}");
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
