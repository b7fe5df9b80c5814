//! What the simulator says of every variant.

use anyhow::{Context, Result, bail};
use host::backend::{self, Backend, Printed, Simulation};
use host::explain::Page;
use host::kernels::{Demand, Family, Job, Problem, Settings};
use host::ptx::{self, Image};

/// Explains for this device.
const PROFILE: &str = "H200";

/// Elements of a vector, and rows and columns of anything with more axes.
const SIZES: [u64; 2] = [1 << 16, 128];

/// A simulator with the kernels loaded.
pub struct Simulator {
    backend: Box<dyn Backend>,
    device: backend::Device,
    image: Image,
}

impl Simulator {
    /// With the PTX that was built last.
    pub fn new() -> Result<Self> {
        let (backend, device) = backend::explaining(PROFILE, Printed::Stderr)?;
        // With several workers, the order of blocks that wait for each other would differ from run to run, and with it the pages.
        backend.simulate(&Simulation { workers: Some(1), ..Simulation::default() })?;
        Ok(Self { backend, device, image: ptx::find("kernels-gpu", None, None)? })
    }

    /// Runs and explains every variant of the family.
    pub fn explain(&self, family: &'static Family) -> Result<Page> {
        let settings = Settings::new(family.settings, [])?;
        let vectors = (family.sizes)().iter().all(|case| case.size.len() == 1);
        let size = [SIZES[usize::from(!vectors)]];
        let demand = Demand { size: &size, dtype: family.dtypes[0], seed: 42, settings: &settings };
        let inputs = (family.generate)(&demand)?;
        let problem = Problem { inputs: &inputs, dtype: family.dtypes[0], op: family.op(None)?, settings: &settings };
        let oracle = (family.oracle)(problem)?;
        let variants: Vec<_> = (family.variants)().iter().map(|variant| variant.name).collect();
        let job = Job {
            device: &*self.backend,
            module: self.backend.load(&self.image.clone().of_family(family).bytes, "kernels-gpu")?,
            problem,
            oracle: &oracle,
            variants: &variants,
            block: None,
            grid: None,
            plan: None,
        };
        let mut rows = Vec::new();
        (family.run)(&job, &mut |row| rows.push(row)).with_context(|| format!("{} on the simulator", family.name))?;
        if let Some(wrong) = rows.iter().find(|row| !row.is_clean()) {
            bail!("{} {} is wrong or not clean: `host check {}`", family.name, wrong.variant, family.name);
        }
        Ok(Page::of_rows(family, self.device.clone(), rows))
    }
}
