//! `host sanitize`: this program is also the client, on the simulated driver.
#![cfg(target_os = "linux")]

// Its library is built beside this program, as those of `cudart12_sim` and `cudart13_sim` are, of which a program can
// contain only one.
use cuda_sim as _;

mod program;

use program::{command, lines, program, text};
use std::process::Output;

/// Runs a client under `host sanitize` with these options.
fn sanitize(options: &[&str], client: &[&str]) -> Output {
    command(&[&["sanitize"], options, &["--"], client].concat()).output().expect("the binary runs")
}

const HOST: &str = env!("CARGO_BIN_EXE_host");

/// A client that launches a kernel with a race.
fn racy() -> Vec<String> {
    let ptx = program("fail/race_across_named_barriers.ptx");
    ["run", &ptx, "--entry", "k", "--grid", "1", "--block", "128", "--arg", "buf:u32:128", "--device", "gpu"]
        .map(str::to_owned)
        .into()
}

fn client(arguments: &[String]) -> Vec<&str> {
    [HOST].into_iter().chain(arguments.iter().map(String::as_str)).collect()
}

#[test]
fn a_clean_program_ends_with_its_own_code() {
    let output =
        sanitize(&[], &[HOST, "vecadd", "--variant", "grid_stride", "--n", "1000", "--device", "gpu", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let row = &lines(&text(&output.stdout))[0];
    assert_eq!((row["verified"].as_bool(), row["device"].as_str()), (Some(true), Some("gpu:0")));
    assert!(text(&output.stderr).contains("sanitize: nothing found\n"), "{}", text(&output.stderr));
    let failed = sanitize(&[], &["sh", "-c", "exit 7"]);
    assert_eq!(failed.status.code(), Some(7));
    assert!(text(&failed.stderr).contains("`sh` has not used the CUDA driver"), "{}", text(&failed.stderr));
    assert_eq!(sanitize(&[], &["sh", "-c", "kill -9 $$"]).status.code(), Some(137));
}

#[test]
fn a_race_is_found_once_in_all_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (sarif, json) = (folder.path().join("found.sarif"), folder.path().join("found.jsonl"));
    let options = ["--sarif", &sarif.display().to_string(), "--json", &json.display().to_string()];
    // Two processes, and an end by a signal.
    let racy = racy();
    let quoted = client(&racy).join(" ");
    let both = format!("{quoted} && {quoted}; kill -9 $$");
    let output = sanitize(&options, &["sh", "-c", &both]);
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    let found = lines(&std::fs::read_to_string(json).expect("findings"));
    assert!(!found.is_empty() && found.iter().all(|finding| finding["kind"] == "finding"), "{found:?}");
    let races = found.iter().filter(|finding| finding["code"] == "race-raw").count();
    assert_eq!(races, 1, "{found:?}");
    assert!(shown.contains("sanitize: ") && shown.contains("finding[race-raw]: data race on shared memory"), "{shown}");
    let sarif: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(sarif).expect("findings")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(found.len()));
}

/// Silence of a program that has not used the driver is an error, and its list of findings is empty.
#[test]
fn a_program_without_cuda_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("found.jsonl").display().to_string();
    let output = sanitize(&["--json", &json], &["true"]);
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{shown}");
    assert!(shown.contains("`true` has not used the CUDA driver") && !shown.contains("nothing found"), "{shown}");
    assert_eq!(std::fs::read_to_string(json).expect("a list"), "");
}

/// A finding decides, also in a report with a line that cannot be read, which alone is an error.
#[test]
fn a_bad_line_of_the_report_does_not_hide_findings() {
    let racy = racy();
    let bad = "echo '{' >> $RUSTWARP_SIM_REPORT";
    for (program, code) in [(format!("{}; {bad}", client(&racy).join(" ")), 1), (bad.to_owned(), 2)] {
        let output = sanitize(&[], &["sh", "-c", &program]);
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{shown}");
        assert!(shown.contains("1 lines of the driver's report cannot be read"), "{shown}");
        assert!(!shown.contains("has not used"), "{shown}");
    }
}

