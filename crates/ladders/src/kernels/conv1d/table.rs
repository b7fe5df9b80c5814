//! The variants of `conv1d`, and their launches.

use crate::kernels::entry::Nothing;
use crate::kernels::ladder::{Planned, Rung};
use crate::kernels::{BlockRule, Entry};
use cuda_std::launch::{Call, PtrMut, SafeCall, Slice, SliceMut};
use kernels_gpu::conv1d::{BLOCK, Frame, MAX_MASK, basic, best, cached, channels, constant, tiled};
use kernels_gpu::filter::{Part, Sample, TAPS, ZERO};
use rustwarp::element::Element;

/// The operands of a kernel.
pub(super) struct Operands<'a, T> {
    pub input: Slice<'a, T>,
    pub mask: Slice<'a, T>,
    /// The mask, on the host.
    pub taps: &'a [T],
    pub frame: Frame,
    pub output: PtrMut<'a, T>,
    pub block: u32,
}

impl<'a, T> Operands<'a, T> {
    /// The output as the argument of a kernel that takes a view.
    fn out(&self) -> SliceMut<'a, T> {
        // SAFETY: the output is as large as the input, and the plan of the launch borrows it until it has ended.
        unsafe { SliceMut::new(self.output.address(), self.input.len()) }
    }
}

/// The launches of a row of the table.
pub(super) struct Kernel<T: 'static> {
    /// Makes the launches for a signal that is not empty.
    pub launch: for<'a> fn(&Operands<'a, T>) -> Launch<'a>,
    /// The numbers of taps and channels that have kernels of their own, and one pair for the shared kernel.
    kinds: &'static [[u32; 2]],
    /// The default block for a number of taps, of a kernel whose blocks have at least one thread per tap.
    pub by_taps: Option<fn(taps: u32) -> u32>,
}

/// The launches of a variant, which have the same grid for each call, in order.
pub(super) struct Launch<'a> {
    pub calls: Vec<Call<'a>>,
    /// Blocks along x and y.
    pub grid: [u32; 2],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

impl<'a> Launch<'a> {
    fn new(call: Call<'a>, grid: [u32; 2]) -> Self {
        Self { calls: vec![call], grid, shared: 0 }
    }

    fn with_shared(self, shared: u32) -> Self {
        Self { shared, ..self }
    }
}

/// The table, slowest first.
pub(super) fn rungs<T: Element + Sample>() -> Vec<Rung<Planned<Kernel<T>>>> {
    vec![
        Rung {
            name: "basic",
            idea: basic::IDEA,
            block: BlockRule::Any { default: BLOCK },
            kernel: Planned::Here(Kernel {
                launch: |of| {
                    let call = basic::conv1d_basic::<T>(of.input, of.mask, of.frame, of.out());
                    Launch::new(call.into(), per_element(of))
                },
                kinds: &[[1, 1]],
                by_taps: None,
            }),
        },
        Rung {
            name: "constant",
            idea: constant::IDEA,
            block: BlockRule::Any { default: BLOCK },
            kernel: Planned::Here(Kernel { launch: launch_constant, kinds: &CONSTANT_KINDS, by_taps: None }),
        },
        Rung {
            name: "tiled",
            idea: tiled::IDEA,
            block: BlockRule::WholeWarps { default: BLOCK },
            kernel: Planned::Here(Kernel {
                launch: |of| {
                    let call = tiled::conv1d_tiled::<T>(of.input, of.mask, of.frame, of.output);
                    let outputs = of.block + 1 - of.frame.taps;
                    Launch::new(call, [of.frame.samples.div_ceil(outputs), of.frame.channels])
                        .with_shared(of.block * size_of::<T>() as u32)
                },
                kinds: &[[1, 1]],
                by_taps: Some(tiled::block),
            }),
        },
        Rung {
            name: "cached",
            idea: cached::IDEA,
            block: BlockRule::Any { default: BLOCK },
            kernel: Planned::Here(Kernel {
                launch: |of| {
                    let call = cached::conv1d_cached::<T>(of.input, of.mask, of.frame, of.output);
                    Launch::new(call, per_element(of)).with_shared(of.block * size_of::<T>() as u32)
                },
                kinds: &[[1, 1]],
                by_taps: None,
            }),
        },
        Rung {
            name: "channels",
            idea: channels::IDEA,
            block: BlockRule::Any { default: BLOCK },
            kernel: Planned::Here(Kernel {
                launch: launch_channels,
                kinds: &[[1, 1], [1, 2], [1, 3], [1, 4]],
                by_taps: None,
            }),
        },
        Rung {
            name: "best",
            idea: best::IDEA,
            block: BlockRule::OneOf { sizes: &[best::BLOCK], default: best::BLOCK },
            kernel: Planned::ByLibrary,
        },
    ]
}

