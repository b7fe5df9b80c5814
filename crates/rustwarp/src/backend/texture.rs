//! Textures: arrays that kernels read through the texture units.

use super::interface::Backend;
pub use super::sampling::{AddressMode, Channel, Filter, Layout, Sampling};
use crate::error::{Error, Result};

/// A texture, which is released on drop.
pub struct Texture<'d> {
    device: &'d dyn Backend,
    handle: u64,
}

impl<'d> Texture<'d> {
    /// Creates a texture with these texels, row-major with x fastest and channels side by side; `name` appears in
    /// messages.
    ///
    /// # Errors
    /// [`Error::Argument`] if the description is not valid, if the number of bytes differs from it, and if the device
    /// has too little memory.
    pub fn new(device: &'d dyn Backend, sampling: &Sampling, texels: &[u8], name: &str) -> Result<Self> {
        let bytes = sampling.bytes()?;
        if texels.len() as u64 != bytes {
            return Err(Error::Argument(format!("the texture `{name}` has {bytes} bytes, not {}", texels.len())));
        }
        Ok(Self { device, handle: device.texture(sampling, texels, name)? })
    }

    /// The handle, which kernels take as a `u64`.
    pub fn handle(&self) -> u64 {
        self.handle
    }
}

impl Drop for Texture<'_> {
    fn drop(&mut self) {
        // SAFETY: `new` created the texture on this device, and nothing uses it after the drop.
        unsafe { self.device.free_texture(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Checks, Choice, open};

    #[test]
    fn sizes_that_are_none_are_refused() {
        let bytes = |layout, channels| Sampling::new(layout, Channel::U16, channels).bytes().ok();
        assert_eq!(bytes(Layout::Array([5, 0, 0]), 4), Some(40));
        assert_eq!(bytes(Layout::Array([5, 3, 2]), 1), Some(60));
        assert_eq!(bytes(Layout::Linear(7), 2), Some(28));
        for (layout, channels) in [
            (Layout::Array([0, 0, 0]), 1),
            (Layout::Array([5, 0, 2]), 1),
            (Layout::Array([1 << 40, 1 << 40, 0]), 1),
            (Layout::Linear(0), 1),
            (Layout::Linear(7), 3),
        ] {
            assert_eq!(bytes(layout, channels), None, "{layout:?} {channels}");
        }
    }

    #[test]
    fn a_texture_takes_memory_and_gives_it_back() {
        let (device, _) = open(Choice::Sim, Checks::Bounds).expect("the simulator");
        let sampling = Sampling::new(Layout::Array([2, 2, 0]), Channel::U8, 1);
        assert!(Texture::new(&*device, &sampling, &[1, 2, 3], "short").is_err());
        let first = Texture::new(&*device, &sampling, &[1, 2, 3, 4], "first").expect("a texture");
        let second = Texture::new(&*device, &sampling, &[1, 2, 3, 4], "second").expect("a texture");
        assert_ne!(first.handle(), second.handle());
    }
}
