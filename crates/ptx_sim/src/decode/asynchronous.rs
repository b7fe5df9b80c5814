//! Asynchronous copies: `cp.async`, bulk copies, `st.async` and `red.async`.

use super::cluster::shared_or_generic;
use super::decoder::{Decoder, Effect};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::isa::memory::{AtomicOperation, combine, space};
use crate::program::{Async, Group, Op, Reduce, Space};
use crate::registers::Slot;
use crate::syntax::tree::{Name, Operand};

const UNKNOWN: &str = "this asynchronous instruction is not supported";

/// Facts of an instruction that starts a copy; the cost of the copy appears at the instruction that waits for it.
const STARTED: Facts = facts(Undefined::Any, Work::None, Latency::Memory, Fidelity::Exact);
/// Facts of an instruction that commits or awaits a group of copies, which the thread counts itself.
const COUNTED: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);

/// Rows of this chapter.
pub const ROWS: &[Effect] = &[
    Effect { name: "cp.async.ca", facts: STARTED, decode: |d, words, operands| d.copy(true, words, operands) },
    Effect { name: "cp.async.cg", facts: STARTED, decode: |d, words, operands| d.copy(false, words, operands) },
    Effect { name: "cp.async.commit_group", facts: COUNTED, decode: |_, words, _| commit(Group::Copy, words) },
    Effect {
        name: "cp.async.wait_group",
        facts: COUNTED,
        decode: |_, words, operands| wait(Group::Copy, words, operands),
    },
    Effect {
        name: "cp.async.wait_all",
        facts: COUNTED,
        decode: |_, _, _| Ok(Async::Wait { group: Group::Copy, pending: 0, all: true }.into()),
    },
    Effect { name: "cp.async.mbarrier.arrive", facts: COUNTED, decode: |d, words, operands| d.arrive(words, operands) },
    Effect { name: "cp.async.bulk", facts: STARTED, decode: |d, words, operands| d.bulk(words, operands) },
    Effect { name: "cp.reduce.async.bulk", facts: STARTED, decode: |d, words, operands| d.bulk(words, operands) },
    Effect { name: "cp.async.bulk.commit_group", facts: COUNTED, decode: |_, words, _| commit(Group::Bulk, words) },
    Effect {
        name: "cp.async.bulk.wait_group",
        facts: COUNTED,
        decode: |_, words, operands| wait(Group::Bulk, words, operands),
    },
    // A prefetch changes nothing that a program computes.
    Effect { name: "cp.async.bulk.prefetch.L2", facts: COUNTED, decode: |_, _, _| Ok(Op::Nothing) },
    Effect { name: "cp.async.bulk.tensor", facts: STARTED, decode: |d, words, operands| d.tensor(words, operands) },
    Effect { name: "cp.async.bulk.prefetch.tensor", facts: COUNTED, decode: |_, _, _| Ok(Op::Nothing) },
    Effect {
        name: "cp.reduce.async.bulk.tensor",
        facts: STARTED,
        decode: |d, words, operands| d.tensor(words, operands),
    },
    Effect { name: "st.async", facts: STARTED, decode: |d, words, operands| d.remote(false, words, operands) },
    Effect { name: "red.async", facts: STARTED, decode: |d, words, operands| d.remote(true, words, operands) },
];

const IM2COL: &str = "only copies of boxes (`.tile`) are simulated";

fn commit(group: Group, words: &[&str]) -> Result<Op, Reject> {
    match words {
        [] => Ok(Async::Commit(group).into()),
        _ => unsupported(UNKNOWN),
    }
}

