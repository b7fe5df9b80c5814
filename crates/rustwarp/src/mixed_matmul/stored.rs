//! How the factors of a batch lie in memory, and the copies that tensor cores read if they cannot read them as they
//! are.

use super::factor::Operand;
use crate::backend::{Handle, Memory, Shape, TensorLayout, View};
use crate::element::Scalar;
use crate::error::Result;
use crate::launch::Launch;
use crate::matmul::elements;
use cuda_std::launch::{Ptr, PtrMut};
use cuda_std::memory::TensorMap;
use kernels_gpu::mma::pad::mma_pad;
use kernels_gpu::tensor::mixed::{ROW, lines, pad, turn};

/// Blocks that copy a factor: enough to fill any GPU, each with several rows or tiles.
const COPY_BLOCKS: u64 = 4096;

/// A copy of a factor.
struct Copy<H: Handle> {
    memory: Memory<u128, H>,
    /// Whether it is the transposed.
    turned: bool,
}

/// The factors of a batch: rows of a length.
pub struct Stored<H: Handle> {
    rows: u32,
    columns: u32,
    /// Elements from one row to the next.
    pitch: u32,
    /// Number of matrices, and elements from one to the next.
    count: u32,
    step: u64,
    /// Rows of a box, whose rows have 128 bytes.
    box_rows: u32,
    copy: Option<Copy<H>>,
}

/// Where factors lie.
pub struct Place {
    /// Address of the first.
    pub address: u64,
    /// Elements from a row to the next.
    pub pitch: u32,
    /// Elements from a matrix to the next.
    pub step: u64,
}

/// What a plan needs to know about a factor.
pub struct Request {
    /// Rows of A or columns of B.
    pub lines: u32,
    /// Length of the sums.
    pub depth: u32,
    /// Number of matrices.
    pub count: u32,
    /// Elements from one to the next.
    pub step: u64,
    /// Elements from one row in memory to the next.
    pub pitch: u32,
    /// Whether neighbours in memory belong to different lines.
    pub across: bool,
    /// Lines of a tile; 0 without a map: rows then also have a multiple of 16 bytes, or are copied to have zeros up to
    /// one.
    pub tile: u32,
    /// Whether it is copied to lie along the depth if it lies across.
    pub turns: bool,
    /// Number of bytes of which its rows are a multiple apart, or are copied to be; `None` if any distance will do, of
    /// rows and of matrices.
    pub multiple: Option<u32>,
}

/// The family with the kernels that make the copy.
#[derive(Clone, Copy, Debug)]
pub enum Copies {
    /// [`kernels_gpu::tensor`].
    Tensor,
    /// [`kernels_gpu::mma`], which turns no factor.
    Mma,
}

impl<H: Handle> Stored<H> {
    /// Plans a copy of the factor if tensor cores need one, or if it pays.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has too little memory for the copy.
    pub fn new<T: Scalar>(device: &H, request: &Request) -> Result<Self> {
        let Request { lines, depth, count, step, pitch, across, tile, turns, multiple } = *request;
        let size = size_of::<T>() as u32;
        let turned = across && turns;
        let (rows, columns) = if across && !turned { (depth, lines) } else { (lines, depth) };
        let apart = count > 1 && !step.is_multiple_of((pad::UNIT / size).into());
        let short = tile == 0 && !columns.is_multiple_of(pad::UNIT / size);
        let off = |multiple: u32| apart || short || !pitch.is_multiple_of(multiple / size);
        let needed = turned || multiple.is_some_and(off);
        let units = columns.div_ceil(pad::LINE / size) as usize * (pad::LINE / pad::UNIT) as usize;
        let units = elements(elements(rows as usize, units)?, count as usize)?;
        let copy = (needed && units > 0).then(|| Memory::uninit(device.clone(), units, "a factor with longer rows"));
        Ok(Self {
            rows,
            columns,
            pitch,
            count,
            step,
            box_rows: if across && !turned { ROW / size } else { self::lines(tile, lines) },
            copy: copy.transpose()?.map(|memory| Copy { memory, turned }),
        })
    }

