//! Textures of the simulator, with its descriptions of them.

use super::Sim;
use super::report::explain;
use crate::backend::Backend;
use crate::backend::sampling::{AddressMode, Channel, Filter, Layout, Sampling};
use crate::error::Result;
use crate::sync::lock;

impl Sim {
    /// Creates a texture: see [`Backend::texture`].
    pub(super) fn make_texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64> {
        let address = self.alloc(texels.len() as u64, 256, name)?;
        let made = self.shared.write(address, texels).and_then(|()| {
            let made = lock(&self.shared.machine).texture(&texture(sampling, address));
            made.map_err(|stop| explain(&stop, &format!("making the texture `{name}`")))
        });
        match made {
            Ok(handle) => {
                lock(&self.shared.textures).insert(handle, address);
            }
            // SAFETY: the memory was allocated above, and its address is not stored anywhere.
            Err(_) => unsafe { self.free(address) },
        }
        made
    }
}

/// Describes the texture whose texels are at `address`.
fn texture(sampling: &Sampling, address: u64) -> ptx_sim::texture::Texture {
    use ptx_sim::texture as sim;
    let extent = sampling.extent();
    let layout = match sampling.layout {
        Layout::Linear(elements) => sim::Layout::Linear { address, elements },
        Layout::Array(_) => sim::Layout::Array { address, extent, layered: false },
    };
    let channel = match sampling.channel {
        Channel::U8 => sim::Channel::U8,
        Channel::I8 => sim::Channel::I8,
        Channel::U16 => sim::Channel::U16,
        Channel::I16 => sim::Channel::I16,
        Channel::U32 => sim::Channel::U32,
        Channel::I32 => sim::Channel::I32,
        Channel::F16 => sim::Channel::F16,
        Channel::F32 => sim::Channel::F32,
    };
    sim::Texture {
        filter: match sampling.filter {
            Filter::Point => sim::Filter::Point,
            Filter::Linear => sim::Filter::Linear,
        },
        address: sampling.address.map(|mode| match mode {
            AddressMode::Wrap => sim::AddressMode::Wrap,
            AddressMode::Clamp => sim::AddressMode::Clamp,
            AddressMode::Mirror => sim::AddressMode::Mirror,
            AddressMode::Border => sim::AddressMode::Border,
        }),
        normalized_coordinates: sampling.normalised_coordinates,
        normalized_reads: sampling.normalised_reads,
        ..sim::Texture::new(layout, sim::Format { channel, channels: sampling.channels })
    }
}
