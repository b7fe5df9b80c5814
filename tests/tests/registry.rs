//! The registry and the PTX agree: every entry has a variant, every variant its entries, and their parameters match.
#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use host::kernels::FAMILIES;
use std::collections::BTreeSet;

fn program() -> ptx_sim::Program {
    let image = host::ptx::find("kernels-gpu", None, None).expect("the kernels' PTX");
    let text = String::from_utf8(image.bytes).expect("PTX is text");
    ptx_sim::Program::parse(&text).expect("PTX that the simulator reads")
}

#[test]
fn every_entry_has_a_variant_and_every_variant_its_entries() {
    let program = program();
    let built: BTreeSet<String> = program
        .functions
        .iter()
        .filter(|f| f.kind == ptx_sim::program::Kind::Entry)
        .map(|entry| entry.name.clone())
        .collect();
    let listed: BTreeSet<String> = FAMILIES.iter().flat_map(|f| (f.variants)()).flat_map(|v| v.entries).collect();
    let unlisted: Vec<_> = built.difference(&listed).collect();
    let missing: Vec<_> = listed.difference(&built).collect();
    assert!(unlisted.is_empty() && missing.is_empty(), "in the PTX only: {unlisted:?}\nin the table only: {missing:?}");
}

#[test]
fn the_launcher_passes_what_the_entry_takes() {
    use cuda_std::launch::{PtrMut, Slice};
    use kernels_gpu::reduce::{Sum, best::reduce_best};

    let program = program();
    // SAFETY: nothing is launched.
    let call = unsafe { reduce_best::<Sum, f64>(Slice::new(0, 0), PtrMut::new(0), PtrMut::new(0), PtrMut::new(0)) };
    let entry = program
        .functions
        .iter()
        .filter(|f| f.kind == ptx_sim::program::Kind::Entry)
        .find(|entry| entry.name == call.entry)
        .expect("the entry that the launcher names");
    let passed: Vec<_> = call.params.iter().map(|param| param.len() as u64).collect();
    let taken: Vec<_> = entry.params.iter().map(|param| param.size).collect();
    assert_eq!(passed, taken);
}
