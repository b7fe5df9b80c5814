//! Source lines with their inlined-at chains, through an `llc` that writes only the innermost place.
//!
//! LLVM 22 prints `.loc file line column` for NVPTX and leaves out where the code was inlined. So every location of the
//! optimised module is replaced by a number before `llc`, and each `.loc` that comes back with such a number is written
//! out in full after it, in the form of the PTX ISA 7.2: `.loc 1 5 9, function_name label, inlined_at 1 20 3`.

mod directives;
mod metadata;

pub(super) use directives::resolve;
pub(super) use metadata::number;
