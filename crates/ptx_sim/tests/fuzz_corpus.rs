//! The checks of the fuzz targets in `fuzz/` without a fuzzer: on the committed corpus, on every text that once failed,
//! and on a fixed selection of mutants of the other tests' programs.

#[path = "../fuzz/src/lib.rs"]
mod fuzz;

use fuzz::mutation::{Mutator, Seeds, choices};
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

const MUTANTS: usize = 1500;

#[test]
fn corpus_and_regressions() {
    let seeds = seeds();
    let mut wrong = Vec::new();
    for folder in ["regressions", "corpus/parse", "corpus/run", "corpus/mutate"] {
        let paths = files(&folder_of_the_crate().join("fuzz").join(folder));
        assert!(!paths.is_empty() || folder == "regressions", "{folder} is empty");
        for path in paths {
            let bytes = std::fs::read(&path).expect("file");
            let text = match folder {
                "corpus/mutate" => Mutator::new(&seeds, choices(&bytes)).program(),
                _ => String::from_utf8_lossy(&bytes).into_owned(),
            };
            let held = catch_unwind(|| {
                fuzz::parse(&text);
                fuzz::run(&text);
            });
            wrong.extend(held.is_err().then_some(path));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn mutants() {
    let seeds = seeds();
    let mut state = 1_u64;
    let mut choose = |below: usize| {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) % below.max(1) as u64) as usize
    };
    let mut parsed = 0;
    for number in 0..MUTANTS {
        let text = Mutator::new(&seeds, &mut choose).program();
        parsed += usize::from(ptx_sim::Program::parse(&text).is_ok());
        let held = catch_unwind(|| fuzz::run(&text));
        assert!(held.is_ok(), "mutant {number}:\n{text}");
    }
    // Mutants that do not parse test only the parser.
    assert!(parsed > MUTANTS / 2, "only {parsed} of {MUTANTS} are PTX");
}

#[test]
fn the_dictionary_has_every_opcode() {
    let path = folder_of_the_crate().join("fuzz/ptx.dict");
    let wanted = seeds().dictionary();
    if std::env::var_os("UPDATE_DICTIONARY").is_some() {
        std::fs::write(&path, &wanted).expect("written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    // The programs of the tests may change, but a new instruction has to be in the dictionary.
    let known = |word: &str| found.lines().any(|line| line.trim_matches('"') == word);
    let opcodes = ptx_sim::isa::signatures();
    let unknown = opcodes.iter().find(|signature| {
        let (name, modifiers) = signature.opcode.split_once('.').unwrap_or((signature.opcode, ""));
        !known(name) || modifiers.split('.').any(|word| !word.is_empty() && !known(&format!(".{word}")))
    });
    let unknown = unknown.map(|signature| signature.opcode);
    assert_eq!(unknown, None, "not in {}: set UPDATE_DICTIONARY=1 and run again", path.display());
}

fn seeds() -> Seeds {
    Seeds::read(&folder_of_the_crate())
}

fn folder_of_the_crate() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.expect("entry").path()).collect(),
        Err(_) => Vec::new(),
    };
    paths.sort();
    paths
}
