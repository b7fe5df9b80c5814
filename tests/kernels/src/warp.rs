//! Shuffles, votes, matches, reductions.

use cuda_std::prelude::*;
use cuda_std::warp::{ALL, WarpReductionOp, WarpShuffleValue, *};

/// Values of every type that differ between lanes in all their bytes.
pub trait Lane: WarpShuffleValue {
    /// The value of `lane`.
    fn of(lane: u32) -> Self;
}
macro_rules! lane {
    ($($t:ident)*) => { $( impl Lane for $t {
        #[inline(always)]
        fn of(lane: u32) -> Self {
            // The multiplier has bits in both halves, so a shuffle that loses one is detected.
            (lane as $t + 1 as $t) * (0x0001_0003_0000_0011_u64 as $t)
        }
    } )* };
}
lane!(u32 i32 u64 i64);
impl Lane for u8 {
    #[inline(always)]
    fn of(lane: u32) -> Self {
        lane as u8 * 7
    }
}
impl Lane for u16 {
    #[inline(always)]
    fn of(lane: u32) -> Self {
        lane as u16 * 2001
    }
}
impl Lane for f32 {
    #[inline(always)]
    fn of(lane: u32) -> Self {
        lane as f32 + 0.5
    }
}
impl Lane for f64 {
    #[inline(always)]
    fn of(lane: u32) -> Self {
        lane as f64 + 1.0 / 3.0
    }
}

/// The four shuffles of a whole warp: four values per lane.
#[kernel(for T in [u8, u16, u32, i32, u64, i64, f32, f64])]
pub unsafe fn warp_shuffles<T: Lane>(out: *mut T, operand: u32) {
    let value = T::of(lane_id());
    // SAFETY: the launch has whole warps, and `out` four values per thread.
    unsafe {
        let row = [
            shuffle_down(ALL, value, operand),
            shuffle_up(ALL, value, operand),
            shuffle_xor(ALL, value, operand),
            shuffle_idx(ALL, value, operand),
        ];
        for (i, value) in row.into_iter().enumerate() {
            *out.add(thread::global_index() * 4 + i) = value;
        }
    }
}

/// The shuffles in parts of `width` lanes: the value, and whether the source lane was in the part.
#[kernel(allow(local_memory))]
pub unsafe fn warp_shuffle_parts(out: *mut u32, operand: u32, width: u32) {
    let value = lane_id() + 100;
    // SAFETY: the launch has whole warps, and `out` eight values per thread.
    unsafe {
        let row = [
            warp_shuffle_down(ALL, value, operand, width),
            warp_shuffle_up(ALL, value, operand, width),
            warp_shuffle_xor(ALL, value, operand, width),
            warp_shuffle_idx(ALL, value, operand, width),
        ];
        for (i, (value, inside)) in row.into_iter().enumerate() {
            let at = out.add(thread::global_index() * 8 + i * 2);
            *at = value;
            *at.add(1) = u32::from(inside);
        }
    }
}

/// Votes on the predicate "lane below `limit`".
#[kernel]
pub unsafe fn warp_votes(out: *mut u32, limit: u32) {
    let below = lane_id() < limit;
    // SAFETY: the launch has whole warps, and `out` three values per thread.
    unsafe {
        let at = out.add(thread::global_index() * 3);
        *at = u32::from(warp_vote_all(ALL, below));
        *at.add(1) = u32::from(warp_vote_any(ALL, below));
        *at.add(2) = warp_vote_ballot(ALL, below);
    }
}

/// Votes among the upper half of the warp only.
#[kernel]
pub unsafe fn warp_votes_of_half(out: *mut u32) {
    const UPPER: u32 = 0xffff_0000;
    // SAFETY: exactly the lanes of the mask take this branch; `out` has one value per thread.
    unsafe {
        let at = out.add(thread::global_index());
        if lane_id() >= 16 {
            *at = ballot(UPPER, lane_id().is_multiple_of(3))
                + u32::from(any(UPPER, lane_id() == 20))
                + u32::from(all(UPPER, true));
        } else {
            *at = 7;
        }
    }
}

/// The lanes with the same `lane / 5`, and whether all lanes have the same `lane / divisor`.
#[kernel(for T in [u32, i32, u64, i64, f32, f64])]
pub unsafe fn warp_matches<T: WarpMatchValue + FromLane>(out: *mut u32, divisor: u32) {
    // SAFETY: the launch has whole warps, and `out` two values per thread.
    unsafe {
        let at = out.add(thread::global_index() * 2);
        *at = warp_match_any(ALL, T::from_lane(lane_id() / 5));
        *at.add(1) = warp_match_all(ALL, T::from_lane(lane_id() / divisor)).unwrap_or(0);
    }
}

