//! Look-back in two steps: over the tiles of a group of 32, and over the groups.
//!
//! A tile publishes its total. The last tile of a group adds up the group, publishes that sum, and once the sum before
//! the group is known, publishes the group's prefix. Any tile then reads at most twice 32 records, one per lane: those
//! of the tiles before it in its group, and those of the groups before its own, back to one with a prefix. 32 groups
//! are 1024 tiles, more than a GPU runs at the same time, so such a group is nearly always among them; if not, it is
//! once the tiles before have finished.
//!
//! Decoupled look-back in one level walks back window by window, and adds the records in an order that depends on
//! timing. Here the tiles of a group are always added by the same tree, and groups from left to right, wherever the
//! walk began. A prefix is itself computed by that chain, so its rounding does not depend on which block continues it.

use super::runs::Runs;
use super::total::Total;
use crate::operator::record::{Records, words};
use crate::operator::{Operator, Pod, shuffle};
use crate::reduce::{WARP, collective::warp_total};
use crate::unroll::unroll;
use cuda_std::{
    atomic::{AtomicU64, Ordering},
    warp,
};

/// Tiles of a group: one per lane of the warp that looks back.
pub const GROUP: u32 = WARP;

/// Words of 8 bytes that the kernel needs for this many tiles of elements of this size: the tickets' counter, a record
/// per tile and one per group.
pub const fn state_words(tiles: u64, bytes: usize) -> u64 {
    1 + (tiles + tiles.div_ceil(GROUP as u64)) * words(bytes) as u64
}

/// Draws a ticket: the number of a tile in the lower half, of the launch in the upper one.
///
/// # Safety
/// `counter` is 0 before the first launch, and afterwards accessed only by this function, once for each of `tiles`
/// tiles per launch.
#[inline(always)]
pub unsafe fn draw(counter: *mut u64, tiles: u32) -> u64 {
    // SAFETY: the caller upholds this function's contract.
    let counter = unsafe { AtomicU64::from_ptr(counter) };
    let drawn = counter.fetch_add(1, Ordering::Relaxed);
    if drawn as u32 == tiles - 1 {
        // This was the last ticket of the launch: the next launch starts with tile 0 and a number that is one higher.
        counter.fetch_add((1 << 32) - u64::from(tiles), Ordering::Relaxed);
    }
    drawn
}

/// Publishes the total of tile `number` and returns, in all lanes, the sum of all tiles before it.
///
/// Tags are twice the number of the launch for a total, and one more for a prefix. In a scan by key, the total of a
/// tile or group in which a run begins is a prefix, since nothing before it counts.
///
/// # Safety
/// All lanes of one warp per tile call it together. `state` is as the kernel requires, and every tile with a lower
/// number belongs to a block that runs.
#[inline(always)]
pub unsafe fn prefix<O: Operator<T>, T: Pod, X: Runs>(
    state: *mut u64,
    tiles: u32,
    number: u32,
    launch: u32,
    own: Total<T>,
) -> T {
    let lane = warp::lane_id();
    let (group, place) = (number / GROUP, number % GROUP);
    let (is_total, is_prefix) = (launch << 1, launch << 1 | 1);
    let tag = |total: Total<T>| if X::KEYED && total.closed { is_prefix } else { is_total };
    // SAFETY: the counter is one word; after it there is a record for each tile and each group.
    unsafe {
        let of_tiles = Records::<T>::new(state.add(1));
        let of_groups = Records::<T>::new(state.add(1 + tiles as usize * Records::<T>::WORDS));
        if lane == 0 {
            of_tiles.publish(number as usize, own.total, tag(own));
        }

        // The loads of both steps start at once; when the tiles have been published, the first load of the groups
        // usually suffices.
        let group_before = || match lane < group {
            true => of_groups.read((group - 1 - lane) as usize),
            false => (O::identity(), is_total),
        };
        let mut seen = group_before();

        let (mut of_tile, mut closed);
        loop {
            of_tile = match lane < place {
                true => of_tiles.read((number - place + lane) as usize),
                false => (O::identity(), is_total),
            };
            closed = if X::KEYED { warp::ballot(warp::ALL, of_tile.1 == is_prefix) } else { 0 };
            if warp::all(warp::ALL, of_tile.1 == is_total || X::KEYED && lane < last_of(closed)) {
                break;
            }
        }
        let in_group = from_last_closed::<O, T, X>(of_tile.0, closed);
        let whole_group = in_group.then::<O, X>(own);
        let closes_group = place == GROUP - 1 && lane == 0;
        if closes_group {
            of_groups.publish(group as usize, whole_group.total, tag(whole_group));
        }
        if X::KEYED && in_group.closed {
            return in_group.total;
        }

        let mut groups_before = O::identity();
        if group > 0 {
            let mut nearest;
            loop {
                let prefixes = warp::ballot(warp::ALL, seen.1 == is_prefix);
                let totals = warp::ballot(warp::ALL, seen.1 == is_total);
                nearest = prefixes.trailing_zeros();
                // The lanes below the nearest prefix. Without a prefix, 0 - 1 selects all lanes, of which some have
                // found neither a total nor a prefix.
                let nearer = (prefixes & prefixes.wrapping_neg()).wrapping_sub(1);
                if prefixes != 0 && totals & nearer == nearer {
                    break;
                }
                seen = group_before();
            }
            let value = if lane <= nearest { seen.0 } else { O::identity() };
            groups_before = from_the_left::<O, T>(value);
        }
        if closes_group && !(X::KEYED && whole_group.closed) {
            of_groups.publish(group as usize, O::combine(groups_before, whole_group.total), is_prefix);
        }
        O::combine(groups_before, in_group.total)
    }
}