/// [`constant::SIZES`], and one for the kernel of all other masks.
const CONSTANT_KINDS: [[u32; 2]; constant::SIZES.len() + 1] = [[3, 1], [5, 1], [7, 1], [9, 1], [31, 1], [4, 1]];

impl<T: Element + Sample> Kernel<T> {
    /// The entries of all kernels of the row.
    pub fn entries(&self) -> Vec<Entry> {
        let entry = |&[size, channels]: &[u32; 2]| {
            let taps = vec![T::ZERO; size as usize];
            let frame = Frame { samples: 1, channels, taps: size, border: ZERO };
            let (input, mask, output) = (Slice::nothing(), Slice::nothing(), PtrMut::nothing());
            let operands = Operands { input, mask, taps: &taps, frame, output, block: BLOCK };
            (self.launch)(&operands).calls.into_iter().map(Entry::from).collect::<Vec<_>>()
        };
        self.kinds.iter().flat_map(entry).collect()
    }
}

/// A grid with a thread per element.
fn per_element<T>(of: &Operands<'_, T>) -> [u32; 2] {
    [(of.frame.samples * of.frame.channels).div_ceil(of.block), 1]
}

fn launch_constant<'a, T: Element + Sample>(of: &Operands<'a, T>) -> Launch<'a> {
    fn sized<'a, T: Element + Sample, const K: usize>(
        of: &Operands<'a, T>,
        kernel: impl Fn(Slice<'a, T>, [T; K], Frame, SliceMut<'a, T>) -> SafeCall<'a>,
    ) -> Launch<'a> {
        let mask = core::array::from_fn(|j| of.taps[j]);
        Launch::new(kernel(of.input, mask, of.frame, of.out()).into(), per_element(of))
    }
    match of.taps.len() {
        3 => sized(of, constant::conv1d_constant_sized::<T, 3>),
        5 => sized(of, constant::conv1d_constant_sized::<T, 5>),
        7 => sized(of, constant::conv1d_constant_sized::<T, 7>),
        9 => sized(of, constant::conv1d_constant_sized::<T, 9>),
        31 => sized(of, constant::conv1d_constant_sized::<T, 31>),
        _ => {
            let part = |(i, taps): (usize, &[T])| {
                let part = Part { first: (i * TAPS) as u32, count: taps.len() as u32 };
                let taps = core::array::from_fn(|j| taps.get(j).copied().unwrap_or(T::ZERO));
                constant::conv1d_constant_any::<T>(of.input, taps, part, of.frame, of.out()).into()
            };
            let calls = of.taps.chunks(TAPS).enumerate().map(part).collect();
            Launch { calls, grid: per_element(of), shared: 0 }
        }
    }
}

fn launch_channels<'a, T: Element + Sample>(of: &Operands<'a, T>) -> Launch<'a> {
    let Operands { input, mask, frame, output, block, .. } = *of;
    let each = channels::per_thread(frame.channels);
    let call = match each {
        4 => channels::conv1d_channels::<T, 4>(input, mask, frame, output),
        3 => channels::conv1d_channels::<T, 3>(input, mask, frame, output),
        2 => channels::conv1d_channels::<T, 2>(input, mask, frame, output),
        _ => channels::conv1d_channels::<T, 1>(input, mask, frame, output),
    };
    Launch::new(call, [frame.samples.div_ceil(block), frame.channels / each])
}

/// The entries of the library's kernels.
pub(super) fn library<T: Element + Sample>() -> Vec<Entry> {
    let entry = |[taps, channels]: [u32; 2]| {
        let frame = Frame { samples: 1, channels, taps, border: ZERO };
        let (call, _) = rustwarp::conv1d::call::<T>(frame, [Slice::nothing(); 2], PtrMut::nothing());
        Entry::from(call)
    };
    [[1, 1], [1, 2], [MAX_MASK, 1], [MAX_MASK, 2], [1, 3]].map(entry).into()
}
