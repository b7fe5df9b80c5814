//! The variants of `conv2d`, and their launches.

use crate::error::Result;
use crate::kernels::entry::Nothing;
use crate::kernels::images::{self, per_element, shape};
use crate::kernels::ladder::{Planned, Rung};
use crate::kernels::{BlockRule, Entry};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::conv2d::{Frame, ROWS, TILE, basic, best, cached, channels, constant, march, tiled};
use kernels_gpu::filter::{Part, Sample, TAPS};
use kernels_gpu::number::Number as _;
use rustwarp::backend::Shape;
use rustwarp::conv2d as library;
use rustwarp::conv2d::Pixel;
use rustwarp::element::Element;

/// The types that all variants filter: masks and sums have the type of the image.
pub(super) trait Real:
    Element + Sample + Pixel<Tap = Self, Kind = Self> + kernels_gpu::conv2d::Pixel<Bits = Self, Tap = Self>
{
}
impl Real for f32 {}
impl Real for f64 {}

/// The operands of a kernel.
pub(super) struct Operands<'a, T> {
    pub input: Slice<'a, T>,
    pub mask: Slice<'a, T>,
    /// The mask, on the host.
    pub taps: &'a [T],
    pub frame: Frame,
    pub output: PtrMut<'a, T>,
}

/// The calls in order, each with its shape.
type Launch<'a> = Result<(Vec<Call<'a>>, Shape)>;

/// The launches of a row of the table.
pub(super) struct Kernel<T: 'static> {
    /// Makes the launches for an image that is not empty.
    pub launch: for<'a> fn(&Operands<'a, T>) -> Launch<'a>,
    /// The sizes of (square) masks and numbers of channels that have kernels of their own, and one pair for the shared
    /// kernel.
    kinds: fn() -> Vec<[u32; 2]>,
}

impl<T: Real> Kernel<T> {
    /// The entries of all kernels of the row.
    ///
    /// # Panics
    /// If the row has no launch for one of its kinds.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |[size, channels]: [u32; 2]| {
            let taps = vec![T::ZERO; (size * size) as usize];
            let frame = images::square(size, channels);
            let (input, mask, output) = (Slice::nothing(), Slice::nothing(), PtrMut::nothing());
            let operands = Operands { input, mask, taps: &taps, frame, output };
            let refused = |error| panic!("no launch for a mask of {size}x{size} and {channels} channels: {error}");
            let (calls, _) = (self.launch)(&operands).unwrap_or_else(refused);
            calls.into_iter().map(Entry::from).collect::<Vec<_>>()
        };
        (self.kinds)().into_iter().flat_map(entry).collect()
    }
}

/// The rule for a kernel that is compiled for one block size.
const fn only(sizes: &'static [u32]) -> BlockRule {
    BlockRule::OneOf { sizes, default: sizes[0] }
}

const _: () = assert!(march::BLOCK == 128);
const _: () = assert!(TILE * ROWS == 256 && tiled::SIDE * tiled::SIDE == 1024);

/// The table, slowest first.
pub(super) fn rungs<T: Real>() -> Vec<Rung<Planned<Kernel<T>>>> {
    vec![
        Rung {
            name: "basic",
            idea: basic::IDEA,
            block: only(&[TILE * ROWS]),
            kernel: Planned::Here(Kernel { launch: launch_basic, kinds: any_kind }),
        },
        Rung {
            name: "constant",
            idea: constant::IDEA,
            block: only(&[TILE * ROWS]),
            kernel: Planned::Here(Kernel {
                launch: launch_constant,
                kinds: || constant::SIZES.iter().map(|&size| [size, 1]).chain(any_kind()).collect(),
            }),
        },
        Rung {
            name: "tiled",
            idea: tiled::IDEA,
            block: only(&[tiled::SIDE * tiled::SIDE]),
            kernel: Planned::Here(Kernel { launch: launch_tiled, kinds: any_kind }),
        },
        Rung {
            name: "cached",
            idea: cached::IDEA,
            block: only(&[TILE * ROWS]),
            kernel: Planned::Here(Kernel { launch: launch_cached, kinds: any_kind }),
        },
        Rung {
            name: "channels",
            idea: channels::IDEA,
            block: only(&[TILE * ROWS]),
            kernel: Planned::Here(Kernel {
                launch: launch_channels,
                kinds: || [1, 3, 4].map(|channels| [4, channels]).to_vec(),
            }),
        },
        Rung { name: "best", idea: best::IDEA, block: only(&[march::BLOCK]), kernel: Planned::ByLibrary },
    ]
}

/// The kinds of a variant with a single kernel.
fn any_kind() -> Vec<[u32; 2]> {
    vec![[2, 1]]
}

