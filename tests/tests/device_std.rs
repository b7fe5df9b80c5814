//! Every public item of `cuda_std`, in a small kernel of its own, on the simulator.

use std::collections::BTreeSet;
use std::path::Path;
use tests::cases::{program, simulate, sorted_lines};

#[test]
fn every_case_writes_and_prints_the_expected_output_without_a_finding() {
    let program = program();
    let mut wrong = Vec::new();
    let cases = test_kernels::all::cases();
    assert!(cases.len() > 50, "only {} cases", cases.len());
    for case in &cases {
        let run = simulate(&program, case);
        let report = match run.result {
            Ok(report) => report,
            Err(stop) => {
                wrong.push(format!("{}: {stop}", case.name));
                continue;
            }
        };
        for finding in &report.findings {
            wrong.push(format!("{}: {finding}", case.name));
        }
        let mut expected: Vec<_> = case.printed.iter().map(String::as_str).collect();
        expected.sort_unstable();
        if sorted_lines(&report.printed) != expected {
            wrong.push(format!("{} printed\n{}\ninstead of\n{}", case.name, report.printed, case.printed.join("\n")));
        }
        for (number, (buffer, found)) in case.buffers.iter().zip(&run.buffers).enumerate() {
            if let Err(why) = buffer.check(found) {
                wrong.push(format!("{}, buffer {number}: {why}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases failed:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_entry_is_launched_by_a_case() {
    let program = program();
    let entries = program.functions().iter().filter(|f| f.kind == ptx_sim::program::Kind::Entry);
    let built: BTreeSet<&str> = entries.map(|entry| entry.name.as_str()).collect();
    let planted = test_kernels::planted::all().into_iter().map(|planted| planted.case);
    let cases: Vec<_> = test_kernels::all::cases().into_iter().chain(planted).collect();
    let launched: BTreeSet<String> = cases
        .iter()
        .map(|case| (case.call)(&vec![0; case.buffers.len() + case.textures.len()]).entry.into_owned())
        .collect();
    let missing: Vec<_> = built.iter().filter(|entry| !launched.contains(**entry)).collect();
    assert!(missing.is_empty(), "no case launches {missing:?}");
}

#[test]
fn an_externally_visible_function_stays_without_a_caller() {
    let program = program();
    assert!(program.functions().iter().any(|function| function.name == "pointer_test_twice"), "it was removed");
}

/// Public functions that no kernel here calls by name.
const NOT_CALLED: &[(&str, &str)] = &[
    ("assert_uninit", "`#[address_space(shared)]` calls it, at compile time"),
    ("from_raw", "`#[kernel]` calls it for a `SharedTile`"),
    ("breakpoint", "it stops the kernel; without a debugger the launch fails"),
    ("print_fmt", "`print!` and `println!` call it"),
    ("unavailable", "the host's body of `#[gpu_only]` functions"),
];

/// Files whose items kernels cannot name, and files of the host's side.
const NOT_FOR_KERNELS: &[&str] =
    &["intrinsics.rs", "panic.rs", "text.rs", "relaxed.rs", "special.rs", "launch/mod.rs", "call.rs", "output.rs"];

#[test]
fn every_public_function_occurs_in_a_kernel() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // What only GPUs of sm_90 have is run by the families `tensor` and `wgmma`, under all checkers, and what came with
    // sm_80 by `mma`: PTX with it is for these alone.
    let families = ["tensor", "wgmma", "mma"].map(|family| format!("../kernels-gpu/src/{family}"));
    let folders = families.into_iter().chain(["kernels/src".to_owned()]);
    let kernels: Vec<String> =
        folders.flat_map(|folder| rust_files(&root.join(folder))).map(|(_, text)| text).collect();
    let used: BTreeSet<&str> = kernels.iter().flat_map(|text| words(text)).collect();
    let mut public = BTreeSet::new();
    let library = rust_files(&root.join("../crates/cuda_std/src"));
    for (name, text) in &library {
        if !NOT_FOR_KERNELS.contains(&name.as_str()) {
            public.extend(text.lines().filter_map(public_function));
        }
    }
    assert!(public.len() > 80, "the scan found only {} functions", public.len());
    let allowed = |name: &str| NOT_CALLED.iter().any(|(allowed, _)| *allowed == name);
    let missing: Vec<_> = public.iter().filter(|name| !used.contains(**name) && !allowed(name)).collect();
    assert!(missing.is_empty(), "no test kernel calls {missing:?}");
    let stale: Vec<_> = NOT_CALLED.iter().filter(|(name, _)| !public.contains(name) || used.contains(name)).collect();
    assert!(stale.is_empty(), "listed as not called, but called or removed: {stale:?}");
}

/// The function that a line declares, if it is public and its name is not a macro's parameter.
fn public_function(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub ")?;
    let rest = rest.strip_prefix("const ").unwrap_or(rest);
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    words(rest.strip_prefix("fn ").filter(|name| !name.starts_with('$'))?).next()
}

/// Identifiers and keywords of `text`, without its comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')).filter(|word| !word.is_empty())
}

/// Name and text of each Rust file in `folder`, at any depth; a module file is named with its folder.
fn rust_files(folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else {
            let name = match path.ends_with("mod.rs") {
                true => path.strip_prefix(folder.parent().expect("a folder above")).expect("a file of the folder"),
                false => Path::new(path.file_name().expect("a name")),
            };
            let name = name.to_string_lossy().into_owned();
            files.push((name, std::fs::read_to_string(&path).expect("a source")));
        }
    }
    files
}
