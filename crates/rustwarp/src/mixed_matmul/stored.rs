//! How a factor lies in memory, and the copy of it that tensor cores read if they cannot read it as it is.

use crate::backend::{Handle, Memory, Shape, TensorLayout, View};
use crate::element::Scalar;
use crate::error::Result;
use crate::launch::Launch;
use crate::matmul::elements;
use cuda_std::launch::{Ptr, PtrMut};
use cuda_std::memory::TensorMap;
use kernels_gpu::mma::pad::mma_pad;
use kernels_gpu::tensor::mixed::{ROW, pad, turn};

/// Blocks that copy a factor: enough to fill any GPU, each with several rows or tiles.
const COPY_BLOCKS: u64 = 4096;

/// A copy of a factor.
struct Copy<H: Handle> {
    memory: Memory<u128, H>,
    /// Whether it is the transposed.
    turned: bool,
}

/// A factor: rows of a length.
pub struct Stored<H: Handle> {
    rows: u32,
    columns: u32,
    /// Rows of a box, whose rows have 128 bytes.
    box_rows: u32,
    copy: Option<Copy<H>>,
}

/// What is to be known of a factor.
pub struct Request {
    /// Rows of A or columns of B.
    pub lines: u32,
    /// Length of the sums.
    pub depth: u32,
    /// Whether neighbours in memory belong to different lines.
    pub across: bool,
    /// Lines of a box of its map; 0 without one.
    pub tile: u32,
    /// Whether it is copied to lie along the depth if it lies across.
    pub turns: bool,
    /// Number of bytes of which its rows have a multiple, or are copied to have one; `None` if any length will do.
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
        let Request { lines, depth, across, tile, turns, multiple } = *request;
        let size = size_of::<T>() as u32;
        let turned = across && turns;
        let (rows, columns) = if across && !turned { (depth, lines) } else { (lines, depth) };
        let needed = turned || multiple.is_some_and(|multiple| !columns.is_multiple_of(multiple / size));
        let units = columns.div_ceil(pad::LINE / size) as usize * (pad::LINE / pad::UNIT) as usize;
        let units = elements(rows as usize, units)?;
        let copy = (needed && units > 0).then(|| Memory::uninit(device.clone(), units, "a factor with longer rows"));
        Ok(Self {
            rows,
            columns,
            box_rows: if across && !turned { ROW / size } else { tile },
            copy: copy.transpose()?.map(|memory| Copy { memory, turned }),
        })
    }

    /// The launch that makes the copy.
    pub fn prepare<'a, T: Scalar>(&'a self, factor: View<'a, T, H>, copies: Copies) -> Option<Launch<'a>> {
        let Copy { memory, turned } = self.copy.as_ref()?;
        let (rows, columns, address) = (self.rows, self.columns, factor.address());
        let blocks = |blocks: u64| blocks.clamp(1, COPY_BLOCKS) as u32;
        // SAFETY: the view borrows the memory, elements of a `T` have as many bits as these, and the copy has room.
        let launch = unsafe {
            if *turned {
                let tiles = u64::from(rows.div_ceil(turn::SIDE)) * u64::from(columns.div_ceil(turn::SIDE));
                let call = match size_of::<T>() {
                    1 => turn::tensor_turn::<u8>(Ptr::new(address), PtrMut::new(memory.address()), columns, rows),
                    _ => turn::tensor_turn::<u32>(Ptr::new(address), PtrMut::new(memory.address()), columns, rows),
                };
                Launch::new(call, Shape::linear(blocks(tiles), turn::BLOCK))
            } else {
                let call = match (copies, size_of::<T>()) {
                    (Copies::Tensor, 1) => pad::tensor_pad::<u8>(Ptr::new(address), memory.ptr(), rows, columns),
                    (Copies::Tensor, 2) => pad::tensor_pad::<u16>(Ptr::new(address), memory.ptr(), rows, columns),
                    (Copies::Tensor, _) => pad::tensor_pad::<u32>(Ptr::new(address), memory.ptr(), rows, columns),
                    (Copies::Mma, 1) => mma_pad::<u8>(Ptr::new(address), memory.ptr(), rows, columns),
                    (Copies::Mma, 2) => mma_pad::<u16>(Ptr::new(address), memory.ptr(), rows, columns),
                    (Copies::Mma, _) => mma_pad::<u32>(Ptr::new(address), memory.ptr(), rows, columns),
                };
                Launch::new(call, Shape::linear(blocks(rows.into()), pad::BLOCK))
            }
        };
        Some(launch.using([factor.reads(), memory.writes()]))
    }

    /// The map of the factor at this address, or of its copy.
    ///
    /// # Errors
    /// Those of the device.
    pub fn map<T: Scalar>(&self, device: &H, address: u64) -> Result<TensorMap> {
        let (address, multiple) =
            self.copy.as_ref().map_or((address, pad::UNIT), |copy| (copy.memory.address(), pad::LINE));
        map::<T, H>(device, address, [self.rows, self.columns], multiple, self.box_rows)
    }

    /// Whether a map of the factor at this address is possible.
    pub fn has_map(&self, address: u64) -> bool {
        self.copy.is_some() || address.is_multiple_of(16)
    }

    /// The address of the rows that the product reads, and their distance in elements.
    pub fn place<T: Scalar>(&self, address: u64) -> (u64, u32) {
        match &self.copy {
            Some(copy) => (copy.memory.address(), self.columns.next_multiple_of(pad::LINE / size_of::<T>() as u32)),
            None => (address, self.columns),
        }
    }

    /// The copy, which the product reads.
    pub fn copy(&self) -> Option<&Memory<u128, H>> {
        self.copy.as_ref().map(|copy| &copy.memory)
    }
}

/// The map of a matrix whose rows start at multiples of this number of bytes.
///
/// # Errors
/// Those of the device.
pub fn map<T: Scalar, H: Handle>(
    device: &H,
    address: u64,
    [rows, columns]: [u32; 2],
    multiple: u32,
    box_rows: u32,
) -> Result<TensorMap> {
    let size = size_of::<T>() as u32;
    let layout = TensorLayout {
        dtype: T::DTYPE,
        address,
        sizes: [columns.into(), rows.into()],
        stride: u64::from(columns.div_ceil(multiple / size)) * u64::from(multiple),
        block: [ROW / size, box_rows],
        swizzle: 128,
    };
    device.backend().tensor_map(&layout)
}
