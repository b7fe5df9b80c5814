//! `cp.async`, bulk copies, mbarriers, `mapa`, cluster barriers.

use super::function::Decoder;
use super::{Reject, unsupported};
use crate::isa::File;
use crate::isa::memory::{combine, space};
use crate::program::{Async, Group, Mbarrier, Op, Reduce, Scope, Space};
use crate::registers::{NO_SLOT, Slot};
use crate::syntax::tree::Operand;

const UNKNOWN: &str = "this asynchronous instruction is not known";

impl<'t> Decoder<'_, 't> {
    pub fn asynchronous(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let words: Vec<&str> = opcode.split('.').collect();
        let decoded = match words.as_slice() {
            // Prefetches change nothing that a program computes.
            ["cp", "async", "bulk", "prefetch", "L2", ..] => return Ok(Op::Nothing),
            ["cp", "async", "bulk", "commit_group"] => Async::Commit(Group::Bulk),
            ["cp", "async", "bulk", "wait_group"] | ["cp", "async", "bulk", "wait_group", "read"] => {
                Async::Wait { group: Group::Bulk, pending: pending(operands)?, all: false }
            }
            ["cp", "async", "bulk", "tensor", ..] => return unsupported("tensor maps are not simulated yet"),
            ["cp", "async", "bulk", rest @ ..] => self.bulk(rest, operands)?,
            ["cp", "reduce", "async", "bulk", "tensor", ..] => return unsupported("tensor maps are not simulated yet"),
            ["cp", "reduce", "async", "bulk", rest @ ..] => self.bulk(rest, operands)?,
            ["cp", "async", "commit_group"] => Async::Commit(Group::Copy),
            ["cp", "async", "wait_group"] => {
                Async::Wait { group: Group::Copy, pending: pending(operands)?, all: false }
            }
            ["cp", "async", "wait_all"] => Async::Wait { group: Group::Copy, pending: 0, all: true },
            ["cp", "async", "mbarrier", "arrive", rest @ ..] => {
                let [address] = operands else { return unsupported("needs the address of an mbarrier") };
                let increments = !rest.contains(&"noinc");
                Async::ArriveAfterCopies { mbarrier: (shared_or_generic(rest), self.address(address)?.0), increments }
            }
            ["cp", "async", cache @ ("ca" | "cg"), rest @ ..] => self.copy(*cache == "ca", rest, operands)?,
            ["mbarrier", "pending_count", ..] => match operands {
                [d, state] => {
                    let state = self.source(state, File::Long)?.0;
                    Async::PendingCount(self.destination(d, File::Word)?, state)
                }
                _ => return unsupported("needs a destination and a state"),
            },
            ["mbarrier", rest @ ..] => self.mbarrier(rest, operands)?,
            ["mapa", rest @ ..] => self.mapa(rest, operands)?,
            ["getctarank", rest @ ..] => self.rank(rest, operands)?,
            ["barrier", "cluster", rest @ ..] => {
                let aligned = rest.contains(&"aligned");
                match rest.first() {
                    Some(&"arrive") => Async::ClusterArrive { aligned, ordered: !rest.contains(&"relaxed") },
                    Some(&"wait") => Async::ClusterWait { aligned },
                    _ => return unsupported("this cluster barrier is not known"),
                }
            }
            ["st" | "red", "async", rest @ ..] => self.remote(words[0] == "red", rest, operands)?,
            _ => return unsupported(UNKNOWN),
        };
        Ok(Op::Async(Box::new(decoded)))
    }

    /// `[dst], [src], size{, src-size | ignore-src}{, cache-policy}`.
    fn copy(&mut self, cached: bool, words: &[&str], operands: &[Operand<'t>]) -> Result<Async, Reject> {
        let ["shared" | "shared::cta", "global", hints @ ..] = words else { return unsupported(UNKNOWN) };
        let operands = without_policy(hints, operands);
        let ([to, from, Operand::Integer(bytes)], rest) = operands.split_at(operands.len().min(3)) else {
            return unsupported("needs two addresses and a constant size");
        };
        let bytes = match *bytes {
            bytes @ (4 | 8 | 16) => bytes as u32,
            bytes => return unsupported(format!("copies {bytes} bytes: 4, 8 or 16 are possible")),
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
        Ok(Async::Copy { to, from, bytes, cached, source_bytes, ignore })
    }

    /// `[dst], [src], size, [mbar]{, mask}{, policy}` or `[dst], [src], size{, policy}`.
    fn bulk(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Async, Reject> {
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
                let mask = match self.register_bits(mask) {
                    16 => self.source(mask, File::Half)?.0,
                    _ => self.source(mask, File::Word)?.0,
                };
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
        Ok(Async::Bulk { to, from, bytes, mbarrier, multicast, reduce })
    }

    /// `[a], b, [mbar]`.
    fn remote(&mut self, reduces: bool, words: &[&str], operands: &[Operand<'t>]) -> Result<Async, Reject> {
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
        Ok(Async::Remote { to, values, wide: bytes == 8, mbarrier, reduce })
    }

    fn mbarrier(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Async, Reject> {
        let unknown = || unsupported("this mbarrier instruction is not known");
        let modifiers =
            ["b64", "shared", "shared::cta", "shared::cluster", "release", "acquire", "relaxed", "cta", "cluster"];
        let what: Vec<&str> = words.iter().filter(|word| !modifiers.contains(word)).copied().collect();
        let word = |this: &mut Self, operand: &Operand<'t>| Ok::<_, Reject>(this.source(operand, File::Word)?.0);
        let (kind, address) = match (what.as_slice(), operands) {
            (["init"], [address, count]) => (Mbarrier::Init(word(self, count)?), address),
            (["inval"], [address]) => (Mbarrier::Invalidate, address),
            (["expect_tx"], [address, bytes]) => (Mbarrier::ExpectBytes(word(self, bytes)?), address),
            (["complete_tx"], [address, bytes]) => (Mbarrier::CompleteBytes(word(self, bytes)?), address),
            ([arrive @ ("arrive" | "arrive_drop"), more @ ..], rest) => {
                let (state, rest) = match rest {
                    [address @ Operand::Address(..), ..] => (NO_SLOT, (address, &rest[1..])),
                    [state, address, ..] => (self.destination(state, File::Long)?, (address, &rest[2..])),
                    _ => return unknown(),
                };
                let (address, rest) = rest;
                let operand = match rest {
                    [] => None,
                    [operand] => Some(word(self, operand)?),
                    _ => return unknown(),
                };
                let (count, bytes) = match more {
                    ["expect_tx"] => (None, operand),
                    [] | ["noComplete"] => (operand, None),
                    _ => return unknown(),
                };
                let (drop, no_complete) = (*arrive == "arrive_drop", more == ["noComplete"]);
                (Mbarrier::Arrive { state, count, bytes, drop, no_complete }, address)
            }
            (["test_wait" | "try_wait", parity @ ..], [destination, address, phase, hint @ ..]) if hint.len() <= 1 => {
                let parity = match parity {
                    [] => false,
                    ["parity"] => true,
                    _ => return unknown(),
                };
                let phase = self.source(phase, if parity { File::Word } else { File::Long })?.0;
                (Mbarrier::Test { destination: self.destination(destination, File::Pred)?, phase, parity }, address)
            }
            _ => return unknown(),
        };
        let address = (shared_or_generic(words), self.address(address)?.0);
        let scope = if words.contains(&"cluster") { Scope::Cluster } else { Scope::Cta };
        let scope = Some(scope).filter(|_| !words.contains(&"relaxed"));
        Ok(Async::Mbarrier { kind, address, scope })
    }

    /// `mapa{.shared::cluster}.{u32,u64} d, a, rank`.
    fn mapa(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Async, Reject> {
        let (generic, wide, file) = addressing(words)?;
        let [d, a, rank] = operands else { return unsupported("needs a destination, an address and a rank") };
        let (source, rank) = (self.source(a, file)?.0, self.source(rank, File::Word)?.0);
        Ok(Async::Mapa { destination: self.destination(d, file)?, source, rank, wide, generic })
    }

    /// `getctarank{.shared::cluster}.{u32,u64} d, a`.
    fn rank(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Async, Reject> {
        let (generic, wide, file) = addressing(words)?;
        let [d, a] = operands else { return unsupported("needs a destination and an address") };
        let source = self.source(a, file)?.0;
        Ok(Async::Rank { destination: self.destination(d, File::Word)?, source, wide, generic })
    }
}

fn pending(operands: &[Operand<'_>]) -> Result<u32, Reject> {
    match operands {
        [Operand::Integer(groups)] => Ok(u32::try_from(*groups).unwrap_or(u32::MAX)),
        _ => unsupported("needs a constant number of groups"),
    }
}

/// A cache policy comes last and tells nothing but where data is cached.
fn without_policy<'o, 't>(hints: &[&str], operands: &'o [Operand<'t>]) -> &'o [Operand<'t>] {
    match operands.split_last() {
        Some((_, rest)) if hints.contains(&"L2::cache_hint") => rest,
        _ => operands,
    }
}

fn shared_or_generic(words: &[&str]) -> Space {
    let shared = words.iter().any(|word| word.starts_with("shared"));
    if shared { Space::Shared } else { Space::Generic }
}

fn addressing(words: &[&str]) -> Result<(bool, bool, File), Reject> {
    let generic = !words.contains(&"shared::cluster");
    match words.last() {
        Some(&"u32") => Ok((generic, false, File::Word)),
        Some(&"u64") => Ok((generic, true, File::Long)),
        _ => unsupported("addresses have type u32 or u64"),
    }
}

fn reduce(operation: &str, kind: &str) -> Result<Reduce, Reject> {
    match (combine(operation, kind), crate::syntax::type_bytes(kind)) {
        (Some(combine), Some(bytes @ (2 | 4 | 8))) => Ok(Reduce { bytes: bytes as u8, combine }),
        _ => unsupported("this reduction is not known"),
    }
}
