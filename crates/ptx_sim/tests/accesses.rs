//! The bytes that a launch accesses, and the instructions that do it.

use ptx_sim::{Accesses, Checks, Config, Effect, Launch, Machine, Program};

/// `copy` reads 32 words of `from` and writes every other word of `to`; `sum` adds to a word, and `flag` stores one
/// with release order.
const PTX: &str = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to)
{
    .reg .b32 %r<4>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.u64 %rd4, %rd1, %rd3;
    ld.global.u32 %r2, [%rd4];
    add.u64 %rd5, %rd3, %rd3;
    add.u64 %rd6, %rd2, %rd5;
    st.u32 [%rd6], %r2;
    ret;
}
.visible .entry sum(.param .u64 at, .param .u64 flag)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [at];
    ld.param.u64 %rd2, [flag];
    atom.global.add.u64 %rd3, [%rd1], 1;
    st.release.gpu.global.u32 [%rd2], 1;
    ret;
}";

struct Run {
    machine: Machine,
    program: Program,
}

impl Run {
    fn new(checks: Checks) -> Self {
        let config = Config { checks, accesses: true, ..Config::default() };
        Self { machine: Machine::new(config), program: Program::parse(PTX).expect("PTX") }
    }

    fn launch(&mut self, entry: &str, params: [u64; 2]) -> Option<Accesses> {
        let params = params.map(|value| value.to_le_bytes().to_vec());
        let launch = Launch { entry, grid: [1; 3], block: [32, 1, 1], params: &params, ..Launch::default() };
        self.machine.launch(&self.program, &launch).expect("a run").accesses
    }
}

#[test]
fn reads_writes_and_atomics_are_told_apart() {
    // With the other observers of the set and without them.
    for checks in [Checks::NONE, Checks::DEFECTS] {
        let mut run = Run::new(checks);
        let [from, to, sum] = [128, 256, 16].map(|bytes| run.machine.alloc(bytes, "memory").expect("memory"));
        run.machine.fill(from, 1, 128).expect("fill");
        run.machine.fill(sum, 0, 16).expect("fill");
        let seen = run.launch("copy", [from, to]).expect("accesses");
        assert_eq!(seen.read.as_slice(), std::slice::from_ref(&(from..from + 128)));
        let every_other: Vec<_> = (0..32).map(|word| to + 8 * word..to + 8 * word + 4).collect();
        assert_eq!(seen.written, every_other);
        assert!(seen.atomic.is_empty());
        let line = |effect, byte| seen.sites.place(&run.program, effect, byte).map(|place| place.ptx);
        assert_eq!(line(Effect::Read, from + 4).as_deref(), Some("ld.global.u32 %r2, [%rd4];"));
        assert_eq!(line(Effect::Write, to + 8).as_deref(), Some("st.u32 [%rd6], %r2;"));
        assert_eq!(line(Effect::Write, from), None);

        let seen = run.launch("sum", [sum, sum + 8]).expect("accesses");
        assert_eq!(seen.atomic.as_slice(), std::slice::from_ref(&(sum..sum + 12)));
        assert!(seen.read.is_empty() && seen.written.is_empty());
    }
}

#[test]
fn without_the_setting_nothing_is_recorded() {
    let mut run = Run::new(Checks::DEFECTS);
    run.machine.config_mut().accesses = false;
    let sum = run.machine.alloc(16, "memory").expect("memory");
    run.machine.fill(sum, 0, 16).expect("fill");
    assert_eq!(run.launch("sum", [sum, sum + 8]), None);
}
