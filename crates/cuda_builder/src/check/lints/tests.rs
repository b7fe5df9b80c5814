//! A planted kernel for each lint, in the form that `llc` writes, and the same kernel without the mistake.

use super::*;

/// A kernel `k`, whose instructions have lines from 10 on.
fn kernel(body: &[&str]) -> String {
    let lines = body.iter().enumerate().map(|(at, text)| {
        if text.ends_with(':') { format!("{text}\n") } else { format!("\t.loc\t1 {} 5\n\t{text}\n", 10 + at) }
    });
    let body: String = lines.collect();
    format!(".visible .entry k(\n\t.param .u64 k_param_0\n)\n{{\n\t.loc\t1 3 1\n{body}}}\n\t.file\t1 \"src/lib.rs\"\n")
}

/// The warnings, as line and name.
fn warnings(body: &[&str]) -> Vec<(u32, &'static str)> {
    let found = lint(&kernel(body), &[], &|_, _| false);
    found.iter().map(|one| (one.place.as_ref().map_or(0, |place| place.line), one.lint.name())).collect()
}

#[test]
fn local_memory_is_reported_at_its_line_unless_it_serves_a_panic_or_printing() {
    let planted = ["st.local.b32 \t[%rd1], %r1;", "add.s32 \t%r1, %r2, 1;", "ld.local.b32 \t%r2, [%rd1];", "ret;"];
    assert_eq!(warnings(&planted), [(10, "local_memory"), (12, "local_memory")]);
    let panic =
        ["@%p1 bra \tPANIC;", "ret;", "PANIC:", "st.local.b32 \t[%rd1], %r1;", "call.uni \tfail, (param0);", "exit;"];
    assert!(warnings(&panic).is_empty());
    let printing = ["st.local.b32 \t[%rd1], %r1;", "call.uni (retval0), vprintf, (param0, param1);", "ret;"];
    assert!(warnings(&printing).is_empty());
}

#[test]
fn generic_access_to_shared_memory_is_reported() {
    let planted = [
        "mov.b64 \t%rd1, TILE;",
        "cvta.shared.u64 \t%rd2, %rd1;",
        "add.s64 \t%rd3, %rd2, %rd9;",
        "selp.b64 \t%rd4, %rd3, %rd8, %p1;",
        "st.b32 \t[%rd4], %r1;",
        "ret;",
    ];
    assert_eq!(warnings(&planted), [(14, "generic_shared")]);
    let right = ["mov.b64 \t%rd1, TILE;", "st.shared.b32 \t[%rd1], %r1;", "ld.b32 \t%r1, [%rd8];", "ret;"];
    assert!(warnings(&right).is_empty());
}

#[test]
fn f64_arithmetic_between_f32_values_is_reported() {
    let planted = [
        "ld.global.b32 \t%r1, [%rd1];",
        "cvt.f64.f32 \t%rd2, %r1;",
        "mul.rn.f64 \t%rd3, %rd2, 0d3FB999999999999A;",
        "cvt.rn.f32.f64 \t%r2, %rd3;",
        "ret;",
    ];
    assert_eq!(warnings(&planted), [(12, "f64_arithmetic")]);
    // A sum over f32 values that is held in f64 on purpose.
    let accumulator = [
        "mov.b64 \t%rd3, 0d0000000000000000;",
        "LOOP:",
        "ld.global.b32 \t%r1, [%rd1];",
        "cvt.f64.f32 \t%rd2, %r1;",
        "add.rn.f64 \t%rd3, %rd3, %rd2;",
        "@%p1 bra \tLOOP;",
        "cvt.rn.f32.f64 \t%r2, %rd3;",
        "ret;",
    ];
    assert!(warnings(&accumulator).is_empty());
    let mut data = planted;
    data[1] = "ld.global.b64 \t%rd2, [%rd1];";
    assert!(warnings(&data).is_empty(), "the data are f64");
    let mut kept = planted;
    kept[3] = "st.global.b64 \t[%rd1], %rd3;";
    assert!(warnings(&kept).is_empty(), "the result is f64");
}

#[test]
fn a_barrier_that_not_all_threads_reach_is_reported() {
    let planted = |source: &'static str, barrier: &'static str| {
        let source = format!("mov.u32 \t%r1, {source};");
        let body = [&source, "setp.gt.u32 \t%p1, %r1, 7;", "@%p1 bra \tEND;", barrier, "END:", "ret;"];
        warnings(&body)
    };
    assert_eq!(planted("%tid.x", "bar.sync \t0;"), [(13, "divergent_barrier")]);
    assert_eq!(planted("%tid.x", "barrier.sync \t0;"), [(13, "divergent_barrier")]);
    assert!(planted("%ctaid.x", "bar.sync \t0;").is_empty(), "the same for the block");
    assert!(planted("%tid.x", "bar.warp.sync \t-1;").is_empty() && planted("%tid.x", "bar.sync \t1, 64;").is_empty());
    let after =
        ["mov.u32 \t%r1, %tid.x;", "setp.gt.u32 \t%p1, %r1, 7;", "@%p1 bra \tEND;", "END:", "bar.sync \t0;", "ret;"];
    assert!(warnings(&after).is_empty());
    let checked = [
        "mov.u32 \t%r1, %tid.x;",
        "setp.gt.u32 \t%p1, %r1, 7;",
        "@%p1 bra \tPANIC;",
        "bar.sync \t0;",
        "ret;",
        "PANIC:",
        "call.uni \tfail, (param0);",
        "exit;",
    ];
    assert!(warnings(&checked).is_empty(), "the check of an index");
}

