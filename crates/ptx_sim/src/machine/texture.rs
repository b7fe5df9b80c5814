//! Texture fetches, surface loads and surface stores.
//!
//! Elements are read from their place in device memory. The checkers do not see these accesses: textures are read
//! through a separate cache that is not coherent with stores of the same launch.

use super::step::Step;
use crate::isa::texture::{exact, filtered, float, integer, taps, weights};
use crate::lanes;
use crate::memory::Snapshot;
use crate::memory::cells::define_range;
use crate::observe::Observer;
use crate::program::{self, Outside, Query, TextureKind};
use crate::registers::{LANES, NO_SLOT, Registers};
use crate::stop::Stop;
use crate::texture::{Channel, Filter, Layout, Texture};

/// Handles are above all addresses.
const HANDLES: u64 = 0x7e << 56;

/// Returns the handle of a texture by its index.
pub fn handle(index: usize) -> u64 {
    HANDLES | (index as u64 + 1)
}

/// Executes an instruction on textures or surfaces.
///
/// # Errors
/// A stop for an invalid handle, or an access outside a surface.
#[inline(never)]
pub fn execute<O: Observer>(
    step: &mut Step<'_, '_, O>,
    registers: &mut Registers,
    access: &program::Texture,
) -> Result<(), Stop> {
    let handles = registers.w64[access.handle as usize];
    let mut rows = vec![[0u64; LANES]; access.data.len()];
    let mut rest = step.mask;
    while rest != 0 {
        let lane = lanes::first(rest);
        rest &= rest - 1;
        let found = handles[lane].checked_sub(HANDLES + 1).and_then(|i| usize::try_from(i).ok());
        let Some(&texture) = found.and_then(|index| step.context().memory.textures.get(index)) else {
            let title = format!("{:#x} is not the handle of a texture or surface", handles[lane]);
            return Err(step.fault(lane, "bad-texture", title));
        };
        let coordinates: Vec<u32> = access.coordinates.iter().map(|&slot| registers.w32[slot as usize][lane]).collect();
        let layer = access.layer.map(|slot| registers.w32[slot as usize][lane]);
        let problem = match access.kind {
            TextureKind::Sample { integers, floats } => {
                sample(&mut step.worker.snapshot, &texture, &coordinates, layer, integers, floats).map(|value| {
                    value.iter().zip(&mut rows).for_each(|(value, row)| row[lane] = u64::from(*value));
                })
            }
            TextureKind::Gather { channel, floats } => {
                gather(&mut step.worker.snapshot, &texture, &coordinates, channel, floats).map(|value| {
                    value.iter().zip(&mut rows).for_each(|(value, row)| row[lane] = u64::from(*value));
                })
            }
            TextureKind::Query(query) => {
                rows[0][lane] = u64::from(answer(&texture, query));
                Ok(())
            }
            TextureKind::Load { bytes, outside } => {
                surface(&mut step.worker.snapshot, &texture, &coordinates, layer, bytes, rows.len(), outside).map(
                    |address| {
                        for (i, row) in rows.iter_mut().enumerate() {
                            row[lane] = address.map_or(0, |a| {
                                texel(&mut step.worker.snapshot, a + i as u64 * u64::from(bytes), bytes)
                            });
                        }
                    },
                )
            }
            TextureKind::Store { bytes, outside } => {
                let count = access.data.len();
                surface(&mut step.worker.snapshot, &texture, &coordinates, layer, bytes, count, outside).map(
                    |address| {
                        step.warp.wrote = true;
                        for (i, &slot) in access.data.iter().enumerate() {
                            let value = match access.wide {
                                true => registers.w64[slot as usize][lane],
                                false => u64::from(registers.w32[slot as usize][lane]),
                            };
                            let place = address.map(|address| address + i as u64 * u64::from(bytes));
                            if let Some(place) = place
                                && let Some(view) =
                                    step.worker.snapshot.find(place).filter(|view| view.holds(place, bytes.into()))
                            {
                                view.storage.store(place - view.base, bytes, value);
                                if let Some(shadow) = view.shadow.as_deref() {
                                    define_range(shadow, place - view.base, bytes.into());
                                }
                            }
                        }
                    },
                )
            }
        };
        if let Err(title) = problem {
            return Err(step.fault(lane, "bad-texture", title));
        }
    }
    if matches!(access.kind, TextureKind::Store { .. }) {
        return Ok(());
    }
    for (&slot, row) in access.data.iter().zip(&rows).filter(|(slot, _)| **slot != NO_SLOT) {
        match access.wide {
            true => lanes::each(step.mask, |lane| registers.w64[slot as usize][lane] = row[lane]),
            false => lanes::each(step.mask, |lane| registers.w32[slot as usize][lane] = row[lane] as u32),
        }
    }
    Ok(())
}

