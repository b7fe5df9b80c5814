//! The families, each with its inputs, reference, launches and variants. The command line, the tests and the benchmarks
//! iterate over one list, [`FAMILIES`].

pub mod access;
pub mod atomics;
pub mod banks;
mod block;
pub mod conv1d;
pub mod conv2d;
mod convolution;
mod demand;
pub mod divergence;
pub mod dot;
mod entry;
pub mod exact_sum;
pub mod failing;
mod family;
pub(crate) mod generic;
pub mod histogram;
mod images;
mod job;
mod ladder;
mod lengths;
pub mod matmul;
pub mod matvec;
pub mod mma;
pub mod picture;
mod plan;
pub mod print;
pub mod problem;
pub mod reduce;
pub mod scan;
pub mod scan_by_key;
pub mod segreduce;
pub mod separable;
pub mod settings;
pub mod spelling;
pub mod tensor;
pub mod texture;
pub mod threads;
pub mod transpose;
mod variant;
pub mod vecadd;
pub mod wgmma;

pub use block::BlockRule;
pub use demand::{Demand, Distribution};
pub use entry::Entry;
pub use family::{Family, Limits};
pub use job::{Job, Row};
pub use ladder::Resolved;
pub use problem::{Case, Operand, Oracle, Problem, Work, Wrong};
pub use settings::{Setting, Settings};
pub use variant::{BEST, Role, RungId, VariantInfo};

/// Every family, smallest first.
pub const FAMILIES: &[Family] = &[
    vecadd::FAMILY,
    threads::FAMILY,
    access::FAMILY,
    banks::FAMILY,
    divergence::FAMILY,
    atomics::FAMILY,
    print::FAMILY,
    dot::FAMILY,
    reduce::FAMILY,
    exact_sum::FAMILY,
    segreduce::FAMILY,
    scan::FAMILY,
    scan_by_key::FAMILY,
    transpose::FAMILY,
    histogram::FAMILY,
    picture::FAMILY,
    matvec::FAMILY,
    matmul::FAMILY,
    mma::FAMILY,
    wgmma::FAMILY,
    tensor::FAMILY,
    conv1d::FAMILY,
    conv2d::FAMILY,
    separable::FAMILY,
    texture::FAMILY,
];

/// Looks up the family with this name.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::element::Dtype;

    #[test]
    fn every_default_block_satisfies_its_rule() {
        for family in FAMILIES {
            for variant in (family.variants)() {
                for block in variant.block.kernels() {
                    assert_eq!(variant.block.choose(Some(block), variant.name, 1024).expect("allowed"), block);
                }
                assert!(variant.block.choose(None, variant.name, 1024).is_ok());
                for bad in [0, 33, 2048] {
                    let any = matches!(variant.block, BlockRule::Any { .. }) && bad == 33;
                    assert_eq!(
                        variant.block.choose(Some(bad), variant.name, 1024).is_ok(),
                        any,
                        "{} {bad}",
                        variant.name
                    );
                }
            }
        }
    }

    #[test]
    fn no_name_and_no_entry_is_used_twice() {
        let mut entries: Vec<_> =
            FAMILIES.iter().flat_map(|f| (f.variants)()).flat_map(|v| v.entries).map(|e| e.name).collect();
        let count = entries.len();
        entries.sort();
        entries.dedup();
        assert_eq!(entries.len(), count);
        for family in FAMILIES {
            let mut names: Vec<_> = (family.variants)().iter().map(|variant| variant.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }

    #[test]
    fn an_idea_is_one_line() {
        for family in FAMILIES.iter().chain([&failing::FAMILY]) {
            for VariantInfo { name, idea, .. } in (family.variants)() {
                assert!(!idea.is_empty() && idea.chars().count() <= 100, "{} {name}: {idea}", family.name);
                assert!(!idea.contains('\n') && !idea.ends_with('.'), "{} {name}: {idea}", family.name);
            }
        }
    }

    #[test]
    fn one_number_is_a_length_or_a_side() {
        for family in FAMILIES {
            let settings = Settings::new(family.settings, []).expect("defaults");
            let demand = Demand { size: &[1], dtype: family.dtypes[0], seed: 0, settings: &settings };
            let inputs = (family.generate)(&demand).expect("operands");
            let is_vector = inputs.first().is_some_and(|input| input.shape().len() == 1);
            assert_eq!(is_vector, family.of_vectors, "{}", family.name);
        }
    }

    #[test]
    fn what_only_some_types_have_exists() {
        for family in FAMILIES {
            for (op, dtypes) in family.only {
                assert!(family.ops.contains(op) && !dtypes.is_empty(), "{} {op}", family.name);
                assert!(dtypes.iter().all(|dtype| family.has(op, *dtype)), "{} {op}", family.name);
            }
        }
        let atomics = family("atomics").expect("a family");
        assert!(atomics.has("inc", Dtype::U32) && !atomics.has("inc", Dtype::F32) && atomics.has("add", Dtype::F32));
        assert!(!atomics.has("add", Dtype::U8));
    }

    #[test]
    fn variants_are_selected_by_name() {
        let reduce = family("reduce").expect("a family");
        let two = reduce.select("sequential, interleaved").expect("two");
        assert_eq!(two.iter().map(|rung| rung.name).collect::<Vec<_>>(), ["sequential", "interleaved"]);
        assert!(reduce.select("all").expect("all").len() > 2);
        assert!(reduce.select("fastest").is_err());
        assert_eq!(reduce.op(None).expect("the first"), "sum");
        assert!(reduce.op(Some("mean")).is_err());
    }
}
