//! What a set-up says while it works.

/// Receives a line of text for each step, to be shown to the user.
pub type Report<'a> = &'a mut dyn FnMut(&str);
