//! Product of a matrix and a vector: `y[i] = sum over k of a[i][k] * x[k]`, of any sizes; the matrix also stored
//! transposed. BLAS calls it `gemv`.
//!
//! Entries of f16 and bf16 are multiplied and added as f32, and so is their product. A product without terms is 0.
//!
//! - *Error bound*: `d * epsilon * sum of |a| |x|`, where `d` is [`Plan::depth`] and `epsilon` that of the product's
//!   type, and half the smallest positive number of that type for each product that underflows.
//! - *Determinism*: the same bits on every run on devices with the same number of multiprocessors, where matrix and
//!   vector have the same places between 16-byte boundaries.
//! - *Source*: those of `kernels_gpu::matvec`; the kernels are its `best` and `columns`.

use crate::backend::{DeviceInfo, Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::{Element, Scalar, require_layout};
use crate::error::{Error, Result};
use crate::launch::{Launch, require_grid};
use crate::matmul::elements;
use crate::ptx::library;
use cuda_std::launch::Slice;
use cuda_std::math::Float;
use kernels_gpu::matvec::{ALIGNED, Bf16, Entry, F16, SHIFTED, SINGLE, STREAMED, best, columns};

/// Sizes and storage of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of the matrix: the length of the product.
    pub rows: usize,
    /// Columns of the matrix: the length of the vector.
    pub columns: usize,
    /// Whether the matrix is stored transposed, as `columns` x `rows`.
    pub transposed: bool,
}

/// A type of entries: `f32`, `f64`, `half::f16` and `half::bf16`.
pub trait Operand: Scalar {
    /// The type of the product: f64 for f64, else f32.
    type Output: Element + Float;

    /// The type's name among the kernels.
    #[doc(hidden)]
    type Entry: Entry<Sum = Self::Output>;
}

macro_rules! operands {
    ($($t:ty: $entry:ty, $output:ty;)*) => { $(
        impl Operand for $t {
            type Output = $output;
            type Entry = $entry;
        }
    )* };
}
operands! { f32: f32, f32; f64: f64, f64; half::f16: F16, f32; half::bf16: Bf16, f32; }

/// The product of a matrix of `rows` x `columns` and a vector of `columns`: a vector of `rows`.
///
/// # Errors
/// [`Error::Mismatch`] if a buffer does not have the length that the sizes give, [`Error::Argument`] for sizes beyond
/// 2^32 - 1, [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the kernels are not built, and the
/// errors of the device.
pub fn matvec<'a, T: Operand>(
    matrix: impl Into<View<'a, T>>,
    vector: impl Into<View<'a, T>>,
    sizes: Sizes,
) -> Result<Buffer<T::Output>> {
    let (matrix, vector) = (matrix.into(), vector.into());
    matvec_on(matrix.device(), matrix, vector, sizes)
}

/// Writes the product of a matrix and a vector to `rows` elements, without waiting, in the stream of the product's
/// device.
///
/// # Errors
/// Those of [`matvec()`].
pub fn matvec_into<'a, T: Operand>(
    matrix: impl Into<View<'a, T>>,
    vector: impl Into<View<'a, T>>,
    sizes: Sizes,
    product: impl Into<ViewMut<'a, T::Output>>,
) -> Result<()> {
    let (matrix, vector, product) = (matrix.into(), vector.into(), product.into());
    vector.require_on(product.device(), "the vector")?;
    let Sizes { rows, columns, .. } = sizes;
    if rows.checked_mul(columns) != Some(matrix.len()) {
        let have = matrix.len();
        return Err(Error::Mismatch(format!("{have} elements are not a matrix of {rows}x{columns}")));
    }
    Plan::<T>::new(product.device(), sizes)?.launch(matrix, vector, product)
}

fn matvec_on<T: Operand>(
    device: &Device,
    matrix: View<'_, T>,
    vector: View<'_, T>,
    sizes: Sizes,
) -> Result<Buffer<T::Output>> {
    let mut product = device.uninit::<T::Output>(sizes.rows)?;
    matvec_into(matrix, vector, sizes, &mut product)?;
    Ok(product)
}

/// A launch configuration for loads of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Config {
    /// Number of blocks.
    grid: u32,
    /// Lanes that load neighbours of a stored line together.
    lanes: u32,
    /// Blocks that share sums.
    pieces: u32,
    /// Columns of the matrix for each piece.
    piece: u32,
    /// Elements of scratch memory for the sums of all pieces.
    partials: usize,
    /// Number of tickets: one for each group of rows that blocks share.
    tickets: usize,
    /// Upper bound of the products and additions in a chain to an element of the result.
    depth: u64,
}

