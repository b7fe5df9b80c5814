//! Instructions for cooperation between blocks of a cluster: mbarriers, addresses in other blocks, cluster barriers.

use super::decoder::{Decoder, Effect};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::program::{Async, Mbarrier, Op, Scope, Space};
use crate::registers::NO_SLOT;
use crate::syntax::tree::Operand;

/// Facts of an operation on an mbarrier, which is an object in shared memory.
const OBJECT: Facts = facts(Undefined::Any, Work::None, Latency::Memory, Fidelity::Exact);
const CHEAP: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);

/// Rows of this chapter.
pub const ROWS: &[Effect] = &[
    Effect { name: "mbarrier", facts: OBJECT, decode: |d, words, operands| d.mbarrier(words, operands) },
    Effect { name: "mbarrier.pending_count", facts: CHEAP, decode: |d, _, operands| d.pending_count(operands) },
    Effect { name: "mapa", facts: CHEAP, decode: |d, words, operands| d.mapa(words, operands) },
    Effect { name: "getctarank", facts: CHEAP, decode: |d, words, operands| d.rank(words, operands) },
    Effect {
        name: "barrier.cluster.arrive",
        facts: CHEAP,
        decode: |_, words, _| {
            Ok(Async::ClusterArrive { aligned: words.contains(&"aligned"), ordered: !words.contains(&"relaxed") }
                .into())
        },
    },
    Effect {
        name: "barrier.cluster.wait",
        facts: CHEAP,
        decode: |_, words, _| Ok(Async::ClusterWait { aligned: words.contains(&"aligned") }.into()),
    },
];

impl<'t> Decoder<'_, 't> {
    fn pending_count(&mut self, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [d, state] = operands else { return unsupported("needs a destination and a state") };
        let state = self.source(state, File::Long)?.0;
        Ok(Async::PendingCount(self.destination(d, File::Word)?, state).into())
    }

    fn mbarrier(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let unknown = || unsupported("this mbarrier instruction is not supported");
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
        Ok(Async::Mbarrier { kind, address, scope }.into())
    }

    /// Decodes `mapa{.shared::cluster}.{u32,u64} d, a, rank`.
    fn mapa(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let (generic, wide, file) = addressing(words)?;
        let [d, a, rank] = operands else { return unsupported("needs a destination, an address and a rank") };
        let (source, rank) = (self.source(a, file)?.0, self.source(rank, File::Word)?.0);
        Ok(Async::Mapa { destination: self.destination(d, file)?, source, rank, wide, generic }.into())
    }

    /// Decodes `getctarank{.shared::cluster}.{u32,u64} d, a`.
    fn rank(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let (generic, wide, file) = addressing(words)?;
        let [d, a] = operands else { return unsupported("needs a destination and an address") };
        let source = self.source(a, file)?.0;
        Ok(Async::Rank { destination: self.destination(d, File::Word)?, source, wide, generic }.into())
    }
}

/// Returns the state space of an mbarrier's address.
pub fn shared_or_generic(words: &[&str]) -> Space {
    let shared = words.iter().any(|word| word.starts_with("shared"));
    if shared { Space::Shared } else { Space::Generic }
}

fn addressing(words: &[&str]) -> Result<(bool, bool, File), Reject> {
    let generic = !words.contains(&"shared::cluster");
    match (words.contains(&"u32"), words.contains(&"u64")) {
        (true, false) => Ok((generic, false, File::Word)),
        (false, true) => Ok((generic, true, File::Long)),
        _ => unsupported("addresses have type u32 or u64"),
    }
}
