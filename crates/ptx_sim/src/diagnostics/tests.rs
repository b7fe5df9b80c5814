//! Complete reports, compared character by character.

use super::Style;
use super::text::underline;
use crate::files::Recorded;
use crate::stop::{Diagnostic, Finding, Place, Source, Stop, StopKind, Thread};

/// Source of the kernel in the reports below.
const KERNEL: &str = "\
//! Sums neighbours.
pub fn neighbours(input: &[f32], output: *mut f32) {
    let i = thread::index();
    tile.write(i, input[i]);

    let next = tile.read(i + 1);
    // SAFETY: there are as many elements as threads.
    unsafe { *output.add(i) = next };
}
";

fn source(file: &str, line: u32, column: u32, function: Option<&str>) -> Source {
    Source { file: file.to_owned(), recorded: Recorded::default(), line, column, function: function.map(str::to_owned) }
}

fn place(ptx_line: u32, ptx: &str, source: Vec<Source>) -> Place {
    Place { function: "neighbours".into(), ptx_line, ptx_column: 5, ptx: ptx.into(), source }
}

fn thread(block: u32, thread: u32) -> Option<Thread> {
    Some(Thread { block: [block, 0, 0], thread: [thread, 0, 0] })
}

/// Renders a report about the kernel in a temporary file, and replaces the file's path by its name.
fn report(make: impl FnOnce(&str) -> String) -> String {
    let path = std::env::temp_dir().join(format!("ptx_sim-neighbours-{:?}.rs", std::thread::current().id()));
    std::fs::write(&path, KERNEL).expect("a file");
    let file = path.display().to_string();
    let text = make(&file);
    std::fs::remove_file(path).expect("removed");
    text.replace(&file, "neighbours.rs")
}

fn stop(diagnostic: Diagnostic) -> String {
    Stop::new(StopKind::Fault, diagnostic).to_string()
}

#[test]
fn out_of_bounds_through_inlined_code() {
    let text = report(|file| {
        let mut diagnostic = Diagnostic::new("out-of-bounds", "4 bytes written behind the end of `output` (128 bytes)");
        let inner = source("/rust/library/core/src/ptr/mut_ptr.rs", 961, 18, Some("core::ptr::mut_ptr::write"));
        let chain = vec![inner, source(file, 8, 14, None)];
        diagnostic.place = Some(place(40, "st.global.b32 [%rd1], %r1;", chain));
        diagnostic.thread = thread(1, 2);
        diagnostic.help = Some("compare the index with the length first".to_owned());
        stop(diagnostic)
    });
    assert_eq!(
        text,
        "\
error[out-of-bounds]: 4 bytes written behind the end of `output` (128 bytes)
 --> neighbours.rs:8:14
  |
8 |     unsafe { *output.add(i) = next };
  |              ^^^^^^^^^^^^^^ by block (1, 0, 0), thread (2, 0, 0)
  |
  = note: `core::ptr::mut_ptr::write` inlined at neighbours.rs:8:14
  = note: the instruction itself belongs to /rust/library/core/src/ptr/mut_ptr.rs:961:18
  = note: in `neighbours`, PTX line 40: st.global.b32 [%rd1], %r1;
  = help: compare the index with the length first"
    );
}

#[test]
fn a_race_with_both_places_in_one_file() {
    let text = report(|file| {
        let mut diagnostic =
            Diagnostic::new("race-raw", "data race on shared memory: a write and a read without ordering between them");
        diagnostic.label = Some("the later read".to_owned());
        diagnostic.place = Some(place(30, "ld.shared.b32 %r4, [%r3];", vec![source(file, 6, 16, None)]));
        diagnostic.thread = thread(0, 0);
        let earlier = place(20, "st.shared.b32 [%r2], %r1;", vec![source(file, 4, 5, None)]);
        diagnostic.related.push(("the earlier write, by thread (1, 0, 0):".to_owned(), earlier));
        diagnostic.notes.push("the address is 0x84".to_owned());
        diagnostic.help = Some("put a barrier between them".to_owned());
        Finding::new(diagnostic, 31).to_string()
    });
    assert_eq!(
        text,
        "\
finding[race-raw]: data race on shared memory: a write and a read without ordering between them
 --> neighbours.rs:6:16
  |
4 |     tile.write(i, input[i]);
  |     ----------------------- the earlier write, by thread (1, 0, 0)
5 |
6 |     let next = tile.read(i + 1);
  |                ^^^^^^^^^^^^^^^^ the later read, by block (0, 0, 0), thread (0, 0, 0)
  |
  = note: in `neighbours`, PTX line 30: ld.shared.b32 %r4, [%r3];
  = note: the earlier write, by thread (1, 0, 0): in `neighbours`, PTX line 20: st.shared.b32 [%r2], %r1;
  = note: the address is 0x84
  = note: seen 31 times
  = help: put a barrier between them"
    );
}

