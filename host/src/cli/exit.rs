//! Exit codes of commands that did their work.

/// Exit code if every result is right and no checker found anything.
pub(super) const CLEAN: u8 = 0;
/// Exit code if a result is wrong or a checker found something.
pub(super) const WRONG: u8 = 1;
