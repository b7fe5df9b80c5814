//! `--dtype` of products of matrices: narrow types, and f32 whose factors are cut to tf32.
//!
//! `host matmul` computes them by the kernels of the family `tensor`, in which tf32 is a variant of f32.

use clap::{ArgMatches, Command};
use ladders::error::{Error, Result};
use ladders::kernels::{BEST, Family, matmul, mma, tensor};
use rustwarp::element::Dtype;

/// Name of f32 factors of which 10 bits of the fraction are read, as a type and as a variant.
const TF32: &str = "tf32";

/// The types of `host FAMILY --dtype`, of which the first is the default.
pub(super) fn types(family: &Family) -> Vec<&'static str> {
    let own = || family.dtypes.iter().map(|dtype| dtype.name());
    if family.name == matmul::FAMILY.name {
        let others = tensor::FAMILY.dtypes.iter().filter(|dtype| !family.dtypes.contains(dtype));
        own().chain([TF32]).chain(others.map(|dtype| dtype.name())).collect()
    } else {
        own().chain(has_tf32(family).then_some(TF32)).collect()
    }
}

/// Whether the family multiplies f32 as tf32.
fn has_tf32(family: &Family) -> bool {
    [matmul::FAMILY, mma::FAMILY, tensor::FAMILY].iter().any(|one| one.name == family.name)
}

/// Adds tf32 to the types of a family's command, if it has such products.
pub(super) fn command(family: &Family, command: Command) -> Command {
    if !has_tf32(family) {
        return command;
    }
    let types = types(family);
    let parse = move |text: &str| match text.parse::<Dtype>() {
        _ if is_tf32(text) => Ok(Dtype::F32),
        Err(_) => Err(format!("unknown element type `{text}`; expected one of {}", types.join(" "))),
        Ok(dtype) => Ok(dtype),
    };
    command.mut_arg("dtype", |arg| arg.value_parser(parse))
}

fn is_tf32(text: &str) -> bool {
    text.eq_ignore_ascii_case(TF32)
}

/// Whether `--dtype tf32` was given, to a command that has it.
fn asks_for_tf32(matches: &ArgMatches) -> bool {
    let given = matches.get_raw("dtype").into_iter().flatten().next();
    given.and_then(|text| text.to_str()).is_some_and(is_tf32)
}

/// The family whose kernels multiply factors of the type that `matches` has: `tensor` for `matmul` of narrow types.
///
/// # Errors
/// [`Error::Usage`] for a type without kernels, and for options that products of narrow types do not have.
pub(super) fn solver<'f>(family: &'f Family, matches: &ArgMatches) -> Result<&'f Family> {
    let Some(&dtype) = matches.get_one::<Dtype>("dtype") else { return Ok(family) };
    let tf32 = asks_for_tf32(matches);
    if family.name != matmul::FAMILY.name || family.dtypes.contains(&dtype) && !tf32 {
        return Ok(family);
    }
    if !tensor::FAMILY.dtypes.contains(&dtype) {
        let types = types(family).join(" ");
        return Err(Error::Usage(format!("matmul has no kernel for {dtype}: convert the data to one of {types}")));
    }
    let given = |option: &&str| matches.try_contains_id(option).unwrap_or(false);
    match ["tile", "gpus"].into_iter().find(given) {
        Some(option) => {
            let name = if tf32 { TF32 } else { dtype.name() };
            let text = format!("--{option} is for products of f32 and f64: leave --{option} or --dtype {name} out");
            Err(Error::Usage(text))
        }
        None => Ok(&tensor::FAMILY),
    }
}

/// The variants to run: of f32 as tf32 the one of this name in `tensor`, and all in `mma`.
///
/// # Errors
/// [`Error::Usage`] for another variant.
pub(super) fn variant(family: &Family, matches: &ArgMatches, asked: String) -> Result<String> {
    if family.name != tensor::FAMILY.name || !asks_for_tf32(matches) {
        return Ok(asked);
    }
    match asked.as_str() {
        "all" | BEST | TF32 => Ok(TF32.to_owned()),
        other => Err(Error::Usage(format!(
            "--dtype {TF32} is computed by the variant `{TF32}`: leave --variant {other} out"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::family;
    use clap::Args;
    use ladders::kernels;

    /// The family and the variants that the words choose, or the refusal.
    fn chosen(words: &[&str]) -> std::result::Result<(&'static str, String), String> {
        let (name, rest) = words.split_first().expect("a family");
        let asked = kernels::family(name).expect("a family");
        let command = Command::new("host").no_binary_name(true);
        let command = family::command(asked, family::Options::augment_args(command));
        let matches = command.try_get_matches_from(rest).map_err(|error| error.to_string())?;
        let found = solver(asked, &matches).map_err(|error| error.to_string())?;
        let options = family::parse(found, &matches).map_err(|error| error.to_string())?;
        Ok((found.name, options.variant))
    }

    #[test]
    fn a_type_chooses_the_kernels() {
        for (words, family, variant) in [
            (&["matmul"][..], "matmul", "all"),
            (&["matmul", "--dtype", "f32"], "matmul", "all"),
            (&["matmul", "--dtype", "f64", "--tile", "small"], "matmul", "all"),
            (&["matmul", "--dtype", "bf16"], "tensor", "all"),
            (&["matmul", "--dtype", "F16", "--variant", "best"], "tensor", "best"),
            (&["matmul", "--dtype", "f8"], "tensor", "all"),
            (&["matmul", "--dtype", "i8"], "tensor", "all"),
            (&["matmul", "--dtype", "tf32"], "tensor", "tf32"),
            (&["matmul", "--dtype", "TF32", "--variant", "best"], "tensor", "tf32"),
            (&["tensor", "--dtype", "tf32", "--variant", "tf32"], "tensor", "tf32"),
            (&["tensor", "--dtype", "f32"], "tensor", "all"),
            (&["mma", "--dtype", "tf32", "--variant", "naive"], "mma", "naive"),
            (&["reduce", "--dtype", "f16"], "reduce", "all"),
        ] {
            assert_eq!(chosen(words), Ok((family, variant.to_owned())), "{words:?}");
        }
    }

    #[test]
    fn refusals_say_what_to_do() {
        let all = "f32 f64 tf32 f16 bf16 f8 i8";
        for (words, reasons) in [
            (&["matmul", "--dtype", "i32"][..], ["matmul has no kernel for i32", all]),
            (&["matmul", "--dtype", "fp8"], ["`fp8`", all]),
            (&["tensor", "--dtype", "tf23"], ["`tf23`", "f32 f16 bf16 f8 i8 tf32"]),
            (&["matmul", "--dtype", "tf32", "--variant", "naive"], ["`tf32`", "leave --variant naive out"]),
            (&["matmul", "--dtype", "tf32", "--tile", "small"], ["f32 and f64", "leave --tile or --dtype tf32 out"]),
            (&["matmul", "--dtype", "i8", "--tile", "small"], ["f32 and f64", "leave --tile or --dtype i8 out"]),
            (&["reduce", "--dtype", "tf32"], ["`tf32`", "expected one of f32"]),
            (&["wgmma", "--dtype", "tf32"], ["`tf32`", "expected one of f32"]),
        ] {
            let refusal = chosen(words).expect_err("refused");
            assert!(reasons.iter().all(|reason| refusal.contains(reason)), "{words:?}: {refusal}");
        }
    }
}
