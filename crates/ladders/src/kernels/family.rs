//! What a family is: a problem, and the variants that solve it.

use super::demand::Demand;
use super::ladder::{Resolved, merge};
use super::problem::{Case, Operand, Problem};
use super::settings::Setting;
use super::variant::{BEST, RungId, VariantInfo};
use crate::error::{Error, Result};
use crate::kernels::spelling::OP;
use rustwarp::element::Dtype;
use rustwarp::tensor::Tensor;

/// A family of kernels that solve one problem.
pub struct Family {
    /// Name on the command line.
    pub name: &'static str,
    /// Description of the computation in one line.
    pub idea: &'static str,
    /// The operands that it reads.
    pub operands: &'static [Operand],
    /// Operations, of which the first is the default; empty for a family without operations.
    pub ops: &'static [&'static str],
    /// Element types; the first is the default.
    pub dtypes: &'static [Dtype],
    /// Operations that exist for these types only; all others exist for every type.
    pub only: &'static [(&'static str, &'static [Dtype])],
    /// Options besides operation, type and size.
    pub settings: &'static [Setting],
    /// The variants, slowest first.
    pub variants: fn() -> Vec<VariantInfo>,
    /// Sizes to test: those around limits of tiles and blocks, small enough for the simulator.
    pub cases: fn() -> Vec<Case>,
    /// Sizes to measure.
    pub sizes: fn() -> Vec<Case>,
    /// Whether `--n` is a vector length; otherwise it is the length of every side.
    pub of_vectors: bool,
    /// Generates operands of a size.
    pub generate: fn(&Demand<'_>) -> Result<Vec<Tensor>>,
    /// Resolves the rungs for a problem's operation and element type.
    pub(crate) resolve: fn(&Problem<'_>) -> Result<Resolved>,
    /// Whether NaN, infinities and both zeros have a documented result, which tests compare.
    pub specials: bool,
    /// Largest problems besides its own cases and sizes.
    pub limits: Limits,
    /// The programs of `bench/peers` that measure the vendor's libraries on the same problem.
    pub peers: &'static [&'static str],
}

/// Largest problems of a family where time is limited, in elements of the first operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest problem that the simulator explains within seconds, for the pages in `docs/ladders`.
    pub explained: u64,
    /// Largest problem that tests run on a GPU.
    pub tested: u64,
}

impl Limits {
    /// Limits for work that is roughly proportional to the size of the operands: several elements for each of an H200's
    /// 270336 threads, and a size that was measured, so that the estimate stands beside a time.
    pub const DEFAULT: Self = Self { explained: 1 << 20, tested: u64::MAX };
}

impl Family {
    /// All variants, slowest first.
    pub fn rungs(&self) -> Vec<RungId> {
        (self.variants)().iter().enumerate().map(|(row, variant)| RungId { row, name: variant.name }).collect()
    }

    /// The properties of a variant.
    pub fn info(&self, rung: RungId) -> VariantInfo {
        (self.variants)().swap_remove(rung.row)
    }

    /// Selects variants by `all`, `best`, a name, or names separated by commas.
    ///
    /// # Errors
    /// [`Error::Usage`] with the existing names, for an unknown one.
    pub fn select(&self, text: &str) -> Result<Vec<RungId>> {
        let all = self.rungs();
        if text == "all" {
            return Ok(all);
        }
        let find = |name: &str| {
            let found = if name == BEST { all.last() } else { all.iter().find(|rung| rung.name == name) };
            found.copied().ok_or_else(|| {
                let names: Vec<_> = all.iter().map(|rung| rung.name).collect();
                Error::Usage(format!("{} has no variant `{name}`; there are: all {}", self.name, names.join(" ")))
            })
        };
        text.split(',').map(|name| find(name.trim())).collect()
    }

    /// The rungs for a problem's operation and element type.
    ///
    /// # Errors
    /// [`Error::Usage`] for an operation or type without a kernel.
    pub fn resolve(&self, problem: &Problem<'_>) -> Result<Resolved> {
        (self.resolve)(problem)
    }

    /// The variants with the entries of every operation and type that the family has.
    ///
    /// # Panics
    /// If the family lists a pair of operation and type without kernels.
    pub(crate) fn merge(&self, resolve: fn(&str, Dtype) -> Result<Resolved>) -> Vec<VariantInfo> {
        let ops = if self.ops.is_empty() { &[""] } else { self.ops };
        let pairs = ops.iter().flat_map(|op| self.dtypes.iter().map(move |dtype| (*op, *dtype)));
        let pairs = pairs.filter(|(op, dtype)| self.has(op, *dtype));
        merge(pairs.map(|(op, dtype)| {
            let refused = |error| panic!("{} lists `{op}` of {dtype}, which has no kernels: {error}", self.name);
            resolve(op, dtype).unwrap_or_else(refused)
        }))
    }

    /// Whether this operation (`""` for a family without operations) exists for this type.
    pub fn has(&self, op: &str, dtype: Dtype) -> bool {
        let only = self.only.iter().find(|(name, _)| *name == op);
        self.dtypes.contains(&dtype) && only.is_none_or(|(_, dtypes)| dtypes.contains(&dtype))
    }

    /// The requested operation, or the first.
    ///
    /// # Errors
    /// [`Error::Usage`] with the existing operations, for an unknown one.
    pub fn op(&self, asked: Option<&str>) -> Result<&'static str> {
        match asked {
            None => Ok(self.ops.first().copied().unwrap_or_default()),
            Some(asked) => self.ops.iter().find(|op| **op == asked).copied().ok_or_else(|| self.no_op(asked)),
        }
    }

    /// Checks that the family has kernels for this type.
    ///
    /// # Errors
    /// [`Error::Usage`] with the types that have kernels, if it has none.
    pub fn require_kernel(&self, dtype: Dtype) -> Result<()> {
        if self.dtypes.contains(&dtype) { Ok(()) } else { Err(self.no_kernel(dtype)) }
    }

    pub(crate) fn no_op(&self, asked: &str) -> Error {
        Error::Usage(match self.ops {
            [] => format!("{} has no {OP}", self.name),
            ops => format!("{} has no {OP} {asked}; there are: {}", self.name, ops.join(" ")),
        })
    }

    pub(crate) fn no_kernel(&self, dtype: Dtype) -> Error {
        let names: Vec<_> = self.dtypes.iter().map(|dtype| dtype.name()).collect();
        Error::Usage(format!("{} has no kernel for {dtype}: convert the data to one of {}", self.name, names.join(" ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::scan;

    #[test]
    #[should_panic(expected = "scan lists `sum` of u8, which has no kernels")]
    fn a_listed_type_without_kernels_is_not_left_out() {
        let wrong = Family { dtypes: &[Dtype::F32, Dtype::U8], ..scan::FAMILY };
        wrong.merge(|_, dtype| match dtype {
            Dtype::U8 => Err(scan::FAMILY.no_kernel(dtype)),
            _ => Ok(Resolved {
                variants: Vec::new,
                oracle: |_| unreachable!(),
                refusal: |_, _| None,
                run: |_, _| unreachable!(),
            }),
        });
    }
}
