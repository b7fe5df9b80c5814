//! A kernel that moves particles.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

// ANCHOR: particle
/// A particle; host and device see the same bytes, because of `repr(C)`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Particle {
    /// In metres.
    pub position: [f32; 3],
    /// In metres per second.
    pub velocity: [f32; 3],
}

/// Moves each particle by its velocity for `seconds`, and reflects it at the ground.
///
/// # Safety
/// `particles` points to `n` particles.
#[kernel]
pub unsafe fn step(seconds: f32, particles: *mut Particle, n: u32) {
    let i = thread::global_index();
    // The last block may have more threads than there are particles.
    if i >= n as usize {
        return;
    }
    // SAFETY: there is a particle `i`, which no other thread accesses.
    let particle = unsafe { &mut *particles.add(i) };
    for axis in 0..3 {
        particle.position[axis] += seconds * particle.velocity[axis];
    }
    if particle.position[2] < 0.0 {
        particle.position[2] = -particle.position[2];
        particle.velocity[2] = -particle.velocity[2];
    }
}
// ANCHOR_END: particle
