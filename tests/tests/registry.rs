//! The registry and the PTX agree: every entry has a variant, every variant its entries, and their parameters match.

use ladders::kernels::{Entry, FAMILIES, failing};
use std::collections::BTreeSet;

fn program() -> ptx_sim::Program {
    let image = rustwarp::ptx::find("kernels-gpu", None, None).expect("the kernels' PTX");
    let text = String::from_utf8(image.bytes).expect("PTX is text");
    ptx_sim::Program::parse(&text).expect("PTX that the simulator reads")
}

#[test]
fn every_entry_has_a_variant_and_every_launcher_passes_what_its_entry_takes() {
    let program = program();
    let entries = program.functions.iter().filter(|f| f.kind == ptx_sim::program::Kind::Entry);
    let built: BTreeSet<Entry> = entries
        .map(|f| Entry { name: f.name.clone(), params: f.params.iter().map(|param| param.size).collect() })
        .collect();
    let listed = FAMILIES.iter().flat_map(|f| (f.variants)()).flat_map(|v| v.entries);
    let listed: BTreeSet<Entry> = listed.chain(failing::entries()).collect();
    let unlisted: Vec<_> = built.difference(&listed).collect();
    let missing: Vec<_> = listed.difference(&built).collect();
    assert!(unlisted.is_empty() && missing.is_empty(), "in the PTX only: {unlisted:?}\nin the table only: {missing:?}");
}

#[test]
fn every_family_finds_the_program_that_measures_its_library() {
    let peers = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/peers");
    for program in FAMILIES.iter().filter_map(|family| family.peer) {
        let mut sources = ["cu", "py"].iter().map(|language| peers.join(program).with_extension(language));
        assert!(sources.any(|source| source.is_file()), "{program}");
    }
}
