//! The variants of `matmul`, and the choice of a tile for `best`.

use super::Sizes;
use crate::kernels::ladder::Rung;
use crate::kernels::{BlockRule, Entry};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::matmul::*;
use rustwarp::backend::DeviceInfo;
use rustwarp::element::Element;
use rustwarp::error::{Error, Result};

/// A launcher that takes A, B, C, M, N, K, and the storage order of A and B.
type Plain<T> = for<'a> fn(Slice<'a, T>, Slice<'a, T>, PtrMut<'a, T>, u32, u32, u32, u32) -> Call<'a>;

/// A launcher of a kernel of `best` for one storage order of A and B.
type Made<T> = for<'a> fn(Slice<'a, T>, Slice<'a, T>, PtrMut<'a, T>, u32, u32, u32) -> Call<'a>;

/// The kernel or kernels of a variant.
pub enum Kernel<T: 'static> {
    /// One kernel, whose blocks compute this number of rows and of columns.
    Rung([u32; 2], Plain<T>),
    /// Several tiles, each with its kernels.
    Best(Vec<BestTile<T>>),
}

/// One of `best`'s tiles.
pub struct BestTile<T: 'static> {
    /// Name for `--tile`.
    pub name: &'static str,
    /// Size of the tile.
    pub tile: best::Tile,
    /// Relative speed of a multiprocessor with this tile, measured with 8192x8192x8192 on an H200.
    pub speed: f64,
    /// The kernels, indexed by whether A and whether B are turned.
    pub kernels: [[Made<T>; 2]; 2],
}

/// The launch for one size of product.
pub struct Choice<'v, T: 'static> {
    /// Rows and columns of a block's part of the product.
    pub tile: [u32; 2],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The kernel.
    pub kernel: Chosen<'v, T>,
}

