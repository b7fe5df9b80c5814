//! What a program hands over as code: PTX text, or a fat binary that contains PTX.

mod fatbin;
mod jit;

use crate::code::{Answer, Code};
use ptx_sim::Program;
use std::sync::Arc;

pub use fatbin::link;
pub use jit::{limit_registers, with_runtime};

/// Programs by text.
#[derive(Default)]
pub struct Programs {
    recent: Vec<(String, Arc<Program>)>,
}

/// Number of programs that are kept for a text that is loaded again.
const KEPT: usize = 64;

/// Why code is refused, for the program's log.
pub struct Refused {
    pub code: Code,
    pub why: String,
}

impl Refused {
    fn new(code: Code, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }
}

/// Advice for code without PTX.
const KEEP_PTX: &str = "The simulator runs PTX, not machine code. Keep PTX: nvcc `-arch=compute_90` or `-gencode \
    arch=compute_90,code=compute_90`; CuPy `CUPY_COMPILE_WITH_PTX=1`; NVRTC `--gpu-architecture=compute_90` and \
    `nvrtcGetPTX`; numba-cuda without the package nvidia-nvjitlink";

/// Returns the PTX text at an address, for a device of this architecture. `room` is the number of bytes there, or
/// `usize::MAX` if it is not known.
///
/// # Errors
/// Why it contains none.
///
/// # Safety
/// `address` must be zero-terminated PTX text, a fat binary, its wrapper, or an ELF file.
pub unsafe fn text(address: *const u8, room: usize, architecture: u32) -> Result<String, Refused> {
    if address.is_null() {
        return Err(Refused::new(Code::INVALID_VALUE, "the image is a null pointer"));
    }
    // SAFETY: by contract, and each kind has at least four bytes. (Text that is shorter ends with its zero byte; it is
    // read up to that.)
    let start = unsafe { prefix(address) };
    match start {
        fatbin::WRAPPER | fatbin::FATBIN => {
            let texts = fatbin::texts(address as u64, room as u64, architecture)?;
            Ok(link(&texts))
        }
        ELF => Err(Refused::new(Code::NO_BINARY_FOR_GPU, format!("the image is machine code (ELF). {KEEP_PTX}"))),
        _ => {
            // SAFETY: by contract.
            let text = unsafe { std::ffi::CStr::from_ptr(address.cast()) };
            let text = text.to_str().map_err(|_| {
                Refused::new(Code::INVALID_IMAGE, "the image is neither PTX text nor a fat binary: it is not UTF-8")
            })?;
            Ok(text.to_owned())
        }
    }
}

const ELF: u32 = u32::from_le_bytes(*b"\x7fELF");

/// The first four bytes, those after a zero byte taken as 0.
unsafe fn prefix(address: *const u8) -> u32 {
    let mut bytes = [0; 4];
    for (at, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: the bytes before were not 0, so that text goes on here; other kinds have four bytes.
        *byte = unsafe { address.add(at).read() };
        if *byte == 0 && at == 0 {
            break;
        }
    }
    u32::from_le_bytes(bytes)
}

impl Programs {
    /// Decodes a text.
    ///
    /// # Errors
    /// `INVALID_PTX` with the parser's message.
    pub fn parse(&mut self, text: &str) -> Result<Arc<Program>, Refused> {
        if let Some(at) = self.recent.iter().position(|(known, _)| known == text) {
            let known = self.recent.remove(at);
            let program = known.1.clone();
            self.recent.push(known);
            return Ok(program);
        }
        let program = Program::parse(text).map_err(|error| Refused::new(Code::INVALID_PTX, error.to_string()))?;
        let program = Arc::new(program);
        if self.recent.len() == KEPT {
            self.recent.remove(0);
        }
        self.recent.push((text.to_owned(), program.clone()));
        Ok(program)
    }
}

/// As an [`Answer`], with the reason logged.
pub fn logged<T>(result: Result<T, Refused>, attempt: &str) -> Answer<T> {
    result.map_err(|refused| {
        crate::log::once(&format!("{attempt}: {}", refused.why));
        refused.code
    })
}
