//! Selection for `host bench`: of each family, those of the requested operations, types, variants and sizes that it
//! has.

use super::Options;
use crate::cli::family;
use ladders::error::{Error, Result};
use ladders::kernels::{self, Case, FAMILIES, Family, RungId};
use rustwarp::diagnostic::note;
use rustwarp::element::Dtype;

/// The selected operations, types, variants and sizes of a family.
pub(super) struct Chosen {
    pub family: &'static Family,
    pub ops: Vec<&'static str>,
    pub dtypes: Vec<Dtype>,
    pub variants: Vec<RungId>,
    pub cases: Vec<Case>,
}

impl Options {
    /// The families, each with the requested choices that it has. If several families are requested, those that have
    /// none of the choices are left out, with the reason on standard error; a name that no family has is an error.
    pub(super) fn chosen(&self) -> Result<Vec<Chosen>> {
        let families: Vec<&Family> = match self.families.as_slice() {
            [] => FAMILIES.iter().collect(),
            names => names.iter().map(|name| find(name)).collect::<Result<_>>()?,
        };
        if let [family] = families[..] {
            self.problems.require_all_of(family)?;
            family.select(&self.variant)?;
            return Ok(vec![self.choose(family)?]);
        }
        require_known("op", &self.problems.op, |op| families.iter().any(|family| family.op(Some(op)).is_ok()))?;
        require_known("dtype", &self.problems.dtype, |dtype| {
            families.iter().any(|family| family.dtypes.contains(dtype))
        })?;
        require_known("variant", &self.variants(), |name| families.iter().any(|family| family.select(name).is_ok()))?;
        // A malformed size is an error for every family.
        self.problems.shapes()?;
        let mut chosen = Vec::new();
        for family in families {
            match self.choose(family) {
                Ok(one) => chosen.push(one),
                Err(why) => note(format_args!("{} is left out: {why}", family.name)),
            }
        }
        if chosen.is_empty() {
            return Err(Error::Usage("no family has this combination: request fewer choices at once".to_owned()));
        }
        Ok(chosen)
    }

    /// Selects the requested choices that a family has; an error if it has none.
    fn choose(&self, family: &'static Family) -> Result<Chosen> {
        let (ops, dtypes) = (self.problems.ops(family)?, self.problems.dtypes(family)?);
        let variants: Vec<_> =
            self.variants().into_iter().filter_map(|name| family.select(name).ok()).flatten().collect();
        let variants = if variants.is_empty() { family.select(&self.variant)? } else { variants };
        for info in variants.iter().map(|variant| family.info(*variant)) {
            info.block.choose(self.block, info.name, u32::MAX)?;
        }
        let cases = self.problems.cases(family, family.sizes)?;
        for (whole, given) in [("block", self.block), ("grid", self.grid)] {
            require_no_axes(family, &cases, whole, given)?;
        }
        Ok(Chosen { family, ops, dtypes, variants, cases })
    }

    fn variants(&self) -> Vec<&str> {
        self.variant.split(',').map(str::trim).collect()
    }
}

/// Refuses a `whole` (`block` or `grid`) for cases that have a setting for each of its axes.
fn require_no_axes(family: &Family, cases: &[Case], whole: &str, given: Option<u32>) -> Result<()> {
    let axis = |case: &Case| case.settings.iter().map(|(name, _)| *name).find(|name| family::is_axis_of(name, whole));
    match (cases.iter().find_map(axis), given) {
        (Some(name), Some(_)) => Err(Error::Usage(format!(
            "{} has --{name}: leave --{whole} out, and choose with --set {name}=N",
            family.name
        ))),
        _ => Ok(()),
    }
}

fn require_known<T: std::fmt::Display>(option: &str, asked: &[T], is_known: impl Fn(&T) -> bool) -> Result<()> {
    match asked.iter().find(|one| !is_known(one)) {
        None => Ok(()),
        Some(one) => Err(Error::Usage(format!("none of the families has --{option} {one}: see `host list`"))),
    }
}

