//! Handles.

/// A handle that a program keeps. Handles of all kinds differ, and are never reused.
pub type Handle = usize;