/// Values made from a lane index.
pub trait FromLane {
    /// The value for `lane`.
    fn from_lane(lane: u32) -> Self;
}
macro_rules! from_lane {
    ($($t:ident)*) => { $( impl FromLane for $t {
        #[inline(always)]
        fn from_lane(lane: u32) -> Self {
            lane as $t
        }
    } )* };
}
from_lane!(u32 i32 f32 f64);
impl FromLane for u64 {
    #[inline(always)]
    fn from_lane(lane: u32) -> Self {
        u64::from(lane) << 32 // a comparison of the low 32 bits alone would find all lanes equal
    }
}
impl FromLane for i64 {
    #[inline(always)]
    fn from_lane(lane: u32) -> Self {
        -(i64::from(lane) << 32)
    }
}

/// All six reductions, by the whole warp and by the lanes of `mask`.
#[kernel(for T in [u32, i32], allow(local_memory))]
pub unsafe fn warp_reductions<T: WarpReduceValue + Lane>(out: *mut T, mask: u32) {
    use WarpReductionOp::*;
    let value = T::of(lane_id() ^ 13);
    // SAFETY: the launch has whole warps; the lanes of the mask reach the second six; `out` has twelve values per
    // thread.
    unsafe {
        let at = out.add(thread::global_index() * 12);
        for (i, op) in [Add, Min, Max, And, Or, Xor].into_iter().enumerate() {
            *at.add(i) = warp_reduce(ALL, value, op);
        }
        for (i, op) in [Add, Min, Max, And, Or, Xor].into_iter().enumerate() {
            *at.add(6 + i) = if mask >> lane_id() & 1 == 1 { warp_reduce(mask, value, op) } else { value };
        }
    }
}

/// A sum by shuffles, whose bits are the same in every lane.
#[kernel(for T in [f32, f64, u64])]
pub unsafe fn warp_reduce_any<T: Lane + core::ops::Add<Output = T>>(out: *mut T) {
    // SAFETY: the launch has whole warps, and `out` one value per thread.
    unsafe { *out.add(thread::global_index()) = reduce(T::of(lane_id()), |a, b| a + b) };
}

/// Lane, leader, active lanes; and values passed through shared memory with `sync_warp` alone.
#[kernel]
pub unsafe fn warp_basics(out: *mut u32) {
    let cache = shared::dynamic_shared_mem::<u32>();
    let lane = lane_id();
    // SAFETY: the launch has one warp and 32 words of shared memory, and `out` four values per thread.
    unsafe {
        *cache.add(lane as usize) = lane * lane;
        sync_warp(ALL); // all lanes have written before any reads
        let at = out.add(lane as usize * 4);
        *at = lane;
        *at.add(1) = u32::from(is_leader(0xffff_fff0));
        *at.add(2) = activemask() >> lane & 1;
        *at.add(3) = *cache.add(31 - lane as usize);
    }
}