/// What is not freed is found with `--leaks` alone; a program that frees everything has no finding. The program is this
/// test again.
#[test]
fn leaks_are_found() {
    const ROLE: &str = "RUSTWARP_TEST_ROLE";
    if let Ok(role) = std::env::var(ROLE) {
        return allocate(role == "free");
    }
    let run = |options: &[&str], role: &str| {
        let (role, program) = (format!("{ROLE}={role}"), std::env::current_exe().expect("this program"));
        let program = program.display().to_string();
        let output = sanitize(options, &["env", &role, &program, "--exact", "leaks_are_found"]);
        (output.status.code(), text(&output.stderr))
    };
    let (code, shown) = run(&["--leaks"], "keep");
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("finding[host-leak]: `cuMemAlloc 1` (1000 bytes) is not freed"), "{shown}");
    assert!(shown.contains("sanitize: 1 defect found"), "{shown}");
    for (options, role) in [(&["--leaks"][..], "free"), (&[], "keep")] {
        let (code, shown) = run(options, role);
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains("sanitize: nothing found; no kernel has run\n"), "{shown}");
        assert!(!shown.contains("host-leak"), "{shown}");
    }
}

/// Loads and initialises the driver. As in a program that is linked to it, it stays until the process ends.
fn driver() -> &'static libloading::Library {
    // SAFETY: the driver's initialisers only set up the standard library; the function has this type in `cuda.h`.
    unsafe {
        let driver = libloading::Library::new("libcuda.so.1").expect("`host sanitize` gives it");
        let initialise = driver.get::<unsafe extern "C" fn(u32) -> u32>(b"cuInit").expect("the function");
        assert_eq!(initialise(0), 0);
        Box::leak(Box::new(driver))
    }
}

/// Allocates memory, and frees it on request.
fn allocate(frees: bool) {
    type Code = u32;
    let (driver, mut context, mut memory) = (driver(), 0_usize, 0_u64);
    // SAFETY: the driver's functions have these types, and the pointers are valid.
    unsafe {
        let create = driver.get::<unsafe extern "C" fn(*mut usize, u32, i32) -> Code>(b"cuCtxCreate_v2");
        assert_eq!(create.expect("the function")(&mut context, 0, 0), 0);
        let allocate = driver.get::<unsafe extern "C" fn(*mut u64, usize) -> Code>(b"cuMemAlloc_v2");
        assert_eq!(allocate.expect("the function")(&mut memory, 1000), 0);
        let free = driver.get::<unsafe extern "C" fn(u64) -> Code>(b"cuMemFree_v2").expect("the function");
        assert!(!frees || free(memory) == 0);
    }
}

#[test]
fn checks_seeds_and_leaks() {
    let racy = racy();
    let output = sanitize(&["--checks", "none"], &client(&racy));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = sanitize(&["--checks", "race", "--seeds", "2"], &client(&racy));
    let shown = text(&output.stderr);
    assert!(shown.contains("found in 2 runs:") && shown.contains("(first with seed 0)"), "{shown}");
    let output = sanitize(&["--leaks", "--devices", "2", "--profile", "a100"], &[HOST, "devices", "--json"]);
    let rows = lines(&text(&output.stdout));
    let names: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names.iter().filter(|name| **name == "Simulated A100").count(), 2, "{names:?}");
}

