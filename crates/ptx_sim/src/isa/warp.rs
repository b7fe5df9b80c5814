//! Instructions of a whole warp: shuffles, votes, matches, reductions. PTX ISA, "shfl.sync", "vote.sync", "match.sync",
//! "redux.sync", "elect.sync".

use super::collective::{Collective, Shuffle};
use super::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use super::lift::File::{Long, Pred, Single, Word};
use super::lift::{Meaning, predicate, write_predicate};
use super::table::{Row, Table};
use crate::registers::{Args, LANES, NO_SLOT, Pure, Registers, Run, Slot};

/// Facts of an exchange of values between lanes.
const EXCHANGED: Facts = facts(Undefined::Any, Work::None, Latency::Warp, Fidelity::Exact);
/// Facts of an instruction that reads only the set of active lanes, without an exchange.
const MOVED: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);

/// Returns the source lane of lane `lane` in a shuffle, and whether it is in range (otherwise the lane reads itself).
/// `b` and `c` are the operands as PTX packs them: `c` holds the clamp in bits 0 to 4 and the segment mask in bits 8 to
/// 12.
#[inline(always)]
pub fn shuffle_source(kind: Shuffle, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (b, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let maximum = lane & segment | clamp & !segment;
    let minimum = lane & segment;
    let (source, in_range) = match kind {
        // The clamp of `up` is a lower bound.
        Shuffle::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= maximum as i32),
        Shuffle::Down => (lane + b, lane + b <= maximum),
        Shuffle::Bfly => (lane ^ b, lane ^ b <= maximum),
        Shuffle::Idx => {
            let source = minimum | b & !segment;
            (source, source <= maximum)
        }
    };
    if in_range { (source & 31, true) } else { (lane, false) }
}

fn shuffle(kind: Shuffle, registers: &mut Registers, mask: u32, args: &Args) {
    let [value, b, c] = [args.s[0], args.s[1], args.s[2]].map(|slot| registers.w32[slot as usize]);
    let mut found = 0;
    let mut out = value;
    for lane in 0..LANES {
        let (source, in_range) = shuffle_source(kind, lane as u32, b[lane], c[lane]);
        out[lane] = value[source as usize];
        found |= u32::from(in_range) << lane;
    }
    write_word(registers, args.d[0], mask, |lane| out[lane]);
    write_predicate(registers, args.d[1], mask, found);
}

/// Writes a computed value to the lanes of `mask`.
fn write_word(registers: &mut Registers, slot: Slot, mask: u32, value: impl Fn(usize) -> u32) {
    if slot != NO_SLOT {
        let row = &mut registers.w32[slot as usize];
        for lane in (0..LANES).filter(|lane| mask >> lane & 1 != 0) {
            row[lane] = value(lane);
        }
    }
}

/// Iterates over the lanes of a mask, lowest first.
fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

fn everywhere(yes: bool) -> u32 {
    if yes { u32::MAX } else { 0 }
}

fn vote_all(registers: &mut Registers, mask: u32, args: &Args) {
    let votes = predicate(registers, args, 0) & mask;
    write_predicate(registers, args.d[0], mask, everywhere(votes == mask));
}

fn vote_any(registers: &mut Registers, mask: u32, args: &Args) {
    let votes = predicate(registers, args, 0) & mask;
    write_predicate(registers, args.d[0], mask, everywhere(votes != 0));
}

fn vote_uni(registers: &mut Registers, mask: u32, args: &Args) {
    let votes = predicate(registers, args, 0) & mask;
    write_predicate(registers, args.d[0], mask, everywhere(votes == 0 || votes == mask));
}

fn vote_ballot(registers: &mut Registers, mask: u32, args: &Args) {
    let votes = predicate(registers, args, 0) & mask;
    write_word(registers, args.d[0], mask, |_| votes);
}

/// Returns the executing lanes. It does not synchronise them, so it is an ordinary instruction.
fn activemask(registers: &mut Registers, mask: u32, args: &Args) {
    write_word(registers, args.d[0], mask, |_| mask);
}

fn match_any<T: Copy + PartialEq>(row: [T; LANES], registers: &mut Registers, mask: u32, args: &Args) {
    let equal = |lane: usize| lanes(mask).filter(|&other| row[other] == row[lane]).fold(0, |m, other| m | 1 << other);
    write_word(registers, args.d[0], mask, equal);
}