/// Executes `tex`, which returns four channels.
fn sample(
    snapshot: &mut Snapshot,
    texture: &Texture,
    coordinates: &[u32],
    layer: Option<u32>,
    integers: bool,
    floats: bool,
) -> Result<[u32; 4], String> {
    let (extent, _) = texture.layout.shape(texture.format.bytes());
    if matches!(texture.layout, Layout::Linear { .. }) {
        if !integers {
            return Err("a texture in linear memory is read by integer coordinates only".to_owned());
        }
        let place = coordinates.first().map_or(0, |&x| i64::from(x as i32));
        let inside = u64::try_from(place).ok().filter(|&x| x < extent[0]);
        return channels(snapshot, texture, inside.map(|x| [x, 0, 0]), floats);
    }
    let integer_texture = !matches!(texture.format.channel, Channel::F16 | Channel::F32) && !texture.normalized_reads;
    let filter = if integers || integer_texture { Filter::Point } else { texture.filter };
    let mut axes = [[Some(0); 2]; 3];
    let mut fractions = [0; 3];
    for (axis, &bits) in coordinates.iter().enumerate().take(3) {
        if integers {
            axes[axis] = [u64::try_from(bits as i32).ok().filter(|&index| index < extent[axis]); 2];
            continue;
        }
        let found = taps(texture, axis, f32::from_bits(bits), extent[axis], filter);
        (axes[axis], fractions[axis]) = (found.at, found.weight);
    }
    if coordinates.len() == 1 && layer.is_none() && !integers {
        // A one-dimensional texture is a row of two, read at its edge: half of the result is the value outside.
        let found = taps(texture, 1, 0.0, 1, filter);
        (axes[1], fractions[1]) = (found.at, found.weight);
    }
    // Integer coordinates outside the texture give zero in every address mode.
    if integers && axes.iter().any(|axis| axis[0].is_none()) {
        return Ok([0; 4]);
    }
    if let Some(layer) = layer {
        axes[2] = [Some(u64::from(layer).min(extent[2] - 1)); 2];
    }
    let mut sums = [0.0f64; 4];
    for (i, weight) in weights(fractions).into_iter().enumerate().filter(|(_, weight)| *weight != 0) {
        let place = match (axes[0][i & 1], axes[1][i >> 1 & 1], axes[2][i >> 2]) {
            (Some(x), Some(y), Some(z)) => Some([x, y, z]),
            _ => None,
        };
        if weight == 256 {
            return channels(snapshot, texture, place, floats);
        }
        for (sum, value) in sums.iter_mut().zip(exact_channels(snapshot, texture, place)?) {
            *sum += f64::from(weight) / 256.0 * value;
        }
    }
    Ok(sums.map(|sum| filtered(texture.format.channel, sum).to_bits()))
}

/// Executes `tld4`: counter-clockwise from the lower left, in the order of the PTX ISA.
fn gather(
    snapshot: &mut Snapshot,
    texture: &Texture,
    coordinates: &[u32],
    channel: usize,
    floats: bool,
) -> Result<[u32; 4], String> {
    let (extent, _) = texture.layout.shape(texture.format.bytes());
    let axis = |axis: usize| {
        let bits = coordinates.get(axis).copied().unwrap_or_default();
        taps(texture, axis, f32::from_bits(bits), extent[axis], Filter::Linear).at
    };
    let ([x0, x1], [y0, y1]) = (axis(0), axis(1));
    let mut found = [0; 4];
    for (value, (x, y)) in found.iter_mut().zip([(x0, y1), (x1, y1), (x1, y0), (x0, y0)]) {
        let place = x.zip(y).map(|(x, y)| [x, y, 0]);
        *value = channels(snapshot, texture, place, floats)?[channel];
    }
    Ok(found)
}

/// Returns the channels of one element, or of the border.
fn channels(
    snapshot: &mut Snapshot,
    texture: &Texture,
    place: Option<[u64; 3]>,
    floats: bool,
) -> Result<[u32; 4], String> {
    let format = texture.format;
    let is_float = matches!(format.channel, Channel::F16 | Channel::F32) || texture.normalized_reads;
    let Some(bits) = element(snapshot, texture, place)? else {
        let linear = matches!(texture.layout, Layout::Linear { .. });
        let border = |i: usize| i < format.channels as usize && is_float && floats && !linear;
        return Ok(std::array::from_fn(|i| if border(i) { texture.border[i].to_bits() } else { 0 }));
    };
    Ok(bits.map(|bits| match is_float {
        true => float(format.channel, bits, texture.normalized_reads).to_bits(),
        false => integer(format.channel, bits),
    }))
}

/// As `channels`, for filtering.
fn exact_channels(snapshot: &mut Snapshot, texture: &Texture, place: Option<[u64; 3]>) -> Result<[f64; 4], String> {
    let channels = texture.format.channels as usize;
    let border = |i: usize| if i < channels { f64::from(texture.border[i]) } else { 0.0 };
    let bits = element(snapshot, texture, place)?;
    Ok(bits.map_or_else(|| std::array::from_fn(border), |bits| bits.map(|bits| exact(texture.format.channel, bits))))
}

