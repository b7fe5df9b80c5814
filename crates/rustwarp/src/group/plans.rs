//! The plans of the ranks of this process.

use super::devices::Group;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::Result;
use bytemuck::Pod;

/// Of each rank of this process, a plan and its result.
pub(super) type Plans<P, T> = Vec<(P, Buffer<T>)>;

impl Group {
    /// Plans work on parts of these lengths, with `results` elements of results each.
    pub(super) fn plans<P, T: Pod>(
        &self,
        lens: &[usize],
        results: usize,
        plan: impl Fn(&Device, usize) -> Result<P>,
    ) -> Result<Plans<P, T>> {
        let each = self.devices().zip(lens);
        each.map(|(device, &len)| Ok((plan(device, len)?, device.uninit(results)?))).collect()
    }
}
