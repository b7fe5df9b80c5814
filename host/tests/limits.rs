//! Limits on a launch, faults after which it goes on, and structures as parameters.

mod program;

use program::{host, program, text};

/// A kernel that loops forever.
const ENDLESS: &str = "\
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [p];
L:
    ld.volatile.global.u32 %r1, [%rd1];
    st.volatile.global.u32 [%rd1], %r1;
    bra L;
}
";

/// A launch ends when its fuel or its time is used up, also if the kernel would loop forever.
#[test]
fn limits_end_an_endless_loop() {
    let folder = tempfile::tempdir().expect("a folder");
    let ptx = folder.path().join("loop.ptx");
    std::fs::write(&ptx, ENDLESS).expect("PTX");
    let ptx = ptx.display().to_string();
    for (limit, words) in [(["--fuel", "100000"], "100000 warp instructions"), (["--timeout", "1"], "limit of 1s")] {
        let launch = ["--entry", "k", "--arg", "buf:u32:1"];
        for command in [&["run", &ptx, "--device", "sim"][..], &["check", &ptx]] {
            let output = host(&[command, &launch, &limit].concat());
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(4), "{error}");
            assert!(error.contains(words) && error.contains("raise the limit"), "{error}");
        }
    }
}

/// A launch goes on after a faulty access, which is a finding then, and ends with the code of findings.
#[test]
fn a_faulty_access_is_a_finding_where_the_run_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out.csv").display().to_string();
    let ptx = program("fail/keep_going_past_the_end.ptx");
    let buffers = ["--arg", "buf:u32:32", "--arg", "buf:u32:32", "--arg", "buf:u32:1"];
    let launch = [&["run", &ptx, "--entry", "k", "--block", "64", "--device", "sim"], &buffers[..]].concat();
    let output = host(&launch);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{error}");
    assert!(error.contains("[out-of-bounds]") && !error.contains("the run went on"), "{error}");
    let output = host(&[&launch[..], &["--keep-going", "--out", &format!("2={out}")]].concat());
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("finding[out-of-bounds]") && error.contains("the run went on"), "{error}");
    assert!(std::fs::read_to_string(out).is_ok(), "the kernel has run to its end");
}

/// A parameter that is a structure has its bytes from the command line, or from a file.
#[test]
fn structures_as_parameters() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let source = "\
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out, .param .align 4 .b8 s[8])
{
    .reg .b64 %rd<2>;
    .reg .b32 %r<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [s];
    ld.param.u32 %r2, [s+4];
    st.global.u32 [%rd1], %r2;
    st.global.u32 [%rd1+4], %r1;
    ret;
}
";
    std::fs::write(at("k.ptx"), source).expect("PTX");
    std::fs::write(at("s.bin"), [7_u32.to_le_bytes(), 1000_u32.to_le_bytes()].concat()).expect("bytes");
    let (ptx, out) = (at("k.ptx"), at("out.csv"));
    let save = format!("0={out}");
    let launch = |bytes: &str| {
        host(&["run", &ptx, "--entry", "k", "--device", "sim", "--arg", "buf:u32:2", "--out", &save, "--arg", bytes])
    };
    for bytes in ["bytes:07000000e8030000".to_owned(), format!("bytes:@{}", at("s.bin"))] {
        let output = launch(&bytes);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let numbers = std::fs::read_to_string(&out).expect("the buffer");
        assert_eq!(numbers.split_whitespace().collect::<Vec<_>>(), ["1000", "7"], "{bytes}");
    }
    for (bytes, words) in [
        ("bytes:07", "has 1 bytes, and parameter `s` of `k` has 8"),
        ("bytes:0g", "not pairs of hexadecimal digits"),
        ("bytes:@no-such-file", "cannot read `no-such-file`"),
    ] {
        let output = launch(bytes);
        assert_eq!(output.status.code(), Some(2), "{bytes}");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}
