//! The launch of a test kernel with its expected results.

use std::boxed::Box;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

use cuda_std::launch::{Call, Ptr, PtrMut, Scalar, Slice, SliceMut};

/// Makes the call from the addresses of the case's buffers, followed by the handles of its textures.
pub type MakeCall = Box<dyn Fn(&[u64]) -> Call<'static>>;

/// Checks the bytes of a buffer; an `Err` describes the difference.
pub type Accept = Box<dyn Fn(&[u8]) -> Result<(), String>>;

/// One launch and its expected outcome.
pub struct Case {
    /// Unique among all cases.
    pub name: String,
    /// Blocks along x, y, z.
    pub grid: [u32; 3],
    /// Threads per block along x, y, z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Device memory of the launch, in the order in which `call` takes the addresses.
    pub buffers: Vec<Buffer>,
    /// Textures that the launch reads.
    pub textures: Vec<Texture>,
    /// Makes the call from the buffers' addresses and the textures' handles.
    pub call: MakeCall,
    /// Lines that the launch prints, in any order.
    pub printed: Vec<String>,
}

/// A texture of a case, with clamped coordinates that are not normalised.
pub struct Texture {
    /// Number of texels along x, y and z; 0 for an axis that the texture does not have.
    pub extent: [u64; 3],
    /// The memory that holds the texels.
    pub memory: Memory,
    /// The texels in row-major order, with the channels of a texel side by side.
    pub texels: Texels,
    /// Number of channels of a texel.
    pub channels: u32,
    /// Whether the linear filter is on.
    pub linear: bool,
    /// Whether integers are converted to floats from 0 to 1, or from -1 to 1.
    pub normalised_reads: bool,
}

/// The memory that holds a texture's texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Linear memory with one row, for integer coordinates.
    Linear,
    /// A CUDA array.
    Array,
}

/// Texels with all their channels.
#[expect(missing_docs, reason = "the names are those of Rust's types")]
pub enum Texels {
    F32(Vec<f32>),
    I8(Vec<i8>),
    U16(Vec<u16>),
}

impl Texels {
    /// The texels as little-endian bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Texels::F32(values) => bytes(values),
            Texels::I8(values) => bytes(values),
            Texels::U16(values) => bytes(values),
        }
    }
}

/// Device memory of a case.
pub struct Buffer {
    /// The bytes before the launch.
    pub initial: Initial,
    /// The condition on the bytes after the launch.
    pub expected: Expected,
}

/// A buffer's contents before the launch.
pub enum Initial {
    /// These bytes.
    Bytes(Vec<u8>),
    /// This number of uninitialised bytes: a kernel that reads one before it has written it has a bug.
    Uninit(usize),
}

/// A buffer's contents after the launch.
pub enum Expected {
    /// The initial bytes.
    Unchanged,
    /// These bytes.
    Bytes(Vec<u8>),
    /// `f32` values, each within `relative * |value| + absolute` of the given one.
    Near {
        /// The exact values.
        values: Vec<f32>,
        /// Allowed relative error.
        relative: f32,
        /// Allowed absolute error.
        absolute: f32,
    },
    /// Any bytes that the function accepts.
    Holds(Accept),
}

impl Buffer {
    /// Length of the buffer in bytes.
    pub fn len(&self) -> usize {
        match &self.initial {
            Initial::Bytes(bytes) => bytes.len(),
            Initial::Uninit(len) => *len,
        }
    }

    /// Whether the buffer has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks the buffer's contents after the launch.
    ///
    /// # Errors
    /// Describes where the contents differ from the expected ones.
    pub fn check(&self, found: &[u8]) -> Result<(), String> {
        match &self.expected {
            Expected::Unchanged => match &self.initial {
                Initial::Bytes(bytes) => same(bytes, found),
                Initial::Uninit(_) => Ok(()),
            },
            Expected::Bytes(bytes) => same(bytes, found),
            Expected::Near { values, relative, absolute } => near(values, found, *relative, *absolute),
            Expected::Holds(accepts) => accepts(found),
        }
    }
}

fn same(expected: &[u8], found: &[u8]) -> Result<(), String> {
    if expected.len() != found.len() {
        return Err(std::format!("{} bytes instead of {}", found.len(), expected.len()));
    }
    match expected.iter().zip(found).position(|(e, f)| e != f) {
        None => Ok(()),
        Some(at) => {
            // The message shows the aligned eight bytes around the difference.
            let word = at / 8 * 8..(at / 8 * 8 + 8).min(found.len());
            Err(std::format!("byte {at}: bytes {:x?} instead of {:x?}", &found[word.clone()], &expected[word]))
        }
    }
}

fn near(expected: &[f32], found: &[u8], relative: f32, absolute: f32) -> Result<(), String> {
    let found: Vec<f32> = found.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    if expected.len() != found.len() {
        return Err(std::format!("{} values instead of {}", found.len(), expected.len()));
    }
    for (i, (e, f)) in expected.iter().zip(&found).enumerate() {
        let close =
            e.to_bits() == f.to_bits() || e.is_nan() && f.is_nan() || (e - f).abs() <= relative * e.abs() + absolute;
        if !close {
            return Err(std::format!("value {i} is {f:?} instead of {e:?}"));
        }
    }
    Ok(())
}

