//! Tests of the public test harness.

use ptx_sim::{Checks, Failure, test, test_text};

const HEAD: &str = ".version 7.8\n.target sm_75\n.address_size 64\n";

fn saxpy(x: &[f32], y: &mut [f32], n: u32) -> Result<ptx_sim::Report, Failure> {
    let kernel = test("examples/saxpy.ptx")?.entry("saxpy").grid(4).block(64);
    kernel.arg(n).arg(2.0_f32).buffer(x).buffer_mut(y).named("result").seeds(2).reproducible().run()
}

/// A kernel in which each thread of a block computes `out[i] = i`, followed by `body`.
fn kernel(body: &str) -> String {
    format!(
        "{HEAD}.visible .entry k(.param .u64 out)
{{
    .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    .extern .shared .align 4 .b8 room[];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    {body}
    ret;
}}"
    )
}

#[test]
fn results_come_back() -> Result<(), Failure> {
    let x: Vec<f32> = (0_u8..200).map(f32::from).collect();
    let mut y = vec![1.0; 200];
    let report = saxpy(&x, &mut y, 200)?;
    assert!(y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x + 1.0));
    assert_eq!((report.counters.bank_conflicts, report.printed.as_str()), (0, ""));
    assert!(report.counters.global_requests > 0);
    Ok(())
}

/// A struct of a user, which a kernel takes by value and returns in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
struct Extent {
    least: f32,
    most: f32,
}

#[test]
fn structs_are_elements_and_parameters() -> Result<(), Failure> {
    let kernels = test_text(&format!(
        "{HEAD}.visible .entry swap(.param .align 4 .b8 value[8], .param .u64 out)
{{
    .reg .f32 %f<4>; .reg .b64 %rd<4>;
    ld.param.f32 %f1, [value];
    ld.param.f32 %f2, [value+4];
    ld.param.u64 %rd1, [out];
    st.global.f32 [%rd1], %f2;
    st.global.f32 [%rd1+4], %f1;
    ret;
}}"
    ))?;
    let mut out: Vec<Extent> = Vec::new();
    let value = Extent { least: 1.0, most: 2.0 };
    kernels.entry("swap").grid(1).block(1).arg(value).output(&mut out, 1).run()?;
    assert_eq!(out, [Extent { least: 2.0, most: 1.0 }]);
    let failure = kernels.entry("swap").grid(1).block(1).arg(value).output(&mut out, 2).run().expect_err("one element");
    let text = failure.to_string();
    assert!(text.contains("element 1 of the output `out` (2 Extent) is not written"), "{text}");
    Ok(())
}

#[test]
fn a_failure_is_a_report_and_changes_nothing() {
    let mut y = vec![1.0; 199];
    let failure = saxpy(&[0.5; 200], &mut y, 200).expect_err("too few elements");
    assert_eq!((failure.codes(), failure.seed()), (vec!["out-of-bounds"], None));
    assert!(y.iter().all(|&y| y == 1.0));
    // `unwrap` prints the `Debug` form.
    let text = format!("{failure:?}");
    assert!(
        text.starts_with(
            "\n`saxpy` of examples/saxpy.ptx, grid (4, 1, 1), block (64, 1, 1) failed:\n\nerror[out-of-bounds]"
        ),
        "{text}"
    );
    assert!(text.contains("`result` (796 bytes)") && text.contains("block (3, 0, 0), thread (7, 0, 0)"), "{text}");
}

