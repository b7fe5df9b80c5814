//! What concerns the whole process: its output, its copies, and its end. A test runs itself again as the program.

use super::*;
use std::process::Command;

/// Says to the test that it is the program.
const ROLE: &str = "RUSTWARP_TEST_ROLE";

/// Runs a test again as the program with these settings of the driver, and returns what that has written to its
/// standard output.
fn program(test: &str, settings: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([test, "--exact", "--nocapture"]).env(ROLE, "program");
    let output = command.envs(settings.iter().copied()).output().expect("it runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    shown
}

/// Runs a test in a process of its own, and returns whether this is that process.
pub fn is_alone(test: &str) -> bool {
    if !is_program() {
        program(test, &[]);
    }
    is_program()
}

fn is_program() -> bool {
    std::env::var_os(ROLE).is_some()
}

/// Starts the driver as the settings say.
fn begin() {
    let mut context = 0;
    ok(unsafe { cuInit(0) });
    ok(unsafe { cuCtxCreate_v2(&mut context, 0, 0) });
}

/// Writes to the standard output past all buffers.
fn write(text: &str) {
    assert_eq!(unsafe { libc::write(1, text.as_ptr().cast(), text.len()) }, text.len() as isize);
}

/// What kernels print is shown by the calls that the documentation lists, after what the program has printed; and when
/// the program ends.
#[test]
fn what_kernels_print_is_shown_at_synchronisation() {
    static GATE: Gate = Gate(Mutex::new(false), std::sync::Condvar::new());
    extern "C" fn called(_: usize, _: u32, _: usize) {
        write("callback\n");
        GATE.open();
    }
    if is_program() {
        begin();
        let (say, stream, event, data) = (function(module(), "say"), stream(), event(), words([0; 32]));
        let host = [0_u32; 32];
        let waits: [(&str, &dyn Fn() -> u32); 5] = [
            ("stream\n", &|| unsafe { cuStreamSynchronize(stream) }),
            ("event\n", &|| unsafe { cuEventSynchronize(event) }),
            ("context\n", &|| unsafe { cuCtxSynchronize() }),
            ("copy\n", &|| unsafe { cuMemcpyHtoD_v2(data, host.as_ptr() as u64, 128) }),
            ("launch\n", &|| launch(say, stream, &[])),
        ];
        for (name, wait) in waits {
            ok(launch(say, stream, &[]));
            ok(unsafe { cuEventRecord(event, stream) });
            ok(unsafe { cuStreamQuery(stream) });
            write(name);
            ok(wait());
        }
        write("callback follows\n");
        ok(unsafe { cuStreamAddCallback(stream, called as *const () as usize, 0, 0) });
        GATE.wait();
        while unsafe { cuStreamQuery(stream) } != 0 {}
        ok(launch(say, stream, &[]));
        unsafe { libc::printf(c"buffered by C\n".as_ptr()) };
        write("end\n");
        // Exit handlers run, and the test's output does not follow.
        unsafe { libc::exit(0) };
    }
    let shown = program("process::what_kernels_print_is_shown_at_synchronisation", &[]);
    let lines: Vec<&str> = shown.lines().skip_while(|line| *line != "stream").collect();
    let expected = "stream kernel event kernel context kernel copy kernel launch kernel callback follows kernel \
                    callback end buffered by C kernel";
    assert_eq!(lines.join(" "), expected, "{shown}");
}

/// A process that is forked after the initialisation cannot use the driver, and has no memory that leaks.
#[test]
fn a_forked_process() {
    let path = format!("{}/forked-{}.jsonl", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    if is_program() {
        begin();
        words([1; 32]);
        let child = unsafe { libc::fork() };
        if child == 0 {
            let mut address = 0;
            let codes = unsafe { (cuInit(0), cuMemAlloc_v2(&mut address, 4)) };
            // Exit handlers run, as those of a program do.
            unsafe { libc::exit(i32::from(codes != (3, 3))) };
        }
        let mut status = -1;
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child's codes are CUDA_ERROR_NOT_INITIALIZED");
        return;
    }
    program("process::a_forked_process", &[("RUSTWARP_SIM_LEAKS", "1"), ("RUSTWARP_SIM_REPORT", &path)]);
    let report = std::fs::read_to_string(&path).expect("a report");
    let entries = report.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let kinds: Vec<String> = entries.map(|entry| format!("{} {}", entry["kind"], entry["code"])).collect();
    assert_eq!(kinds, [r#""started" null"#, r#""finding" "host-leak""#], "{report}");
}

/// A table that the driver does not have is refused by name.
#[test]
fn a_refused_table_is_logged() {
    let path = format!("{}/refused-{}.log", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    if is_program() {
        let mut table = std::ptr::null();
        for _ in 0..2 {
            assert_eq!(unsafe { cuGetExportTable(&mut table, [0_u8; 16].as_ptr().cast()) }, 1);
        }
        return;
    }
    program("process::a_refused_table_is_logged", &[("RUSTWARP_SIM_LOG", &path)]);
    assert_eq!(std::fs::read_to_string(&path).expect("a log"), "cuda_sim: cuGetExportTable is not supported\n");
}

/// What is refused because the simulator lacks it is logged by name.
#[test]
fn what_is_missing_is_logged() {
    let path = format!("{}/missing-{}.log", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    if is_program() {
        begin();
        let (mut array, mut surface, mut pool, mut resource, mut properties) = (0, 0, 0, [0; 18], [0; 22]);
        let data = words([0; 32]);
        let mut tokens = [0_u64; 2];
        // 4 by 4 words of one channel, a cube map; a mipmapped array is no resource of a surface.
        let cube = [4, 4, 6, 3 | 1 << 32, 4];
        resource[0] = 1;
        (properties[0], properties[1], properties[2]) = (1, 1, 1);
        let codes = unsafe {
            [
                cuDeviceGetLuid(std::ptr::null_mut(), std::ptr::null_mut(), 0),
                cuArray3DCreate_v2(&mut array, &cube),
                cuSurfObjectCreate(&mut surface, &resource),
                cuMemPoolCreate(&mut pool, &properties),
                cuPointerGetAttribute(tokens.as_mut_ptr().cast(), 5, data),
                cuMemHostRegister_v2(data, 128, 4),
            ]
        };
        assert_eq!(codes, [801, 801, 1, 801, 801, 801]);
        return;
    }
    program("process::what_is_missing_is_logged", &[("RUSTWARP_SIM_LOG", &path)]);
    let log = std::fs::read_to_string(&path).expect("a log");
    let names = [
        "cuDeviceGetLuid",
        "cuArray3DCreate of a cube map",
        "cuMemPoolCreate with handles for other processes",
        "CU_POINTER_ATTRIBUTE_P2P_TOKENS",
        "cuMemHostRegister of I/O memory",
    ];
    let expected = names.map(|name| format!("cuda_sim: {name} is not supported"));
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
}

/// A launch that the simulator refuses is logged with what to do instead.
#[test]
fn a_launch_from_a_kernel_is_explained() {
    let path = format!("{}/nested-{}.log", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    if is_program() {
        begin();
        let text = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func __cudaCDP2LaunchDeviceV2();\n\
                    .visible .entry parent() { call.uni __cudaCDP2LaunchDeviceV2, (); ret; }";
        let (mut module, text) = (0, CString::new(text).expect("text"));
        ok(unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) });
        assert_ne!(launch(function(module, "parent"), 0, &[]), 0);
        return;
    }
    program("process::a_launch_from_a_kernel_is_explained", &[("RUSTWARP_SIM_LOG", &path)]);
    let log = std::fs::read_to_string(&path).expect("a log");
    assert!(log.contains("`__cudaCDP2LaunchDeviceV2` is not defined; it launches a kernel from a kernel"), "{log}");
    assert!(log.contains("launch that kernel from the host"), "{log}");
}