#[test]
fn bad_use_says_what_to_do() {
    for (options, client, words) in [
        (&["--checks", "races"][..], "true", "expected all, none, or some of streams, host, race, "),
        (&["--profile", "H2000"], "true", "unknown device profile `H2000`"),
        (&["--library", "no-such.so"], "true", "no driver's library no-such.so"),
        (&[], "no-such-program", "cannot start `no-such-program`"),
    ] {
        let output = sanitize(options, &[client]);
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
}

/// Set for the process that is the client of the test below.
const CLIENT: &str = "RUSTWARP_TEST_CLIENT";

/// Asks the driver for a table, as NVIDIA's libraries do, and returns the code.
fn ask_for(table: [u8; 16]) -> u32 {
    use std::ffi::c_void;
    // SAFETY: the function has this type in `cuda.h`, and the pointers are valid.
    unsafe {
        let ask = driver()
            .get::<unsafe extern "C" fn(*mut *const c_void, *const [u8; 16]) -> u32>(b"cuGetExportTable")
            .expect("a function");
        ask(&mut std::ptr::null(), &table)
    }
}

#[test]
fn a_program_with_nvidias_runtime_is_told_how_to_relink() {
    // The table that NVIDIA's runtime library needs, and one for which NVRTC asks, which goes on without.
    let runtime = 0x6bd5_fb6c_5bf4_e74a_8987_d939_12fd_9df9_u128.to_be_bytes();
    let compiler = 0xda91_51d3_3ae6_cc41_a5c0_4f26_d533_e328_u128.to_be_bytes();
    if let Ok(client) = std::env::var(CLIENT) {
        let code = ask_for(if client == "runtime" { runtime } else { compiler });
        assert_eq!(code, 1, "CUDA_ERROR_INVALID_VALUE");
        return;
    }
    let this = std::env::current_exe().expect("this program").display().to_string();
    let own = format!("{this} --exact a_program_with_nvidias_runtime_is_told_how_to_relink");
    let run = |client: &str| sanitize(&[], &["sh", "-c", &format!("{CLIENT}={client} {own}")]);
    let output = run("runtime");
    let shown = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{shown}");
    assert!(!shown.contains("nothing found") && shown.contains("sanitize: the program cannot be checked:"), "{shown}");
    let line = shown.lines().find(|line| line.starts_with("unsupported[nvidia-runtime]")).expect("a line");
    assert!(line.contains("nvcc -cudart shared") && line.contains("CUDA_RUNTIME_LIBRARY Shared"), "{line}");
    let output = run("compiler");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("nothing found; no kernel has run"));
}

#[test]
fn runtime_libraries_are_on_the_path_of_the_program() {
    let script =
        "for name in libcuda.so.1 libcudart.so.12 libcudart.so.13; do readlink ${LD_LIBRARY_PATH%%:*}/$name; done";
    let output = sanitize(&[], &["sh", "-c", script]);
    let shown = text(&output.stdout);
    let files: Vec<&str> = shown.lines().filter_map(|line| line.rsplit('/').next()).collect();
    assert_eq!(files, ["libcuda_sim.so", "libcudart12_sim.so", "libcudart13_sim.so"], "{}", text(&output.stderr));
}

/// The limits on a launch, and the choice to go on after a faulty access, reach the driver.
#[test]
fn limits_and_faults_of_launches() {
    let folder = tempfile::tempdir().expect("a folder");
    let ptx = folder.path().join("loop.ptx").display().to_string();
    let source = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
        .reg .b64 %rd<2>;\n ld.param.u64 %rd1, [p];\nL: st.volatile.global.u32 [%rd1], 1;\n bra L;\n}\n";
    std::fs::write(&ptx, source).expect("PTX");
    let endless = [HOST, "run", &ptx, "--entry", "k", "--arg", "buf:u32:1", "--device", "gpu"];
    for (limit, code) in [(["--timeout", "1"], "timeout"), (["--fuel", "10000"], "fuel")] {
        let output = sanitize(&limit, &endless);
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{shown}");
        assert!(shown.contains(&format!("[{code}]: the kernel exceeded the limit of")), "{shown}");
    }
    let ptx = program("fail/keep_going_past_the_end.ptx");
    let launch = [HOST, "run", &ptx, "--entry", "k", "--block", "64", "--device", "gpu"];
    let buffers = ["--arg", "buf:u32:32", "--arg", "buf:u32:32", "--arg", "buf:u32:1"];
    for (options, races) in [(&[][..], false), (&["--keep-going"], true)] {
        let output = sanitize(options, &[&launch[..], &buffers].concat());
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{shown}");
        assert!(shown.contains("[out-of-bounds]") && shown.contains("[race-waw]") == races, "{shown}");
    }
}

/// What the memory model leaves open is chosen as in `host check`.
#[test]
fn the_race_checker_is_configured() {
    let ptx = program("fail/race_volatile_flag.ptx");
    let launch = [HOST, "run", &ptx, "--entry", "k", "--grid", "2", "--block", "32", "--device", "gpu"];
    let client = [&launch[..], &["--arg", "buf:u32:2", "--arg", "buf:u32:1"]].concat();
    for (options, code) in [(&[][..], 0), (&["--volatile", "strong"], 0), (&["--volatile", "weak"], 1)] {
        let output = sanitize(options, &client);
        assert_eq!(output.status.code(), Some(code), "{options:?}: {}", text(&output.stderr));
    }
    let refused = sanitize(&["--atomics", "maybe"], &["true"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
}
