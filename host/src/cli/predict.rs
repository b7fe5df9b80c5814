//! `host explain FAMILY --predict SIZE`: times at a size that is too large to simulate.

use super::exit::{CLEAN, WRONG};
use super::{family, look, stdout};
use ladders::error::{Error, Result};
use ladders::explain::Page;
use ladders::explain::predict::{self, Predicted, Prediction, Run};
use ladders::kernels::{Family, RungId};
use rustwarp::backend;

/// Predicts the times of the selected variants at `target`, and prints them. Exit code 1 means that a small run is
/// wrong.
pub(super) fn run(family: &Family, options: &family::Options, target: &[u64], profile: &str) -> anyhow::Result<u8> {
    let base = base(family, options, target)?;
    let sizes = predict::sizes(&base, target);
    let explain = |size: &[u64], variants: &[RungId]| page(family, options, variants, size, target, profile);
    let selected = family.select(&options.variant)?;
    let pages: Vec<Page> = sizes.iter().map(|size| explain(size, &selected)).collect::<Result<_>>()?;
    let Some(first) = pages.first() else { return Ok(WRONG) };
    let multiprocessors = first.device.multiprocessors;
    let mut clean = pages.iter().flat_map(|page| &page.variants).all(|variant| variant.verified == Some(true));
    let mut variants = Vec::new();
    for (i, variant) in first.variants.iter().enumerate() {
        let runs = predict::runs(&base, target, |size| {
            if let Some(at) = sizes.iter().position(|own| own == size) {
                return Ok(Run::new(size, &pages[at].variants[i], multiprocessors));
            }
            let larger = explain(size, &family.select(&variant.name)?)?;
            clean &= larger.variants.iter().all(|variant| variant.verified == Some(true));
            let none = || Error::Usage(format!("{} does not run at {size:?} elements", variant.name));
            Ok::<_, Error>(Run::new(size, larger.variants.first().ok_or_else(none)?, multiprocessors))
        })?;
        let time = predict::time(target, &runs);
        let limit = runs.last().map(|run| run.limit.clone()).unwrap_or_default();
        variants.push(Predicted {
            name: variant.name.clone(),
            time_us: time.as_ref().ok().copied(),
            refused: time.err().map(|refusal| refusal.to_string()),
            runs,
            limit,
        });
    }
    let title = first.title.split_once(':').map_or(first.title.as_str(), |(title, _)| title).to_owned();
    let prediction =
        Prediction { title, device: first.device.name.clone(), size: target.to_vec(), variants, simulated: sizes };
    stdout::page(&prediction, options.json.json.as_ref(), || prediction.render(look::stdout()))?;
    Ok(if clean { CLEAN } else { WRONG })
}

/// The smallest size to simulate.
fn base(family: &Family, options: &family::Options, target: &[u64]) -> Result<Vec<u64>> {
    let data = &options.data;
    let base = data.n.map_or_else(|| data.shape.clone(), |n| vec![n]);
    if !family.of_vectors && (target.len() < 2 || base.len() < 2) {
        return Err(Error::Usage(
            "the cost may grow otherwise along each axis: write all of them, as in `--shape 2048x2048x64 --predict \
             8192x8192x8192`"
                .to_owned(),
        ));
    }
    if base.len() != target.len() || base.iter().zip(target).any(|(small, large)| small > large) {
        return Err(Error::Usage(
            "--predict needs a size that is at least as large along each axis as --n or --shape, which is simulated"
                .to_owned(),
        ));
    }
    Ok(base)
}

/// The explanations of variants at a size that stands for the large one.
fn page(
    family: &Family,
    options: &family::Options,
    variants: &[RungId],
    size: &[u64],
    target: &[u64],
    profile: &str,
) -> Result<Page> {
    let mut options = options.clone();
    (options.data.n, options.data.shape) = match size {
        [n] => (Some(*n), Vec::new()),
        axes => (None, axes.to_vec()),
    };
    let times = predict::times(size, target);
    let (device, of) = backend::explaining_larger(profile, times, options.json.printed())?;
    let rows = family::rows(family, &options, &*device, variants)?;
    Ok(Page::of_rows(family, of, rows))
}