fn match_all<T: Copy + PartialEq>(row: [T; LANES], registers: &mut Registers, mask: u32, args: &Args) {
    let first = row[mask.trailing_zeros() as usize % LANES];
    let same = lanes(mask).all(|lane| row[lane] == first);
    write_word(registers, args.d[0], mask, |_| if same { mask } else { 0 });
    write_predicate(registers, args.d[1], mask, everywhere(same));
}

fn reduce(registers: &mut Registers, mask: u32, args: &Args, f: impl Fn(u32, u32) -> u32) {
    let row = registers.w32[args.s[0] as usize];
    if let Some(total) = lanes(mask).map(|lane| row[lane]).reduce(f) {
        write_word(registers, args.d[0], mask, |_| total);
    }
}

/// `redux.sync` of `f32`: the smallest or largest number, with -0 below +0. A NaN is left out, or with `KEEP_NAN` is
/// the result; the result is the canonical NaN too where there is no number.
fn reduce_float<const LARGEST: bool, const ABSOLUTE: bool, const KEEP_NAN: bool>(
    registers: &mut Registers,
    mask: u32,
    args: &Args,
) {
    let row = registers.w32[args.s[0] as usize];
    let magnitude = |bits: u32| bits & 0x7fff_ffff;
    let all = lanes(mask).map(|lane| if ABSOLUTE { magnitude(row[lane]) } else { row[lane] });
    let (nans, numbers): (Vec<u32>, Vec<u32>) = all.partition(|&bits| magnitude(bits) > 0x7f80_0000);
    // Bits in the order of the numbers.
    let order = |bits: &u32| if bits >> 31 != 0 { !bits } else { bits | 1 << 31 };
    let found = if LARGEST { numbers.into_iter().max_by_key(order) } else { numbers.into_iter().min_by_key(order) };
    let result = found.filter(|_| nans.is_empty() || !KEEP_NAN).unwrap_or(0x7fff_ffff);
    write_word(registers, args.d[0], mask, |_| result);
}

fn elect(registers: &mut Registers, mask: u32, args: &Args) {
    let leader = mask.trailing_zeros();
    write_word(registers, args.d[0], mask, |_| leader);
    write_predicate(registers, args.d[1], mask, mask & mask.wrapping_neg());
}

