//! The problems to measure: operations, types, sizes and settings.

use ladders::error::{Error, Result};
use ladders::input::size;
use ladders::kernels::{Case, Family, Settings};
use rustwarp::element::Dtype;

/// Options that choose problems.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(in crate::cli) struct Problems {
    /// Sizes, as --n of the family [default: each family's own]
    #[arg(long, value_parser = size::parse, value_delimiter = ',')]
    pub n: Vec<u64>,
    /// Sizes of several axes, for one family: 4096x1024,1024x4096
    #[arg(long, value_delimiter = ',', conflicts_with = "n")]
    pub shape: Vec<String>,
    /// A setting of the family, for one family: --set bins=2^16, or for products --set distribution=normal; may be
    /// repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Operations [default: the family's first]. If several families are measured, those without the operation are left
    /// out; likewise for other options
    #[arg(long, value_delimiter = ',')]
    pub op: Vec<String>,
    /// Types of the elements [default: the family's first]; products of f16, bf16, f8 and i8, and of f32 as tf32, are
    /// those of `tensor`, `mma` and `wgmma`
    #[arg(long, value_delimiter = ',', value_parser = str::parse::<Dtype>)]
    pub dtype: Vec<Dtype>,
    /// Seed of the generated numbers
    #[arg(long, default_value_t = 42, value_parser = crate::cli::number::any::<u64>)]
    pub seed: u64,
}

impl Problems {
    /// Checks that a single family has every operation and type that was requested.
    pub fn require_all_of(&self, family: &Family) -> Result<()> {
        self.op.iter().try_for_each(|op| family.op(Some(op)).map(drop))?;
        self.dtype.iter().try_for_each(|&dtype| family.require_kernel(dtype))
    }

    /// The requested operations that a family has, or its first; an error if it has none of them.
    pub fn ops(&self, family: &Family) -> Result<Vec<&'static str>> {
        let ops: Vec<_> = self.op.iter().filter_map(|op| family.op(Some(op)).ok()).collect();
        if !ops.is_empty() {
            return Ok(ops);
        }
        Ok(vec![family.op(self.op.first().map(String::as_str))?])
    }

    /// The requested types that a family has, or its first; an error if it has none of them.
    pub fn dtypes(&self, family: &Family) -> Result<Vec<Dtype>> {
        let dtypes: Vec<_> = self.dtype.iter().copied().filter(|dtype| family.dtypes.contains(dtype)).collect();
        if !dtypes.is_empty() {
            return Ok(dtypes);
        }
        let dtype = self.dtype.first().copied().unwrap_or(family.dtypes[0]);
        family.require_kernel(dtype).map(|()| vec![dtype])
    }

    /// The requested sizes of several axes.
    pub fn shapes(&self) -> Result<Vec<Case>> {
        let shape = |text: &String| {
            let axes: Vec<u64> = text.split('x').map(size::parse).collect::<Result<_>>()?;
            Ok(Case::new(&axes))
        };
        self.shape.iter().map(shape).collect()
    }

    /// The requested sizes, or those of `default`, with the requested settings.
    pub fn cases(&self, family: &Family, default: fn() -> Vec<Case>) -> Result<Vec<Case>> {
        let mut cases = match (self.n.as_slice(), self.shape.as_slice()) {
            ([], []) => default(),
            _ if family.operands.is_empty() => {
                return Err(Error::Usage(format!("{} has no operands: leave --n and --shape out", family.name)));
            }
            (sizes, []) => sizes.iter().map(|&n| Case::new(&[n])).collect(),
            _ => self.shapes()?,
        };
        for word in &self.set {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let setting = family.settings.iter().find(|setting| setting.name == name).ok_or_else(|| {
                let names: Vec<_> = family.settings.iter().map(|setting| setting.name).collect();
                Error::Usage(format!("{} has no setting '{name}'; there are: {}", family.name, names.join(" ")))
            })?;
            for case in &mut cases {
                case.settings.retain(|(have, _)| *have != name);
                case.settings.push((setting.name, value.to_owned()));
            }
        }
        cases.iter().try_for_each(|case| settings(family, case).map(drop))?;
        Ok(cases)
    }
}

/// The settings of a case.
pub(in crate::cli) fn settings(family: &Family, case: &Case) -> Result<Settings> {
    Settings::new(family.settings, case.settings.iter().map(|(name, value)| (*name, value.as_str())))
}
