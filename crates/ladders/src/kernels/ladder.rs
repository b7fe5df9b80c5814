//! The driver: one loop that prepares, runs, verifies, counts and times the rungs of any family.

use super::block::BlockRule;
use super::entry::Entry;
use super::job::{Job, Row};
use super::plan::Plan;
use super::problem::{Oracle, Problem, Work};
use super::variant::{RungId, VariantInfo};
use crate::error::{Error, Result};
use crate::kernels::spelling::GRID_SIZE;
use bytemuck::Pod;
use rustwarp::Tuning;
use rustwarp::backend::{Backend, Buffer};
use rustwarp::tensor::Tensor;

/// A family whose operation and element type are resolved.
pub(crate) trait Ladder {
    /// The family's name.
    const FAMILY: &'static str;
    /// The type of a row's launchers, with the properties that determine the shape of their launches.
    type Kernel: 'static;
    /// The operands on a device.
    type Operands<'j>;

    /// The table, slowest rung first.
    fn rungs() -> Vec<Rung<Self::Kernel>>;

    /// The entries of a rung's kernels.
    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry>;

    /// Why a rung does not solve this problem, in words that follow its name; `None` if it does.
    fn refusal(rung: &Rung<Self::Kernel>, problem: Problem<'_>) -> Option<String> {
        let _ = (rung, problem);
        None
    }

    /// Checks that the operands fit together, and computes the right result.
    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>>;

    /// Threads per block of a rung: the requested number, or its default.
    fn block(job: &Job<'_>, rung: &Rung<Self::Kernel>) -> Result<u32> {
        rung.choose(job.block, job)
    }

    /// Checks that the device has room for the operands and the memory of these rungs, and copies the operands there.
    fn upload<'j>(job: &'j Job<'_>, rungs: &[Chosen<'_, Self::Kernel>]) -> Result<Self::Operands<'j>>;

    /// The minimum work of every rung.
    fn work(operands: &Self::Operands<'_>) -> Work;

    /// Makes the plan of one rung and passes it to `run`. The plan's buffers live as long as the call.
    fn prepare(operands: &Self::Operands<'_>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()>;
}

/// The function to which [`Ladder::prepare`] passes its plan.
pub(crate) type Run<'r> = &'r mut dyn FnMut(Plan<'_>) -> Result<()>;

/// A row of a family's table.
pub(crate) struct Rung<K> {
    /// Name on the command line and in the kernel's symbol.
    pub name: &'static str,
    /// The idea that distinguishes it from the other rungs.
    pub idea: &'static str,
    /// Block sizes that the kernel's contract allows.
    pub block: BlockRule,
    /// The launchers.
    pub kernel: K,
}

impl<K> Rung<K> {
    /// The block size to launch with on the job's device.
    ///
    /// # Errors
    /// Those of [`BlockRule::choose`].
    pub fn choose(&self, asked: Option<u32>, job: &Job<'_>) -> Result<u32> {
        self.block.choose(asked, self.name, job.device.info().max_block)
    }
}

/// Where a rung's launches are planned.
pub(crate) enum Planned<K> {
    /// In this crate, from these launchers.
    Here(K),
    /// By the library's plan, so that what is verified and measured is what its users run.
    ByLibrary,
}

/// A rung with the device and the shape chosen for its launches.
pub(crate) struct Chosen<'r, K> {
    /// The rung's.
    pub name: &'static str,
    /// The rung's.
    pub kernel: &'r K,
    /// Threads per block.
    pub block: u32,
    /// Number of blocks, if requested by the user.
    pub grid: Option<u32>,
    /// The device that runs it.
    pub device: &'r dyn Backend,
}

impl<K> Chosen<'_, K> {
    /// Block and grid for a plan of the library.
    pub fn tuning(&self) -> Tuning {
        Tuning { block: Some(self.block), grid: self.grid }
    }

    /// Refuses `--grid`, for a rung with one block for each part of the problem.
    ///
    /// # Errors
    /// [`Error::Usage`] if `--grid` was given.
    pub fn require_no_grid(&self) -> Result<()> {
        let name = self.name;
        match self.grid {
            None => Ok(()),
            Some(_) => {
                Err(Error::Usage(format!("`{name}` has a block for each part of the problem: leave {GRID_SIZE} out")))
            }
        }
    }

    /// Allocates uninitialised memory for this run.
    ///
    /// # Errors
    /// [`Error::Usage`] if the device has less memory free.
    pub fn uninit<T: Pod>(&self, len: usize, name: &str) -> Result<Buffer<'_, T>> {
        Ok(Buffer::uninit(self.device, len, name)?)
    }
}

