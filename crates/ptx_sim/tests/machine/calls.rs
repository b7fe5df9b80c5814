//! Calls that pass vectors and predicates in registers.

use crate::HEADER;
use crate::grammar::computed;
use ptx_sim::Program;

#[test]
fn calls_pass_vector_registers() {
    let functions = ".func (.reg .v2 .u32 o) swap(.reg .v2 .u32 x) {
            .reg .pred p; setp.gt.u32 p, x.x, 100; mov.v2.u32 o, x; @p ret;
            mov.u32 o.x, x.y; mov.u32 o.y, x.x; ret; }
        .func (.reg .b32 r) last(.reg .v4 .b16 x, .reg .v4 .f32 y, .reg .v2 .b64 z, .reg .v2 .b8 w) {
            .reg .b32 t; cvt.u32.u16 r, x.w; mov.b32 t, y.z; add.u32 r, r, t; cvt.u32.u64 t, z.y; add.u32 r, r, t;
            cvt.u32.u8 t, w.y; add.u32 r, r, t; }";
    let swap = |x: u32, y: u32, call: &str| {
        let body = format!(
            ".reg .v2 .u32 v, w; .reg .v2 .f32 range<3>; .reg .v2 .u32 v3; mov.v2.u32 v, {{{x}, {y}}};
            mov.v2.u32 w, {{7, 7}}; setp.eq.u32 %p1, 0, 0; {call} shl.b32 %r2, w.x, 16; or.b32 %r2, %r2, w.y;
            st.global.u32 [%rd1], %r2;"
        );
        computed::<1>(HEADER, functions, &body)[0]
    };
    assert_eq!(swap(3, 5, "call (w), swap, (v);"), 0x5_0003);
    assert_eq!(swap(101, 5, "call (w), swap, (v);"), 0x65_0005);
    assert_eq!(swap(3, 5, "mov.v2.u32 w, v; call (w), swap, (w);"), 0x5_0003);
    assert_eq!(swap(3, 5, "@!%p1 call (w), swap, (v);"), 0x7_0007);
    assert_eq!(swap(3, 5, "call (_), swap, (v);"), 0x7_0007);
    let range = "call (range2), swap, (v); mov.b32 w.x, range2.x; mov.b32 w.y, range2.y;";
    assert_eq!(swap(3, 5, range), 0x5_0003);
    let body = ".reg .v4 .b16 x; .reg .v4 .f32 y; .reg .v2 .b64 z; .reg .v2 .b8 w; .reg .b16 h;
        mov.v4.b16 x, {1, 2, 3, 4}; mov.v4.f32 y, {1.0, 2.0, 3.0, 4.0}; mov.v2.b64 z, {10, 20};
        cvt.u8.u32 w.x, 100; cvt.u8.u32 w.y, 200; call (%r2), last, (x, y, z, w); st.global.u32 [%rd1], %r2;";
    assert_eq!(computed(HEADER, functions, body), [4 + 3.0f32.to_bits() + 20 + 200]);
}

#[test]
fn calls_pass_predicates() {
    let functions = ".func (.reg .u32 a, .reg .pred b, .reg .pred c) f(.reg .u32 x, .reg .pred q) {
        .reg .pred p; add.u32 a, x, 1; setp.eq.u32 b, x, 2; setp.ne.u32 p, x, 3; and.pred c, p, q; }";
    let call = |call: &str| {
        let body = format!(
            "setp.eq.u32 %p1, %r1, 1; setp.ge.u32 %p2, %r1, 2; setp.ge.u32 %p3, %r1, 0; mov.u32 %r2, 50; {call}
            selp.u32 %r3, 100, 0, %p1; selp.u32 %r4, 1000, 0, %p2; add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4;
            st.global.u32 [%rd1], %r2;"
        );
        computed::<4>(HEADER, functions, &body)
    };
    assert_eq!(call("call (%r2, %p1, %p2), f, (%r1, %p3);"), [1001, 1002, 1103, 4]);
    assert_eq!(call("call (%r2, %p1, _), f, (%r1, %p3);"), [1, 2, 1103, 1004]);
    assert_eq!(call("call (%r2, %p1, %p2), f, (%r1, %p2);"), [1, 2, 1103, 4]);
    // The call replaces its own guard, which also guards the other results.
    assert_eq!(call("@%p2 call (%r2, %p2, %p1), f, (%r1, %p3);"), [50, 150, 1103, 4]);
    assert_eq!(call("@%p2 call (%r2, %p1, %p2), f, (%r1, %p3);"), [50, 150, 1103, 4]);
}