impl Case {
    /// A launch of `grid` blocks of `block` threads along x.
    pub fn new(name: &str, grid: u32, block: u32) -> Self {
        Self::in_space(name, [grid, 1, 1], [block, 1, 1])
    }

    /// A launch in three dimensions.
    pub fn in_space(name: &str, grid: [u32; 3], block: [u32; 3]) -> Self {
        let (name, call) = (name.to_string(), Box::new(|_: &[u64]| Call::new("")));
        Self { name, grid, block, shared: 0, buffers: vec![], textures: vec![], call, printed: vec![] }
    }

    /// Sets the size of dynamic shared memory to `bytes`.
    pub fn shared(mut self, bytes: u32) -> Self {
        self.shared = bytes;
        self
    }

    /// Adds a buffer that the kernel reads.
    pub fn input<T: Scalar>(self, values: &[T]) -> Self {
        self.buffer(Initial::Bytes(bytes(values)), Expected::Unchanged)
    }

    /// Adds an uninitialised buffer that must hold `expected` after the launch.
    pub fn output<T: Scalar>(self, expected: &[T]) -> Self {
        self.buffer(Initial::Uninit(size_of_val(expected)), Expected::Bytes(bytes(expected)))
    }

    /// Adds a buffer that holds `values` before and must hold `expected` after the launch.
    pub fn updated<T: Scalar>(self, values: &[T], expected: &[T]) -> Self {
        self.buffer(Initial::Bytes(bytes(values)), Expected::Bytes(bytes(expected)))
    }

    /// Adds an uninitialised buffer that must hold values near `expected` after the launch.
    pub fn near(self, expected: &[f32], relative: f32, absolute: f32) -> Self {
        let values = expected.to_vec();
        self.buffer(Initial::Uninit(size_of_val(expected)), Expected::Near { values, relative, absolute })
    }

    /// Adds an uninitialised buffer of `len` values that `accepts` must accept after the launch.
    pub fn holds<T: Scalar>(self, len: usize, accepts: impl Fn(&[T]) -> Result<(), String> + 'static) -> Self {
        let accepts = move |found: &[u8]| accepts(&values(found));
        self.buffer(Initial::Uninit(len * size_of::<T>()), Expected::Holds(Box::new(accepts)))
    }

    /// Adds a buffer.
    pub fn buffer(mut self, initial: Initial, expected: Expected) -> Self {
        self.buffers.push(Buffer { initial, expected });
        self
    }

    /// Adds a texture.
    pub fn texture(mut self, texture: Texture) -> Self {
        self.textures.push(texture);
        self
    }

    /// Adds a line that the launch must print.
    pub fn prints(mut self, line: impl Into<String>) -> Self {
        self.printed.push(line.into());
        self
    }

    /// Sets the function that makes the call.
    pub fn calls<C: Into<Call<'static>>>(mut self, call: impl Fn(&[u64]) -> C + 'static) -> Self {
        self.call = Box::new(move |addresses| call(addresses).into());
        self
    }
}

/// `values` as the device's bytes.
pub fn bytes<T: Scalar>(values: &[T]) -> Vec<u8> {
    // SAFETY: a `Scalar` has no padding, so all its bytes are initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) }.to_vec()
}

/// The device's bytes as values.
pub fn values<T: Scalar>(bytes: &[u8]) -> Vec<T> {
    // SAFETY: any bytes are a valid `Scalar`, and each chunk is as long as one.
    bytes.chunks_exact(size_of::<T>()).map(|chunk| unsafe { chunk.as_ptr().cast::<T>().read_unaligned() }).collect()
}

/// A case's buffer as the argument for a `*mut T`.
pub fn out<T>(address: u64) -> PtrMut<'static, T> {
    // SAFETY: the code that runs a case keeps its buffers until the launch is over.
    unsafe { PtrMut::new(address) }
}

/// A case's buffer as the argument for a `*const T`.
pub fn ptr<T>(address: u64) -> Ptr<'static, T> {
    // SAFETY: the code that runs a case keeps its buffers until the launch is over.
    unsafe { Ptr::new(address) }
}

/// A case's buffer as the argument for a `&[T]`.
pub fn slice<T>(address: u64, len: usize) -> Slice<'static, T> {
    // SAFETY: the code that runs a case keeps its buffers until the launch is over.
    unsafe { Slice::new(address, len) }
}

/// A case's buffer as the argument for a `DisjointSlice<T>`, or for a view in more dimensions.
pub fn view<T>(address: u64, len: usize) -> SliceMut<'static, T> {
    // SAFETY: the code that runs a case keeps its buffers until the launch is over, and passes each once.
    unsafe { SliceMut::new(address, len) }
}