#[test]
fn arguments_are_checked_against_parameters() -> Result<(), Failure> {
    let saxpy = test("examples/saxpy.ptx")?;
    let few = saxpy.entry("saxpy").grid(1).block(1).arg(1_u32).run().expect_err("few");
    assert_eq!(few.codes(), ["parameters"]);
    let text = few.to_string();
    assert!(text.contains("`saxpy` takes 4 parameters, but 1 was given"), "{text}");
    assert!(text.contains("1: `a`, 4 bytes: given nothing"), "{text}");
    let wide = saxpy.entry("saxpy").grid(1).block(1).arg(1_u64).arg(1.0_f32).buffer(&[0_f32]).scratch::<f32>(1);
    let text = wide.run().expect_err("wide").to_string();
    assert!(text.contains("parameter 0 of `saxpy`, `n`, has 4 bytes, but was given u64 (8 bytes)"), "{text}");
    assert!(text.contains("2: `x`, 8 bytes: given the address of 1 f32 (8 bytes)"), "{text}");
    let text = saxpy.entry("sax").grid(1).block(1).run().expect_err("name").to_string();
    assert!(text.contains("no kernel `sax`") && text.contains("saxpy"), "{text}");
    Ok(())
}

#[test]
fn wrong_use_is_reported() -> Result<(), Failure> {
    let kernels = test_text(&kernel(""))?;
    let run = |test: ptx_sim::harness::Test<'_>| test.run().expect_err("wrong use").to_string();
    assert!(run(kernels.entry("k").block(1).scratch::<u8>(1)).contains("no `grid`"));
    assert!(run(kernels.entry("k").grid(1).scratch::<u8>(1)).contains("no `block`"));
    assert!(run(kernels.entry("k").grid(1).block(1).named("x")).contains("directly follow a buffer"));
    assert!(run(kernels.entry("k").grid(1).block(1).arg(1_u64).named("x")).contains("directly follow a buffer"));
    assert!(run(kernels.entry("k").grid(1).block(1).arg(1_u64).profile("abacus")).contains("abacus"));
    assert_eq!(test("no such file.ptx").expect_err("file").codes(), ["unreadable"]);
    let bad = test_text("\nabc").expect_err("PTX");
    assert_eq!(bad.codes(), ["bad-ptx"]);
    assert!(bad.to_string().contains("line 2"), "{bad}");
    Ok(())
}

#[test]
fn shapes_and_shared_memory() -> Result<(), Failure> {
    let ptx = format!(
        "{HEAD}.visible .entry shape(.param .u64 out)
{{
    .reg .b32 %r<8>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %nctaid.x; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %nctaid.z; mov.u32 %r4, %dynamic_smem_size;
    st.global.v4.b32 [%rd1], {{%r1, %r2, %r3, %r4}};
    ret;
}}"
    );
    let shape = test_text(&ptx)?;
    let launch = |grid: ptx_sim::harness::Dim| -> Result<Vec<u32>, Failure> {
        let mut out = Vec::new();
        let checks = Checks { race: false, ..Checks::DEFECTS };
        shape.entry("shape").grid(grid).block((1, 1)).shared(48).checks(checks).output(&mut out, 4).run()?;
        Ok(out)
    };
    assert_eq!(launch(3.into())?, [3, 1, 1, 48]);
    assert_eq!(launch((3, 4).into())?, [3, 4, 1, 48]);
    assert_eq!(launch((3, 4, 5).into())?, [3, 4, 5, 48]);
    assert_eq!(launch([3, 4, 5].into())?, [3, 4, 5, 48]);
    Ok(())
}

#[test]
fn values_arrive_as_they_are() -> Result<(), Failure> {
    let ptx = format!(
        "{HEAD}.visible .entry k(.param .u8 a, .param .f64 b, .param .align 4 .b8 c[12], .param .u64 from, \
         .param .u64 len, .param .u64 out)
{{
    .reg .b16 %rs<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    ld.param.s8 %rs1, [a]; cvt.s64.s16 %rd2, %rs1; st.global.b64 [%rd1], %rd2;
    ld.param.b64 %rd3, [b]; st.global.b64 [%rd1+8], %rd3;
    ld.param.u32 %r1, [c+8]; cvt.u64.u32 %rd4, %r1; st.global.b64 [%rd1+16], %rd4;
    ld.param.u64 %rd5, [len]; st.global.b64 [%rd1+24], %rd5;
    ld.param.u64 %rd6, [from]; ld.global.u16 %rd7, [%rd6+2]; st.global.b64 [%rd1+32], %rd7;
    ret;
}}"
    );
    let mut out = vec![7_i64];
    let test = test_text(&ptx)?.entry("k").grid(1).block(1).arg(-3_i8).arg(0.5_f64).arg([7_u32, 8, 9]);
    test.slice(&[1_u16, 2, 3]).named("from").output(&mut out, 5).run()?;
    assert_eq!(out, [-3, 0.5_f64.to_bits() as i64, 9, 3, 2]);
    Ok(())
}

