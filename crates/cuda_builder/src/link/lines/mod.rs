//! Source lines with their inlined-at chains, which `llc` omits.
//!
//! LLVM 22 prints `.loc file line column` for NVPTX, without the calls that the code was inlined into. Therefore a
//! number replaces every location of the optimised module before `llc`, and each `.loc` with such a number is written
//! out in full afterwards, in the form of the PTX ISA 7.2: `.loc 1 5 9, function_name label, inlined_at 1 20 3`.

mod directives;
mod metadata;

pub(super) use directives::resolve;
pub(super) use metadata::number;
