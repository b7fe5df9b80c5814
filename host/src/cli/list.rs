//! `host list`: families, variants, and their entries.

use super::exit::CLEAN;
use super::{look, output, stdout};
use ladders::kernels::{BlockRule, FAMILIES, failing};
use ladders::table::{Column, Grid};
use ladders::wrap::wrap;

/// Options of the subcommand.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Print one JSON object per variant, with every PTX entry that belongs to it
    #[arg(long)]
    json: bool,
    /// List the failing examples instead: kernels with one mistake each, for `host check failing`
    #[arg(long)]
    failing: bool,
}

/// Prints the list.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    if options.failing {
        return examples(options.json);
    }
    for family in FAMILIES {
        let dtypes: Vec<_> = family.dtypes.iter().map(|dtype| dtype.name()).collect();
        let variants = (family.variants)();
        if options.json {
            for variant in variants {
                let mut object = serde_json::to_value(&variant)?;
                object["family"] = family.name.into();
                object["ops"] = family.ops.into();
                object["dtypes"] = dtypes.as_slice().into();
                object["settings"] = family.settings.iter().map(|setting| setting.name).collect::<Vec<_>>().into();
                stdout::line(&object.to_string())?;
            }
            continue;
        }
        let ops = if family.ops.is_empty() { String::new() } else { format!("; ops: {}", family.ops.join(" ")) };
        let heading = format!("{}: {}{ops}; types: {}", family.name, family.idea, dtypes.join(" "));
        stdout::line(&wrap(&heading, look::stdout().width, 2))?;
        let columns = [
            Column::text("variant"),
            Column::sentences("idea", 24),
            Column::sentences("block", 12).rank(1),
            Column::text("entries").rank(2),
        ];
        let mut table = Grid::new(columns, output::ALL);
        for variant in variants {
            let entries = match variant.entries.as_slice() {
                [] => "none".to_owned(),
                [only] => only.name.clone(),
                [first, .., last] => format!("{} … {} ({})", first.name, last.name, variant.entries.len()),
            };
            table.row([variant.name.to_owned(), variant.idea.to_owned(), describe(variant.block), entries]);
        }
        stdout::line(&format!("{}\n", table.render(look::stdout())))?;
    }
    Ok(CLEAN)
}

/// Prints the failing examples: the mistake, the finding, and the correct rung.
fn examples(json: bool) -> anyhow::Result<u8> {
    let columns = [
        Column::text("example"),
        Column::sentences("mistake", 20),
        Column::text("finding"),
        Column::sentences("right", 12).rank(1),
    ];
    let mut table = Grid::new(columns, output::ALL);
    for example in failing::EXAMPLES {
        let (family, rung) = example.right;
        if json {
            let object = serde_json::json!({
                "family": failing::FAMILY.name,
                "variant": example.name,
                "mistake": example.mistake,
                "finding": example.finding,
                "right": { "family": family, "variant": rung },
            });
            stdout::line(&object.to_string())?;
        } else {
            table.row([example.name, example.mistake, example.finding, &format!("{family} {rung}")]);
        }
    }
    if !json {
        let table = table.render(look::stdout());
        stdout::line(&format!("{table}\n\nhost check failing --variant NAME shows the mistake"))?;
    }
    Ok(CLEAN)
}

fn describe(rule: BlockRule) -> String {
    match rule {
        BlockRule::Any { default } => format!("{default}; any"),
        BlockRule::PowerOfTwo { min, default } => format!("{default}; 2^k from {min}"),
        BlockRule::WholeWarps { default } => format!("{default}; multiples of 32"),
        BlockRule::OneOf { sizes, default } => {
            format!("{default}; {}", sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(" "))
        }
    }
}