    /// The launch that makes the copy.
    pub fn prepare<'a, T: Scalar>(&'a self, factor: View<'a, T, H>, copies: Copies) -> Option<Launch<'a>> {
        let Copy { memory, turned } = self.copy.as_ref()?;
        let (rows, columns, address) = (self.rows, self.columns, factor.address());
        let (count, step, pitch) = (self.count, self.step, self.pitch);
        let blocks = |blocks: u64| blocks.clamp(1, COPY_BLOCKS) as u32;
        // SAFETY: the view borrows the memory, elements of a `T` have as many bits as these, and the copy has room.
        let launch = unsafe {
            if *turned {
                let tiles = u64::from(rows.div_ceil(turn::SIDE)) * u64::from(columns.div_ceil(turn::SIDE));
                let to = memory.address();
                let call = match size_of::<T>() {
                    1 => turn::tensor_turn::<u8>(Ptr::new(address), PtrMut::new(to), count, step, columns, rows, pitch),
                    _ => {
                        turn::tensor_turn::<u32>(Ptr::new(address), PtrMut::new(to), count, step, columns, rows, pitch)
                    }
                };
                Launch::new(call, Shape::linear(blocks(tiles * u64::from(count)), turn::BLOCK))
            } else {
                let (to, kernel) = (memory.ptr(), (copies, size_of::<T>()));
                let call = match kernel {
                    (Copies::Tensor, 1) => {
                        pad::tensor_pad::<u8>(Ptr::new(address), to, count, step, rows, columns, pitch)
                    }
                    (Copies::Tensor, 2) => {
                        pad::tensor_pad::<u16>(Ptr::new(address), to, count, step, rows, columns, pitch)
                    }
                    (Copies::Tensor, _) => {
                        pad::tensor_pad::<u32>(Ptr::new(address), to, count, step, rows, columns, pitch)
                    }
                    (Copies::Mma, 1) => mma_pad::<u8>(Ptr::new(address), to, count, step, rows, columns, pitch),
                    (Copies::Mma, 2) => mma_pad::<u16>(Ptr::new(address), to, count, step, rows, columns, pitch),
                    (Copies::Mma, _) => mma_pad::<u32>(Ptr::new(address), to, count, step, rows, columns, pitch),
                };
                Launch::new(call, Shape::linear(blocks(u64::from(rows) * u64::from(count)), pad::BLOCK))
            }
        };
        Some(launch.using([factor.reads(), memory.writes()]))
    }

    /// The map of the factors at this address, or of their copies.
    ///
    /// # Errors
    /// Those of the device.
    pub fn map<T: Operand>(&self, device: &H, address: u64) -> Result<TensorMap<T::Precision>> {
        let Place { address, pitch, step } = self.place::<T>(address);
        let sizes = [self.columns, self.rows, self.count];
        map::<T, H>(device, address, sizes, [pitch.into(), step], self.box_rows)
    }

    /// Whether a map of the factor at this address is possible.
    pub fn has_map(&self, address: u64) -> bool {
        self.copy.is_some() || address.is_multiple_of(16)
    }

    /// Where the rows are that the product reads.
    pub fn place<T: Scalar>(&self, address: u64) -> Place {
        match &self.copy {
            Some(copy) => {
                let pitch = self.columns.next_multiple_of(pad::LINE / size_of::<T>() as u32);
                // A factor that all products share has no next.
                let step = if self.count > 1 { u64::from(pitch) * u64::from(self.rows) } else { 0 };
                Place { address: copy.memory.address(), pitch, step }
            }
            None => Place { address, pitch: self.pitch, step: self.step },
        }
    }

    /// The copy, which the product reads.
    pub fn copy(&self) -> Option<&Memory<u128, H>> {
        self.copy.as_ref().map(|copy| &copy.memory)
    }
}

/// The map of matrices of factors with rows of these columns, this number of rows, and in this number; rows and
/// matrices lie `steps` elements apart.
///
/// # Errors
/// Those of the device.
pub fn map<T: Operand, H: Handle>(
    device: &H,
    address: u64,
    sizes: [u32; 3],
    steps: [u64; 2],
    box_rows: u32,
) -> Result<TensorMap<T::Precision>> {
    boxes::<T, H>(device, address, sizes, steps, box_rows).map(TensorMap::cast)
}

/// The map as [`map`] makes it, of elements that need not be factors.
///
/// # Errors
/// Those of the device.
pub fn boxes<T: Scalar, H: Handle>(
    device: &H,
    address: u64,
    sizes: [u32; 3],
    steps: [u64; 2],
    box_rows: u32,
) -> Result<TensorMap> {
    let size = size_of::<T>() as u64;
    // The distance of a single matrix from the next means nothing, but has to be allowed.
    let row = steps[0] * size;
    let matrix = if sizes[2] > 1 { steps[1] * size } else { row };
    let layout = TensorLayout {
        dtype: T::DTYPE,
        address,
        sizes: sizes.map(u64::from),
        strides: [row, matrix],
        block: [ROW / size as u32, box_rows],
        swizzle: 128,
    };
    device.backend().tensor_map(&layout)
}
