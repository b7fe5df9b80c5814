//! How a simulator explains its launches.

use super::report::explain;
use crate::backend::observed::{Analysis, Device};
use crate::error::Result;
use ptx_sim::explain::{Costs, analyse};
use ptx_sim::profile::Profile;
use ptx_sim::{Launch, Program, Report};

/// The device that times are estimated for, and what the launches stand for.
pub(super) struct Explains {
    pub profile: Profile,
    /// See [`analyse`].
    pub stands_for: f64,
}

impl Explains {
    pub fn device(&self) -> Device {
        let profile = &self.profile;
        Device {
            name: profile.name.clone(),
            multiprocessors: profile.multiprocessors,
            memory_gbps: profile.memory_gbps,
            fp32_gflops: profile.fp32_gflops,
            fp64_gflops: profile.fp64_gflops,
        }
    }

    pub fn analyse(&self, program: &Program, launch: &Launch<'_>, report: &Report) -> Result<Analysis> {
        let analysis = analyse(program, launch, report, &self.profile, &Costs::default(), self.stands_for);
        analysis.map_err(|stop| explain(&stop, "explaining a launch"))
    }
}
