//! Descriptions of textures for the simulator.

use crate::backend::sampling::{AddressMode, Channel, Filter, Layout, Sampling};

/// Describes the texture whose texels are at `address`.
pub(super) fn texture(sampling: &Sampling, address: u64) -> ptx_sim::texture::Texture {
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
