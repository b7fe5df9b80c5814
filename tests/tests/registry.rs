//! The registry and the PTX agree: every entry has a variant, every variant its entries, and their parameters match.
#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

use cuda_std::launch::{Call, PtrMut, Slice};
use host::element::{Dtype, Element};
use host::kernels::FAMILIES;
use host::kernels::reduce::table::{Scheme, variants};
use host::with_dtype;
use kernels_gpu::reduce::{Max, Min, Op, Sum};
use std::collections::{BTreeMap, BTreeSet};

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
fn every_launcher_passes_what_its_entry_takes() {
    let program = program();
    let entries = program.functions.iter().filter(|f| f.kind == ptx_sim::program::Kind::Entry);
    let mut taken: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for entry in entries {
        taken.insert(&entry.name, entry.params.iter().map(|param| param.size).collect());
    }
    for call in calls() {
        let passed: Vec<_> = call.params.iter().map(|param| param.len() as u64).collect();
        assert_eq!(taken.remove(&*call.entry), Some(passed), "{}", call.entry);
    }
    assert!(taken.is_empty(), "no launcher was tried for {:?}", taken.keys());
}

/// One call of each entry, for every family, variant, operation and type. Nothing is launched.
fn calls() -> Vec<Call<'static>> {
    fn vecadd<T: Element>() -> Call<'static> {
        kernels_gpu::vecadd::vecadd::<T>(nothing(), nothing(), nowhere())
    }
    fn reduce<O: Op<T>, T: Element>() -> Vec<Call<'static>> {
        let variants = variants::<O, T>().into_iter();
        variants.flat_map(|v| v.block.kernels().into_iter().map(move |block| call(&v.scheme, block))).collect()
    }
    fn call<T>(scheme: &Scheme<T>, block: u32) -> Call<'static> {
        match scheme {
            Scheme::Tree { kernel, .. } | Scheme::GridStride { kernel, .. } | Scheme::Atomic { kernel } => {
                kernel(block, nothing(), nowhere())
            }
            Scheme::Single { kernel, .. } => kernel(nothing(), nowhere(), nowhere(), nowhere()),
        }
    }
    fn typed<T: Element>() -> Vec<Call<'static>> {
        [vec![vecadd::<T>()], reduce::<Sum, T>(), reduce::<Max, T>(), reduce::<Min, T>()].concat()
    }
    let typed = |dtype: &Dtype| with_dtype!(dtype, T => typed::<T>(), else => Vec::new());
    Dtype::NUMBERS.iter().flat_map(typed).collect()
}

fn nothing<T>() -> Slice<'static, T> {
    // SAFETY: nothing is launched.
    unsafe { Slice::new(0, 0) }
}

fn nowhere<T>() -> PtrMut<'static, T> {
    // SAFETY: nothing is launched.
    unsafe { PtrMut::new(0) }
}