#[test]
fn missing_lanes_in_two_files() {
    let text = report(|file| {
        let mut diagnostic = Diagnostic::new("missing-lanes", "the mask names lanes 16-31, which never arrive");
        diagnostic.place = Some(place(30, "bar.warp.sync -1;", vec![source("/gone/warp.rs", 9, 0, None)]));
        diagnostic.thread = thread(0, 3);
        let elsewhere = place(50, "ret;", vec![source(file, 3, 13, None)]);
        diagnostic.related.push(("lanes 16-31 are here:".to_owned(), elsewhere));
        stop(diagnostic)
    });
    assert_eq!(
        text,
        "\
error[missing-lanes]: the mask names lanes 16-31, which never arrive
 --> /gone/warp.rs:9
  = note: block (0, 0, 0), thread (3, 0, 0)
  = note: in `neighbours`, PTX line 30: bar.warp.sync -1;
note: lanes 16-31 are here
 --> neighbours.rs:3:13
  |
3 |     let i = thread::index();
  |             ^^^^^^^^^^^^^^^
  = note: in `neighbours`, PTX line 50: ret;"
    );
}

#[test]
fn ptx_alone() {
    let mut diagnostic =
        Diagnostic::new("race-waw", "data race on global memory: two writes without ordering between them");
    diagnostic.place = Some(place(30, "st.global.b32 [%rd3], %r3;", Vec::new()));
    diagnostic.thread = thread(0, 0);
    let earlier = place(9, "st.global.b32 [%rd2], %r1;", Vec::new());
    diagnostic.related.push(("the earlier write, by thread (1, 0, 0):".to_owned(), earlier));
    let text = Finding::new(diagnostic, 1).to_string();
    assert_eq!(
        text,
        "\
finding[race-waw]: data race on global memory: two writes without ordering between them
  --> PTX of `neighbours`:30:5
   |
30 |     st.global.b32 [%rd3], %r3;
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^ by block (0, 0, 0), thread (0, 0, 0)
   |
  ::: PTX of `neighbours`:9:5
   |
 9 |     st.global.b32 [%rd2], %r1;
   |     -------------------------- the earlier write, by thread (1, 0, 0)"
    );
}

#[test]
fn related_places_are_shown_without_a_headline() {
    let mut diagnostic = Diagnostic::new("livelock", "every thread polls");
    diagnostic.related.push(("64 threads of warps 0-1 run here:".to_owned(), place(9, "bra $L;", Vec::new())));
    assert_eq!(
        Stop::new(StopKind::Stuck, diagnostic).to_string(),
        "\
stuck[livelock]: every thread polls
  |
note: 64 threads of warps 0-1 run here
 --> PTX of `neighbours`:9:5
  |
9 |     bra $L;
  |     ^^^^^^^"
    );
}

#[test]
fn colours_do_not_change_the_text() {
    let stop = Stop::new(StopKind::Stuck, Diagnostic::new("deadlock", "no thread\u{1b}[2J can go on"));
    let colour = stop.render(Style::Colour);
    assert!(colour.contains("\u{1b}[") && !colour.contains("\u{1b}[2J"), "{colour:?}");
    let mut words = colour.clone();
    while let Some(start) = words.find('\u{1b}') {
        let end = words[start..].find('m').expect("an escape's end") + start;
        words.replace_range(start..=end, "");
    }
    assert_eq!(words, stop.to_string());
}

#[test]
fn expressions_are_underlined() {
    for (row, column, wanted) in [
        ("    out[i] = a[i] + b[i];", 5, "out[i]"),
        ("    out[i] = a[i] + b[i];", 14, "a[i]"),
        ("unsafe { *output.add(i) = next };", 10, "*output.add(i)"),
        ("let x = thread::index().x(1)? + 2;", 9, "thread::index().x(1)?"),
        ("panic!(\"{}\", i);", 1, "panic!(\"{}\", i)"),
        ("f(&mut data, 1", 3, "&mut data"),
        ("f(&mut data, 1", 1, "f"),
        ("let y = x;", 1, "let"),
        ("  a + b", 5, "+"),
        ("  über + b", 3, "über"),
        // A column in the middle of a character, and one beyond the end of the line.
        ("  über  ", 4, "über"),
        ("  über  ", 99, "über"),
        ("  whole line  ", 0, "whole line"),
        ("", 0, ""),
        ("", 1, ""),
    ] {
        assert_eq!(&row[underline(row, column)], wanted, "{row:?} at {column}");
    }
}

#[test]
fn special_files_are_not_read() {
    for file in ["/dev/zero", "no such file", ""] {
        let mut diagnostic = Diagnostic::new("trap", "trap");
        diagnostic.place = Some(place(3, "trap;", vec![source(file, u32::MAX, u32::MAX, None)]));
        let text = stop(diagnostic);
        assert!(text.contains(&format!("{file}:{}:{}", u32::MAX, u32::MAX)), "{text}");
    }
}
