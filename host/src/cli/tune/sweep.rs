//! Other launches of the present kernel: block sizes, and half and twice the number of blocks.

use super::outcome::Outcome;
use super::trial::{Setup, Trial};
use ladders::error::Result;
use ladders::kernels::{BlockRule, Family};
use rustwarp::backend::Module;

/// Compares the launches that the kernel allows with the one that the plan chooses.
///
/// # Errors
/// Those of [`Trial::compare`]; a launch that the kernel or the device does not allow is an outcome.
pub fn launches(
    trial: &Trial<'_>,
    family: &Family,
    module: Module,
    problem: &str,
    outcomes: &mut Vec<Outcome>,
) -> Result<()> {
    let present = Setup::of(module);
    let row = trial.run(present)?;
    let rule = family.info(trial.variant).block;
    let mut add = |option: &str, place: &str, label: String, values: [u32; 2], setup: Setup| -> Result<()> {
        let found = trial.compare(present, setup)?;
        outcomes.push(Outcome {
            constant: option.to_owned(),
            place: format!("{place}{}", family.name),
            label,
            present: values[0].to_string(),
            candidate: values[1].to_string(),
            problem: problem.to_owned(),
            found,
        });
        Ok(())
    };
    for block in blocks(rule, row.block, trial.device.info().max_block) {
        let setup = Setup { block: Some(block), ..present };
        add("block", "BLOCK in kernels-gpu/src/", format!("block = {block}"), [row.block, block], setup)?;
    }
    for (grid, label) in grids(row.grid) {
        let setup = Setup { grid: Some(grid), ..present };
        add("grid", "the plan of rustwarp::", label, [row.grid, grid], setup)?;
    }
    Ok(())
}

/// Block sizes to try, in ascending order: those of the rule that are powers of two from 64 on, or its own list,
/// without the present one.
fn blocks(rule: BlockRule, present: u32, most: u32) -> Vec<u32> {
    let mut sizes = [vec![64, 128, 256, 512, 1024], rule.kernels()].concat();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.retain(|&size| size != present && rule.choose(Some(size), "best", most).is_ok());
    sizes
}

/// Numbers of blocks to try beside the present one, which is 0 for a problem without a launch.
fn grids(present: u32) -> Vec<(u32, String)> {
    let half = (present / 2, "half the grid");
    let twice = (present.saturating_mul(2), "twice the grid");
    let grids = [half, twice].into_iter().filter(|(grid, _)| *grid > 0 && *grid != present);
    grids.map(|(grid, label)| (grid, label.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_to_try_are_allowed_and_differ_from_the_present_one() {
        assert_eq!(blocks(BlockRule::WholeWarps { default: 512 }, 512, 1024), [64, 128, 256, 1024]);
        assert_eq!(blocks(BlockRule::PowerOfTwo { min: 128, default: 256 }, 256, 512), [128, 512]);
        assert_eq!(blocks(BlockRule::OneOf { sizes: &[96, 256], default: 256 }, 256, 1024), [96]);
        assert!(blocks(BlockRule::OneOf { sizes: &[256], default: 256 }, 256, 1024).is_empty());
        let of = |present| grids(present).into_iter().map(|(grid, _)| grid).collect::<Vec<_>>();
        assert_eq!((of(264), of(1), of(0)), (vec![132, 528], vec![2], vec![]));
    }
}
