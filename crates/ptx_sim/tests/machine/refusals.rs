//! Launches that cannot start.

use ptx_sim::{Config, Launch, Machine, Program, StopKind};

use crate::{HEADER, kernel};

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
    assert!(text.contains("link its definition") && !text.contains("dynamic parallelism"), "{text}");
}

/// A launch from a kernel is named as such, with what to do instead.
#[test]
fn launches_from_kernels_are_refused() {
    for name in ["cudaLaunchDevice", "cudaLaunchDeviceV2", "cudaGetParameterBufferV2", "__cudaCDP2LaunchDeviceV2"] {
        let text = format!("{HEADER}.extern .func {name}();\n.visible .entry k() {{\ncall.uni {name}, ();\nret;\n}}");
        let program = Program::parse(&text).expect("PTX");
        let launch = Launch { entry: "k", grid: [1; 3], block: [1; 3], ..Launch::default() };
        let stop = Machine::new(Config::default()).launch(&program, &launch).expect_err("a launch from a kernel");
        let text = stop.to_string();
        assert!(text.contains(name) && text.contains("dynamic parallelism"), "{text}");
        assert!(text.contains("launch that kernel from the host"), "{text}");
    }
}

/// As ptxas does, by the module's target: an opcode, a modifier, a number of operands, a special register.
#[test]
fn instructions_of_later_targets_are_refused() {
    let run = |target: &str, statement: &str| {
        let text = format!(
            ".version 8.7\n.target {target}\n.address_size 64\n.visible .entry k() {{\n\
             .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<2>;\n{statement}\nret;\n}}"
        );
        let program = Program::parse(&text).expect("PTX");
        let launch = Launch { entry: "k", grid: [1; 3], block: [1; 3], ..Launch::default() };
        Machine::new(Config::default()).launch(&program, &launch).map(|_| ())
    };
    for (statement, first, before) in [
        ("cp.async.wait_all;", "sm_80", "sm_75"),
        ("fence.acq_rel.cluster;", "sm_90", "sm_89"),
        ("min.f32 %f1, 0f00000000, 0f00000000, 0f00000000;", "sm_100", "sm_90a"),
        ("mov.u32 %r1, %cluster_ctarank;", "sm_90", "sm_80"),
        ("setmaxnreg.inc.sync.aligned.u32 96;", "sm_90a", "sm_90"),
    ] {
        run(first, statement).expect(statement);
        let stop = run(before, statement).expect_err(statement);
        assert_eq!(stop.kind(), StopKind::Unsupported, "{stop}");
        let words = format!("needs `.target {first}` or later, but the module's target is {before}");
        assert!(stop.to_string().contains(&words), "{stop}");
    }
}
