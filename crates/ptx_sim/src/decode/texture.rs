//! Textures and surfaces by handles in 64-bit registers: `tex`, `tld4`, `txq`, `suld`, `sust`, `suq`.

use super::decoder::{Decoder, Effect};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::program::{Op, Outside, Query, Texture, TextureKind};
use crate::registers::Slot;
use crate::syntax::tree::{Name, Operand};

const FETCH: Facts = facts(Undefined::Any, Work::None, Latency::Memory, Fidelity::Exact);
const QUERY: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);
const FILTERED: Facts = facts(
    Undefined::Any,
    Work::None,
    Latency::Memory,
    Fidelity::Approximate("filtering: weights with 8 fractional bits, as CUDA documents; sums rounded once"),
);

/// Rows of this chapter. A fetch by integer coordinates takes the facts of one without a filter instead.
pub const ROWS: &[Effect] = &[
    Effect { name: "tex", facts: FILTERED, decode: |d, words, operands| d.sample(words, operands) },
    Effect { name: "tex.base", facts: FILTERED, decode: |d, words, operands| d.sample(words, operands) },
    Effect { name: "tex.level", facts: FILTERED, decode: |d, words, operands| d.sample(words, operands) },
    Effect { name: "tld4", facts: FETCH, decode: |d, words, operands| d.gather(words, operands) },
    Effect { name: "txq", facts: QUERY, decode: |d, words, operands| d.query(words, operands) },
    Effect { name: "suq", facts: QUERY, decode: |d, words, operands| d.query(words, operands) },
    Effect { name: "suld.b", facts: FETCH, decode: |d, words, operands| d.surface(words, operands, true) },
    Effect { name: "sust.b", facts: FETCH, decode: |d, words, operands| d.surface(words, operands, false) },
];