fn wait(group: Group, words: &[&str], operands: &[Operand<'_>]) -> Result<Op, Reject> {
    let pending = match operands {
        [Operand::Integer(groups)] => u32::try_from(*groups).unwrap_or(u32::MAX),
        _ => return unsupported("needs a constant number of groups"),
    };
    match (words, group) {
        ([], _) | (["read"], Group::Bulk) => Ok(Async::Wait { group, pending, all: false }.into()),
        _ => unsupported(UNKNOWN),
    }
}

impl<'t> Decoder<'_, 't> {
    /// `cp.async.mbarrier.arrive{.noinc}{.shared}.b64 [mbar]`.
    fn arrive(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [address] = operands else { return unsupported("needs the address of an mbarrier") };
        let increments = !words.contains(&"noinc");
        Ok(Async::ArriveAfterCopies { mbarrier: (shared_or_generic(words), self.address(address)?.0), increments }
            .into())
    }

    /// Decodes `[dst], [src], size{, src-size | ignore-src}{, cache-policy}`.
    fn copy(&mut self, cached: bool, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let ["shared" | "shared::cta", "global", hints @ ..] = words else { return unsupported(UNKNOWN) };
        let operands = without_policy(hints, operands);
        let ([to, from, Operand::Integer(bytes)], rest) = operands.split_at(operands.len().min(3)) else {
            return unsupported("needs two addresses and a constant size");
        };
        let bytes = match *bytes {
            bytes @ (4 | 8 | 16) => bytes as u32,
            bytes => return unsupported(format!("copies {bytes} bytes; 4, 8 or 16 are possible")),
        };
        let (mut source_bytes, mut ignore) = (None, None);
        for operand in rest {
            if self.register_bits(operand) == 1 {
                ignore = Some(self.source(operand, File::Pred)?);
            } else {
                source_bytes = Some(self.source(operand, File::Word)?.0);
            }
        }
        let (to, from) = (self.address(to)?.0, self.address(from)?.0);
        Ok(Async::Copy { to, from, bytes, cached, source_bytes, ignore }.into())
    }

    /// Decodes `[dst], [src], size, [mbar]{, mask}{, policy}` or `[dst], [src], size{, policy}`.
    fn bulk(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [to_space, from_space, completion, hints @ ..] = words else { return unsupported(UNKNOWN) };
        let (Some(to_space), Some(from_space)) = (space(to_space), space(from_space)) else {
            return unsupported(UNKNOWN);
        };
        let known = |word: &&str| matches!(*word, "multicast::cluster" | "L2::cache_hint" | "noftz");
        let reduce = match hints.iter().filter(|word| !known(word)).collect::<Vec<_>>().as_slice() {
            [] => None,
            [operation, kind] => Some(reduce(operation, kind)?),
            _ => return unsupported(UNKNOWN),
        };
        let operands = without_policy(hints, operands);
        let [to, from, bytes, rest @ ..] = operands else { return unsupported("needs two addresses and a size") };
        let (to, from) = ((to_space, self.address(to)?.0), (from_space, self.address(from)?.0));
        let bytes = self.source(bytes, File::Word)?.0;
        let (mbarrier, multicast) = match (*completion, rest) {
            ("mbarrier::complete_tx::bytes", [mbarrier]) => (Some(self.address(mbarrier)?.0), None),
            ("mbarrier::complete_tx::bytes", [mbarrier, mask]) if hints.contains(&"multicast::cluster") => {
                let mask = self.ranks(mask)?;
                (Some(self.address(mbarrier)?.0), Some(mask))
            }
            ("bulk_group", []) => (None, None),
            _ => return unsupported(UNKNOWN),
        };
        let known = match (from_space, to_space) {
            (Space::Global, Space::Shared) | (Space::Shared, Space::Shared) => mbarrier.is_some(),
            (Space::Shared, Space::Global) => mbarrier.is_none(),
            _ => false,
        };
        if !known {
            return unsupported(UNKNOWN);
        }
        Ok(Async::Bulk { to, from, bytes, mbarrier, multicast, reduce }.into())
    }

    /// Decodes `[dst], [map, {x, y}], [mbar]{, mask}{, policy}` or `[map, {x, y}], [src]{, policy}`.
    fn tensor(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [dimensions, to, from, rest @ ..] = words else { return unsupported(UNKNOWN) };
        let rank = match *dimensions {
            "1d" => 1,
            "2d" => 2,
            "3d" => 3,
            "4d" => 4,
            "5d" => 5,
            _ => return unsupported(UNKNOWN),
        };
        let (mut reduce, mut loads, mut multicast) = (None, false, false);
        for &word in rest {
            match word {
                "tile" | "bulk_group" | "L2::cache_hint" | "cta_group::1" => {}
                "mbarrier::complete_tx::bytes" => loads = true,
                "multicast::cluster" => multicast = true,
                word if word.starts_with("im2col") || word.starts_with("tile::") => return unsupported(IM2COL),
                word => match AtomicOperation::named(word) {
                    Some(operation) => reduce = Some(operation),
                    None => return unsupported(UNKNOWN),
                },
            }
        }
        let operands = without_policy(rest, operands);
        let (shared, tensor, mbarrier, mask) = match (space(to), space(from), loads, operands) {
            (Some(Space::Shared), Some(Space::Global), true, [shared, tensor, mbarrier, mask @ ..])
                if reduce.is_none() && mask.len() == usize::from(multicast) =>
            {
                (shared, tensor, Some(mbarrier), mask.first())
            }
            (Some(Space::Global), Some(Space::Shared), false, [tensor, shared]) if !multicast => {
                (shared, tensor, None, None)
            }
            _ => return unsupported(UNKNOWN),
        };
        let Operand::Indexed(name, span) = tensor else { return unsupported("needs a map and coordinates") };
        let name = Operand::Name(Name { text: name, negated: false, offset: 0 });
        let map = self.source(&name, File::Long)?.0;
        let elements = self.body.get(span);
        if elements.len() != rank {
            return unsupported(format!("has {} coordinates, but takes {rank}", elements.len()));
        }
        let coordinates = elements.iter().map(|e| Ok(self.source(e, File::Word)?.0)).collect::<Result<_, Reject>>()?;
        let shared = self.address(shared)?.0;
        let mbarrier = match mbarrier {
            Some(mbarrier) => Some(self.address(mbarrier)?.0),
            None => None,
        };
        let multicast = match mask {
            Some(mask) => Some(self.ranks(mask)?),
            None => None,
        };
        Ok(Async::Tensor { shared, map, coordinates, mbarrier, multicast, reduce }.into())
    }

    /// Returns the row of a mask of blocks, which has 16 bits.
    fn ranks(&mut self, mask: &Operand<'t>) -> Result<Slot, Reject> {
        let file = if self.register_bits(mask) == 16 { File::Half } else { File::Word };
        Ok(self.source(mask, file)?.0)
    }

    /// Decodes `[a], b, [mbar]`.
    fn remote(&mut self, reduces: bool, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let plain = |word: &&&str| {
            !matches!(**word, "weak" | "relaxed" | "cluster" | "shared::cluster" | "mbarrier::complete_tx::bytes")
        };
        let words: Vec<&str> = words.iter().filter(plain).copied().collect();
        let (kind, reduce) = match (reduces, words.as_slice()) {
            (false, [kind] | ["v2" | "v4", kind]) => (*kind, None),
            (true, [operation, kind]) => (*kind, Some(reduce(operation, kind)?)),
            _ => return unsupported(UNKNOWN),
        };
        let (Some(bytes @ (4 | 8)), [to, value, mbarrier]) = (crate::syntax::type_bytes(kind), operands) else {
            return unsupported(UNKNOWN);
        };
        let body = self.body;
        let elements = match value {
            Operand::Vector(span) => body.get(span),
            one => std::slice::from_ref(one),
        };
        let file = if bytes == 8 { File::Long } else { File::Word };
        let values = elements.iter().map(|e| Ok(self.source(e, file)?.0)).collect::<Result<Vec<Slot>, Reject>>()?;
        let (to, mbarrier) = (self.address(to)?.0, self.address(mbarrier)?.0);
        Ok(Async::Remote { to, values, wide: bytes == 8, mbarrier, reduce }.into())
    }
}

/// Returns the operands without the cache policy, which comes last and affects only where data is cached.
fn without_policy<'o, 't>(hints: &[&str], operands: &'o [Operand<'t>]) -> &'o [Operand<'t>] {
    match operands.split_last() {
        Some((_, rest)) if hints.contains(&"L2::cache_hint") => rest,
        _ => operands,
    }
}

fn reduce(operation: &str, kind: &str) -> Result<Reduce, Reject> {
    let combine = AtomicOperation::named(operation).and_then(|operation| combine(operation, kind));
    match (combine, crate::syntax::type_bytes(kind)) {
        (Some(combine), Some(bytes @ (2 | 4 | 8))) => Ok(Reduce { bytes: bytes as u8, combine }),
        _ => unsupported("this reduction is not supported"),
    }
}
