//! Launching and checking any PTX file on the simulator, and the messages about it.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod program;

use program::{data, host, object, program, refused, refused_in_a_line, rows, text};
use serde_json::Value;
use std::path::PathBuf;

/// A kernel in PTX: `out[i] = in[i] * factor`, without the test of the length when `n` is not passed on.
const SCALE: &str = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 input, .param .u64 output, .param .f32 factor)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.b64 %rd1, [input];
    ld.param.b64 %rd2, [output];
    ld.param.b32 %r3, [factor];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.b32 %r2, [%rd4];
    mul.rn.f32 %r2, %r2, %r3;
    st.global.b32 [%rd5], %r2;
    ret;
}
";

#[test]
fn any_ptx_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let ptx = folder.path().join("scale.ptx");
    std::fs::write(&ptx, SCALE).expect("a file");
    let ptx = ptx.display().to_string();
    let out = folder.path().join("out.npy").display().to_string();
    let input = format!("buf:f32:@{}", data("version2.npy"));
    let common = [
        "--entry",
        "scale",
        "--grid",
        "1",
        "--device",
        "sim",
        "--arg",
        &input,
        "--arg",
        "buf:f32:4",
        "--arg",
        "f32:1.5",
    ];

    let output = host(&[&["run", &ptx, "--block", "4", "--out", &format!("1={out}")], &common[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let sum = rows(&["reduce", "--input", &out, "--variant", "best", "--device", "sim", "--json"]);
    assert_eq!(sum[0]["value"].as_f64(), Some(9.0), "(0 + 1 + 2 + 3) * 1.5");

    // A buffer is not a picture, which is said before the kernel runs: this launch would be a fault.
    let png = folder.path().join("out.png").display().to_string();
    let png = format!("1={png}");
    let picture = [&["run", &ptx, "--block", "5", "--out", &png], &common[..]].concat();
    refused_in_a_line(&picture, 2, &["out.png", "is not a picture", ".npy"]);

    let late = folder.path().join("late.npy").display().to_string();
    let output = host(&[&["run", &ptx, "--block", "5", "--out", &format!("1={late}")], &common[..]].concat());
    assert_eq!(output.status.code(), Some(4), "thread 4 reads past the end: {}", text(&output.stderr));
    assert!(text(&output.stderr).contains("(4, 0, 0)"), "{}", text(&output.stderr));
    assert!(!PathBuf::from(late).exists(), "no output file after a fault");

    std::fs::write(&ptx, SCALE.replace("mul.wide.u32", "mul.wide.u32 %rd9 {")).expect("a file");
    refused(&[&["run", &ptx, "--block", "4"], &common[..]].concat(), 2, &["scale.ptx"]);
}

#[test]
fn check_is_the_same_for_families_and_files() {
    refused_in_a_line(&["check", "vecadd", "--device", "gpu"], 2, &["--device"]);
    refused(&["check", "--atomics", "strong", "vecadd"], 2, &["--atomics", "'strong'"]);
    let file = program("pass/vecadd.ptx");
    refused(&["check", &file, "--device", "gpu"], 2, &["--device"]);
    let printf = program("pass/printf.ptx");
    for args in [
        &["check", "vecadd", "--n", "1000"][..],
        &["check", "--atomics", "ptx", "vecadd", "--n", "1000"],
        &["check", &printf, "--entry", "hello", "--block", "2", "--arg", "buf:u32:1"],
    ] {
        let output = host(args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let lines = text(&output.stderr);
        let lines: Vec<_> = lines.lines().collect();
        assert_eq!(lines, ["using the simulator: check always does", "clean: no checker found anything"], "{args:?}");
    }
}

#[test]
fn help_of_what_is_checked() {
    for (args, option) in [
        (&["check", "--help"][..], "TARGET"),
        (&["check", "reduce", "--help"], "--variant"),
        (&["check", "x.ptx", "--help"], "--entry"),
    ] {
        // The file need not exist for its help to be shown.
        let output = host(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}\n{}", text(&output.stderr));
        let help = text(&output.stdout);
        assert!(help.contains(option) && !help.contains("Options of"), "{args:?}\n{help}");
    }
}

#[test]
fn what_kernels_print_keeps_out_of_json() {
    let printf = program("pass/printf.ptx");
    let args = ["run", &printf, "--entry", "hello", "--block", "2", "--arg", "buf:u32:1", "--device", "sim"];
    assert!(text(&host(&args).stdout).contains("block 0 thread 1: 1.50"));
    let args = [&args[..], &["--json"]].concat();
    assert!(object(&args, 0)["fault"].is_null());
    assert!(text(&host(&args).stderr).contains("block 0 thread 1: 1.50"));
}

#[test]
fn fidelity_of_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scale.ptx");
    let program = SCALE.replace("mul.rn.f32 ", "div.approx.f32 ");
    std::fs::write(&path, &program).expect("a file");
    let line = program.lines().position(|line| line.contains("div.approx")).expect("the division") + 1;
    let ptx = path.display().to_string();
    let input = format!("buf:f32:@{}", data("version2.npy"));
    let launch = ["--entry", "scale", "--block", "4", "--arg", &input, "--arg", "buf:f32:4", "--arg", "f32:1"];
    let run = [&["run", &ptx, "--device", "sim"], &launch[..]].concat();
    assert!(object(&[&run[..], &["--json"]].concat(), 0)["fidelity"].is_null());
    let rows = object(&[&run[..], &["--fidelity", "--json"]].concat(), 0);
    let division = &rows["fidelity"][0];
    assert_eq!(
        (&division["opcode"], &division["fidelity"]),
        (&"div.approx.f32".into(), &"approximate".into()),
        "{rows}"
    );
    assert_eq!((&division["executions"], &division["lines"]), (&1.into(), &[line][..].into()), "{rows}");
    assert!(division["bound"].as_str().is_some_and(|bound| bound.contains("2 ulp")), "{rows}");
    let exact = rows["fidelity"].as_array().expect("rows").iter().filter(|row| row["fidelity"] == "exact").count();
    assert!(exact > 5, "{rows}");
    for command in [&run[..], &[&["check", &ptx], &launch[..]].concat()] {
        let output = host(&[command, &["--fidelity"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let table = text(&output.stdout);
        let row = table.lines().find(|line| line.contains("div.approx.f32")).expect("a row");
        assert!(row.contains("approximate: 2 ulp") && row.contains(&line.to_string()), "{row}");
    }
}

#[test]
fn faults_and_findings_are_objects() {
    let folder = tempfile::tempdir().expect("a folder");
    let ptx = folder.path().join("scale.ptx");
    std::fs::write(&ptx, SCALE).expect("a file");
    let ptx = ptx.display().to_string();
    let launch =
        ["--entry", "scale", "--block", "5", "--arg", "buf:f32:5", "--arg", "buf:f32:4", "--arg", "f32:1", "--json"];
    for command in [&["check", &ptx][..], &["run", &ptx, "--device", "sim"]] {
        let fault = &object(&[command, &launch].concat(), 4)["fault"];
        assert_eq!((&fault["kind"], &fault["code"]), (&"fault".into(), &"out-of-bounds".into()), "{fault}");
        assert_eq!((&fault["block"], &fault["thread"]), (&[0, 0, 0][..].into(), &[4, 0, 0][..].into()), "{fault}");
        assert!(fault["file"].is_null() && fault["line"].is_null(), "no line tables: {fault}");
        assert!(fault["text"].as_str().unwrap().contains(fault["title"].as_str().unwrap()), "{fault}");
    }

    let race = program("fail/race_inside_a_warp.ptx");
    let row = object(&["check", &race, "--entry", "k", "--block", "32", "--arg", "buf:u32:32", "--json"], 1);
    let finding = &row["findings"][0];
    assert_eq!((&finding["kind"], &finding["code"]), (&"finding".into(), &"race-warp-raw".into()), "{row}");
    assert!(row["fault"].is_null() && finding["thread"].is_array(), "{row}");
}

#[test]
fn a_fault_in_a_family_is_an_object() {
    let folder = tempfile::tempdir().expect("a folder");
    let ptx = folder.path().join("trap.ptx");
    std::fs::write(&ptx, program::vecadd("trap;", "trap;")).expect("a file");
    let ptx = ptx.display().to_string();
    for args in [&["vecadd", "--device", "sim"][..], &["check", "vecadd"]] {
        let row = object(&[args, &["--variant", "grid_stride", "--ptx", &ptx, "--json"]].concat(), 4);
        assert_eq!((&row["family"], &row["fault"]["code"]), (&"vecadd".into(), &"trap".into()), "{row}");
    }
}

#[test]
fn advice_fits_the_command() {
    let file = program("pass/printf.ptx");
    let args = ["run", &file, "--entry", "hello", "--device", "sim", "--arg", "buf:f32:2^50"];
    refused_in_a_line(&args, 2, &["--arg number 0", "smaller buffer"]);
    assert!(!text(&host(&args).stderr).contains("--n"));
    refused_in_a_line(&["run", &file, "--device", "sim"], 2, &["--entry NAME", "printf.ptx", "it has: hello"]);
}

#[test]
fn diagnostics_have_every_field() {
    let race = program("fail/race_inside_a_warp.ptx");
    let args = ["check", &race, "--entry", "k", "--block", "32", "--arg", "buf:u32:32", "--json"];
    let finding = &object(&args, 1)["findings"][0];
    for field in ["kind", "code", "title", "text"] {
        assert!(finding[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {finding}");
    }
    for field in ["file", "line", "column", "seed"] {
        assert!(finding.get(field).is_some_and(Value::is_null), "{field}: {finding}");
    }
    assert!(finding["count"].as_u64() >= Some(1) && finding["notes"].is_array(), "{finding}");
    assert!(finding.get("help").is_some() && finding["block"].is_array(), "{finding}");
    let places = finding["places"].as_array().expect("places");
    assert_eq!(places.len(), 2, "{finding}");
    for place in places {
        assert_eq!(place["ptx_file"].as_str(), Some(race.as_str()), "{place}");
        assert!(place["ptx_line"].as_u64() > Some(0) && place["function"] == "k", "{place}");
        assert!(place["label"].is_string() && place["ptx"].is_string() && place["inlined_at"].is_array(), "{place}");
    }
    assert!(!finding["text"].as_str().unwrap().contains('\u{1b}'), "no colours");
}

#[test]
fn sarif_of_findings_faults_and_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.sarif").display().to_string();
    let log = |args: &[&str], code: i32| -> Value {
        let output = host(&[args, &["--sarif", &path]].concat());
        assert_eq!(output.status.code(), Some(code), "{args:?}\n{}", text(&output.stderr));
        let log = serde_json::from_str(&std::fs::read_to_string(&path).expect("the log")).expect("JSON");
        std::fs::remove_file(&path).expect("removed");
        log
    };
    let race = program("fail/race_inside_a_warp.ptx");
    let launch = ["--entry", "k", "--block", "32", "--arg", "buf:u32:32"];
    let found = log(&[&["check", &race], &launch[..]].concat(), 1);
    assert_eq!(found["version"], "2.1.0");
    let result = &found["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"race-warp-raw".into(), &"warning".into()), "{result}");
    assert!(result["locations"][0]["physicalLocation"]["region"]["startLine"].is_u64(), "{result}");
    assert_eq!(result["relatedLocations"].as_array().map(Vec::len), Some(1), "{result}");

    let ptx = folder.path().join("scale.ptx");
    std::fs::write(&ptx, SCALE).expect("a file");
    let ptx = ptx.display().to_string();
    let launch = ["--entry", "scale", "--block", "5", "--arg", "buf:f32:5", "--arg", "buf:f32:4", "--arg", "f32:1"];
    for command in [&["run", &ptx, "--device", "sim"][..], &["check", &ptx]] {
        let fault = log(&[command, &launch].concat(), 4);
        let results = fault["runs"][0]["results"].as_array().expect("results").clone();
        let codes: Vec<_> = results.iter().map(|result| (&result["ruleId"], &result["level"])).collect();
        assert!(codes.contains(&(&"out-of-bounds".into(), &"error".into())), "{fault}");
    }

    for target in [&["check", "vecadd", "--n", "100"][..], &["check", "vecadd", "--n", "100", "--seeds", "2"]] {
        assert_eq!(log(target, 0)["runs"][0]["results"], serde_json::json!([]), "{target:?}");
    }
}

#[test]
fn checks_are_chosen_before_the_target_or_after_it() {
    let race = program("fail/race_inside_a_warp.ptx");
    let launch = ["--entry", "k", "--block", "32", "--arg", "buf:u32:32"];
    let code = |before: &[&str], after: &[&str]| {
        host(&[&["check"], before, &[&race], &launch[..], after].concat()).status.code()
    };
    assert_eq!(code(&[], &[]), Some(1));
    assert_eq!(code(&["--checks", "uninit"], &[]), Some(0));
    assert_eq!(code(&[], &["--checks", "uninit,overflow"]), Some(0));
    assert_eq!(code(&[], &["--checks", "all"]), Some(1));
    let leak = program("fail/leak_of_every_thread.ptx");
    let leaks = |checks: &[&str]| {
        host(&[&["check", &leak, "--entry", "k", "--grid", "2", "--block", "32"], checks].concat()).status.code()
    };
    assert_eq!((leaks(&[]), leaks(&["--checks", "race,uninit"])), (Some(1), Some(0)));
    // Options after the target take precedence.
    assert_eq!(code(&["--checks", "uninit"], &["--checks", "race"]), Some(1));
    assert_eq!(code(&[], &["--atomics", "ptx", "--workers", "1", "--profile", "a100"]), Some(1));
    refused(&["check", &race, "--checks", "races"], 2, &["--checks", "race", "uninit"]);
    refused(&["check", &race, "--same-value", "maybe"], 2, &["--same-value", "maybe"]);
    refused(&["check", &race, "--volatile", "maybe"], 2, &["--volatile", "maybe"]);
    refused(&["check", "vecadd", "--seeds", "0"], 2, &["--seeds"]);

    let same = program("fail/race_same_value.ptx");
    let args = ["check", &same, "--entry", "k", "--block", "64", "--arg", "buf:u32:64"];
    assert_eq!(host(&args).status.code(), Some(1));
    assert_eq!(host(&[&args[..], &["--same-value", "ignore"]].concat()).status.code(), Some(0));
}

#[test]
fn seeds_show_each_finding_once() {
    let race = program("fail/race_inside_a_warp.ptx");
    let args = ["check", &race, "--entry", "k", "--block", "32", "--arg", "buf:u32:32", "--seeds", "3", "--json"];
    let found = object(&args, 1);
    assert_eq!((&found["seed"], &found["finding"]["seed"]), (&0.into(), &0.into()), "{found}");
    assert_eq!(found["finding"]["code"], "race-warp-raw");
    let output = host(&["check", "reduce", "--variant", "best", "--n", "1000", "--seeds", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("0 distinct findings under 2 seeds"), "{}", text(&output.stderr));
}

#[test]
fn clusters_and_cooperative_launches() {
    let printf = program("pass/printf.ptx");
    let args = ["run", &printf, "--entry", "hello", "--block", "2", "--arg", "buf:u32:1", "--device", "sim"];
    for more in [&["--cooperative"][..], &["--cluster", "1"]] {
        let output = host(&[&args[..], more].concat());
        assert_eq!(output.status.code(), Some(0), "{more:?}\n{}", text(&output.stderr));
    }
    // One block is not a whole cluster, and a million blocks are not resident at once.
    refused(&[&args[..], &["--cluster", "2,1,1"]].concat(), 2, &["cluster"]);
    refused(&[&args[..], &["--cooperative", "--grid", "1000000"]].concat(), 2, &["cooperative"]);
    refused(&[&args[..], &["--cluster", "x"]].concat(), 2, &["--cluster", "`x` is not a shape"]);
}

#[test]
fn occupancy_of_a_file() {
    let file = program("pass/vecadd.ptx");
    let row = object(&["occupancy", &file, "--block", "256", "--registers", "32", "--profile", "a100", "--json"], 0);
    assert_eq!((&row["blocks"], &row["warps"], &row["occupancy"]), (&8.into(), &64.into(), &1.0.into()), "{row}");
    let row = object(&["occupancy", &file, "--block", "256", "--registers", "64", "--profile", "a100", "--json"], 0);
    assert_eq!((&row["blocks"], &row["limits"][0]), (&4.into(), &"registers".into()), "{row}");
    refused_in_a_line(&["occupancy", &file, "--profile", "no-such-gpu"], 2, &["no-such-gpu"]);
    refused_in_a_line(&["occupancy", &file, "--entry", "no_such_entry"], 2, &["no_such_entry"]);
}

/// ptxas assembles for none of these devices, whether it is installed or not.
#[test]
fn estimated_registers_are_marked() {
    let file = program("pass/vecadd.ptx");
    let args = ["occupancy", &file, "--profile", "geforce-8800-gtx"];
    let row = object(&[&args[..], &["--json"]].concat(), 0);
    assert_eq!(row["registers_from"], "estimate", "{row}");
    let output = host(&args);
    let (table, note) = (text(&output.stdout), text(&output.stderr));
    assert!(table.contains(&format!("about {}", row["registers"])), "{table}");
    assert!(note.contains("registers are estimated") && note.contains("--registers"), "{note}");
    let given = [&args[..], &["--registers", "10"]].concat();
    assert_eq!(object(&[&given[..], &["--json"]].concat(), 0)["registers_from"], "given");
    let output = host(&given);
    assert!(!text(&output.stdout).contains("about") && !text(&output.stderr).contains("estimated"));
}
