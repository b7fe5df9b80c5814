//! History of memory in reports, and the list of allocations that remain.

use ptx_sim::{Checks, Config, Launch, Leak, Machine, Program, Report, Stop};

const PTX: &str = "
.version 7.8
.target sm_75
.address_size 64
.global .align 4 .b8 table[64];
.extern .func (.param .b64 r) malloc (.param .b64 a);
.extern .func free (.param .b64 a);
.visible .entry keep(.param .u64 cell)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [cell];
    { .param .b64 a; .param .b64 r; st.param.b64 [a], 16; call.uni (r), malloc, (a); ld.param.b64 %rd2, [r]; }
    st.global.b64 [%rd1], %rd2;
    ret;
}
.visible .entry release(.param .u64 cell)
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [cell];
    ld.global.b64 %rd2, [%rd1];
    { .param .b64 a; st.param.b64 [a], %rd2; call.uni free, (a); }
    ret;
}
.visible .entry look(.param .u64 cell)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [cell];
    ld.global.b64 %rd2, [%rd1];
    ld.global.b32 %r1, [%rd2];
    ret;
}";

fn launch(machine: &mut Machine, entry: &str, cell: u64) -> Result<Report, Stop> {
    let program = Program::parse(PTX).expect("PTX");
    let params = [cell.to_le_bytes().to_vec()];
    machine.launch(&program, &Launch { entry, grid: [1; 3], block: [1; 3], params: &params, ..Launch::default() })
}

fn machine() -> (Machine, u64) {
    let checks = Checks { leaks: true, ..Checks::NONE };
    let mut machine = Machine::new(Config { checks, workers: 1, ..Config::default() });
    let cell = machine.alloc(8, "cell").expect("alloc");
    (machine, cell)
}

#[test]
fn remaining_allocations_are_listed() {
    let (mut machine, cell) = machine();
    let report = launch(&mut machine, "keep", cell).expect("keep");
    assert_eq!(report.findings.iter().map(|finding| finding.diagnostic.code).collect::<Vec<_>>(), ["leak"]);
    let leaks = machine.leaks();
    let parts = |leak: &Leak| (leak.name.clone(), leak.bytes, leak.address, leak.by_kernel);
    assert_eq!((leaks.len(), parts(&leaks[0])), (2, ("cell".to_owned(), 8, cell, false)));
    assert_eq!((leaks[1].name.as_str(), leaks[1].bytes, leaks[1].by_kernel), ("device malloc", 16, true));
    // The host cannot free a kernel's allocation, and an allocation of an earlier launch is not a leak of this one.
    assert_eq!(machine.free(leaks[1].address).expect_err("the kernel's").code(), "bad-free");
    assert!(launch(&mut machine, "look", cell).expect("look").findings.is_empty());
    assert!(launch(&mut machine, "release", cell).expect("release").findings.is_empty());
    assert_eq!(machine.leaks(), leaks[..1]);
    machine.free(cell).expect("free");
    assert!(machine.leaks().is_empty());
}

#[test]
fn without_the_check_nothing_is_reported() {
    let (mut machine, cell) = machine();
    machine.config_mut().checks.leaks = false;
    assert!(launch(&mut machine, "keep", cell).expect("keep").findings.is_empty());
    const { assert!(Checks::DEFECTS.leaks) };
}

#[test]
fn the_history_of_memory_is_reported() {
    let (mut machine, cell) = machine();
    launch(&mut machine, "keep", cell).expect("keep");
    launch(&mut machine, "release", cell).expect("release");
    let text = launch(&mut machine, "look", cell).expect_err("freed").to_string();
    assert!(text.contains("at byte 0 of `device malloc` (16 bytes), which was freed"), "{text}");
    assert!(text.contains("allocated here, by block (0, 0, 0), thread (0, 0, 0), in an earlier launch"), "{text}");
    assert!(text.contains("freed here, by block (0, 0, 0), thread (0, 0, 0), in an earlier launch"), "{text}");

    let old = machine.alloc(32, "old weights").expect("alloc");
    machine.write(cell, &(old + 4).to_le_bytes()).expect("write");
    machine.free(old).expect("free");
    let text = launch(&mut machine, "look", cell).expect_err("freed").to_string();
    assert!(text.contains("at byte 4 of `old weights` (32 bytes), which was freed"), "{text}");
    assert!(text.contains("the host freed `old weights` before this launch"), "{text}");
}