/// The kernel of a [`Choice`].
pub enum Chosen<'v, T: 'static> {
    /// The kernel of a rung.
    Rung(&'v Plain<T>),
    /// The kernels of a tile.
    Best(&'v [[Made<T>; 2]; 2]),
}

/// A type that has kernels.
pub trait Real: Element + Factor {
    /// `best`'s tiles, the largest first.
    fn tiles() -> Vec<BestTile<Self>>;
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
    fn tiles() -> Vec<BestTile<Self>> {
        vec![
            BestTile { name: "large", tile: best::LARGE, speed: 1.0, kernels: kernels!(matmul_best_large, f32) },
            BestTile { name: "small", tile: best::SMALL, speed: 0.96, kernels: kernels!(matmul_best_small, f32) },
            BestTile { name: "tiny", tile: best::TINY, speed: 0.83, kernels: kernels!(matmul_best_tiny, f32) },
        ]
    }
}

impl Real for f64 {
    fn tiles() -> Vec<BestTile<Self>> {
        let (large, small) = (kernels!(matmul_best_large_double, f64), kernels!(matmul_best_small_double, f64));
        vec![
            BestTile { name: "large", tile: best::LARGE_DOUBLE, speed: 1.0, kernels: large },
            BestTile { name: "small", tile: best::SMALL_DOUBLE, speed: 0.85, kernels: small },
        ]
    }
}

const fn only(sizes: &'static [u32]) -> BlockRule {
    BlockRule::OneOf { sizes, default: sizes[0] }
}

/// The table, slowest first.
pub fn rungs<T: Real>() -> Vec<Rung<Kernel<T>>> {
    let square = |tile, kernel| Kernel::Rung([tile, tile], kernel);
    vec![
        Rung {
            name: "naive",
            idea: naive::IDEA,
            block: only(&[naive::BLOCK]),
            kernel: square(naive::TILE, naive::matmul_naive::<T>),
        },
        Rung {
            name: "tiled_16",
            idea: tiled::IDEAS[0],
            block: only(&[tiled::TILES[0] * tiled::TILES[0]]),
            kernel: square(tiled::TILES[0], tiled::matmul_tiled::<T, 16>),
        },
        Rung {
            name: "tiled_32",
            idea: tiled::IDEAS[1],
            block: only(&[tiled::TILES[1] * tiled::TILES[1]]),
            kernel: square(tiled::TILES[1], tiled::matmul_tiled::<T, 32>),
        },
        Rung {
            name: "thread_tile_1d",
            idea: thread_tile_1d::IDEA,
            block: only(&[thread_tile_1d::BLOCK]),
            kernel: square(thread_tile_1d::TILE, thread_tile_1d::matmul_thread_tile_1d::<T>),
        },
        Rung {
            name: "thread_tile_2d",
            idea: thread_tile_2d::IDEA,
            block: only(&[thread_tile_2d::BLOCK]),
            kernel: square(thread_tile_2d::TILE, thread_tile_2d::matmul_thread_tile_2d::<T>),
        },
        Rung {
            name: "vectorised",
            idea: vectorised::IDEA,
            block: only(&[vectorised::BLOCK]),
            kernel: square(vectorised::TILE, vectorised::matmul_vectorised::<T>),
        },
        Rung {
            name: "double_buffered",
            idea: double_buffered::IDEA,
            block: only(&[double_buffered::BLOCK]),
            kernel: square(double_buffered::TILE, double_buffered::matmul_double_buffered::<T>),
        },
        Rung { name: "best", idea: best::IDEA, block: only(&[best::BLOCK]), kernel: Kernel::Best(T::tiles()) },
    ]
}

impl<T: Real> Kernel<T> {
    /// Every `.entry` of the variant.
    pub fn entries(&self) -> Vec<Entry> {
        match self {
            Self::Rung(_, kernel) => vec![Entry::of(kernel)],
            Self::Best(tiles) => tiles.iter().flat_map(|tile| tile.kernels.as_flattened()).map(Entry::of).collect(),
        }
    }

    /// Chooses the kernel for a product of these sizes: with the tile of this name, or with the fastest tile that fits
    /// the device.
    ///
    /// # Errors
    /// [`Error::Usage`] for an unknown tile, or one that does not fit.
    pub fn choose(&self, sizes: &Sizes, wanted: &str, info: &DeviceInfo) -> Result<Choice<'_, T>> {
        let Sizes { m, n, transposed, .. } = *sizes;
        let tiles = match self {
            Self::Rung(tile, kernel) => {
                return Ok(Choice { tile: *tile, shared: 0, kernel: Chosen::Rung(kernel) });
            }
            Self::Best(tiles) => tiles,
        };
        let allowed = tiles.iter().filter(|tile| tile.tile.shared <= info.max_shared);
        let found = match wanted {
            "auto" => {
                // Every multiprocessor computes its share of the tiles in turn; the time of the busiest one counts.
                let time = |tile: &BestTile<T>| {
                    let blocks = (m.div_ceil(tile.tile.rows as usize) * n.div_ceil(tile.tile.columns as usize)) as f64;
                    let rounds = (blocks / f64::from(info.multiprocessors)).ceil();
                    rounds * f64::from(tile.tile.rows * tile.tile.columns) / tile.speed
                };
                let odd = transposed[0] && !m.is_multiple_of(T::WIDTH) || !transposed[1] && !n.is_multiple_of(T::WIDTH);
                let fast = allowed.clone().filter(|tile| tile.tile.any || !odd);
                fast.min_by(|a, b| time(a).total_cmp(&time(b))).or_else(|| allowed.clone().next_back())
            }
            name => {
                let Some(tile) = tiles.iter().find(|tile| tile.name == name) else {
                    let names: Vec<_> = tiles.iter().map(|tile| tile.name).collect();
                    return Err(Error::Usage(format!(
                        "matmul best has no tile `{name}` for {}; expected auto or one of: {}",
                        T::DTYPE,
                        names.join(", ")
                    )));
                };
                if tile.tile.shared > info.max_shared {
                    return Err(Error::Usage(format!(
                        "tile `{name}` of matmul best needs {} bytes of shared memory per block, and this device has \
                         {}: \
                         use --tile auto",
                        tile.tile.shared, info.max_shared
                    )));
                }
                Some(tile)
            }
        };
        let best = found.ok_or_else(|| {
            Error::Usage(format!(
                "matmul best needs more shared memory than the {} bytes of this device: use --variant double_buffered",
                info.max_shared
            ))
        })?;
        let best::Tile { rows, columns, shared, .. } = best.tile;
        Ok(Choice { tile: [rows, columns], shared, kernel: Chosen::Best(&best.kernels) })
    }
}

impl<T: Real> Chosen<'_, T> {
    /// Makes the call.
    pub fn call<'a>(
        &self,
        sizes: &Sizes,
        [m, n, k]: [u32; 3],
        a: Slice<'a, T>,
        b: Slice<'a, T>,
        c: PtrMut<'a, T>,
    ) -> Call<'a> {
        match self {
            Self::Rung(kernel) => kernel(a, b, c, m, n, k, sizes.stored()),
            Self::Best(kernels) => {
                // A is turned when it is not transposed, B when it is: see `best`.
                let turned = [usize::from(!sizes.transposed[0]), usize::from(sizes.transposed[1])];
                kernels[turned[0]][turned[1]](a, b, c, m, n, k)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::backend::simulator;

    /// The tile that is chosen, or the refusal.
    fn chosen<T: Real>(wanted: &str, info: &DeviceInfo) -> std::result::Result<[u32; 2], String> {
        let sizes = Sizes { m: 64, n: 68, k: 65, transposed: [false; 2] };
        let best = Kernel::Best(T::tiles());
        best.choose(&sizes, wanted, info).map(|choice| choice.tile).map_err(|error| error.to_string())
    }

    #[test]
    fn a_tile_is_taken_or_refused() {
        let info = simulator();
        let tile = |tile: best::Tile| Ok([tile.rows, tile.columns]);
        assert_eq!(chosen::<f32>("tiny", &info), tile(best::TINY));
        assert_eq!(chosen::<f64>("small", &info), tile(best::SMALL_DOUBLE));
        let refusal = chosen::<f64>("tiny", &info).expect_err("there is no such tile");
        assert!(["`tiny`", "f64", "large, small"].iter().all(|word| refusal.contains(word)), "{refusal}");
        let small = DeviceInfo { max_shared: best::LARGE.shared - 1, ..info };
        let refusal = chosen::<f32>("large", &small).expect_err("it does not fit");
        assert!(refusal.contains("`large`") && refusal.contains("--tile auto"), "{refusal}");
    }
}