/// Returns the bits of one element's channels; missing channels are zero. `None` is the border.
fn element(snapshot: &mut Snapshot, texture: &Texture, place: Option<[u64; 3]>) -> Result<Option<[u32; 4]>, String> {
    let Some([x, y, z]) = place else { return Ok(None) };
    let format = texture.format;
    let bytes = format.channel.bytes();
    let (_, [row, plane]) = texture.layout.shape(format.bytes());
    let start = texture.layout.address() + x * format.bytes() + y * row + z * plane;
    let mut found = [0; 4];
    for (channel, value) in found.iter_mut().enumerate().take(format.channels as usize) {
        let address = start + channel as u64 * bytes;
        let live = snapshot.find(address).is_some_and(|view| view.holds(address, bytes));
        if !live {
            return Err(format!("the texture's element at {address:#x} is not in memory: was its buffer freed?"));
        }
        *value = texel(snapshot, address, bytes as u8) as u32;
    }
    Ok(Some(found))
}

fn texel(snapshot: &mut Snapshot, address: u64, bytes: u8) -> u64 {
    let view = snapshot.find(address).filter(|view| view.holds(address, u64::from(bytes)));
    view.map_or(0, |view| view.storage.load(address - view.base, bytes))
}

/// Returns the address of a surface access; `None` if it gives zero. The first coordinate counts bytes.
fn surface(
    snapshot: &mut Snapshot,
    texture: &Texture,
    coordinates: &[u32],
    layer: Option<u32>,
    bytes: u8,
    count: usize,
    outside: Outside,
) -> Result<Option<u64>, String> {
    let element = texture.format.bytes();
    let ([width, height, depth], [row, plane]) = texture.layout.shape(element);
    let size = u64::from(bytes) * count as u64;
    let signed = |i: usize| coordinates.get(i).map_or(0, |&c| i64::from(c as i32));
    let z = layer.map_or(signed(2), |layer| i64::from(layer as i32));
    let (x, y) = (signed(0), signed(1));
    if x % size.max(1) as i64 != 0 {
        return Err(format!("byte {x} of a row is not a multiple of the {size} bytes that are accessed"));
    }
    let last = [(width * element).saturating_sub(size), height - 1, depth - 1].map(|last| last as i64);
    let inside = [x, y, z].iter().zip(last).all(|(&c, last)| (0..=last).contains(&c));
    let place = match (inside, outside) {
        (true, _) => [x, y, z],
        (false, Outside::Clamp) => std::array::from_fn(|i| [x, y, z][i].clamp(0, last[i])),
        (false, Outside::Zero) => return Ok(None),
        (false, Outside::Trap) => {
            return Err(format!(
                "byte {x}, row {y}, plane {z} are outside the surface of {width} x {height} x {depth}"
            ));
        }
    };
    let [x, y, z] = place.map(|c| c as u64);
    let address = texture.layout.address() + x + y * row + z * plane;
    let live = snapshot.find(address).is_some_and(|view| view.holds(address, size));
    if live {
        Ok(Some(address))
    } else {
        Err(format!("the surface at {address:#x} is not in memory: was its buffer freed?"))
    }
}

/// Returns the answer to `txq` and `suq`; types and orders have OpenCL's numbers, which the PTX ISA uses.
fn answer(texture: &Texture, query: Query) -> u32 {
    let ([width, height, depth], _) = texture.layout.shape(texture.format.bytes());
    let layered = matches!(texture.layout, Layout::Array { layered: true, .. });
    match query {
        Query::Width => width as u32,
        Query::Height => height as u32,
        Query::Depth => {
            if layered {
                1
            } else {
                depth as u32
            }
        }
        Query::ArraySize => {
            if layered {
                depth as u32
            } else {
                1
            }
        }
        Query::NormalizedCoords => u32::from(texture.normalized_coordinates),
        Query::MipmapLevels | Query::Samples => 1,
        Query::ChannelDataType => match (texture.format.channel, texture.normalized_reads) {
            (Channel::I8, true) => 0x10d0,
            (Channel::I16, true) => 0x10d1,
            (Channel::U8, true) => 0x10d2,
            (Channel::U16, true) => 0x10d3,
            (Channel::I8, false) => 0x10d7,
            (Channel::I16, false) => 0x10d8,
            (Channel::I32, _) => 0x10d9,
            (Channel::U8, false) => 0x10da,
            (Channel::U16, false) => 0x10db,
            (Channel::U32, _) => 0x10dc,
            (Channel::F16, _) => 0x10dd,
            (Channel::F32, _) => 0x10de,
        },
        Query::ChannelOrder => match texture.format.channels {
            1 => 0x10b0,
            2 => 0x10b2,
            _ => 0x10b5,
        },
    }
}