#[test]
fn read_modify_writes_of_core_are_reported() {
    let text = |file: &str, opcode: &str| {
        let ptx = format!(
            ".visible .entry k(\n)\n{{\n\t.loc\t1 12 9\n\
             \t.loc\t2 40 5, function_name $L__info_string0, inlined_at 1 12 9\n\
             \t{opcode} \t%r1, [%rd1], 1;\n\tret;\n}}\n\t.file\t1 \"src/lib.rs\"\n\t.file\t2 \"{file}\"\n"
        );
        lint(&ptx, &[], &|_, _| false).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let core = "/rust/library/core/src/sync/atomic.rs";
    let found = text(core, "atom.global.add.u32");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0]
            .starts_with("src/lib.rs:12:9: core_atomics: read-modify-write of `core::sync::atomic` in `k`; help: use")
    );
    assert!(text(core, "atom.relaxed.gpu.cas.b32").is_empty());
    assert!(text("crates/cuda_std/src/atomic/relaxed.rs", "atom.relaxed.gpu.global.add.u32").is_empty());
    let through = "\t.loc\t1 12 9\n\t.loc\t3 20 5, function_name $L__info_string0, inlined_at 1 12 9\n\
                   \t.loc\t2 40 5, function_name $L__info_string0, inlined_at 3 20 5\n\
                   \tatom.global.add.u32 \t%r1, [%rd1], 1;\n";
    let ptx = format!(
        ".visible .entry k(\n)\n{{\n{through}\tret;\n}}\n\t.file\t1 \"src/lib.rs\"\n\t.file\t2 \"{core}\"\n\
         \t.file\t3 \"crates/cuda_std/src/atomic/relaxed.rs\"\n"
    );
    assert!(lint(&ptx, &[], &|_, _| false).is_empty(), "`cuda_std` adds what LLVM drops");
}

/// `libm::sinf` computes in f64 on purpose, and its local memory is slow all the same.
#[test]
fn f64_arithmetic_of_a_dependency_is_not_reported_and_its_local_memory_is() {
    let text = |file: &str| {
        let ptx = format!(
            ".visible .entry k(\n)\n{{\n\t.loc\t1 3 1\n\tld.global.b32 \t%r1, [%rd1];\n\
             \t.loc\t1 12 9\n\t.loc\t2 40 5, function_name $L__info_string0, inlined_at 1 12 9\n\
             \tcvt.f64.f32 \t%rd2, %r1;\n\tmul.rn.f64 \t%rd3, %rd2, %rd2;\n\tcvt.rn.f32.f64 \t%r2, %rd3;\n\
             \tst.local.b32 \t[%rd4], %r2;\n\t.loc\t2 0 0\n\tld.local.b32 \t%r3, [%rd4];\n\tret;\n}}\n\
             \t.file\t1 \"src/lib.rs\"\n\t.file\t2 \"{file}\"\n"
        );
        let short = |one: &Warning| one.to_string().split("; help").next().unwrap_or_default().to_owned();
        lint(&ptx, &[], &|_, _| false).iter().map(short).collect::<Vec<_>>()
    };
    let found = text("src/own.rs");
    for lint in
        ["f64_arithmetic: arithmetic in f64 on f32 values in `k`", "local_memory: access to local memory in `k`"]
    {
        assert!(found.iter().any(|line| line.ends_with(lint)), "{lint}: {found:?}");
    }
    let found = text("/h/registry/src/index/libm-0.2.16/src/math/sinf.rs");
    assert!(!found.iter().any(|line| line.contains("f64_arithmetic")), "{found:?}");
    assert!(found.contains(&"src/lib.rs:12:9: local_memory: access to local memory by a dependency in `k`".to_owned()));
    assert!(found.iter().all(|line| line.starts_with("src/lib.rs:")), "each has a line: {found:?}");
}

#[test]
fn spills_are_reported_at_the_kernel() {
    let usage = Usage { entry: "k".to_owned(), spill_stores: 8, spill_loads: 12, ..Usage::default() };
    let found = lint(&kernel(&["ret;"]), &[usage], &|_, _| false);
    assert_eq!(found.len(), 1);
    let text = found[0].to_string();
    assert!(
        text.starts_with("src/lib.rs:3:1: spills: 8 bytes of spill stores and 12 of loads in `k`; help: keep"),
        "{text}"
    );
}

#[test]
fn a_lint_is_turned_off_for_an_entry() {
    let ptx = kernel(&["st.local.b32 \t[%rd1], %r1;", "ret;"]);
    let names = ["rustwarp.allow.local_memory.k".to_owned(), "k".to_owned()];
    let allowed = Allowed::of(&names);
    assert!(lint(&ptx, &[], &|lint, entry| allowed.allows(lint, entry)).is_empty());
    assert_eq!(
        lint(&ptx.replace("entry k(", "entry other("), &[], &|lint, entry| allowed.allows(lint, entry)).len(),
        1
    );
    assert_eq!(allowed.text(), "local_memory.k\n");
}

#[test]
fn instances_of_a_kernel_share_a_warning() {
    let one = kernel(&["st.local.b32 \t[%rd1], %r1;", "ret;"]);
    let both = format!("{one}{}", one.replace("entry k(", "entry l("));
    let found = lint(&both, &[], &|_, _| false);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].entries, ["k", "l"]);
    assert!(found[0].to_string().contains("in `k` and 1 more; help:"));
}
