//! Matrix product: `c[i][j] = sum over k of a[i][k] * b[k][j]`, row-major, of any sizes; A and B also stored
//! transposed.
//!
//! - *Error bound*: `K * epsilon * sum of |a| |b|`. A product without terms (`K = 0`) is 0.
//! - *Determinism*: the same bits on every run on devices for which the same tile is chosen.
//! - *Source*: tiles in shared memory and registers as in S. Boehm, "How to Optimize a CUDA Matmul Kernel" (2022), with
//!   asynchronous copies. The kernels are `kernels_gpu::matmul::best`; products of f32 are rounded as f32, without
//!   TF32.

use crate::backend::{DeviceInfo, Handle, Shape};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{Launch, MAX_GRID};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::matmul::{Factor, best};

/// Sizes and storage of the factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of A and of the product.
    pub m: usize,
    /// Columns of B and of the product.
    pub n: usize,
    /// Columns of A and rows of B.
    pub k: usize,
    /// Whether A is stored transposed, as `k` x `m`, and whether B is, as `n` x `k`.
    pub transposed: [bool; 2],
}

/// The product of A, `m` x `k`, and B, `k` x `n`: a matrix of `m` x `n`.
///
/// # Errors
/// [`Error::Mismatch`] if a buffer does not have the length of its matrix, [`Error::Usage`] for sizes beyond 2^32 - 1,
/// [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the kernels are not built, and the errors of
/// the device.
pub fn matmul<T: Real>(a: &Buffer<T>, b: &Buffer<T>, sizes: Sizes) -> Result<Buffer<T>> {
    let device = a.device();
    b.require_on(device, "B")?;
    let Sizes { m, n, k, .. } = sizes;
    for (name, have, [rows, columns]) in [("A", a.len(), [m, k]), ("B", b.len(), [k, n])] {
        if rows.checked_mul(columns) != Some(have) {
            return Err(Error::Mismatch(format!("{name} has {have} elements, and {rows}x{columns} are needed")));
        }
    }
    let tiles = T::tiles();
    let plan = Plan::new(&tiles, sizes, None, device.info())?;
    let len = m.checked_mul(n).ok_or_else(|| Error::Usage(format!("a product of {m}x{n} elements is too large")))?;
    let output = device.uninit::<T>(len)?;
    let launch = plan.launch([a.slice(a.len()), b.slice(b.len())], output.ptr());
    launch.run(device.backend(), device.family("matmul")?)?;
    Ok(output)
}

/// A launcher of a kernel for one storage order of A and B.
pub type Kernel<T> = for<'a> fn(Slice<'a, T>, Slice<'a, T>, PtrMut<'a, T>, u32, u32, u32) -> Call<'a>;

/// The part of the product that a block computes, with its kernels.
pub struct Tile<T: 'static> {
    /// `large`, `small` or `tiny`.
    pub name: &'static str,
    /// Size of the tile.
    pub size: best::Tile,
    /// Relative speed of a multiprocessor with this tile, measured with 8192x8192x8192 on an H200.
    pub speed: f64,
    /// The kernels, indexed by whether A and whether B are turned.
    pub kernels: [[Kernel<T>; 2]; 2],
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
            Tile { name: "large", size: best::LARGE, speed: 1.0, kernels: kernels!(matmul_best_large, f32) },
            Tile { name: "small", size: best::SMALL, speed: 0.96, kernels: kernels!(matmul_best_small, f32) },
            Tile { name: "tiny", size: best::TINY, speed: 0.83, kernels: kernels!(matmul_best_tiny, f32) },
        ]
    }
}

impl Real for f64 {
    fn tiles() -> Vec<Tile<Self>> {
        let (large, small) = (kernels!(matmul_best_large_double, f64), kernels!(matmul_best_small_double, f64));
        vec![
            Tile { name: "large", size: best::LARGE_DOUBLE, speed: 1.0, kernels: large },
            Tile { name: "small", size: best::SMALL_DOUBLE, speed: 0.85, kernels: small },
        ]
    }
}

/// Tile and grid of one product.
pub struct Plan<'v, T: 'static> {
    /// The tile.
    pub tile: &'v Tile<T>,
    /// Blocks, one per tile of the product; 0 for a product without elements.
    pub grid: u32,
    sizes: [u32; 3],
    transposed: [bool; 2],
}

