//! LLVM's NVPTX intrinsics.
//!
//! Every operation that synchronises threads (barriers, `.sync`) is an intrinsic, not inline assembly: LLVM treats the
//! intrinsics as convergent, so it neither duplicates them into branches nor moves them out.

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.laneid"]
    pub safe fn lane_id() -> u32;
    #[link_name = "llvm.nvvm.activemask"]
    pub safe fn activemask() -> u32;

    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.all"]
    pub fn barrier(id: u32);
    #[link_name = "llvm.nvvm.barrier.cta.sync.aligned.count"]
    pub fn barrier_of(id: u32, threads: u32);
    #[link_name = "llvm.nvvm.barrier0.popc"]
    pub fn barrier_popc(predicate: u32) -> u32;
    #[link_name = "llvm.nvvm.barrier0.and"]
    pub fn barrier_and(predicate: u32) -> u32;
    #[link_name = "llvm.nvvm.barrier0.or"]
    pub fn barrier_or(predicate: u32) -> u32;
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    pub fn bar_warp_sync(mask: u32);

    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    pub fn shfl_down(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.up.i32"]
    pub fn shfl_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    pub fn shfl_bfly(mask: u32, value: u32, lane_mask: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    pub fn shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;

    #[link_name = "llvm.nvvm.vote.all.sync"]
    pub fn vote_all(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    pub fn vote_any(mask: u32, predicate: bool) -> bool;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    pub fn vote_ballot(mask: u32, predicate: bool) -> u32;

    #[link_name = "llvm.nvvm.match.any.sync.i32"]
    pub fn match_any_32(mask: u32, value: u32) -> u32;
    #[link_name = "llvm.nvvm.match.any.sync.i64"]
    pub fn match_any_64(mask: u32, value: u64) -> u32;

    #[link_name = "llvm.nvvm.nanosleep"]
    pub safe fn nanosleep(nanoseconds: u32);
}

// These return a pair, which the "unadjusted" ABI passes as LLVM's `{ i32, i1 }`.
#[allow(improper_ctypes)]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.match.all.sync.i32p"]
    pub fn match_all_32(mask: u32, value: u32) -> (u32, bool);
    #[link_name = "llvm.nvvm.match.all.sync.i64p"]
    pub fn match_all_64(mask: u32, value: u64) -> (u32, bool);
}

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.clock64"]
    pub fn clock64() -> u64;
    #[link_name = "llvm.nvvm.read.ptx.sreg.globaltimer"]
    pub fn globaltimer() -> u64;
}

#[cfg(target_feature = "sm_80")]
unsafe extern "C" {
    #[link_name = "llvm.nvvm.redux.sync.add"]
    pub fn redux_add(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umin"]
    pub fn redux_umin(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.umax"]
    pub fn redux_umax(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.min"]
    pub fn redux_min(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.max"]
    pub fn redux_max(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.and"]
    pub fn redux_and(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.or"]
    pub fn redux_or(value: u32, mask: u32) -> u32;
    #[link_name = "llvm.nvvm.redux.sync.xor"]
    pub fn redux_xor(value: u32, mask: u32) -> u32;
}

macro_rules! special_registers {
    ($($name:ident = $register:literal),* $(,)?) => {
        unsafe extern "C" { $(
            #[link_name = concat!("llvm.nvvm.read.ptx.sreg.", $register)]
            pub safe fn $name() -> u32;
        )* }
    };
}
special_registers! {
    thread_idx_x = "tid.x", thread_idx_y = "tid.y", thread_idx_z = "tid.z",
    block_idx_x = "ctaid.x", block_idx_y = "ctaid.y", block_idx_z = "ctaid.z",
    block_dim_x = "ntid.x", block_dim_y = "ntid.y", block_dim_z = "ntid.z",
    grid_dim_x = "nctaid.x", grid_dim_y = "nctaid.y", grid_dim_z = "nctaid.z",
    dynamic_smem_size = "dynamic_smem_size", total_smem_size = "total_smem_size",
}

/// The result of a texture fetch: red, green, blue, alpha.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Channels<T>(pub T, pub T, pub T, pub T);

/// Declares one intrinsic per dimension. The `unified` forms take the texture's handle alone; it refers to the sampler
/// too.
macro_rules! textures {
    ($($place:ident $result:ident: $one:ident $two:ident $three:ident = $types:literal),* $(,)?) => {
        // These return four values, which the "unadjusted" ABI passes as LLVM's structure.
        #[allow(improper_ctypes)]
        unsafe extern "unadjusted" { $(
            #[link_name = concat!("llvm.nvvm.tex.unified.1d.", $types)]
            pub fn $one(texture: u64, x: $place) -> Channels<$result>;
            #[link_name = concat!("llvm.nvvm.tex.unified.2d.", $types)]
            pub fn $two(texture: u64, x: $place, y: $place) -> Channels<$result>;
            #[link_name = concat!("llvm.nvvm.tex.unified.3d.", $types)]
            pub fn $three(texture: u64, x: $place, y: $place, z: $place) -> Channels<$result>;
        )* }
    };
}
textures! {
    f32 f32: tex1d_f32 tex2d_f32 tex3d_f32 = "v4f32.f32",
    f32 i32: tex1d_i32 tex2d_i32 tex3d_i32 = "v4s32.f32",
    f32 u32: tex1d_u32 tex2d_u32 tex3d_u32 = "v4u32.f32",
    i32 f32: texel1d_f32 texel2d_f32 texel3d_f32 = "v4f32.s32",
    i32 i32: texel1d_i32 texel2d_i32 texel3d_i32 = "v4s32.s32",
    i32 u32: texel1d_u32 texel2d_u32 texel3d_u32 = "v4u32.s32",
}
