//! Grammar that programs of other compilers need.

use crate::{HEADER, launch};
use ptx_sim::{Config, Machine, Program};

/// Runs a kernel that stores one word.
fn stored(functions: &str, body: &str) -> u32 {
    words::<1>(HEADER, functions, body)[0]
}

/// Runs a kernel of one thread for each word that it stores. Its registers are `%r`, `%f`, `%rd` and `%p`; `%r1` is the
/// thread and `%rd1` the address of its word.
pub fn computed<const THREADS: usize>(header: &str, functions: &str, body: &str) -> [u32; THREADS] {
    let begin = ".reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %rd<8>; .reg .pred %p<8>;
        ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1;";
    words(header, functions, &format!("{begin} {body}"))
}

fn words<const THREADS: usize>(header: &str, functions: &str, body: &str) -> [u32; THREADS] {
    let text = format!("{header}{functions} .visible .entry k(.param.u64 a) {{ {body} ret; }}");
    let program = Program::parse(&text).expect("PTX");
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(4 * THREADS as u64, "a").expect("alloc");
    launch(&mut machine, &program, 1, THREADS as u32, a).expect("runs");
    std::array::from_fn(|i| {
        let mut bytes = [0; 4];
        machine.read(a + 4 * i as u64, &mut bytes).expect("read");
        u32::from_le_bytes(bytes)
    })
}

#[test]
fn directives_without_blanks_between_them() {
    let body = "{.reg.b64 %a; .reg.b32 %v;.reg.b8 %t; .shared.align 4.b8 s[4]; ld.param.u64 %a, [a];
        mov.b32 %v, WARP_SZ; st.shared.u32 [s], %v; ld.shared.u8 %t, [s]; st.global.u8 [%a], %t;}";
    assert_eq!(stored("", body), 32);
}

#[test]
fn a_weak_function_gives_way() {
    let body = ".reg .b64 %a; .reg .b32 %v; ld.param.u64 %a, [a];
        { .param .b32 r; call (r), number, (); ld.param.b32 %v, [r]; } st.global.u32 [%a], %v;";
    let number = |linkage: &str, value: u32| {
        format!("{linkage} .func (.param .b32 r) number() {{ st.param.b32 [r], {value}; ret; }}\n")
    };
    let (first, second, strong) = (number(".weak", 1), number(".weak", 2), number(".visible", 3));
    assert_eq!(stored(&(first.clone() + &second), body), 1);
    assert_eq!(stored(&(first.clone() + &strong + &second), body), 3);
    assert_eq!(stored(&(strong.clone() + &first), body), 3);
    let error = Program::parse(&(HEADER.to_owned() + &strong + &strong)).expect_err("two definitions");
    assert!(error.to_string().contains("duplicate definition of `number`"), "{error}");
}

#[test]
fn vector_registers_are_their_elements() {
    let body = ".reg .v4 .f32 v, w; .reg .v2 .b32 pairs<2>; .reg .v4 .u32 t;
        mov.v4.f32 v, {1.0, 2.0, 3.0, 4.0}; mov.v4.f32 w, v; add.f32 w.x, v.y, w.a; mov.v4.u32 t, %tid;
        .shared .align 16 .b8 s[16]; st.shared.v4.f32 [s], w; ld.shared.v2.b32 pairs1, [s];
        mov.b32 %r2, pairs1.x; add.u32 %r2, %r2, t.x; add.u32 %r2, %r2, t.w; st.global.u32 [%rd1], %r2;";
    assert_eq!(computed(HEADER, "", body), [0, 1].map(|thread| 6.0f32.to_bits() + thread));
}

#[test]
fn calls_pass_registers_and_constants() {
    let functions = ".func (.reg .f32 sum, .reg .b32 last) f(.reg .f32 x, .reg .b32 y, .param .b32 z) {
        .reg .pred %p; .reg .b32 t; add.f32 sum, x, x; ld.param.b32 t, [z]; add.u32 last, y, t;
        setp.eq.u32 %p, t, 7; @%p ret; mov.b32 last, 100; }";
    let call = |y: &str, z: &str| {
        let body = format!("call (%f1, %r2), f, (1.5, {y}, {z}); mov.b32 %r3, %f1; add.u32 %r2, %r2, %r3;");
        computed::<1>(HEADER, functions, &format!("{body} st.global.u32 [%rd1], %r2;"))[0] - 3.0f32.to_bits()
    };
    assert_eq!(call("5", "7"), 12);
    assert_eq!(call("%r1", "7"), 7);
    assert_eq!(call("5", "6"), 100);
    // A result that is discarded, a guard, and a parameter in memory beside a register.
    let body = "mov.b32 %r2, 3; setp.eq.u32 %p1, %r1, 1; { .param .b32 z; st.param.b32 [z], %r1;
        @%p1 call (_, %r2), f, (0.0, 4, z); } st.global.u32 [%rd1], %r2;";
    assert_eq!(computed(HEADER, functions, body), [3, 100]);
}