/// A `Ladder` as a value.
#[derive(Clone, Copy)]
pub struct Resolved {
    pub(super) variants: fn() -> Vec<VariantInfo>,
    pub(super) oracle: for<'a> fn(Problem<'a>) -> Result<Oracle<'a>>,
    pub(super) refusal: fn(RungId, Problem<'_>) -> Option<String>,
    pub(super) run: fn(&Job<'_>, &mut dyn FnMut(Row)) -> Result<Tensor>,
}

impl Resolved {
    /// Checks that the operands of a problem fit together, and computes the right result.
    ///
    /// # Errors
    /// [`Error::Usage`] for operands with shapes or values that the family does not support.
    pub fn oracle<'a>(&self, problem: Problem<'a>) -> Result<Oracle<'a>> {
        (self.oracle)(problem)
    }

    /// Why a variant does not solve a problem, in words that follow its name; `None` if it does.
    pub fn refusal(&self, variant: RungId, problem: Problem<'_>) -> Option<String> {
        (self.refusal)(variant, problem)
    }

    /// Runs the job's variants in turn, passes each row to `emit` when it is complete, and returns the last result. Of
    /// several variants those that do not solve the problem are left out: see [`Resolved::refusal`].
    ///
    /// # Errors
    /// [`Error::Usage`] for launches that a variant or the device does not allow and if no variant is left, and the
    /// errors of the device.
    pub fn run(&self, job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
        (self.run)(job, emit)
    }

    /// Creates the value of the ladder `L`.
    pub(crate) fn of<L: Ladder>() -> Self {
        Self { variants: variants::<L>, oracle: L::oracle, refusal: refusal::<L>, run: run::<L> }
    }

    /// The table, with the entries of these types, and the blocks that this operation allows.
    pub fn variants(&self) -> Vec<VariantInfo> {
        (self.variants)()
    }
}

/// The variants of several ladders of one family: each row with the entries of all.
pub(crate) fn merge(ladders: impl IntoIterator<Item = Resolved>) -> Vec<VariantInfo> {
    let mut ladders = ladders.into_iter().map(|ladder| ladder.variants());
    let mut all = ladders.next().unwrap_or_default();
    for variants in ladders {
        // A kernel that does not depend on the type is one entry.
        all.iter_mut().zip(variants).for_each(|(row, variant)| {
            let new: Vec<_> = variant.entries.into_iter().filter(|entry| !row.entries.contains(entry)).collect();
            row.entries.extend(new);
        });
    }
    all
}

fn variants<L: Ladder>() -> Vec<VariantInfo> {
    let info =
        |rung: &Rung<_>| VariantInfo { name: rung.name, idea: rung.idea, block: rung.block, entries: L::entries(rung) };
    L::rungs().iter().map(info).collect()
}

fn refusal<L: Ladder>(variant: RungId, problem: Problem<'_>) -> Option<String> {
    L::refusal(&L::rungs()[variant.row], problem)
}

/// Runs the job's rungs in turn, passes each row to `emit` when it is complete, and returns the last result.
fn run<L: Ladder>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let rungs = L::rungs();
    let choose = |variant: &RungId| {
        let rung = &rungs[variant.row];
        let Rung { name, ref kernel, .. } = *rung;
        Ok(Chosen { name, kernel, block: L::block(job, rung)?, grid: job.grid, device: job.device })
    };
    let refusals = job.variants.iter().map(|variant| L::refusal(&rungs[variant.row], job.problem)).collect::<Vec<_>>();
    if let (Some(variant), true) = (job.variants.first(), refusals.iter().all(Option::is_some)) {
        let why = refusals.into_iter().flatten().next().unwrap_or_default();
        return Err(Error::Usage(format!("`{}` {why}: choose another variant", variant.name)));
    }
    let solving = job.variants.iter().zip(&refusals).filter(|(_, refusal)| refusal.is_none());
    let chosen = solving.map(|(variant, _)| choose(variant)).collect::<Result<Vec<_>>>()?;
    let operands = L::upload(job, &chosen)?;
    let mut last = None;
    for chosen in &chosen {
        // Every rung has its own output, so that no rung passes with the result of another.
        L::prepare(&operands, chosen, &mut |plan| {
            let (result, row) = job.measure(L::FAMILY, chosen.name, &plan, L::work(&operands))?;
            emit(row);
            last = Some(result);
            Ok(())
        })?;
    }
    last.ok_or_else(|| Error::Usage("no variant to run".to_owned()))
}
