//! The list of all cases that must succeed.

use std::vec::Vec;

use crate::case::Case;

/// All cases. Each must run without a finding, and write and print what it expects.
pub fn cases() -> Vec<Case> {
    [
        crate::thread::cases(),
        crate::warp::cases(),
        crate::shared::cases(),
        crate::atomic::cases(),
        crate::memory::cases(),
        crate::texture::cases(),
        crate::math::cases(),
        crate::math_precise::cases(),
        crate::heap::cases(),
        crate::pointer::cases(),
        crate::vector::cases(),
        crate::print::cases(),
        crate::guide::cases(),
        crate::view::cases(),
        crate::rung::cases(),
        crate::parameters::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
