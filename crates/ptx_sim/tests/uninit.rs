//! Undefined values across launches, host copies and workers.

use ptx_sim::{Checks, Config, Launch, Machine, Program, Report};

const PTX: &str = "
.version 7.8
.target sm_75
.address_size 64
.global .align 4 .b8 table[128];
.visible .entry produce(.param .u64 a, .param .u64 b)
{
    .reg .b32 %r<4>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [a];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
    mad.lo.s32 %r3, %r1, 32, %r2;
    mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r3;
    ret;
}
.visible .entry consume(.param .u64 a, .param .u64 b)
{
    .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd4, [b];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
    mad.lo.s32 %r3, %r1, 32, %r2;
    mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd3, %rd1, %rd2;
    add.s64 %rd5, %rd4, %rd2;
    ld.global.u32 %r4, [%rd3];
    ld.global.u32 %r5, [table];
    add.s32 %r4, %r4, %r5;
    st.global.u32 [%rd5], %r4;
    ret;
}";

struct Setup {
    machine: Machine,
    program: Program,
    params: [Vec<u8>; 2],
    a: u64,
}

fn setup(checks: Checks, workers: usize) -> Setup {
    let mut machine = Machine::new(Config { checks, workers, ..Config::default() });
    let a = machine.alloc(8192, "a").expect("alloc");
    let b = machine.alloc(8192, "b").expect("alloc");
    let params = [a, b].map(|address| address.to_le_bytes().to_vec());
    Setup { machine, program: Program::parse(PTX).expect("PTX"), params, a }
}

impl Setup {
    fn run(&mut self, entry: &str, blocks: u32) -> Report {
        let launch =
            Launch { entry, grid: [blocks, 1, 1], block: [32, 1, 1], params: &self.params, ..Launch::default() };
        self.machine.launch(&self.program, &launch).expect("runs")
    }
}

#[test]
fn an_earlier_kernel_writes() {
    for workers in [1, 3] {
        let mut setup = setup(Checks::DEFECTS, workers);
        assert!(setup.run("produce", 64).findings.is_empty());
        assert!(setup.run("consume", 64).findings.is_empty(), "{workers} workers");
    }
}

#[test]
fn an_earlier_kernel_writes_half() {
    for workers in [1, 3] {
        let mut setup = setup(Checks::DEFECTS, workers);
        setup.run("produce", 32);
        let findings = setup.run("consume", 64).findings;
        let [finding] = findings.as_slice() else { panic!("{findings:#?}") };
        assert_eq!(finding.diagnostic.code, "uninit-store");
        assert_eq!(finding.diagnostic.thread.map(|thread| thread.block), Some([32, 0, 0]));
        assert!(finding.diagnostic.title.contains("byte 4096 of `a` (8192 bytes)"), "{finding}");
        assert_eq!(finding.count, 32);
    }
}

#[test]
fn the_host_writes_in_pieces() {
    let mut setup = setup(Checks::DEFECTS, 1);
    let a = setup.a;
    setup.machine.write(a, &[1; 13]).expect("write");
    setup.machine.fill(a + 13, 2, 115).expect("fill");
    assert!(setup.run("consume", 1).findings.is_empty());
    // One byte between elements 32 and 63 is not written.
    setup.machine.fill(a + 128, 2, 50).expect("fill");
    setup.machine.fill(a + 179, 2, 77).expect("fill");
    let findings = setup.run("consume", 2).findings;
    assert_eq!(findings.len(), 1);
    assert!(findings[0].diagnostic.title.contains("byte 176 of `a`"), "{}", findings[0]);
}

#[test]
fn memory_used_without_the_check_counts_as_written() {
    let mut setup = setup(Checks::default(), 1);
    setup.machine.config_mut().checks.uninit = true;
    assert!(setup.run("consume", 1).findings.is_empty());
    setup.machine.config_mut().checks.uninit = false;
    setup.run("produce", 1);
    setup.machine.config_mut().checks.uninit = true;
    assert!(setup.run("consume", 1).findings.is_empty());
}

#[test]
fn both_places_are_reported() {
    let mut setup = setup(Checks::DEFECTS, 1);
    let findings = setup.run("consume", 1).findings;
    let diagnostic = &findings[0].diagnostic;
    assert!(diagnostic.place.as_ref().is_some_and(|place| place.ptx.starts_with("st.global")));
    let [(words, loaded)] = diagnostic.related.as_slice() else { panic!("{diagnostic:#?}") };
    assert!(words.contains("loaded here, by block (0, 0, 0), thread (0, 0, 0)"), "{words}");
    assert!(loaded.ptx.starts_with("ld.global.u32 %r4"));
    assert!(diagnostic.help.as_ref().is_some_and(|help| help.contains("an allocation is not initialised")));
}
