//! The host's memory and a module's variables.

use ptx_sim::{Checks, Config, Machine, Program, StopKind};

use crate::{HEADER, kernel, launch};

#[test]
fn memory_errors_of_the_host_name_the_buffer() {
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(100, "alpha").expect("alloc");
    let stop = machine.write(a + 96, &[0; 8]).expect_err("too far");
    assert!(stop.to_string().contains("at byte 96 of `alpha` (100 bytes)"), "{stop}");
    assert!(machine.read(0, &mut [0]).is_err());
    machine.fill(a, 7, 100).expect("fill");
    let mut bytes = [0; 100];
    machine.read(a, &mut bytes).expect("read");
    assert_eq!(bytes, [7; 100]);
    machine.free(a).expect("free");
    assert_eq!(machine.free(a).expect_err("twice").code(), "double-free");
    assert_eq!(machine.free(a + 512).expect_err("never").code(), "bad-free");
    assert_eq!(machine.alloc(u64::MAX, "all").expect_err("too large").code(), "out-of-memory");
}

#[test]
fn memory_freed_by_the_host_is_recognised_in_a_kernel() {
    let mut machine = Machine::new(Config::default());
    let program = kernel("add.s64 %rd4, %rd1, %rd2; ld.global.b32 %r2, [%rd4];");
    let a = machine.alloc(128, "alpha").expect("alloc");
    launch(&mut machine, &program, 1, 32, a).expect("still there");
    machine.free(a).expect("free");
    let stop = launch(&mut machine, &program, 1, 32, a).expect_err("gone");
    assert_eq!((stop.kind(), stop.code()), (StopKind::Fault, "use-after-free"));
    assert!(stop.to_string().contains("in `alpha`, which was freed"), "{stop}");
}

#[test]
fn large_buffers_cost_nothing_until_they_are_used() {
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(5 << 30, "large").expect("5 GiB of addresses");
    let last = a + (5 << 30) - 4;
    let program = kernel("setp.ne.b32 %p1, %r1, 0; @%p1 bra END; mov.b32 %r2, 77; st.global.b32 [%rd1], %r2; END:");
    launch(&mut machine, &program, 1, 32, last).expect("in bounds");
    let mut bytes = [0; 4];
    machine.read(last, &mut bytes).expect("read");
    assert_eq!(u32::from_le_bytes(bytes), 77);
}

#[test]
fn global_variables_keep_their_values_between_launches() {
    let text = format!(
        "{HEADER}
        .global .align 4 .u32 launches[1] = {{40}};
        .const .align 4 .u32 step[1] = {{1}};
        .visible .entry k(.param .u64 a)
        {{
        .reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.b64 %rd1, [a];
        ld.global.b32 %r1, [launches];
        ld.const.b32 %r2, [step];
        add.s32 %r3, %r1, %r2;
        st.global.b32 [launches], %r3;
        st.global.b32 [%rd1], %r3;
        ret;
        }}"
    );
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(4, "a").expect("alloc");
    let value = |machine: &mut Machine| {
        let program = Program::parse(&text).expect("PTX");
        launch(machine, &program, 1, 1, a).expect("runs");
        let mut bytes = [0; 4];
        machine.read(a, &mut bytes).expect("read");
        (u32::from_le_bytes(bytes), program)
    };
    assert_eq!(value(&mut machine).0, 41);
    let (second, program) = value(&mut machine);
    assert_eq!(second, 42);
    let (step, bytes) = machine.symbol(&program, "step").expect("constant");
    assert_eq!(bytes, 4);
    machine.write(step, &100_u32.to_le_bytes()).expect("write");
    assert_eq!(value(&mut machine).0, 142);
    assert_eq!(machine.symbol(&program, "stop").expect_err("no such").code(), "unknown-symbol");
}

#[test]
fn local_variables_are_aligned() {
    // A caller with a frame of 4 bytes, so that the callee's must skip some.
    let text = format!(
        "{HEADER}
        .func (.param .b64 result) place()
        {{
        .local .align 256 .b8 wide[256]; .reg .b64 %rd<2>;
        cvta.local.u64 %rd1, wide;
        st.param.b64 [result], %rd1;
        ret;
        }}
        .visible .entry k(.param .u64 a)
        {{
        .local .align 512 .b8 wider[4]; .reg .b64 %rd<4>;
        ld.param.b64 %rd1, [a];
        cvta.local.u64 %rd2, wider;
        {{
        .param .b64 result;
        call (result), place, ();
        ld.param.b64 %rd3, [result];
        }}
        and.b64 %rd2, %rd2, 511;
        and.b64 %rd3, %rd3, 255;
        st.global.b64 [%rd1], %rd2;
        st.global.b64 [%rd1+8], %rd3;
        ret;
        }}"
    );
    let program = Program::parse(&text).expect("PTX");
    let mut machine = Machine::new(Config::default());
    let a = machine.alloc(16, "a").expect("alloc");
    launch(&mut machine, &program, 1, 1, a).expect("runs");
    let mut bytes = [1; 16];
    machine.read(a, &mut bytes).expect("read");
    assert_eq!(bytes, [0; 16]);
}

/// NVRTC widens loads to their alignment and says which bytes it uses.
#[test]
fn unused_elements_of_a_vector_may_be_out_of_bounds() {
    let load = |pragma: &str| {
        let program = kernel(&format!(
            "{pragma} ld.global.v4.b32 {{%r2, %r3, %r4, %r5}}, [%rd1+16];
            st.global.b32 [%rd1], %r2; st.global.b32 [%rd1+4], %r4;"
        ));
        let mut machine = Machine::new(Config { checks: Checks::DEFECTS, ..Config::default() });
        let a = machine.alloc(28, "a").expect("alloc");
        machine.write(a, &[[0_u8; 16].as_slice(), &[5; 4], &[6; 4], &[7; 4]].concat()).expect("write");
        let report = launch(&mut machine, &program, 1, 1, a)?;
        let mut bytes = [0; 8];
        machine.read(a, &mut bytes)?;
        Ok::<_, ptx_sim::Stop>((bytes, report.findings.len()))
    };
    assert_eq!(load(".pragma \"used_bytes_mask 0x0f0f\";").expect("in bounds"), ([5, 5, 5, 5, 7, 7, 7, 7], 0));
    assert_eq!(load(".pragma \"used_bytes_mask 0xf00f\";").expect_err("the last is used").code(), "out-of-bounds");
    assert_eq!(load("").expect_err("all are used").code(), "out-of-bounds");
}
