//! Text of the checker's findings.

use crate::isa::matrix::{CHUNK, Descriptor};
use crate::observe::{Setting, Site};
use crate::stop::{Diagnostic, Place};

/// A product with a defective descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub site: Site,
    /// `%ctaid`.
    pub block: [u32; 3],
    pub warp: u32,
    /// Whether the factor is `b`, and not `a`.
    pub is_b: bool,
    pub descriptor: Descriptor,
}

/// A thread's tensor copy.
#[derive(Clone, Copy, Debug)]
pub struct TensorCopy {
    pub site: Site,
    /// `%ctaid`.
    pub block: [u32; 3],
    pub warp: u32,
    pub lane: u32,
}

/// A field of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Leading,
    Stride,
}

/// A field of a descriptor with the wrong number of bytes.
#[derive(Clone, Copy, Debug)]
pub struct Offset {
    pub field: Field,
    pub given: u64,
    /// Number of bytes that fits the matrix.
    pub needed: u64,
}

/// A defect of a descriptor.
#[derive(Clone, Copy, Debug)]
pub enum Defect {
    /// Two lines of the factor are the same bytes.
    Overlap { lines: [u64; 2], offset: Offset },
    /// The bytes were copied with a swizzle of this number of chunks.
    Swizzle { copied: u64, copy: TensorCopy },
    /// The offset leads past rows of a box, from the first to the last, that nothing reads.
    Skipped { rows: [u64; 2], offset: Offset, copy: TensorCopy },
}

impl Field {
    /// Returns the field's bytes.
    pub fn of(self, descriptor: &Descriptor) -> u64 {
        match self {
            Self::Leading => descriptor.leading,
            Self::Stride => descriptor.stride,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Leading => "leading dimension byte offset",
            Self::Stride => "stride dimension byte offset",
        }
    }

    fn bits(self) -> &'static str {
        match self {
            Self::Leading => "16 to 29",
            Self::Stride => "32 to 45",
        }
    }
}

impl Defect {
    /// The code of its finding.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Overlap { .. } => "wgmma-overlap",
            Self::Swizzle { .. } => "wgmma-swizzle",
            Self::Skipped { .. } => "wgmma-skipped",
        }
    }
}

/// Returns the report of a defect.
pub fn diagnostic(setting: &Setting<'_>, product: &Product, defect: &Defect) -> Diagnostic {
    let name = if product.is_b { "b" } else { "a" };
    let (title, help) = match defect {
        Defect::Overlap { lines: [first, second], offset } => overlap(product, name, [*first, *second], offset),
        Defect::Swizzle { copied, .. } => swizzle(product, name, *copied),
        Defect::Skipped { rows: [first, last], offset, .. } => skipped(name, [*first, *last], offset),
    };
    let mut diagnostic = Diagnostic::new(defect.code(), title);
    diagnostic.place = Some(Place::of(setting.program, product.site.function, product.site.pc));
    diagnostic.thread = Some(setting.thread(product.block, product.warp, 0));
    if let Defect::Swizzle { copy, .. } | Defect::Skipped { copy, .. } = defect {
        let thread = setting.thread(copy.block, copy.warp, copy.lane as usize);
        let place = Place::of(setting.program, copy.site.function, copy.site.pc);
        diagnostic.related.push((format!("the copy, by {thread}:"), place));
    }
    let Descriptor { start, leading, stride, base, width } = product.descriptor;
    diagnostic.notes.push(format!(
        "the descriptor of `{name}`: start {start:#x} in shared memory, leading dimension byte offset {leading}, \
         stride dimension byte offset {stride}, base offset {base}, {}",
        swizzle_name(width)
    ));
    diagnostic.help = Some(help);
    diagnostic
}

fn overlap(product: &Product, name: &str, [first, second]: [u64; 2], offset: &Offset) -> (String, String) {
    let line = if product.is_b { "column" } else { "row" };
    let Offset { field, given, needed } = *offset;
    let title = format!(
        "{line} {second} of `{name}` consists of the same bytes as {line} {first}: the {} of its descriptor is {given}",
        field.name()
    );
    (title, format!("set bits {} of the descriptor, in units of 16 bytes, to {needed} bytes or more", field.bits()))
}

fn swizzle(product: &Product, name: &str, copied: u64) -> (String, String) {
    let own = product.descriptor.width;
    let title = format!(
        "the descriptor of `{name}` has {}, but its bytes were copied with {}",
        swizzle_name(own),
        swizzle_name(copied)
    );
    let mode = match copied {
        8 => 1,
        4 => 2,
        _ => 3,
    };
    let help = format!(
        "set bits 62 and 63 of the descriptor to {mode}, with offsets for rows of {} bytes, or make the tensor map \
         with {}",
        copied * CHUNK,
        swizzle_name(own)
    );
    (title, help)
}

fn skipped(name: &str, [first, last]: [u64; 2], offset: &Offset) -> (String, String) {
    let Offset { field, given, needed } = *offset;
    let rows = if first == last { format!("row {first}") } else { format!("rows {first} to {last}") };
    let title = format!(
        "the {} of `{name}`, {given}, leads past {rows} of a box that was copied, and nothing reads them",
        field.name()
    );
    let help = format!(
        "set bits {} of the descriptor, in units of 16 bytes, to {needed} bytes, where these rows are; if they are not \
         needed, do not copy them",
        field.bits()
    );
    (title, help)
}

fn swizzle_name(width: u64) -> String {
    if width == 1 { "no swizzle".to_owned() } else { format!("a swizzle of {} bytes", width * CHUNK) }
}
