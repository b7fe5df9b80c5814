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
#[kernel]
pub fn step(seconds: f32, mut particles: DisjointSlice<Particle>) {
    // The last block may have more threads than there are particles.
    let Some(particle) = particles.get_mut(thread::unique_index()) else { return };
    for axis in 0..3 {
        particle.position[axis] += seconds * particle.velocity[axis];
    }
    if particle.position[2] < 0.0 {
        particle.position[2] = -particle.position[2];
        particle.velocity[2] = -particle.velocity[2];
    }
}
// ANCHOR_END: particle
