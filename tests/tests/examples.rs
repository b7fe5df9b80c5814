//! The programs of `examples`: each runs, and its tests pass, on a GPU if there is one, else on the simulator.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tests::project::{cargo, printed};

/// The numbered examples, with a text that each prints; `None` for one without a program, which has tests.
const EXAMPLES: &[(&str, Option<&str>)] = &[
    ("01-first-sum", Some("1 + 2 + … + 1000 = 500500 on")),
    ("02-own-kernel", Some("position: [999.0, 1.0, 1.0]")),
    ("03-own-operator", Some("Summary { min: 0.0, max: 10006.0,")),
    ("04-image-pipeline", Some("451 x 300 pixels")),
    ("05-streams-and-graphs", Some("the running sums of other memory begin with [2, 4, 6, 8]")),
    ("06-several-devices", Some("sum: 5000050000")),
    ("07-check-a-kernel", None),
    ("08-from-cudarc", Some("running sums by rustwarp on slices of cudarc: [1, 2, 3, 4]")),
    ("09-embedded-kernels", Some("sm_89: in the program/sm_80/embedded-kernels.cubin")),
    ("10-group", Some("sum 449985000, largest 29999, on")),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").canonicalize().expect("the examples")
}

/// Runs cargo in the examples. It first copies the lock file of the project, with which the tests have run, so that
/// nothing is fetched.
fn in_examples(arguments: &[&str]) -> String {
    let folder = folder();
    fs::copy(folder.join("../Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
    printed(&cargo(&folder, &Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects"), arguments))
}

/// One test, because cargo would lock the target folder anyway.
#[test]
fn examples_run_and_their_tests_pass() {
    for (example, prints) in EXAMPLES {
        let package = example.split_once('-').expect("a number").1;
        let Some(text) = *prints else { continue };
        let text = match rustwarp::Device::gpu(0) {
            // The GPU tests (`tests/tests/gpu/cudarc.rs`) run the bridge.
            Err(error) if package == "from-cudarc" => format!("skipped: {error}"),
            _ => text.to_owned(),
        };
        let printed = in_examples(&["run", "--package", package]);
        assert!(printed.contains(&text), "{example} printed {printed}");
    }
    let tests = in_examples(&["test", "--workspace"]);
    for name in ["the_missing_barrier_is_found", "an_edge_is_found_where_it_is"] {
        assert!(tests.contains(&format!("{name} ... ok")), "{name}: {tests}");
    }
}

#[test]
fn every_example_is_listed() {
    let named = |entry: fs::DirEntry| {
        entry
            .file_name()
            .to_str()
            .filter(|name| name.starts_with(|first: char| first.is_ascii_digit()))
            .map(str::to_owned)
    };
    let there: BTreeSet<String> =
        fs::read_dir(folder()).expect("the examples").filter_map(|entry| named(entry.expect("an entry"))).collect();
    let listed: BTreeSet<String> = EXAMPLES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(there, listed, "the folders of `examples` and the list of this test");
    let readme = fs::read_to_string(folder().join("README.md")).expect("the README");
    for name in listed {
        assert!(readme.contains(&format!("| [{name}](")), "examples/README.md lacks {name}");
    }
}
