//! Progress messages of a set-up.

/// Receives a line of text for each step, to be shown to the user.
pub type Report<'a> = &'a mut dyn FnMut(&str);
