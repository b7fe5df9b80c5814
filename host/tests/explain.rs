//! `host explain` from outside: a small kernel with a bank conflict in the terminal, as JSON, and as HTML.

use std::process::{Command, Output};

/// A kernel in which each lane stores to a word two further than its neighbour's, and reads its own back from memory.
const KERNEL: &str = "\
.version 7.8
.target sm_75
.address_size 64
.visible .entry strided(.param .u64 out)
{
	.reg .b32 %r<6>;
	.reg .b64 %rd<4>;
	.shared .align 4 .b8 cells[256];
	ld.param.b64 %rd1, [out];
	mov.u32 %r1, %tid.x;
	shl.b32 %r2, %r1, 3;
	mov.b32 %r3, cells;
	add.s32 %r4, %r3, %r2;
	st.shared.b32 [%r4], %r1;
	ld.shared.b32 %r5, [%r4];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.b32 [%rd3], %r5;
	ret;
}
";

fn explain(arguments: &[&str]) -> (Output, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("strided.ptx"), KERNEL).expect("PTX");
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.current_dir(folder.path()).args(["explain", "strided.ptx", "--entry", "strided", "--block", "32"]);
    let output = command.args(["--arg", "buf:u32:32"]).args(arguments).output().expect("host runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (output, folder)
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).expect("UTF-8")
}

#[test]
fn the_terminal_names_the_line_and_the_reason() {
    let (output, _folder) = explain(&[]);
    let text = stdout(&output);
    for wanted in [
        "strided of strided.ptx\nestimated for H200, from a cold cache\n",
        "  NOT JUDGED: there is no result to compare with\n",
        "| shared wavefronts   |       4 |",
        "| bank conflicts      |       2 |",
        "| sectors per request |    4.00 |",
        "PTX line 14\n             st.shared.b32 [%r4], %r1;\n             \
         the 32 active lanes access the same banks: 2.0 wavefronts instead of 1.0",
    ] {
        assert!(text.contains(wanted), "no `{wanted}` in\n{text}");
    }
}

#[test]
fn the_json_has_what_the_page_has() {
    let (output, _folder) = explain(&["--json"]);
    let page: serde_json::Value = serde_json::from_str(stdout(&output)).expect("JSON");
    let variant = &page["variants"][0];
    assert_eq!(page["device"]["name"], "H200");
    assert!(variant["verified"].is_null(), "nothing judged the result: {}", variant["verified"]);
    assert_eq!(variant["counters"]["bank_conflicts"], 2);
    assert_eq!(variant["counters"]["shared_requests"], 2);
    assert_eq!(variant["counters"]["global_store_sectors"], 4);
    assert_eq!(variant["ratios"]["active_threads"], 32.0);
    assert_eq!(variant["ratios"]["wavefronts_over_ideal"], 2.0);
    assert_eq!(variant["bytes"], 128);
    let launch = &variant["launches"][0];
    assert_eq!(launch["shared_bytes"], 256);
    assert_eq!(launch["activity"][0], serde_json::json!([[11, 32]]));
    assert_eq!(launch["banks"]["wavefronts"][2], 1);
    assert_eq!(launch["banks"]["words"][17][2], 1);
    assert_eq!(launch["sectors"][4], 1);
    assert!(launch["time"]["kernel_us"].as_f64().is_some_and(|us| us > 0.0));
    assert!(variant["time_us"].as_f64() > launch["time"]["kernel_us"].as_f64());
}

#[test]
fn the_html_is_whole_and_has_the_numbers_of_the_json() {
    let (output, folder) = explain(&["--json", "--html", "page.html"]);
    let html = std::fs::read_to_string(folder.path().join("page.html")).expect("the page");
    let data = html.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>")).expect("data").0;
    let inside: serde_json::Value = serde_json::from_str(&data.replace("<\\/", "</")).expect("JSON");
    let outside: serde_json::Value = serde_json::from_str(stdout(&output)).expect("JSON");
    assert_eq!(inside, outside);
    assert!(html.contains("<tr><th>bank conflicts</th><td class=\"n\">2</td>"), "{html}");
    let time = outside["variants"][0]["time_us"].as_f64().expect("a time");
    assert!(html.contains(&format!("{time:.1} us")));
    for external in ["src=", "href=", "url(", "@import"] {
        assert!(!html.contains(external), "{external}");
    }
    assert_balanced(&html);
}