/// `sums += left * right` for matrices of 16x4, 4x8 and 16x8, row-major, by one warp.
#[kernel]
pub unsafe fn warp_matrix(left: *const f64, right: *const f64, sums: *mut f64) {
    let lane = lane_id() as usize;
    let (g, t) = (lane / 4, lane % 4);
    // SAFETY: the launch has 32 lanes and matrices of these sizes; each lane writes four sums of its own.
    unsafe {
        let at = [g * 8 + 2 * t, g * 8 + 2 * t + 1, (g + 8) * 8 + 2 * t, (g + 8) * 8 + 2 * t + 1];
        let before = [*sums.add(at[0]), *sums.add(at[1]), *sums.add(at[2]), *sums.add(at[3])];
        let after = multiply_add_f64(before, [*left.add(g * 4 + t), *left.add((g + 8) * 4 + t)], *right.add(t * 8 + g));
        *sums.add(at[0]) = after[0];
        *sums.add(at[1]) = after[1];
        *sums.add(at[2]) = after[2];
        *sums.add(at[3]) = after[3];
    }
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, ptr};
    use std::vec::Vec;

    let mut cases = Vec::new();
    macro_rules! each {
        ($($t:ident)*) => { $( for operand in [0u32, 1, 5, 16, 31] {
            let mut expected: Vec<$t> = Vec::new();
            for lane in (0..64u32).map(|i| i % 32) {
                let from = [
                    if lane + operand < 32 { lane + operand } else { lane },
                    lane.checked_sub(operand).unwrap_or(lane),
                    lane ^ operand,
                    operand,
                ];
                expected.extend(from.map(<$t as Lane>::of));
            }
            let name = std::format!("warp_shuffles of {} by {operand}", stringify!($t));
            let case = Case::new(&name, 1, 64).output(&expected);
            cases.push(case.calls(move |b| warp_shuffles::<$t>(out(b[0]), operand)));
        } )* };
    }
    each!(u8 u16 u32 i32 u64 i64 f32 f64);
    for (operand, width) in [(1u32, 32u32), (3, 8), (1, 2), (5, 16), (9, 8), (0, 1)] {
        let mut expected = Vec::new();
        for lane in 0..32u32 {
            let (first, last) = (lane / width * width, lane / width * width + width - 1);
            let down = lane + operand <= last;
            let up = lane >= first + operand;
            let xor = lane ^ operand <= last;
            let row = [
                (if down { lane + operand } else { lane }, down),
                (if up { lane - operand } else { lane }, up),
                (if xor { lane ^ operand } else { lane }, xor),
                (first + operand % width, true),
            ];
            expected.extend(row.iter().flat_map(|&(from, inside)| [from + 100, u32::from(inside)]));
        }
        let name = std::format!("warp_shuffle_parts by {operand} in {width}");
        cases.push(
            Case::new(&name, 1, 32).output(&expected).calls(move |b| warp_shuffle_parts(out(b[0]), operand, width)),
        );
    }
    for limit in [0u32, 1, 17, 32] {
        let row = [u32::from(limit == 32), u32::from(limit > 0), ((1u64 << limit) - 1) as u32];
        let name = std::format!("warp_votes below {limit}");
        cases.push(Case::new(&name, 2, 32).output(&[row; 64]).calls(move |b| warp_votes(out(b[0]), limit)));
    }
    let thirds = (16..32).filter(|l| l % 3 == 0).fold(0u32, |m, l| m | 1 << l) + 2;
    let halves: Vec<u32> = (0..32).map(|lane| if lane < 16 { 7 } else { thirds }).collect();
    cases.push(Case::new("warp_votes_of_half", 1, 32).output(&halves).calls(|b| warp_votes_of_half(out(b[0]))));
    macro_rules! matches {
        ($($t:ident)*) => { $( for divisor in [1u32, 16, 32] {
            let row = |lane: u32| {
                let any = (0..32u32).filter(|l| l / 5 == lane / 5).fold(0, |m, l| m | 1 << l);
                [any, if divisor == 32 { ALL } else { 0 }]
            };
            let expected: Vec<u32> = (0..32).flat_map(row).collect();
            let name = std::format!("warp_matches of {} by {divisor}", stringify!($t));
            let case = Case::new(&name, 1, 32).output(&expected);
            cases.push(case.calls(move |b| warp_matches::<$t>(out(b[0]), divisor)));
        } )* };
    }
    matches!(u32 i32 u64 i64 f32 f64);
    macro_rules! reductions {
        ($($t:ident)*) => { $( for mask in [ALL, 0x0000_00f0, 0x8000_0001, 1] {
            let value = |lane: u32| <$t as Lane>::of(lane ^ 13);
            let over = |mask: u32| {
                let lanes = || (0..32).filter(move |l| mask >> l & 1 == 1).map(value);
                [
                    lanes().fold(0, $t::wrapping_add),
                    lanes().fold($t::MAX, $t::min),
                    lanes().fold($t::MIN, $t::max),
                    lanes().fold(!0, |a, b| a & b),
                    lanes().fold(0, |a, b| a | b),
                    lanes().fold(0, |a, b| a ^ b),
                ]
            };
            let mut expected: Vec<$t> = Vec::new();
            for lane in 0..32 {
                expected.extend(over(ALL));
                expected.extend(if mask >> lane & 1 == 1 { over(mask) } else { [value(lane); 6] });
            }
            let name = std::format!("warp_reductions of {} over {mask:#x}", stringify!($t));
            let case = Case::new(&name, 1, 32).output(&expected);
            cases.push(case.calls(move |b| warp_reductions::<$t>(out(b[0]), mask)));
        } )* };
    }
    reductions!(u32 i32);
    macro_rules! sums {
        ($($t:ident)*) => { $(
            // The kernel's order: lanes 16 apart first, then 8, 4, 2 and 1.
            let mut lanes: Vec<$t> = (0..32).map(<$t as Lane>::of).collect();
            for distance in [16, 8, 4, 2, 1] {
                lanes = (0..32).map(|lane| lanes[lane] + lanes[lane ^ distance]).collect();
            }
            let name = std::concat!("warp_reduce_any of ", stringify!($t));
            cases.push(Case::new(name, 1, 32).output(&lanes).calls(|b| warp_reduce_any::<$t>(out(b[0]))));
        )* };
    }
    sums!(f32 f64 u64);
    // With small whole numbers every order of additions gives these bits.
    let number = |i: usize| (i * i * 7 % 23) as f64 - 11.0;
    let (left, right): (Vec<f64>, Vec<f64>) = ((0..64).map(number).collect(), (100..132).map(number).collect());
    let before: Vec<f64> = (200..328).map(number).collect();
    let sum = |i: usize| before[i] + (0..4).map(|k| left[i / 8 * 4 + k] * right[k * 8 + i % 8]).sum::<f64>();
    let after: Vec<f64> = (0..128).map(sum).collect();
    cases.push(
        Case::new("warp_matrix", 1, 32)
            .input(&left)
            .input(&right)
            .updated(&before, &after)
            .calls(|b| warp_matrix(ptr(b[0]), ptr(b[1]), out(b[2]))),
    );
    let basics: Vec<u32> = (0..32).flat_map(|l| [l, u32::from(l == 4), 1, (31 - l) * (31 - l)]).collect();
    cases.push(Case::new("warp_basics", 1, 32).shared(128).output(&basics).calls(|b| warp_basics(out(b[0]))));
    cases
}