/// One more than the last lane of the mask; 0 if it is empty.
#[inline(always)]
const fn last_of(lanes: u32) -> u32 {
    u32::BITS - lanes.leading_zeros()
}

/// The total of a warp's values, in order, from the last closed one on.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn from_last_closed<O: Operator<T>, T: Pod, X: Runs>(value: T, closed: u32) -> Total<T> {
    let counts = !X::KEYED || warp::lane_id() + 1 >= last_of(closed);
    // SAFETY: the caller upholds this function's contract.
    let total = unsafe { warp_total::<O, T>(if counts { value } else { O::identity() }) };
    Total { total, closed: X::KEYED && closed != 0 }
}

/// Publishes the total of the tile of a ticket, as [`prefix`] does.
///
/// # Safety
/// One thread calls it per tile. `state` is as the kernel requires.
#[inline(always)]
pub unsafe fn publish<T: Pod>(state: *mut u64, drawn: u64, own: T) {
    // SAFETY: after the counter there is a record for each tile, and the caller upholds the rest.
    unsafe { Records::<T>::new(state.add(1)).publish(drawn as u32 as usize, own, tag_of(drawn)) };
}

/// The tag of totals in the launch of a ticket.
#[inline(always)]
const fn tag_of(drawn: u64) -> u32 {
    ((drawn >> 32) as u32 + 1) << 1
}

/// Groups whose totals are read at once.
// tune: 2 4 8
const AT_ONCE: usize = 4;

/// Returns, in all lanes, the sum of all tiles before that of a ticket, for a warp that goes through tiles in their
/// order: it reads the totals that it has not read before, and needs no records of groups. `before_group` is the sum
/// before `group`; both move to the tile's group. The additions are those of [`prefix`] without keys, in their order.
///
/// # Safety
/// All lanes of the warp call it together. `state` is as the kernel requires, `group` is not behind the tile's, and
/// every tile with a lower number belongs to a block that runs.
#[inline(always)]
pub unsafe fn advance<O: Operator<T>, T: Pod>(state: *mut u64, drawn: u64, group: &mut u32, before_group: &mut T) -> T {
    let lane = warp::lane_id();
    let (number, is_total) = (drawn as u32, tag_of(drawn));
    let (own, place) = (number / GROUP, number % GROUP);
    // SAFETY: after the counter there is a record for each tile.
    unsafe {
        let of_tiles = Records::<T>::new(state.add(1));
        loop {
            let mut values = [O::identity(); AT_ONCE + 1];
            loop {
                let mut all = true;
                // A row for each group, the tile's own one among them if it is near.
                unroll!(row < const { AT_ONCE + 1 } => {
                    let at = *group + row as u32;
                    let wanted = row < AT_ONCE && at < own || at == own && lane < place;
                    if wanted {
                        let (value, tag) = of_tiles.read((at * GROUP + lane) as usize);
                        values[row] = value;
                        all &= tag == is_total;
                    }
                });
                if warp::all(warp::ALL, all) {
                    break;
                }
            }
            let mut in_own = O::identity();
            unroll!(row < const { AT_ONCE + 1 } => {
                let at = *group + row as u32;
                // `prefix` adds the last tile of a group to the sum of the others.
                let last = shuffle::idx(values[row], GROUP - 1);
                let others = if lane == GROUP - 1 { O::identity() } else { values[row] };
                let total = warp_total::<O, T>(others);
                if at < own && row < AT_ONCE {
                    *before_group = O::combine(*before_group, O::combine(total, last));
                } else if at == own {
                    in_own = total;
                }
            });
            if own - *group <= AT_ONCE as u32 {
                *group = own;
                return O::combine(*before_group, in_own);
            }
            *group += AT_ONCE as u32;
        }
    }
}

/// Adds up a warp's values one after the other, beginning with the last lane's, which belongs to the first group in
/// memory order.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn from_the_left<O: Operator<T>, T: Pod>(value: T) -> T {
    let mut sum = O::identity();
    let mut lane = WARP;
    while lane > 0 {
        lane -= 1;
        // SAFETY: the caller upholds this function's contract. No shuffle depends on a sum: only the additions form a
        // chain.
        sum = O::combine(sum, unsafe { shuffle::idx(value, lane) });
    }
    sum
}
