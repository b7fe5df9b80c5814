//! The help of a family: its operations, types, operands and variants, and examples.

use super::{look, narrow};
use clap::Command;
use ladders::kernels::{BEST, Family, VariantInfo};
use ladders::wrap::wrap;

/// Columns of a help that is not written to a terminal, as clap has it.
const COLUMNS: usize = 100;

/// Adds the family's properties to the help of its options, and its variants below them.
pub(super) fn describe(family: &Family, command: Command) -> Command {
    let operands: Vec<&str> = family.operands.iter().map(|operand| operand.name).collect();
    let types = narrow::types(family);
    let mut command = command.mut_arg("dtype", |arg| {
        arg.help(format!(
            "Type of the elements: {} [default: the file's type, or {}]",
            types.join(" "),
            types.first().unwrap_or(&"none")
        ))
    });
    command = command.mut_arg("op", |arg| match family.ops {
        [] => arg.hide(true),
        [first, ..] => arg.help(format!("The operation: {} [default: {first}]{}", family.ops.join(" "), only(family))),
    });
    if operands.is_empty() {
        for option in ["input", "n", "shape", "seed"] {
            command = command.mut_arg(option, |arg| arg.hide(true));
        }
    } else {
        let list = operands.join(", ");
        command = command.mut_arg("input", |arg| {
            arg.help(format!(
                "A file for each operand, in order: {list}. Formats: .npy, .npz (data.npz:NAME for one of several \
                 arrays), .csv, .txt, .png, .jpg, raw little-endian elements, or - for standard input"
            ))
        });
        let what = match family.of_vectors {
            true => "Generate this many elements: 1000000, 4M, 2^22 [default: 2^22 on a GPU, 2^16 on the simulator]",
            false => {
                "Generate operands with sides of this length: 1000, 2^10 [default: 1024 on a GPU, 64 on the simulator]"
            }
        };
        command = command.mut_arg("n", |arg| arg.help(what));
    }
    command.after_help(variants(family, columns()))
}

/// Adds examples of `host FAMILY` below the variants.
pub(super) fn with_examples(family: &Family, command: Command) -> Command {
    command.after_help(details(family, columns()))
}

/// The variants and the examples, in lines of at most `columns`.
pub(super) fn details(family: &Family, columns: usize) -> String {
    variants(family, columns) + &examples(family)
}

/// Columns of what this process prints.
fn columns() -> usize {
    look::stdout().width.unwrap_or(COLUMNS)
}

/// The types of operations that not all types have.
fn only(family: &Family) -> String {
    let one = |(op, dtypes): &(&str, &[rustwarp::element::Dtype])| {
        let names: Vec<_> = dtypes.iter().map(|dtype| dtype.name()).collect();
        format!("; {op} for {} only", names.join(" "))
    };
    family.only.iter().map(one).collect()
}

/// The variants with their ideas, each of which continues below its start.
fn variants(family: &Family, columns: usize) -> String {
    let variants = (family.variants)();
    let width = variants.iter().map(|variant| variant.name.len()).max().unwrap_or(0);
    let line = |variant: &VariantInfo| {
        let line = format!("  {:width$}  {}", variant.name, variant.idea);
        wrap(&line, Some(columns), width + 4) + "\n"
    };
    format!("Variants, slowest first:\n{}", variants.iter().map(line).collect::<String>())
}

/// Examples that name the family's operands and variants.
fn examples(family: &Family) -> String {
    let (name, rungs) = (family.name, family.rungs());
    let last = rungs.last().map_or(BEST, |rung| rung.name);
    let first = rungs.first().map_or(BEST, |rung| rung.name);
    let mut text = "\nExamples:\n".to_owned();
    if family.operands.is_empty() {
        text += &format!("  host {name} --variant {last} --device sim\n");
    } else {
        let files: String = family.operands.iter().map(|operand| format!(" --input {}.npy", operand.name)).collect();
        let n = if family.of_vectors { "2^16" } else { "64" };
        text += &format!("  host {name} --n {n} --device sim\n");
        text += &format!("  host {name}{files} --variant {last} --output result.npy\n");
    }
    if let [op, ..] = family.ops {
        text += &format!("  host {name} --op {op} --variant {last} --device sim --json\n");
    }
    if first != last {
        text += &format!("  host explain {name} --variant {first} --against {last}\n");
    }
    text + &format!("  host check {name}")
}
