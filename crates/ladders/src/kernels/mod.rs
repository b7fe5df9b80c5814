//! The families: for each its inputs, reference, launches and variants. [`FAMILIES`] is the one list that the command
//! line, the tests and the benchmarks loop over.

use cuda_std::launch::Call;
use rustwarp::element::Dtype;
use rustwarp::error::{Error, Result};
use rustwarp::ptx::Image;
use rustwarp::tensor::Tensor;
use serde::{Serialize, Serializer};

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
pub mod failing;
mod generic;
pub mod histogram;
mod job;
pub mod matmul;
pub mod picture;
pub mod print;
pub mod problem;
pub mod reduce;
pub mod scan;
pub mod segreduce;
pub mod settings;
pub mod texture;
pub mod threads;
pub mod transpose;
pub mod vecadd;

pub use block::BlockRule;
pub use demand::Demand;
pub(crate) use job::Trial;
pub use job::{Job, Row};
pub use problem::{Case, Operand, Oracle, Problem, Work, Wrong};
pub use settings::{Setting, Settings};

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
    segreduce::FAMILY,
    scan::FAMILY,
    transpose::FAMILY,
    histogram::FAMILY,
    picture::FAMILY,
    matmul::FAMILY,
    conv1d::FAMILY,
    conv2d::FAMILY,
    texture::FAMILY,
];

/// A family of kernels that solve one problem.
pub struct Family {
    /// As on the command line.
    pub name: &'static str,
    /// What it computes, in one line.
    pub idea: &'static str,
    /// What it reads.
    pub operands: &'static [Operand],
    /// Operations; empty where there is no choice. The first is the default.
    pub ops: &'static [&'static str],
    /// Element types; the first is the default.
    pub dtypes: &'static [Dtype],
    /// Operations that only these types have; all others have every type.
    pub only: &'static [(&'static str, &'static [Dtype])],
    /// Further options.
    pub settings: &'static [Setting],
    /// The variants, slowest first.
    pub variants: fn() -> Vec<VariantInfo>,
    /// Sizes to test: awkward ones, small enough for the simulator.
    pub cases: fn() -> Vec<Case>,
    /// Sizes to measure.
    pub sizes: fn() -> Vec<Case>,
    /// Makes operands of a size.
    pub generate: fn(&Demand<'_>) -> Result<Vec<Tensor>>,
    /// Computes the right result, after refusing operands that don't fit together.
    pub oracle: for<'a> fn(Problem<'a>) -> Result<Oracle<'a>>,
    /// Runs the job's variants in turn and hands each row out as soon as it is known; the result of the last one comes
    /// back.
    pub run: fn(&Job<'_>, &mut dyn FnMut(Row)) -> Result<Tensor>,
    /// NaN, infinities and both zeros have a documented result, which tests compare.
    pub specials: bool,
    /// How large its problems may be, beside its own cases and sizes.
    pub limits: Limits,
    /// The program of `bench/peers` that measures the vendor's library on the same problem.
    pub peer: Option<&'static str>,
}

/// How large the problems of a family may be where time is short, in elements of the first operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest that the simulator explains within seconds, for the pages in `docs/ladders`.
    pub explained: u64,
    /// The largest that tests run on a GPU.
    pub tested: u64,
}

impl Limits {
    /// Work that grows about as the operands do.
    pub const DEFAULT: Self = Self { explained: 1 << 18, tested: u64::MAX };

    /// Grids that are made for the device: several elements for each of an H200's 270336 threads, or nobody would see
    /// which elements a thread takes.
    pub const GRID_OF_DEVICE: Self = Self { explained: 1 << 20, ..Self::DEFAULT };
}

/// What is known about a variant without running it.
#[derive(Clone, Debug, Serialize)]
pub struct VariantInfo {
    /// As on the command line.
    #[serde(rename = "variant")]
    pub name: &'static str,
    /// The one idea that sets it apart.
    pub idea: &'static str,
    /// Block sizes that it can be launched with.
    pub block: BlockRule,
    /// Every `.entry` in the PTX that belongs to it.
    pub entries: Vec<Entry>,
}

/// An `.entry` in the PTX, as its launcher calls it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Behind `.entry`.
    pub name: String,
    /// Bytes of each parameter, in order.
    pub params: Vec<u64>,
}