impl<'t> Decoder<'_, 't> {
    /// Decodes `tex{.level}.2d.v4.f32.f32 d, [handle, {x, y}] {, lod}`.
    fn sample(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [geometry, "v4", result, coordinates] = words else {
            return unsupported("this form of `tex` is not supported");
        };
        let (Some((dimensions, layered)), Some(floats), Some(float_coordinates)) =
            (geometry_of(geometry), result_type(result), result_type(coordinates))
        else {
            return unsupported("this form of `tex` is not supported");
        };
        // There is only one level of detail.
        let ([data, place] | [data, place, _]) = operands else { return unsupported("has the wrong operands") };
        let kind = TextureKind::Sample { integers: !float_coordinates, floats };
        if !float_coordinates {
            self.described.facts = &FETCH;
        }
        let file = if float_coordinates { File::Single } else { File::Word };
        let mut texture = self.place(kind, place, dimensions, layered, file)?;
        texture.data = self.four(data)?;
        Ok(texture.into())
    }

    /// Decodes `tld4.r.2d.v4.f32.f32 d, [handle, {x, y}]`.
    fn gather(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let ([channel, "2d", "v4", result, "f32"], [data, place]) = (words, operands) else {
            return unsupported("this form of `tld4` is not supported");
        };
        let (Some(channel), Some(floats)) =
            (["r", "g", "b", "a"].iter().position(|name| name == channel), result_type(result))
        else {
            return unsupported("this form of `tld4` is not supported");
        };
        let mut texture = self.place(TextureKind::Gather { channel, floats }, place, 2, false, File::Single)?;
        texture.data = self.four(data)?;
        Ok(texture.into())
    }

    fn query(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [what, "b32"] = *words else { return unsupported("this query is not supported") };
        let query = match what {
            "width" => Query::Width,
            "height" => Query::Height,
            "depth" => Query::Depth,
            "channel_data_type" => Query::ChannelDataType,
            "channel_order" => Query::ChannelOrder,
            "normalized_coords" => Query::NormalizedCoords,
            "array_size" => Query::ArraySize,
            "num_mipmap_levels" => Query::MipmapLevels,
            "num_samples" => Query::Samples,
            _ => return unsupported("this query is not supported"),
        };
        let [d, Operand::Address(Some(handle), 0)] = operands else { return unsupported("has the wrong operands") };
        let handle = self.handle(handle)?;
        let data = vec![self.destination(d, File::Word)?];
        Ok(Texture { kind: TextureKind::Query(query), handle, data, wide: false, coordinates: Vec::new(), layer: None }
            .into())
    }

    /// Decodes `suld.b.2d.v4.b32.trap d, [handle, {x, y}]` and `sust.b … [handle, {x, y}], d`.
    fn surface(&mut self, words: &[&str], operands: &[Operand<'t>], load: bool) -> Result<Op, Reject> {
        let (mut geometry, mut count, mut bytes, mut outside) = (None, 1, None, Outside::Trap);
        for &word in words {
            match word {
                "v2" => count = 2,
                "v4" => count = 4,
                "b8" | "b16" | "b32" | "b64" => bytes = crate::syntax::type_bytes(word),
                "trap" => outside = Outside::Trap,
                "clamp" => outside = Outside::Clamp,
                "zero" => outside = Outside::Zero,
                "ca" | "cg" | "cs" | "cv" | "wb" | "wt" => {}
                _ => geometry = geometry_of(word),
            }
        }
        let (Some((dimensions, layered)), Some(bytes)) = (geometry, bytes) else {
            return unsupported("this form of a surface instruction is not supported");
        };
        let (data, place) = match (operands, load) {
            ([data, place], true) | ([place, data], false) => (data, place),
            _ => return unsupported("has the wrong operands"),
        };
        let bytes = bytes as u8;
        let kind = match load {
            true => TextureKind::Load { bytes, outside },
            false => TextureKind::Store { bytes, outside },
        };
        let mut texture = self.place(kind, place, dimensions, layered, File::Word)?;
        let file = match bytes {
            8 => File::Long,
            4 => File::Word,
            _ => File::Half,
        };
        let elements = match data {
            Operand::Vector(span) => self.body.get(span),
            one => std::slice::from_ref(one),
        };
        if elements.len() != count {
            return unsupported(format!("has {} registers, but takes {count}", elements.len()));
        }
        for element in elements {
            let slot = if load { self.destination(element, file)? } else { self.source(element, file)?.0 };
            texture.data.push(slot);
        }
        texture.wide = bytes == 8;
        Ok(texture.into())
    }

    /// Decodes `[handle, {layer, x, y}]`; for three dimensions, and two with layers, a fourth coordinate is ignored.
    fn place(
        &mut self,
        kind: TextureKind,
        operand: &Operand<'t>,
        dimensions: usize,
        layered: bool,
        file: File,
    ) -> Result<Texture, Reject> {
        let Operand::Indexed(handle, span) = operand else {
            return unsupported("needs a handle and coordinates, `[handle, {x, y}]`");
        };
        let handle = self.handle(handle)?;
        let mut elements = self.body.get(span).iter();
        let layer = match (layered, elements.as_slice().first()) {
            (true, Some(layer)) => {
                elements.next();
                Some(self.source(layer, File::Word)?.0)
            }
            _ => None,
        };
        let mut coordinates: Vec<Slot> = Vec::new();
        for element in elements.take(dimensions) {
            coordinates.push(self.source(element, file)?.0);
        }
        if coordinates.len() != dimensions {
            return unsupported(format!("has {} coordinates, but takes {dimensions}", coordinates.len()));
        }
        Ok(Texture { kind, handle, data: Vec::new(), wide: false, coordinates, layer })
    }

    fn handle(&mut self, name: &'t str) -> Result<Slot, Reject> {
        let name = Operand::Name(Name { text: name, negated: false, offset: 0 });
        match self.register_bits(&name) {
            64 => Ok(self.source(&name, File::Long)?.0),
            _ => unsupported("needs a handle in a register of 64 bits"),
        }
    }

    fn four(&mut self, operand: &Operand<'t>) -> Result<Vec<Slot>, Reject> {
        match operand {
            Operand::Vector(span) if self.body.get(span).len() == 4 => {
                self.body.get(span).iter().map(|element| self.destination(element, File::Word)).collect()
            }
            _ => unsupported("needs four destinations"),
        }
    }
}

/// Returns the number of dimensions, and whether there are layers.
fn geometry_of(word: &str) -> Option<(usize, bool)> {
    Some(match word {
        "1d" => (1, false),
        "2d" => (2, false),
        "3d" => (3, false),
        "a1d" => (1, true),
        "a2d" => (2, true),
        _ => return None,
    })
}

/// Whether a type is `f32`; `None` when it is not a type of 32 bits.
fn result_type(word: &str) -> Option<bool> {
    match word {
        "f32" => Some(true),
        "s32" | "u32" => Some(false),
        _ => None,
    }
}