#[test]
fn an_output_is_written_completely() -> Result<(), Failure> {
    let most = test_text(&kernel("setp.eq.u32 %p1, %r1, 20;\n@!%p1 st.global.b32 [%rd3], %r1;"))?;
    let mut out: Vec<u32> = vec![];
    let failure = most.entry("k").grid(1).block(32).output(&mut out, 32).run().expect_err("one is missing");
    assert_eq!(failure.codes(), ["output-not-written"]);
    let text = failure.to_string();
    assert!(text.contains("element 20 of the output `out` (32 u32)") && text.contains("4 of its 128 bytes"), "{text}");
    assert!(out.is_empty());
    // `buffer_mut` allows elements that are not written.
    let mut given = [9_u32; 32];
    most.entry("k").grid(1).block(32).buffer_mut(&mut given).run()?;
    assert_eq!((given[19], given[20]), (19, 9));
    // Without the check, unwritten elements are zero.
    most.entry("k").grid(1).block(32).output(&mut out, 32).checks(Checks::NONE).run()?;
    assert_eq!((out.len(), out[20], out[31]), (32, 0, 31));
    Ok(())
}

#[test]
fn every_checker_is_on() -> Result<(), Failure> {
    let racy = test_text(&kernel("st.global.b32 [%rd1], %r1;"))?;
    let failure = racy.entry("k").grid(1).block(64).buffer_mut(&mut [0_u32]).run().expect_err("a race");
    assert!(failure.codes().contains(&"race-waw") && failure.stop().is_none(), "{failure}");
    let undefined = test_text(&kernel("ld.global.b32 %r2, [%rd3];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 trap;"))?;
    let failure = undefined.entry("k").grid(1).block(1).scratch::<u32>(1).run().expect_err("undefined");
    assert!(failure.codes().contains(&"uninit-branch"), "{failure}");
    Ok(())
}

#[test]
fn other_schedules_are_run_and_compared() -> Result<(), Failure> {
    // The first block to arrive gets the first ticket.
    let tickets = test_text(&kernel(
        "mov.u32 %r2, %ctaid.x; mad.lo.s32 %r3, %r2, 32, %r1; mul.wide.u32 %rd4, %r3, 4; add.s64 %rd5, %rd1, %rd4;
         atom.global.add.u32 %r4, [%rd1], 1; st.global.b32 [%rd5+4], %r4;",
    ))?;
    let mut out = [0_u32; 257];
    let run = |out: &mut [u32]| tickets.entry("k").grid(8).block(32).buffer_mut(out).seeds(8).reproducible().run();
    let failure = run(&mut out).expect_err("depends on the order");
    assert_eq!(failure.codes(), ["not-reproducible"]);
    assert!(failure.seed().is_some() && failure.to_string().contains("under the schedule of seed"), "{failure}");
    tickets.entry("k").grid(8).block(32).buffer_mut(&mut out).seeds(8).run()?;
    assert_eq!(out[0], 256);
    Ok(())
}

#[test]
fn a_test_ends() -> Result<(), Failure> {
    let endless = test_text(&kernel("AGAIN: atom.global.add.u32 %r2, [%rd1], 1; bra AGAIN;"))?;
    let failure = endless.entry("k").grid(1).block(1).buffer(&[0_u32]).fuel(1000).run().expect_err("endless");
    assert_eq!(failure.stop().map(ptx_sim::Stop::kind), Some(ptx_sim::StopKind::Stuck));
    Ok(())
}