impl<'v, T: Real> Plan<'v, T> {
    /// Chooses the tile of this name, or the tile expected to be fastest for the sizes, among those that fit the
    /// device.
    ///
    /// # Errors
    /// [`Error::Usage`] for sizes beyond 2^32 - 1, for an unknown tile or one that does not fit, and for more blocks
    /// than a grid can have.
    pub fn new(tiles: &'v [Tile<T>], sizes: Sizes, wanted: Option<&str>, info: &DeviceInfo) -> Result<Self> {
        let Sizes { m, n, k, transposed } = sizes;
        let (Ok(rows), Ok(columns), Ok(depth)) = (u32::try_from(m), u32::try_from(n), u32::try_from(k)) else {
            return Err(Error::Usage(format!("matmul takes sizes up to 2^32 - 1, not {m}x{n}x{k}: multiply in parts")));
        };
        let mut allowed = tiles.iter().filter(|tile| tile.size.shared <= info.max_shared);
        let found = match wanted {
            Some(name) => allowed.find(|tile| tile.name == name),
            None => fastest(allowed, &sizes, info.multiprocessors),
        };
        let tile = found.ok_or_else(|| {
            let names: Vec<_> = tiles.iter().map(|tile| tile.name).collect();
            let tile = wanted.map_or("each tile".to_owned(), |name| format!("the tile `{name}`"));
            Error::Usage(format!(
                "matmul has no kernel of {} for {tile} within the {} bytes of shared memory of this device; its tiles \
                 are {}",
                T::DTYPE,
                info.max_shared,
                names.join(", ")
            ))
        })?;
        let blocks = u64::from(rows.div_ceil(tile.size.rows)) * u64::from(columns.div_ceil(tile.size.columns));
        if blocks > MAX_GRID {
            return Err(Error::Usage(format!(
                "a product of {m}x{n} needs {blocks} blocks, and a grid has at most {MAX_GRID}: multiply in parts"
            )));
        }
        Ok(Self { tile, grid: blocks as u32, sizes: [rows, columns, depth], transposed })
    }

    /// Threads per block.
    pub fn block(&self) -> u32 {
        best::BLOCK
    }

    /// Writes the product of matrices of the plan's sizes.
    pub fn launch<'a>(&self, [a, b]: [Slice<'a, T>; 2], c: PtrMut<'a, T>) -> Launch<'a> {
        let [m, n, k] = self.sizes;
        // A is turned when it is not transposed, B when it is: see `kernels_gpu::matmul::best`.
        let turned = [usize::from(!self.transposed[0]), usize::from(self.transposed[1])];
        let call = self.tile.kernels[turned[0]][turned[1]](a, b, c, m, n, k);
        let shape = Shape::linear(self.grid, best::BLOCK).with_shared(self.tile.size.shared);
        // SAFETY: the matrices have the plan's sizes, the block is the kernel's, every tile has a block, and the shared
        // memory is the tile's.
        unsafe { Launch::new(call, shape) }
    }
}

/// The tile with which the busiest multiprocessor finishes first. Where rows of a factor do not start on 16-byte
/// boundaries, the tiles that are slow there are left out; the smallest is used if no tile is left.
fn fastest<'v, T: Real>(
    allowed: impl DoubleEndedIterator<Item = &'v Tile<T>> + Clone,
    sizes: &Sizes,
    multiprocessors: u32,
) -> Option<&'v Tile<T>> {
    let Sizes { m, n, transposed, .. } = *sizes;
    let time = |tile: &Tile<T>| {
        let best::Tile { rows, columns, .. } = tile.size;
        let blocks = (m.div_ceil(rows as usize) * n.div_ceil(columns as usize)) as f64;
        (blocks / f64::from(multiprocessors)).ceil() * f64::from(rows * columns) / tile.speed
    };
    let odd = transposed[0] && !m.is_multiple_of(T::WIDTH) || !transposed[1] && !n.is_multiple_of(T::WIDTH);
    let fast = allowed.clone().filter(|tile| tile.size.any || !odd);
    fast.min_by(|a, b| time(a).total_cmp(&time(b))).or_else(|| allowed.clone().next_back())
}

impl Device {
    /// [`matmul`] of buffers of this device.
    ///
    /// # Errors
    /// Those of [`matmul()`].
    pub fn matmul<T: Real>(&self, a: &Buffer<T>, b: &Buffer<T>, sizes: Sizes) -> Result<Buffer<T>> {
        a.require_on(self, "A")?;
        matmul(a, b, sizes)
    }
}
