//! The variants of `matmul`, and the tiles of `best`.

use super::TILE;
use crate::error::{Error, Result};
use crate::kernels::BlockRule;
use crate::kernels::ladder::{Planned, Rung};
use crate::kernels::spelling::VARIANT;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::matmul::*;
use rustwarp::backend::DeviceInfo;
use rustwarp::matmul::{Real, Tile};

/// A launcher that takes A, B, C, M, N, K, and the storage order of A and B.
pub(super) type Plain<T> = for<'a> fn(Slice<'a, T>, Slice<'a, T>, PtrMut<'a, T>, u32, u32, u32, u32) -> Call<'a>;

/// A kernel whose blocks compute this number of rows and of columns.
pub(super) struct Kernel<T: 'static> {
    /// Rows and columns of the tile.
    pub tile: u32,
    /// The kernel.
    pub launcher: Plain<T>,
}

const fn only(sizes: &'static [u32]) -> BlockRule {
    BlockRule::OneOf { sizes, default: sizes[0] }
}

/// The table, slowest first.
pub(super) fn rungs<T: Real>() -> Vec<Rung<Planned<Kernel<T>>>> {
    let square = |tile, launcher: Plain<T>| Planned::Here(Kernel { tile, launcher });
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
        // The block of most tiles; a launch has the threads of the tile that is chosen.
        Rung { name: "best", idea: best::IDEA, block: only(&[best::LARGE.threads]), kernel: Planned::ByLibrary },
    ]
}

/// The library's tile of this name; `None` for `auto`, with which the library chooses.
///
/// # Errors
/// [`Error::Usage`] for an unknown tile, and if the tile, or any, does not fit the device.
pub(super) fn tile<T: Real>(wanted: &str, info: &DeviceInfo) -> Result<Option<Tile<T>>> {
    let tiles = T::tiles();
    if wanted == "auto" {
        if tiles.iter().any(|tile| tile.fits(info)) {
            return Ok(None);
        }
        return Err(Error::Usage(format!(
            "matmul best needs more shared memory than the {} bytes of this device: use {VARIANT} double_buffered",
            info.max_shared
        )));
    }
    let names: Vec<_> = tiles.iter().map(|tile| tile.name()).collect();
    let Some(tile) = tiles.into_iter().find(|tile| tile.name() == wanted) else {
        return Err(Error::Usage(format!(
            "matmul best has no tile `{wanted}` for {}; expected auto or one of: {}",
            T::DTYPE,
            names.join(", ")
        )));
    };
    if !tile.fits(info) {
        return Err(Error::Usage(format!(
            "tile `{wanted}` of matmul best needs {} bytes of shared memory per block, and this device has {}: use \
             {TILE} auto",
            tile.size().shared,
            info.max_shared
        )));
    }
    Ok(Some(tile))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::backend::simulator;

    /// The tile that is chosen, or the refusal.
    fn chosen<T: Real>(wanted: &str, info: &DeviceInfo) -> std::result::Result<[u32; 2], String> {
        let tile = tile::<T>(wanted, info).map_err(|error| error.to_string())?.expect("a name");
        Ok([tile.size().rows, tile.size().columns])
    }

    #[test]
    fn a_tile_is_taken_or_refused() {
        let info = simulator();
        let size = |tile: best::Tile| Ok([tile.rows, tile.columns]);
        assert_eq!(chosen::<f32>("tiny", &info), size(best::TINY));
        assert_eq!(chosen::<f64>("small", &info), size(best::SMALL_DOUBLE));
        let refusal = chosen::<f64>("tiny", &info).expect_err("there is no such tile");
        assert!(["`tiny`", "f64", "large, small"].iter().all(|word| refusal.contains(word)), "{refusal}");
        let mut small = info;
        small.max_shared = best::LARGE.shared - 1;
        let refusal = chosen::<f32>("large", &small).expect_err("it does not fit");
        assert!(refusal.contains("`large`") && refusal.contains("--tile auto"), "{refusal}");
        assert!(tile::<f32>("auto", &small).expect("another").is_none());
        let mut none = small;
        none.max_shared = 0;
        let refusal = tile::<f64>("auto", &none).map(|_| ()).expect_err("none fits").to_string();
        assert!(refusal.contains("--variant double_buffered"), "{refusal}");
    }
}