/// A product of a matrix of one size and a vector, with its launch configuration and scratch memory. It can be launched
/// any number of times, without further allocations.
pub struct Plan<T: Operand, H: Handle = Device> {
    sizes: Sizes,
    /// Whether the matrix is kept in the L2 cache.
    keeps: bool,
    /// The launch by loads of 16 bytes, and that by single elements.
    configs: [Config; 2],
    partials: Memory<T::Output, H>,
    /// The tickets, which are 0 between launches.
    tickets: Memory<u32, H>,
}

impl<T: Operand, H: Handle> Plan<T, H> {
    /// Plans products of matrices of this size.
    ///
    /// # Errors
    /// [`Error::Argument`] for sizes beyond 2^32 - 1, [`Error::OutOfMemory`] if the device has less memory free.
    pub fn new(device: &H, sizes: Sizes) -> Result<Self> {
        let Sizes { rows, columns, transposed } = sizes;
        if u32::try_from(rows).is_err() || u32::try_from(columns).is_err() {
            return Err(Error::Argument(format!("matvec takes sizes up to 2^32 - 1, not {rows}x{columns}")));
        }
        let bytes = elements(rows, columns)?.saturating_mul(size_of::<T>());
        let config = |width| match transposed {
            false => by_rows(device.backend().info(), [rows as u64, columns as u64], width),
            true => by_columns(device.backend().info(), [rows as u64, columns as u64], width),
        };
        let configs = [config(16 / size_of::<T>() as u64)?, config(1)?];
        let most = |part: fn(&Config) -> usize| configs.iter().map(part).max().unwrap_or(0).max(1);
        Ok(Self {
            sizes,
            keeps: bytes as u64 <= device.backend().info().l2,
            configs,
            partials: Memory::uninit(device.clone(), most(|config| config.partials), "partial sums")?,
            tickets: Memory::zeros(device.clone(), most(|config| config.tickets), "tickets")?,
        })
    }

    /// Sets whether the matrix is kept in the L2 cache, by default if the cache has room for it: then a second product
    /// reads it from there. Otherwise other data stay in the cache. (Rows that do not start on 16-byte boundaries are
    /// always loaded as if they were kept.)
    pub fn keeping(self, keeps: bool) -> Self {
        Self { keeps, ..self }
    }

    /// Upper bound of the roundings in a chain to an element of the result: products, each fused with its addition, and
    /// additions.
    pub fn depth(&self) -> u64 {
        self.configs.iter().map(|config| config.depth).max().unwrap_or(0)
    }

    /// How the kernels load a matrix and a vector that start at these addresses.
    fn mode(&self, matrix: u64, vector: u64) -> u32 {
        let Sizes { rows, columns, transposed } = self.sizes;
        let line = size_of::<T>() * if transposed { rows } else { columns };
        let starts = matrix.is_multiple_of(16) && (transposed || vector.is_multiple_of(16));
        match starts {
            true if line.is_multiple_of(16) && self.keeps => ALIGNED,
            true if line.is_multiple_of(16) => STREAMED,
            true if line >= 32 => SHIFTED,
            _ => SINGLE,
        }
    }

    /// The launch that writes the product of the matrix and the vector. For a product without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        matrix: impl Into<View<'a, T, H>>,
        vector: impl Into<View<'a, T, H>>,
        product: impl Into<View<'a, T::Output, H>>,
    ) -> Result<Launch<'a>> {
        let (matrix, vector, product) = (matrix.into(), vector.into(), product.into());
        let (device, Sizes { rows, columns, transposed }) = (self.tickets.device(), self.sizes);
        matrix.require(device, rows * columns, "the matrix")?;
        vector.require(device, columns, "the vector")?;
        product.require_output(device, rows, &[matrix.span(), vector.span()])?;
        let mode = self.mode(matrix.address(), vector.address());
        let Config { grid, lanes, pieces, piece, .. } = self.configs[usize::from(mode == SINGLE)];
        const { require_layout::<T, <T::Entry as kernels_gpu::number::Entry>::Bits>() };
        // SAFETY: the memory lives as long as the views, which the launch borrows; entries of 16 bits are taken as
        // integers of the same layout.
        let (a, x) = unsafe { (Slice::new(matrix.address(), rows * columns), Slice::new(vector.address(), columns)) };
        let (y, sizes) = (product.ptr(), [rows as u32, columns as u32]);
        let (partials, tickets) = (self.partials.ptr(), self.tickets.ptr());
        let kernel = if transposed { columns::matvec_columns::<T::Entry> } else { best::matvec_best::<T::Entry> };
        let call = kernel(a, x, y, sizes[0], sizes[1], lanes, pieces, piece, mode, partials, tickets);
        // SAFETY: the sizes are the views', the launch is the plan's for this storage order and these boundaries, and
        // every launch leaves the tickets at 0.
        let launch = unsafe { Launch::new(call, Shape::linear(grid, best::BLOCK)) };
        let scratch = [self.partials.writes(), self.tickets.writes()];
        Ok(launch.using([matrix.reads(), vector.reads(), product.writes()]).using(scratch))
    }
}

