//! Optimises formatting for size instead of speed.
//!
//! Formatting runs when a kernel prints or panics, but every kernel that may panic includes all of it: the calls
//! through `fmt::Arguments` are indirect, so ptxas assumes that each may reach any formatting function of the module.
//! Unrolled, the conversion of floats alone costs ptxas seconds per kernel, also when the driver compiles PTX at load
//! time.

use super::convergence;

/// Parts of the mangled names of formatting functions: `core::fmt`, and `core::num::…::{flt2dec, bignum}`.
const FORMATTING: [&str; 3] = ["4core3fmt", "7flt2dec", "6bignum"];

/// Adds size attributes to the definition of a formatting function, after `convergence::mark`; `None` for other lines.
pub(super) fn shrink(line: &str) -> Option<String> {
    let name = line.strip_prefix("define ")?.split(['@', '(']).nth(1)?;
    if !FORMATTING.iter().any(|part| name.contains(part)) {
        return None;
    }
    let end = convergence::group_end(line)?;
    let (head, tail) = line.split_at(end);
    Some(format!("{head} minsize optsize{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_is_small_and_nothing_else() {
        let fmt = "define noundef i1 @_RNvNtC4core3fmt5write(ptr %0, ptr noundef %1) unnamed_addr #7 !dbg !3 {";
        let small = "define noundef i1 @_RNvNtC4core3fmt5write(ptr %0, ptr noundef %1) unnamed_addr #7 \
                     minsize optsize !dbg !3 {";
        assert_eq!(shrink(fmt).as_deref(), Some(small));
        let own = "define internal void @_RNvC7kernels3add(ptr %0) convergent {";
        assert_eq!(shrink(own), None);
        let bare = "define void @_RNvNtC4core3fmt1f(ptr @x) unnamed_addr convergent {";
        let small = "define void @_RNvNtC4core3fmt1f(ptr @x) unnamed_addr convergent minsize optsize {";
        assert_eq!(shrink(bare).as_deref(), Some(small));
        assert_eq!(shrink("  %1 = call i1 @_RNvNtC4core3fmt5write(ptr %0)"), None);
    }
}
