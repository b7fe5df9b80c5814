//! The registry and the PTX agree: every entry has a variant, every variant its entries, and their parameters match.

use ladders::kernels::{Entry, FAMILIES, failing};
use std::collections::{BTreeMap, BTreeSet};

/// The entries of every PTX file, by the name of the file.
fn built() -> BTreeMap<String, BTreeSet<Entry>> {
    let images = rustwarp::ptx::find_families("kernels-gpu", None, None).expect("the kernels' PTX");
    let entries = |image: rustwarp::ptx::Image| {
        let family = image.path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = String::from_utf8(image.bytes).expect("PTX is text");
        let program = ptx_sim::Program::parse(&text).expect("PTX that the simulator reads");
        let entries = program.functions().iter().filter(|f| f.kind == ptx_sim::program::Kind::Entry);
        let params = |f: &ptx_sim::program::Function| f.params.iter().map(|param| param.size).collect();
        (family, entries.map(|f| Entry { name: f.name.clone(), params: params(f) }).collect())
    };
    images.into_iter().map(entries).collect()
}

#[test]
fn every_entry_has_a_variant_and_every_launcher_passes_its_parameters() {
    let built = built();
    let listed = FAMILIES.iter().map(|family| (family.name, (family.variants)()));
    let listed = listed.map(|(name, variants)| (name, variants.into_iter().flat_map(|v| v.entries).collect()));
    let mut listed: BTreeMap<&str, BTreeSet<Entry>> = listed.collect();
    listed.entry("failing").or_default().extend(failing::entries());
    // A family's entries are in its own file, which is the only one that is loaded for it.
    assert_eq!(built.keys().collect::<Vec<_>>(), listed.keys().collect::<Vec<_>>());
    for (family, built) in &built {
        let listed = &listed[family.as_str()];
        let unlisted: Vec<_> = built.difference(listed).collect();
        let missing: Vec<_> = listed.difference(built).collect();
        assert!(
            unlisted.is_empty() && missing.is_empty(),
            "{family}, in the PTX only: {unlisted:?}\nin the table only: {missing:?}"
        );
    }
}

#[test]
fn every_family_finds_the_programs_that_measure_its_libraries() {
    let peers = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/peers");
    for program in FAMILIES.iter().flat_map(|family| family.peers) {
        let mut sources = ["cu", "py"].iter().map(|language| peers.join(program).with_extension(language));
        assert!(sources.any(|source| source.is_file()), "{program}");
    }
}