impl<T: Operand> Plan<T> {
    /// Starts the product, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(
        &self,
        matrix: impl Into<View<'a, T>>,
        vector: impl Into<View<'a, T>>,
        product: impl Into<ViewMut<'a, T::Output>>,
    ) -> Result<()> {
        let (matrix, vector, product): (View<'_, T>, View<'_, T>, ViewMut<'_, T::Output>) =
            (matrix.into(), vector.into(), product.into());
        let launch = self.prepare(matrix, vector, product.as_view())?;
        self.tickets.device().run(&library::MATVEC, &launch)
    }
}

const _: () = assert!(best::BLOCK == columns::BLOCK && best::BLOCKS_PER_SM == columns::BLOCKS_PER_SM);

/// Blocks that the device runs at the same time.
fn resident(info: &DeviceInfo) -> u64 {
    u64::from(info.multiprocessors * best::BLOCKS_PER_SM)
}

/// The launch of `best`, with loads of `width` elements.
fn by_rows(info: &DeviceInfo, [rows, columns]: [u64; 2], width: u64) -> Result<Config> {
    const WARP: u64 = 32;
    let block = u64::from(best::BLOCK);
    let (resident, loads) = (resident(info), columns.div_ceil(width).max(1));
    let groups = |team: u64| rows.div_ceil(best::ROWS as u64 * (WARP / team.min(WARP)));
    let blocks = |team: u64| (groups(team) * team.max(WARP)).div_ceil(block);
    // The largest team of whole warps with which all teams run at the same time, and each lane has a load to do. With
    // more rows, as many lanes as have their loads in flight twice, or once where rows are short.
    let at_once = [block, block / 2, block / 4, WARP].into_iter();
    let team = at_once.clone().find(|&team| blocks(team) <= resident && team <= loads);
    let team = team.unwrap_or_else(|| match loads / (2 * best::UNROLL as u64) {
        0..16 => loads.div_ceil(best::UNROLL as u64).next_power_of_two(),
        long => (1 << long.ilog2()).min(block),
    });
    // Rows that are fewer than blocks are shared.
    let most = if team == block { (resident / groups(team).max(1)).clamp(1, loads.div_ceil(block)) } else { 1 };
    let (pieces, piece) = divide(columns, most, 8);
    let grid = require_grid(blocks(team) * pieces, "a matrix", "multiply in parts")?;
    // A lane's columns and those behind its vectors; the trees of the warp and the team; the pieces and their tree.
    let share = piece.div_ceil(team * width) * width + (2 * width).div_ceil(team);
    let tree = |team: u64| u64::from(team.min(WARP).ilog2()) + if team > WARP { team / WARP } else { 0 };
    let of_pieces = if pieces > 1 { pieces.div_ceil(block) + tree(block) } else { 0 };
    Ok(Config {
        grid,
        lanes: team as u32,
        pieces: pieces as u32,
        piece: piece as u32,
        partials: if pieces > 1 { grid as usize * best::ROWS } else { 0 },
        tickets: if pieces > 1 { groups(team) as usize } else { 0 },
        depth: (share + tree(team) + of_pieces).min(columns),
    })
}