impl From<Call<'_>> for Entry {
    fn from(call: Call<'_>) -> Self {
        Self { name: call.entry.into_owned(), params: call.params.iter().map(|param| param.len() as u64).collect() }
    }
}

impl Serialize for Entry {
    /// By name.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

/// The family of this name.
pub fn family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

impl Family {
    /// The variants that `all`, `best`, a name, or names with commas mean.
    ///
    /// # Errors
    /// [`Error::Usage`] with the names that there are.
    pub fn select(&self, text: &str) -> Result<Vec<&'static str>> {
        let all: Vec<_> = (self.variants)().iter().map(|variant| variant.name).collect();
        if text == "all" {
            return Ok(all);
        }
        let find = |name: &str| {
            let found = if name == "best" { all.last() } else { all.iter().find(|have| **have == name) };
            found.copied().ok_or_else(|| {
                Error::Usage(format!("{} has no variant '{name}'; there are: all {}", self.name, all.join(" ")))
            })
        };
        text.split(',').map(|name| find(name.trim())).collect()
    }

    /// The image with the entries of this family alone.
    pub fn part_of(&self, image: Image) -> Image {
        let entries = (self.variants)().into_iter().flat_map(|variant| variant.entries).map(|entry| entry.name);
        image.with_entries(&entries.collect())
    }

    /// Whether there is this operation (or `""`, where there is no choice) on this type.
    pub fn has(&self, op: &str, dtype: Dtype) -> bool {
        let only = self.only.iter().find(|(name, _)| *name == op);
        self.dtypes.contains(&dtype) && only.is_none_or(|(_, dtypes)| dtypes.contains(&dtype))
    }

    /// The operation asked for, or the first.
    ///
    /// # Errors
    /// [`Error::Usage`] with the operations that there are.
    pub fn op(&self, asked: Option<&str>) -> Result<&'static str> {
        match asked {
            None => Ok(self.ops.first().copied().unwrap_or_default()),
            Some(asked) => self.ops.iter().find(|op| **op == asked).copied().ok_or_else(|| self.no_op(asked)),
        }
    }

    /// Refuses a type that there is no kernel for.
    ///
    /// # Errors
    /// [`Error::Usage`] with the types that there are.
    pub fn require_kernel(&self, dtype: Dtype) -> Result<()> {
        if self.dtypes.contains(&dtype) { Ok(()) } else { Err(self.no_kernel(dtype)) }
    }

    /// One number as a size is a length, and not a side: what is made of it are vectors. No result of it is a picture.
    pub fn is_of_vectors(&self) -> bool {
        let of_one = |settings: Settings, &dtype| {
            (self.generate)(&Demand { size: &[1], dtype, seed: 0, settings: &settings }).ok()
        };
        let made = Settings::new(self.settings, []).ok().zip(self.dtypes.first());
        made.and_then(|(settings, dtype)| of_one(settings, dtype))
            .is_some_and(|inputs| inputs.first().is_some_and(|input| input.shape().len() == 1))
    }

    fn no_op(&self, asked: &str) -> Error {
        Error::Usage(match self.ops {
            [] => format!("{} has no --op", self.name),
            ops => format!("{} has no --op {asked}; there are: {}", self.name, ops.join(" ")),
        })
    }

    fn no_kernel(&self, dtype: Dtype) -> Error {
        let names: Vec<_> = self.dtypes.iter().map(|dtype| dtype.name()).collect();
        Error::Usage(format!("{} has no kernel for {dtype}: convert the data to one of {}", self.name, names.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let of_vectors = |name| family(name).expect("a family").is_of_vectors();
        let vectors =
            ["vecadd", "dot", "reduce", "segreduce", "scan", "histogram", "conv1d", "atomics", "banks", "print"];
        assert!(vectors.into_iter().all(of_vectors));
        assert!(
            !["transpose", "matmul", "conv2d", "texture", "picture", "access", "threads"].into_iter().any(of_vectors)
        );
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
        assert_eq!(reduce.select("sequential, interleaved").expect("two"), ["sequential", "interleaved"]);
        assert!(reduce.select("all").expect("all").len() > 2);
        assert!(reduce.select("fastest").is_err());
        assert_eq!(reduce.op(None).expect("the first"), "sum");
        assert!(reduce.op(Some("mean")).is_err());
    }
}
