//! What a launch counts.

use ptx_sim::{Config, Counters, Machine, Program};

use crate::{kernel, launch};

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