/// The launch of `columns`, with loads of `width` elements.
fn by_columns(info: &DeviceInfo, [rows, columns]: [u64; 2], width: u64) -> Result<Config> {
    const WARP: u64 = 32;
    let (block, resident) = (u64::from(columns::BLOCK), resident(info));
    let unroll = if width == 1 { columns::SINGLE_UNROLL } else { columns::UNROLL } as u64;
    let tiles = |lanes: u64| rows.div_ceil(lanes * width);
    let long = tiles(block) >= 2 * resident;
    let lanes = if long { block } else { rows.div_ceil(width).next_power_of_two().clamp(1, WARP) };
    let (tiles, slots) = (tiles(lanes), block / lanes);
    // The fewest pieces with which the rounds of loads that follow each other are fewest; a block's start and its sums
    // take as long as two rounds.
    let most = if long { 1 } else { columns.div_ceil(slots * unroll).clamp(1, resident) };
    let rounds = |most: &u64| {
        let (pieces, piece) = divide(columns, *most, slots);
        (tiles * pieces).div_ceil(resident) * (piece.div_ceil(slots * unroll) + 2)
    };
    let wanted = (1..=most).min_by_key(rounds).unwrap_or(1);
    let (pieces, piece) = divide(columns, wanted, slots);
    let grid = require_grid(tiles * pieces, "a matrix", "multiply in parts")?;
    // A thread's lines; the trees of the warp and the block; the pieces, of which several threads have a row's.
    let tree = if long { 0 } else { u64::from((WARP / lanes).ilog2()) + block / WARP };
    let turns = block / (lanes * width).min(block);
    let of_pieces = if pieces > 1 { pieces.div_ceil(turns) + turns } else { 0 };
    Ok(Config {
        grid,
        lanes: lanes as u32,
        pieces: pieces as u32,
        piece: piece as u32,
        partials: if pieces > 1 { (pieces * rows) as usize } else { 0 },
        tickets: if pieces > 1 { tiles as usize } else { 0 },
        depth: (piece.div_ceil(slots) + tree + of_pieces).min(columns),
    })
}

/// The number of pieces of `columns`, at most `most`, and the columns of each but the last, which are a multiple of
/// `unit` if there are several.
fn divide(columns: u64, most: u64, unit: u64) -> (u64, u64) {
    let piece = columns.div_ceil(most).next_multiple_of(unit);
    if piece >= columns { (1, columns) } else { (columns.div_ceil(piece), piece) }
}

impl Device {
    /// [`matvec`] of buffers of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`matvec()`].
    pub fn matvec<'a, T: Operand>(
        &self,
        matrix: impl Into<View<'a, T>>,
        vector: impl Into<View<'a, T>>,
        sizes: Sizes,
    ) -> Result<Buffer<T::Output>> {
        let (matrix, vector) = (matrix.into(), vector.into());
        matrix.require_on(self, "the matrix")?;
        matvec_on(self, matrix, vector, sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(multiprocessors: u32) -> DeviceInfo {
        DeviceInfo { multiprocessors, ..Device::sim().expect("the simulator").backend().info().clone() }
    }

    /// Sizes around powers of two, and some that no unit divides.
    fn lengths() -> impl Iterator<Item = u64> + Clone {
        (0..33)
            .flat_map(|power| [(1_u64 << power) - 1, 1 << power])
            .filter(|n| *n < 1 << 32)
            .chain([5, 100, 11_008, 4097])
    }

    #[test]
    fn plans_uphold_the_contracts_of_the_kernels() {
        for (multiprocessors, width) in [1, 16, 132].into_iter().flat_map(|sms| [1, 2, 4, 8].map(|width| (sms, width)))
        {
            let info = device(multiprocessors);
            for (rows, columns) in lengths().flat_map(|rows| lengths().map(move |columns| (rows, columns))) {
                let both = [by_rows(&info, [rows, columns], width), by_columns(&info, [rows, columns], width)];
                for (config, transposed) in both.into_iter().zip([false, true]) {
                    // A grid that is too large is refused.
                    let Ok(Config { grid, lanes, pieces, piece, partials, tickets, depth }) = config else { continue };
                    let what = format!("{rows}x{columns}, transposed: {transposed}, by {width} on {multiprocessors}");
                    let [lanes, pieces, piece] = [lanes, pieces, piece].map(u64::from);
                    assert!(pieces * piece >= columns && pieces >= 1 && depth <= columns, "{what}");
                    assert!(lanes.is_power_of_two() && lanes <= u64::from(best::BLOCK), "{what}");
                    let groups = if transposed {
                        assert!(lanes <= 32 || lanes == u64::from(columns::BLOCK) && pieces == 1, "{what}");
                        rows.div_ceil(lanes * width)
                    } else {
                        assert!(pieces == 1 || lanes == u64::from(best::BLOCK) && piece % 8 == 0, "{what}");
                        let threads = rows.div_ceil(best::ROWS as u64 * (32 / lanes.min(32))) * lanes.max(32);
                        threads.div_ceil(u64::from(best::BLOCK))
                    };
                    assert_eq!(u64::from(grid), groups * pieces, "{what}");
                    if pieces > 1 {
                        let sums = if transposed { pieces * rows } else { u64::from(grid) * best::ROWS as u64 };
                        assert_eq!((partials as u64, tickets as u64), (sums, groups), "{what}");
                    }
                }
            }
        }
    }
}
