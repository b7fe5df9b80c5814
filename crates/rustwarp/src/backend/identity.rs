//! Numbers that identify devices and what they have loaded.

use super::info::DeviceInfo;
use crate::error::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// A loaded PTX module. It is valid for the device that loaded it, until that is closed; others reject it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    device: DeviceId,
    index: usize,
}

impl Module {
    /// The module at this index of a device's list.
    pub(super) fn new(device: DeviceId, index: usize) -> Self {
        Self { device, index }
    }

    /// The module's index in the list of this device.
    ///
    /// # Errors
    /// [`Error::OtherModule`] if another device loaded the module.
    pub(super) fn index_on(self, device: DeviceId, info: &DeviceInfo) -> Result<usize> {
        if self.device == device {
            return Ok(self.index);
        }
        Err(Error::OtherModule { device: info.device.clone() })
    }
}

/// The number of an open device, which no other device of the process has or had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceId(u64);

impl DeviceId {
    /// Returns the next number.
    pub(super) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
