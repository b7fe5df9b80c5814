//! Mutants of the tests' programs, chosen by the bytes, so that most still decode and run.
#![no_main]

use ptx_sim_fuzz::mutation::{Mutator, Seeds, choices};
use std::path::Path;
use std::sync::LazyLock;

static SEEDS: LazyLock<Seeds> = LazyLock::new(|| Seeds::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = Mutator::new(&SEEDS, choices(bytes)).program();
    if std::env::var_os("PTX_FUZZ_PRINT").is_some() {
        eprintln!("{text}");
    }
    ptx_sim_fuzz::run(&text);
});
