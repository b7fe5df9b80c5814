//! The tiles of a product, each with its kernels and its times.

use crate::backend::DeviceInfo;
use crate::element::Element;
use cuda_std::launch::{Call, Ptr, PtrMut, Slice};
use kernels_gpu::matmul::{Factor, best};

/// Nanoseconds of a block with a tile, measured on an H200.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// For one `k`, alone on a multiprocessor.
    pub alone: f64,
    /// For one `k`, where several blocks follow each other on a multiprocessor or share it.
    pub among_others: f64,
    /// For its start and its end, alone.
    pub start_alone: f64,
    /// For these among others.
    pub start: f64,
    /// For one `k`, once, where several blocks share a multiprocessor: they do not overlap from the first to the last.
    pub lag: f64,
    /// How many times as long a step takes where B is turned.
    pub turned: f64,
    /// How many times as long a step takes where neither A nor B is turned.
    pub straight: f64,
    /// How many times as long a step takes without a pipeline of copies.
    pub plain: f64,
}

impl Times {
    /// Those of a block that fills a multiprocessor, or most of it.
    const fn new(alone: f64, among_others: f64, start: f64) -> Self {
        Self { alone, among_others, start_alone: start, start, lag: 0.0, turned: 1.0, straight: 1.0, plain: 5.0 }
    }
}

/// A launcher of a kernel for one storage order of A and B. It is public for the ladders, which list its entry.
#[doc(hidden)]
#[rustfmt::skip]
pub type Kernel<T> = for<'a> fn(
    Slice<'a, T>, Slice<'a, T>, PtrMut<'a, T>, u32, u32, u32, [u64; 3], [u32; 3], u32, u32, PtrMut<'a, T>,
    PtrMut<'a, u32>, u32, T, T, Ptr<'a, u8>, Ptr<'a, T>, Ptr<'a, T>, Ptr<'a, T>,
) -> Call<'a>;

/// The part of a product that a block computes, with its kernels. [`Real::tiles`] lists them.
pub struct Tile<T: 'static> {
    name: &'static str,
    size: best::Tile,
    times: Times,
    /// The kernels, indexed by whether A and whether B are turned.
    kernels: [[Kernel<T>; 2]; 2],
}

/// A type that has kernels.
pub trait Real: Element + Factor {
    /// The tiles, the largest first.
    fn tiles() -> Vec<Tile<Self>>;
}

/// All four kernels of a tile.
macro_rules! kernels {
    ($kernel:ident, $t:ident) => {
        [
            [best::$kernel::<$t, false, false>, best::$kernel::<$t, false, true>],
            [best::$kernel::<$t, true, false>, best::$kernel::<$t, true, true>],
        ]
    };
}

impl Real for f32 {
    fn tiles() -> Vec<Tile<Self>> {
        vec![
            Tile {
                name: "large",
                size: best::LARGE,
                times: Times::new(164.0, 164.0, 3000.0),
                kernels: kernels!(matmul_best_large, f32),
            },
            Tile {
                name: "small",
                size: best::SMALL,
                times: Times { start_alone: 2000.0, turned: 1.1, ..Times::new(43.5, 41.0, 2500.0) },
                kernels: kernels!(matmul_best_small, f32),
            },
            Tile {
                name: "tiny",
                size: best::TINY,
                times: Times::new(23.6, 22.7, 1600.0),
                kernels: kernels!(matmul_best_tiny, f32),
            },
            Tile {
                name: "short",
                size: best::SHORT,
                times: Times::new(13.6, 11.5, 1800.0),
                kernels: kernels!(matmul_best_short, f32),
            },
            Tile {
                name: "tall",
                size: best::TALL,
                times: Times::new(15.0, 12.8, 1800.0),
                kernels: kernels!(matmul_best_tall, f32),
            },
            Tile {
                name: "mini",
                size: best::MINI,
                times: Times::new(9.7, 7.0, 1100.0),
                kernels: kernels!(matmul_best_mini, f32),
            },
            Tile {
                name: "pair",
                size: best::PAIR,
                times: Times { start_alone: 2000.0, lag: 25.0, plain: 2.0, ..Times::new(50.0, 20.7, 430.0) },
                kernels: kernels!(matmul_best_pair, f32),
            },
            Tile {
                name: "single",
                size: best::SINGLE,
                times: Times { start_alone: 300.0, plain: 2.0, ..Times::new(51.5, 12.9, 50.0) },
                kernels: kernels!(matmul_best_single, f32),
            },
        ]
    }
}

impl Real for f64 {
    fn tiles() -> Vec<Tile<Self>> {
        let (large, small) = (kernels!(matmul_best_large_double, f64), kernels!(matmul_best_small_double, f64));
        vec![
            Tile {
                name: "large",
                size: best::LARGE_DOUBLE,
                times: Times { straight: 0.965, ..Times::new(76.5, 76.5, 2500.0) },
                kernels: large,
            },
            Tile {
                name: "small",
                size: best::SMALL_DOUBLE,
                times: Times { straight: 0.83, ..Times::new(30.0, 23.7, 1200.0) },
                kernels: small,
            },
            Tile {
                name: "tall",
                size: best::TALL_DOUBLE,
                times: Times::new(14.6, 16.3, 1800.0),
                kernels: kernels!(matmul_best_tall_double, f64),
            },
            Tile {
                name: "mini",
                size: best::MINI_DOUBLE,
                times: Times::new(13.1, 10.0, 900.0),
                kernels: kernels!(matmul_best_mini_double, f64),
            },
            Tile {
                name: "pair",
                size: best::PAIR_DOUBLE,
                times: Times { start_alone: 1000.0, plain: 2.0, ..Times::new(30.7, 14.0, 330.0) },
                kernels: kernels!(matmul_best_pair_double, f64),
            },
        ]
    }
}

impl<T> Tile<T> {
    /// `large`, `small`, `tiny`, `short`, `tall`, `mini`, `pair` or `single`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Rows, columns, threads and shared memory.
    pub fn size(&self) -> best::Tile {
        self.size
    }

    /// The times of its blocks.
    pub(super) fn times(&self) -> Times {
        self.times
    }

    /// The kernel for factors of which A and B are turned.
    pub(super) fn kernel(&self, turned: [usize; 2]) -> Kernel<T> {
        self.kernels[turned[0]][turned[1]]
    }

    /// The kernels. They are public for the ladders, which list their entries.
    #[doc(hidden)]
    pub fn kernels(&self) -> &[Kernel<T>] {
        self.kernels.as_flattened()
    }

    /// Whether a block of this device has enough shared memory.
    pub fn fits(&self, info: &DeviceInfo) -> bool {
        self.size.shared <= info.max_shared
    }
}
