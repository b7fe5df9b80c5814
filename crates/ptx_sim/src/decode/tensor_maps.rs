//! Instructions on tensor maps in memory, `tensormap.replace` and `tensormap.cp_fenceproxy`, and fences of their proxy.

use super::decoder::{Decoder, Effect};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::isa::memory::{Space, space};
use crate::program::{Async, Op};
use crate::syntax::tree::Operand;
use crate::tensor::Field;

const UNKNOWN: &str = "this instruction on tensor maps is not supported";

/// Facts of an instruction that changes a map; the bytes of a map are the simulator's own.
const CHANGED: Facts = facts(Undefined::Any, Work::None, Latency::Memory, Fidelity::Exact);
/// Facts of a fence.
const CHEAP: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);

/// Rows of this chapter.
pub const ROWS: &[Effect] = &[
    Effect { name: "tensormap.replace", facts: CHANGED, decode: |d, words, operands| d.replace_field(words, operands) },
    Effect {
        name: "tensormap.cp_fenceproxy",
        facts: CHANGED,
        decode: |d, words, operands| d.copy_map(words, operands),
    },
    Effect {
        name: "fence.proxy.tensormap::generic",
        facts: CHEAP,
        decode: |d, words, operands| d.fence_of_maps(words, operands),
    },
];

/// How the text gives the value of a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// `new_val`.
    One,
    /// `ord, new_val`, the first a constant.
    OfDimension,
    /// `new_val`, a constant below this.
    Constant(u64),
}

/// Returns the field of a word; `None` for the field in words that the simulator's maps do not have.
fn field(word: &str) -> Option<(Option<Field>, Value)> {
    Some(match word {
        "global_address" => (Some(Field::Address), Value::One),
        "rank" => (Some(Field::Rank), Value::One),
        "box_dim" => (Some(Field::Block), Value::OfDimension),
        "global_dim" => (Some(Field::Size), Value::OfDimension),
        "global_stride" => (Some(Field::Stride), Value::OfDimension),
        "element_stride" => (Some(Field::Step), Value::OfDimension),
        "elemtype" => (Some(Field::Element), Value::Constant(16)),
        "interleave_layout" => (None, Value::Constant(3)),
        "swizzle_mode" => (Some(Field::Swizzle), Value::Constant(4)),
        "swizzle_atomicity" => (None, Value::Constant(4)),
        "fill_mode" => (Some(Field::Fill), Value::Constant(2)),
        _ => return None,
    })
}

impl<'t> Decoder<'_, 't> {
    /// `tensormap.replace.tile.FIELD{.global|.shared::cta}.b1024.{b32|b64} [map]{, ord}, value`.
    fn replace_field(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let (mut tile, mut whole, mut bits, mut place, mut found) = (false, false, 0, None, None);
        for &word in words {
            match word {
                "tile" if !tile => tile = true,
                "b1024" if !whole => whole = true,
                "b32" if bits == 0 => bits = 32,
                "b64" if bits == 0 => bits = 64,
                "global" | "shared::cta" if place.is_none() => place = space(word),
                _ if found.is_none() => found = field(word),
                _ => return unsupported(UNKNOWN),
            }
        }
        let Some((field, value)) = found.filter(|_| tile && whole) else { return unsupported(UNKNOWN) };
        let wide = matches!(field, Some(Field::Address | Field::Stride));
        if bits != if wide { 64 } else { 32 } {
            return unsupported("has the wrong type for this field");
        }
        let (map, ordinal, new) = match (operands, value) {
            ([map, Operand::Integer(ordinal @ 0..=4), new], Value::OfDimension) => (map, *ordinal as u8, new),
            ([map, new], Value::One) => (map, 0, new),
            ([map, new @ Operand::Integer(number)], Value::Constant(end)) if *number < end => (map, 0, new),
            _ => return unsupported("has the wrong operands for this field"),
        };
        let file = if wide { File::Long } else { File::Word };
        if value != Value::One && value != Value::OfDimension {
            match (field, new) {
                (None, Operand::Integer(0)) => {}
                (None, _) => {
                    return unsupported("only maps without interleaving, with chunks of 16 bytes, are simulated");
                }
                (Some(Field::Element), Operand::Integer(13..)) => {
                    return unsupported("tensors of elements of 4 and 6 bits are not simulated");
                }
                _ => {}
            }
        }
        let map = (place.unwrap_or(Space::Generic), self.address(map)?.0);
        let value = self.source(new, file)?.0;
        Ok(match field {
            Some(field) => Async::ReplaceField { map, field, ordinal, value, wide }.into(),
            None => Op::Nothing,
        })
    }

    /// `tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [to], [from], 128`.
    fn copy_map(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let ["global", "shared::cta", "tensormap::generic", "release", scope, "sync", "aligned"] = words else {
            return unsupported(UNKNOWN);
        };
        let [to, from, Operand::Integer(128)] = operands else { return unsupported("has the wrong operands") };
        if !is_scope(scope) {
            return unsupported(UNKNOWN);
        }
        Ok(Async::CopyMap { to: self.address(to)?.0, from: self.address(from)?.0 }.into())
    }

    /// Decodes a fence between ordinary accesses and those to tensor maps. A copy reads its map when it is issued, so a
    /// release has nothing to do.
    fn fence_of_maps(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        match (words, operands) {
            (["release", scope], []) if is_scope(scope) => Ok(Op::Nothing),
            (["acquire", scope], [map, Operand::Integer(128)]) if is_scope(scope) => {
                Ok(Async::AcquireMap(self.address(map)?.0).into())
            }
            _ => unsupported("this fence is not supported"),
        }
    }
}

fn is_scope(word: &str) -> bool {
    matches!(word, "cta" | "cluster" | "gpu" | "sys")
}