#[test]
fn operands_are_sums_and_constant_expressions() {
    let body = ".global .u32 table[3] = {10, 2 * 10, 1 << 5}; .local .u32 l; .shared .u32 s; 
        st.u32 [l], 1000; st.u32 [s], 400;
        ld.global.u32 %r2, table[2]; add.u32 %r2, %r2+4, (1 + 2) * WARP_SZ; mov.u32 %r3, %r2-2; ld.u32 %r4, [l];
        add.u32 %r3, %r3, %r4; ld.u32 %r4, [s+1*4-4]; add.u32 %r3, %r3, %r4; st.global.u32 [%rd1], %r3+-1;";
    assert_eq!(computed(HEADER, "", body), [32 + 4 + 96 - 2 + 1000 + 400 - 1]);
}

/// ptxas has no `-` after the base of an address.
#[test]
fn offsets_of_addresses_are_added() {
    let load = |address: &str| {
        Program::parse(&format!("{HEADER} .entry k() {{ .reg .b32 r; ld.shared.u32 r, [r{address}]; }}"))
    };
    for address in ["+4", "+-4", "+4-8", "+(-4)", "+-(4)"] {
        assert!(load(address).is_ok(), "{address}");
    }
    let error = load("-4").expect_err("an offset that is subtracted");
    assert!(error.to_string().contains("`+-` for an offset below zero"), "{error}");
}

#[test]
fn modifiers_come_in_any_order() {
    let body = "mov.f32 %f1, 0f3F800000; div.ftz.rn.f32 %f2, %f1, 0f40800000; cvt.u32.rzi.f32 %r2, %f1;
        mul.wide.u32 %rd2, %r2, 3; mov.b32 %r3, %f2; st.global.u32 [%rd1], %r3;";
    assert_eq!(computed(HEADER, "", body), [0.25f32.to_bits()]);
}

#[test]
fn old_targets_have_votes_and_shuffles_without_a_mask() {
    let old = ".version 6.0\n.target sm_50\n.address_size 64\n";
    let body = "setp.lt.u32 %p1, %r1, 3; vote.ballot.b32 %r2, %p1; shfl.up.b32 %r3|%p2, %r1, 1, 0;
        shl.b32 %r3, %r3, 8; add.u32 %r2, %r2, %r3; setp.ge.u32 %p3, %r1, 2;
        @%p3 vote.ballot.b32 %r2, 1; st.global.u32 [%rd1], %r2;";
    assert_eq!(computed(old, "", body), [7, 7, 12, 12]);
    // ptxas has none for newer targets.
    let text = ".version 6.4\n.target sm_70\n.address_size 64\n.entry k() { .reg .pred p, q; vote.all.pred p, q; }";
    assert_eq!(Program::parse(text).expect("PTX").unsupported().count(), 1);
}

#[test]
fn parts_of_registers_and_further_forms() {
    let body = "mov.b32 %r2, 0x01020304; vadd4.u32.u32.u32.add %r2, %r2, 0x01010101, 100; // 2 + 3 + 4 + 5 + 100
        mov.b32 %r3, 0x00050000; vsub2.u32.u32.u32 %r3.h0, %r3.h31, 2, 0xff0000ff; // 5 - 2 in the lower half
        vadd.s32.u32.u32 %r4, %r3.h0, %r2.b0; lop3.or.b32 %r5|%p1, %r4, 117, 0, 0x3c, 0;
        selp.b32 %r6, 1, 0, %p1; shl.b32 %r6, %r6, 16; add.u32 %r4, %r4, %r6; st.global.u32 [%rd1], %r4;";
    assert_eq!(computed(HEADER, "", body), [117]);
    let body = "mov.b32 %r5, 7; setp.eq.u32 %p1, %r5, 7; @%p1 lop3.or.b32 %r5|%p1, %r5, %r5, 0, 0x3c, 0;
        selp.b32 %r6, 16, 0, %p1; add.u32 %r5, %r5, %r6; // 7 xor 7, which clears the guard
        st.global.u32 [%rd1], %r5;";
    assert_eq!(computed(HEADER, "", body), [0]);
    let body = "multimem.red.global.add.u32 [%rd1], 5; multimem.ld_reduce.relaxed.sys.global.add.u32 %r2, [%rd1];
        multimem.st.global.u32 [%rd1], %r2; mov.v2.f32 {%f1, %f2}, {1.0, 2.0}; min.f32 %f3, %f1, %f2, 0f3E800000;
        mov.b32 %r3, %f3; add.u32 %r3, %r3, %r2; st.global.u32 [%rd1], %r3;";
    assert_eq!(computed(HEADER, "", body), [0.25f32.to_bits() + 5]);
    let body = "mov.b32 %r2, 0x3c003c00; multimem.st.relaxed.sys.global.f16x2 [%rd1], %r2;
        multimem.ld_reduce.relaxed.sys.global.add.f16x2 %r3, [%rd1]; st.global.u32 [%rd1], %r3;";
    assert_eq!(computed(HEADER, "", body), [0x3c00_3c00]);
}