/// Adds this chapter's rows. The member mask comes last in the text and is not among the sources.
pub fn list(t: &mut Table) {
    t.row("activemask.b32", MOVED, Meaning { run: Pure::plain(activemask), d: &[Word], s: &[] });
    let mut add = |opcode: &str, kind, run: Run, d, s, optional| {
        let meaning = Meaning { run: Pure::plain(run), d, s };
        t.insert(opcode, Row { collective: Some(kind), optional, ..Row::new(EXCHANGED, meaning) });
    };
    let mut shuffled = |opcode, kind, run| add(opcode, Collective::Shuffle(kind), run, &[Word, Pred], &[Word; 3], 1);
    shuffled("shfl.sync.up.b32", Shuffle::Up, |r, m, a| shuffle(Shuffle::Up, r, m, a));
    shuffled("shfl.sync.down.b32", Shuffle::Down, |r, m, a| shuffle(Shuffle::Down, r, m, a));
    shuffled("shfl.sync.bfly.b32", Shuffle::Bfly, |r, m, a| shuffle(Shuffle::Bfly, r, m, a));
    shuffled("shfl.sync.idx.b32", Shuffle::Idx, |r, m, a| shuffle(Shuffle::Idx, r, m, a));
    add("vote.sync.all.pred", Collective::Vote, vote_all, &[Pred], &[Pred], 0);
    add("vote.sync.any.pred", Collective::Vote, vote_any, &[Pred], &[Pred], 0);
    add("vote.sync.uni.pred", Collective::Vote, vote_uni, &[Pred], &[Pred], 0);
    add("vote.sync.ballot.b32", Collective::Vote, vote_ballot, &[Word], &[Pred], 0);
    let mut matched = |opcode, run, d, s, optional| add(opcode, Collective::Match, run, d, s, optional);
    matched("match.any.sync.b32", |r, m, a| match_any(r.w32[a.s[0] as usize], r, m, a), &[Word], &[Word], 0);
    matched("match.any.sync.b64", |r, m, a| match_any(r.w64[a.s[0] as usize], r, m, a), &[Word], &[Long], 0);
    matched("match.all.sync.b32", |r, m, a| match_all(r.w32[a.s[0] as usize], r, m, a), &[Word, Pred], &[Word], 1);
    matched("match.all.sync.b64", |r, m, a| match_all(r.w64[a.s[0] as usize], r, m, a), &[Word, Pred], &[Long], 1);
    let mut redux = |opcode, run| add(opcode, Collective::Redux, run, &[Word], &[Word], 0);
    redux("redux.sync.add.{u32|s32}", |r, m, a| reduce(r, m, a, u32::wrapping_add));
    redux("redux.sync.min.u32", |r, m, a| reduce(r, m, a, u32::min));
    redux("redux.sync.max.u32", |r, m, a| reduce(r, m, a, u32::max));
    redux("redux.sync.min.s32", |r, m, a| reduce(r, m, a, |x, y| (x as i32).min(y as i32) as u32));
    redux("redux.sync.max.s32", |r, m, a| reduce(r, m, a, |x, y| (x as i32).max(y as i32) as u32));
    redux("redux.sync.and.b32", |r, m, a| reduce(r, m, a, |x, y| x & y));
    redux("redux.sync.or.b32", |r, m, a| reduce(r, m, a, |x, y| x | y));
    redux("redux.sync.xor.b32", |r, m, a| reduce(r, m, a, |x, y| x ^ y));
    let mut float = |opcode, run| add(opcode, Collective::Redux, run, &[Single], &[Single], 0);
    float("redux.sync.min.f32", reduce_float::<false, false, false>);
    float("redux.sync.min.NaN.f32", reduce_float::<false, false, true>);
    float("redux.sync.min.abs.f32", reduce_float::<false, true, false>);
    float("redux.sync.min.abs.NaN.f32", reduce_float::<false, true, true>);
    float("redux.sync.max.f32", reduce_float::<true, false, false>);
    float("redux.sync.max.NaN.f32", reduce_float::<true, false, true>);
    float("redux.sync.max.abs.f32", reduce_float::<true, true, false>);
    float("redux.sync.max.abs.NaN.f32", reduce_float::<true, true, true>);
    add("elect.sync", Collective::Elect, elect, &[Word, Pred], &[], 1);
    add("bar.warp.sync", Collective::Sync, |_, _, _| {}, &[], &[], 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::instructions::find;

    fn run(opcode: &str, mask: u32, sources: [[u32; LANES]; 3], pred: u32) -> ([u32; LANES], u32) {
        let mut registers = Registers { w32: vec![[9999; LANES]; 4], pred: vec![0, pred], ..Registers::default() };
        registers.w32[1..].copy_from_slice(&sources);
        let row = find(opcode).unwrap_or_else(|| panic!("no `{opcode}`"));
        let pred_source = row.meaning.s.first() == Some(&Pred);
        let s = if pred_source { [1, 0, 0, 0, 0] } else { [1, 2, 3, 0, 0] };
        let d = if row.meaning.d == [Pred] { [0, NO_SLOT, 0, 0] } else { [0, 0, 0, 0] };
        (row.meaning.run.baseline)(&mut registers, mask, &Args { d, s, ..Args::default() });
        (registers.w32[0], registers.pred[0])
    }

    fn lane_numbers() -> [u32; LANES] {
        std::array::from_fn(|lane| lane as u32)
    }

    #[test]
    fn shuffles() {
        let shuffle = |mode: &str, b: u32, c: u32| {
            run(&format!("shfl.sync.{mode}.b32"), u32::MAX, [lane_numbers(), [b; LANES], [c; LANES]], 0)
        };
        let (values, found) = shuffle("down", 1, 31);
        assert_eq!((values[0], values[30], values[31], found), (1, 31, 31, 0x7fff_ffff));
        let (values, found) = shuffle("up", 1, 0);
        assert_eq!((values[0], values[1], values[31], found), (0, 0, 30, 0xffff_fffe));
        let (values, found) = shuffle("bfly", 16, 31);
        assert_eq!((values[0], values[31], found), (16, 15, u32::MAX));
        let (values, found) = shuffle("idx", 5, 31);
        assert_eq!((values, found), ([5; LANES], u32::MAX));
        // Width 8 is segment mask 24 in bits 8 to 12 and clamp 31.
        let (values, _) = shuffle("idx", 2, 24 << 8 | 31);
        assert_eq!((values[0], values[9], values[31]), (2, 10, 26));
        let (values, found) = shuffle("down", 1, 24 << 8 | 31);
        assert_eq!((values[6], values[7], values[8], found), (7, 7, 9, 0x7f7f_7f7f));
    }

    #[test]
    fn votes() {
        let (_, all) = run("vote.sync.all.pred", 0xff, [[0; LANES]; 3], 0xff);
        assert_eq!(all, 0xff);
        let (_, all) = run("vote.sync.all.pred", 0xff, [[0; LANES]; 3], 0xfe);
        assert_eq!(all, 0);
        let (_, uniform) = run("vote.sync.uni.pred", 0xff, [[0; LANES]; 3], 0xff00);
        assert_eq!(uniform, 0xff);
        let (ballot, _) = run("vote.sync.ballot.b32", 0xff, [[0; LANES]; 3], 0xabcd);
        assert_eq!((ballot[0], ballot[8]), (0xcd, 9999));
        let (ballot, _) = run("vote.ballot.sync.b32", 0xf, [[0; LANES]; 3], 0xabcd);
        assert_eq!((ballot[0], ballot[8]), (0xd, 9999));
    }

    #[test]
    fn matches_reductions_leaders() {
        let halves = std::array::from_fn(|lane| lane as u32 / 16);
        let (any, _) = run("match.any.sync.b32", u32::MAX, [halves; 3], 0);
        assert_eq!((any[0], any[31]), (0xffff, 0xffff_0000));
        let (all, same) = run("match.all.sync.b32", 0xffff, [halves; 3], 0);
        assert_eq!((all[0], same), (0xffff, 0xffff));
        let (all, same) = run("match.all.sync.b32", u32::MAX, [halves; 3], 0);
        assert_eq!((all[0], same), (0, 0));
        let (sum, _) = run("redux.sync.add.u32", u32::MAX, [lane_numbers(); 3], 0);
        assert_eq!(sum, [496; LANES]);
        let (least, _) = run(
            "redux.sync.min.s32",
            6,
            [[5, u32::MAX, 3].into_iter().chain([0; 29]).collect::<Vec<_>>().try_into().unwrap_or([0; 32]); 3],
            0,
        );
        assert_eq!((least[0], least[1]), (9999, u32::MAX));
        let (leader, elected) = run("elect.sync", 0xf0, [[0; LANES]; 3], 0);
        assert_eq!((leader[4], elected), (4, 0x10));
    }

    #[test]
    fn reductions_of_floats() {
        const NAN: u32 = 0x7fc0_1234;
        let of = |opcode: &str, values: [f32; 4]| {
            let mut row = [0; LANES];
            row[..4].copy_from_slice(&values.map(|value| if value.is_nan() { NAN } else { value.to_bits() }));
            let (found, _) = run(opcode, 0xf, [row; 3], 0);
            assert_eq!((found[3], found[4]), (found[0], 9999));
            found[0]
        };
        let (some, nan) = ([1.0, -2.0, 0.5, -0.25], f32::NAN);
        assert_eq!(of("redux.sync.min.f32", some), (-2.0f32).to_bits());
        assert_eq!(of("redux.sync.max.f32", some), 1.0f32.to_bits());
        assert_eq!(of("redux.sync.min.abs.f32", some), 0.25f32.to_bits());
        assert_eq!(of("redux.sync.max.abs.f32", some), 2.0f32.to_bits());
        // Zeros have an order.
        assert_eq!(of("redux.sync.min.f32", [0.0, -0.0, 0.0, 0.0]), 1 << 31);
        assert_eq!(of("redux.sync.max.f32", [-0.0, 0.0, -0.0, -0.0]), 0);
        assert_eq!(of("redux.sync.max.f32", [nan, -1.0, nan, f32::NEG_INFINITY]), (-1.0f32).to_bits());
        assert_eq!(of("redux.sync.max.NaN.f32", [nan, -1.0, nan, 3.0]), 0x7fff_ffff);
        assert_eq!(of("redux.sync.min.abs.NaN.f32", some), 0.25f32.to_bits());
        assert_eq!(of("redux.sync.min.f32", [nan; 4]), 0x7fff_ffff);
    }
}