fn find(name: &str) -> Result<&'static Family> {
    kernels::family(name).ok_or_else(|| {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        Error::Usage(format!("unknown family `{name}`; expected one of {}", names.join(" ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn cases(words: &[&str]) -> Result<Vec<(Vec<u64>, usize)>> {
        let line =
            Line::try_parse_from([&["bench"], words].concat()).map_err(|error| Error::Usage(error.to_string()))?;
        let cases = line.options.problems.cases(&kernels::transpose::FAMILY, kernels::transpose::FAMILY.sizes)?;
        Ok(cases.into_iter().map(|case| (case.size, case.settings.len())).collect())
    }

    fn options(words: &[&str]) -> Options {
        Line::try_parse_from([&["bench"], words].concat()).expect("options").options
    }

    /// Names of the families, with the operations, types and variants of each.
    fn chosen(words: &[&str]) -> std::result::Result<Vec<(&'static str, String)>, String> {
        let chosen = options(words).chosen().map_err(|error| error.to_string())?;
        let text = |one: &Chosen| {
            let dtypes: Vec<_> = one.dtypes.iter().map(|dtype| dtype.name()).collect();
            [
                one.ops.join(","),
                dtypes.join(","),
                one.variants.iter().map(|variant| variant.name).collect::<Vec<_>>().join(","),
            ]
            .join(" ")
        };
        Ok(chosen.iter().map(|one| (one.family.name, text(one))).collect())
    }

    #[test]
    fn families_without_what_is_asked_for_are_left_out() {
        let all = chosen(&[]).expect("every family");
        assert_eq!(all.len(), FAMILIES.len());
        let maxima = chosen(&["--op", "max"]).expect("some");
        let names: Vec<_> = maxima.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["atomics", "reduce", "segreduce", "scan", "scan_by_key"]);
        assert!(maxima.iter().all(|(_, text)| text.starts_with("max ")));
        let normal = chosen(&["--set", "distribution=normal"]).expect("products of matrices");
        assert_eq!(normal.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["matmul", "mma", "wgmma", "tensor"]);
        let doubles = chosen(&["--dtype", "f64", "reduce", "picture", "matmul"]).expect("two");
        assert_eq!(doubles.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["reduce", "matmul"]);
        let rungs = chosen(&["--variant", "best,interleaved", "reduce", "histogram", "transpose"]).expect("three");
        let text = |text: &str| text.to_owned();
        assert_eq!(rungs[0], ("reduce", text("sum f32 best,interleaved")));
        assert_eq!(rungs[1], ("histogram", text(" u8 best,interleaved")));
        assert_eq!(rungs[2], ("transpose", text(" f32 best")));
        assert_eq!(chosen(&["--variant", "padded", "reduce", "transpose"]).expect("one").len(), 1);
        assert!(chosen(&["--n", "1024"]).expect("all but one").iter().all(|(name, _)| *name != "threads"));
    }

    #[test]
    fn what_no_family_has_is_refused() {
        let refusal = |words: &[&str]| chosen(words).expect_err("refused");
        assert!(refusal(&["--variant", "besst"]).contains("none of the families has --variant besst"));
        assert!(refusal(&["--variant", "best,besst"]).contains("--variant besst"));
        assert!(refusal(&["--op", "mean", "reduce", "scan"]).contains("--op mean"));
        assert!(refusal(&["--dtype", "u8", "reduce", "scan"]).contains("--dtype u8"));
        assert!(refusal(&["--shape", "axb"]).contains("`a`"));
        assert!(refusal(&["--op", "max", "--dtype", "u8"]).contains("no family has this combination"));
        // The error for a single family lists its choices.
        assert!(refusal(&["reduce", "--op", "sum,mean"]).contains("argmax"));
        assert!(refusal(&["reduce", "--variant", "best,besst"]).contains("sequential"));
        assert!(refusal(&["dot", "--dtype", "f32,i32"]).contains("f32 f64"));
        assert!(refusal(&["vecadd", "--op", "max"]).contains("vecadd has no --op"));
        assert!(refusal(&["threads", "--n", "4"]).contains("leave --n and --shape out"));
        assert!(refusal(&["threads", "--block", "64"]).contains("--set block-x=N"));
        assert!(refusal(&["threads", "--grid", "64"]).contains("--set grid-x=N"));
        assert!(refusal(&["conv1d", "--set", "mask=0"]).contains("--mask 0"));
        assert!(refusal(&["matmul", "--set", "distribution=gauss"]).contains("there are: uniform normal"));
        assert!(refusal(&["transpose", "--block", "33"]).contains("--block 33"));
    }

    #[test]
    fn sizes_are_the_familys_unless_asked() {
        let own: Vec<_> = (kernels::transpose::FAMILY.sizes)().into_iter().map(|case| (case.size, 0)).collect();
        assert_eq!(cases(&[]).expect("its own"), own);
        assert_eq!(cases(&["--n", "2^10,7"]).expect("squares"), [(vec![1024], 0), (vec![7], 0)]);
        assert_eq!(cases(&["--shape", "1kx3,5"]).expect("shapes"), [(vec![1024, 3], 0), (vec![5], 0)]);
        assert!(cases(&["--shape", "axb"]).is_err() && cases(&["--n", "1", "--shape", "1x1"]).is_err());
        let refused = cases(&["--set", "bins=3"]).expect_err("no such setting").to_string();
        assert!(refused.contains("transpose has no setting 'bins'"), "{refused}");
    }
}