/// Each as ptxas 13.5 does.
#[test]
fn values_of_other_types_are_refused() {
    let functions = ".func (.reg .u32 r) two(.reg .v2 .u32 x) { mov.u32 r, x.x; ret; }
        .func (.reg .v2 .u32 o) pair(.reg .u32 x) { mov.v2.u32 o, {x, x}; ret; }
        .func (.reg .u32 r) flag(.reg .pred p) { selp.u32 r, 1, 2, p; ret; }
        .func (.reg .u32 r) word(.reg .u32 x) { mov.u32 r, x; ret; }
        .func (.reg .f32 r) float(.reg .f32 x) { mov.f32 r, x; ret; }";
    let abi = ".func (.reg .u32 a, .reg .pred p) both(.reg .u32 x) { setp.eq.u32 p, x, 1; mov.u32 a, x; ret; }";
    let takes = |others: &str, body: &str| {
        let text = format!(
            "{HEADER}{functions}{others} .entry k() {{ .reg .v2 .u32 v; .reg .v4 .u32 w; .reg .v2 .b16 h;
            .reg .u32 r, s; .reg .s32 i; .reg .b32 b; .reg .f32 f; .reg .pred q; .param .b32 z; {body} ret; }}"
        );
        Program::parse(&text).is_ok_and(|program| program.unsupported().next().is_none())
    };
    for accepted in [
        "call (r), two, (v);",
        "call (v), pair, (r);",
        "call (_), pair, (r);",
        "call (i), word, (i);",
        "call (b), word, (b);",
        "call (b), float, (b);",
        "call (r), flag, (q);",
        "call (r, q), both, (1);",
        "@q call (r, q), both, (1);",
        "call (r, _), both, (1);",
    ] {
        assert!(takes(abi, accepted), "{accepted}");
    }
    for refused in [
        "call (r), two, (r);",
        "call (r), two, (r, s);",
        "call (r), two, (w);",
        "call (r), two, (h);",
        "call (r), two, (v.x);",
        "call (r), two, ({r, s});",
        "call (r), two, ();",
        "call two, (v);",
        "call (r), pair, (r);",
        "call (w), pair, (r);",
        "call ({r, s}), pair, (r);",
        "call (r), word, (f);",
        "call (f), word, (r);",
        "call (r), float, (f);",
        "call (f), float, (r);",
        "call (r), flag, (!q);",
        "call (r), flag, (1);",
        "call (r), flag, (r);",
        "call (r), flag, (z);",
        "call (r), flag, (_);",
        "call (r, s), both, (1);",
        "call (r, !q), both, (1);",
        "call (r, z), both, (1);",
        "call (q, r), both, (1);",
        "call (r), both, (1);",
    ] {
        assert!(!takes(abi, refused), "{refused}");
    }
    // Without a function of several results ptxas follows the ABI, which has no predicates.
    assert!(takes("", "") && !takes("", "call (r), flag, (q);"));
    for function in [
        ".func f(.reg .v2 .u64 x) { ret; }",
        ".func f(.reg .v4 .f32 x) { ret; }",
        ".func f(.reg .align 8 .u32 x) { ret; }",
        ".global .v4 .u32 x;",
    ] {
        assert!(takes(function, ""), "{function}");
    }
    for function in [
        ".func f(.reg .v4 .u64 x) { ret; }",
        ".func f(.reg .v8 .u32 x) { ret; }",
        ".func f(.reg .u32 .v2 x) { ret; }",
        ".func f(.reg .v2 .pred x) { ret; }",
        ".func f(.param .v2 .u32 x) { ret; }",
        ".func f(.param .pred x) { ret; }",
        ".func (.param .u32 a, .param .u32 b) f() { ret; }",
        ".func f() { .reg .v2 .pred x; ret; }",
        ".func f() { .reg .v4 .f64 x; ret; }",
        ".entry f(.reg .u32 x) { ret; }",
        ".global .v4 .u64 x;",
        ".global .v8 .u8 x;",
        ".global .pred x;",
    ] {
        assert!(!takes(function, ""), "{function}");
    }
}