/// Checks that every opened element is closed, in order.
fn assert_balanced(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").expect("a document type");
    while let Some((_, tag)) = rest.split_once('<') {
        let (tag, after) = tag.split_once('>').expect("a closed tag");
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().expect("a name");
        rest = after;
        match (tag.strip_prefix('/'), tag.ends_with('/')) {
            (Some(closed), _) => assert_eq!(open.pop(), Some(closed)),
            (None, true) => {}
            (None, false) => open.push(name),
        }
        // The contents of these elements are text without markup.
        if matches!(name, "style" | "script") && !tag.starts_with('/') {
            let end = rest.find(&format!("</{name}>")).expect("its end");
            rest = &rest[end..];
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn what_would_change_the_time_is_on_every_page() {
    let many = ["--grid", "8192"];
    let (terminal, _folder) = explain(&many);
    let text = stdout(&terminal);
    let (output, folder) = explain(&[&many[..], &["--json", "--html", "page.html"]].concat());
    let html = std::fs::read_to_string(folder.path().join("page.html")).expect("the page");
    let html = html.split("id=\"data\">").next().expect("the visible part");
    let page: serde_json::Value = serde_json::from_str(stdout(&output)).expect("JSON");
    let time = &page["variants"][0]["launches"][0]["time"];
    let changes = time["changes"].as_array().expect("changes");
    assert!(changes.iter().any(|change| change["name"] == "one-wave"), "8192 blocks of one warp: {changes:?}");
    for change in changes {
        let (name, what) = (change["name"].as_str().expect("a name"), change["what"].as_str().expect("a text"));
        assert!(change["us"].as_f64() < time["kernel_us"].as_f64(), "{change}");
        assert!(text.contains(&format!("    {name} ")) && text.contains(what), "{name} in\n{text}");
        assert!(html.contains(&format!("<th>{name}</th>")) && html.contains(what), "{name} in\n{html}");
    }
}

fn predict(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    command.args(["explain", "vecadd", "--variant", "best,vectorised"]).args(arguments).output().expect("host runs")
}

#[test]
fn a_large_size_is_predicted_from_two_small_ones() {
    let small = ["--n", "2^20", "--predict", "2^26"];
    let text = predict(&small);
    assert!(text.status.success(), "{}", String::from_utf8_lossy(&text.stderr));
    let output = predict(&[&small[..], &["--json"]].concat());
    let page: serde_json::Value = serde_json::from_str(stdout(&output)).expect("JSON");
    assert_eq!(
        (&page["size"], &page["simulated"]),
        (&serde_json::json!([1 << 26]), &serde_json::json!([[1 << 20], [1 << 21]]))
    );
    for variant in page["variants"].as_array().expect("variants") {
        let (name, time) = (variant["name"].as_str().expect("a name"), variant["time_us"].as_f64().expect("a time"));
        assert!(stdout(&text).contains(name) && stdout(&text).contains(&format!("{time:.1} us")), "{name}");
        // The device's memory moves 805 MB in 168 us at best; the prediction is not exact, and no rung of the two needs
        // twice that.
        assert!((140.0..336.0).contains(&time), "{name}: {time}");
    }
}

#[test]
fn a_prediction_needs_two_sizes_of_the_same_axes() {
    for (arguments, expected) in [
        (&["--n", "2^20", "--predict", "2^18"][..], "at least as large along each axis"),
        (&["--n", "2^18", "--predict", "512x512"], "at least as large along each axis"),
    ] {
        let output = predict(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && text.contains(expected), "{text}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
    let output = command.args(["explain", "matmul", "--n", "64", "--predict", "8192"]).output().expect("host runs");
    assert!(output.status.code() == Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("write all of them"), "{output:?}");
}