fn launch_basic<'a, T: Real>(of: &Operands<'a, T>) -> Launch<'a> {
    Ok((vec![basic::conv2d_basic::<T>(of.input, of.mask, of.frame, of.output)], per_element(of.frame)?))
}

fn launch_constant<'a, T: Real>(of: &Operands<'a, T>) -> Launch<'a> {
    let Operands { input, frame, output, .. } = *of;
    let call = match (frame.mask_rows, frame.mask_columns) {
        (3, 3) => constant::conv2d_constant_sized::<T, 3>(input, square(of.taps), frame, output),
        (5, 5) => constant::conv2d_constant_sized::<T, 5>(input, square(of.taps), frame, output),
        (7, 7) => constant::conv2d_constant_sized::<T, 7>(input, square(of.taps), frame, output),
        _ => return launch_constant_any(of),
    };
    Ok((vec![call], per_element(frame)?))
}

/// Launches for any mask, each with as many taps as it can take by value.
fn launch_constant_any<'a, T: Real>(of: &Operands<'a, T>) -> Launch<'a> {
    let part = |(i, taps): (usize, &[T])| {
        let part = Part { first: (i * TAPS) as u32, count: taps.len() as u32 };
        let taps = core::array::from_fn(|j| taps.get(j).copied().unwrap_or(T::ZERO));
        constant::conv2d_constant_any::<T>(of.input, taps, part, of.frame, of.output)
    };
    let calls = of.taps.chunks(TAPS).enumerate().map(part).collect();
    Ok((calls, per_element(of.frame)?))
}

fn launch_tiled<'a, T: Real>(of: &Operands<'a, T>) -> Launch<'a> {
    let frame = of.frame;
    let (width, height) = (tiled::SIDE + 1 - frame.mask_columns, tiled::SIDE + 1 - frame.mask_rows);
    let grid = [frame.columns.div_ceil(width), frame.rows.div_ceil(height), frame.channels];
    let shape = shape(grid, [tiled::SIDE; 2], frame)?;
    Ok((vec![tiled::conv2d_tiled::<T>(of.input, of.mask, frame, of.output)], shape))
}

fn launch_cached<'a, T: Real>(of: &Operands<'a, T>) -> Launch<'a> {
    let frame = of.frame;
    let grid = [frame.columns.div_ceil(TILE), frame.rows.div_ceil(ROWS), frame.channels];
    let shape = shape(grid, [TILE, ROWS], frame)?;
    Ok((vec![cached::conv2d_cached::<T>(of.input, of.mask, frame, of.output)], shape))
}

fn launch_channels<'a, T: Real>(of: &Operands<'a, T>) -> Launch<'a> {
    let Operands { input, mask, frame, output, .. } = *of;
    let each = channels::per_thread(frame.channels);
    let grid = [frame.columns.div_ceil(TILE), frame.rows.div_ceil(ROWS), frame.channels / each];
    let call = match each {
        4 => channels::conv2d_channels::<T, 4>(input, mask, frame, output),
        3 => channels::conv2d_channels::<T, 3>(input, mask, frame, output),
        _ => channels::conv2d_channels::<T, 1>(input, mask, frame, output),
    };
    Ok((vec![call], shape(grid, [TILE, ROWS], frame)?))
}

/// The entries of the library's kernels, but for that of the variant `channels`: those of masks with a kernel of their
/// own, and that of all others.
pub(super) fn library<T: Pixel>() -> Vec<Entry> {
    let entries = |(size, channels): (u32, u32)| {
        let taps = vec![T::Tap::ZERO; (size * size) as usize];
        let frame = images::square(size, channels);
        let operands = library::Operands { input: Slice::nothing(), mask: Slice::nothing(), taps: &taps, frame };
        let unrolled = library::unrolled_call::<T>(&operands, PtrMut::nothing());
        let march = library::call::<T>(operands, 1, PtrMut::nothing());
        [Some(march), unrolled].into_iter().flatten().map(Entry::from).collect::<Vec<_>>()
    };
    let together = best::SIZES_OF_CHANNELS.iter().flat_map(|&size| [(size, 2), (size, 3), (size, 4)]);
    let alone = best::SIZES.iter().map(|&size| (size, 1));
    alone.chain(together).chain([(2, 1)]).flat_map(entries).collect()
}

/// Converts a mask to the array that kernels take by value.
fn square<T: Copy, const K: usize>(taps: &[T]) -> [[T; K]; K] {
    core::array::from_fn(|i| core::array::from_fn(|j| taps[i * K + j]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "no launch for a mask of 3x3 and 2 channels: refused")]
    fn a_kind_without_a_launch_is_not_left_out() {
        let refuses =
            Kernel::<f32> { launch: |_| Err(crate::Error::Usage("refused".to_owned())), kinds: || vec![[3, 2]] };
        refuses.entries();
    }
}
