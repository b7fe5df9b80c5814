//! Instructions of a warpgroup: `wgmma`.

use super::decoder::{Decoder, Effect};
use super::matrix::{PRODUCT, exact_product};
use super::product::{dimensions, element, registers, sum};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::isa::matrix::{Element, Form, Multiply, Sum};
use crate::program::{Factor, Op, Product, Warpgroup};
use crate::syntax::tree::Operand;

const GROUPED: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);

/// Rows of this chapter.
pub const ROWS: &[Effect] = &[
    Effect {
        name: "wgmma.fence.sync.aligned",
        facts: GROUPED,
        decode: |d, words, operands| d.grouped(Warpgroup::Fence, words, operands),
    },
    Effect {
        name: "wgmma.commit_group.sync.aligned",
        facts: GROUPED,
        decode: |d, words, operands| d.grouped(Warpgroup::Commit, words, operands),
    },
    Effect {
        name: "wgmma.wait_group.sync.aligned",
        facts: GROUPED,
        decode: |d, words, operands| match operands {
            [Operand::Integer(pending @ 0..=7)] => d.grouped(Warpgroup::Wait { pending: *pending as u32 }, words, &[]),
            _ => unsupported("needs a constant number of groups from 0 to 7"),
        },
    },
    Effect {
        name: "wgmma.mma_async.sync.aligned",
        facts: PRODUCT,
        decode: |d, words, operands| d.group_product(words, operands),
    },
];

/// The name of the only targets with these instructions.
const TARGET: &str = "sm_90a";
const UNKNOWN: &str = "this form of `wgmma` is not supported";

impl<'t> Decoder<'_, 't> {
    fn grouped(&mut self, op: Warpgroup, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        self.needs_hopper()?;
        if words.is_empty() && operands.is_empty() { Ok(Op::Warpgroup(op)) } else { unsupported(UNKNOWN) }
    }

    /// Rejects instructions that only exist on Hopper.
    ///
    /// # Errors
    /// [`Reject`] if the module's target is another one.
    pub fn needs_hopper(&self) -> Result<(), Reject> {
        match self.context.program.target.as_str() {
            TARGET => Ok(()),
            target => unsupported(format!("needs `.target {TARGET}`, but the module's target is {target}")),
        }
    }

    /// Decodes `m64n256k16.f32.bf16.bf16 d, a, b, adds, negate-a, negate-b, transpose-a, transpose-b`.
    fn group_product(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        self.needs_hopper()?;
        let saturate = words.contains(&"satfinite");
        let plain: Vec<&str> = words.iter().copied().filter(|word| *word != "satfinite").collect();
        let &[shape, d, a, b] = plain.as_slice() else { return unsupported(UNKNOWN) };
        let (Some((64, n, k)), Some(d), Some(a), Some(b)) = (dimensions(shape), sum(d), element(a), element(b)) else {
            return unsupported(UNKNOWN);
        };
        let multiply = Multiply { m: 16, n, k, a, b, c: d, d, saturate, and: false, wmma: None, sparse: None };
        if !known(&multiply) {
            return unsupported(UNKNOWN);
        }
        let [to, first, second, adds, immediates @ ..] = operands else { return unsupported("has too few operands") };
        let in_registers = matches!(first, Operand::Vector(_));
        let immediates = immediates.iter().map(immediate).collect::<Result<Vec<i64>, _>>()?;
        let halves = matches!(a, Element::F16 | Element::Bf16);
        let (signs, orders) = match (a, immediates.as_slice()) {
            (Element::S8 | Element::U8, []) => (&[][..], &[][..]),
            (Element::S8 | Element::U8, _) => return unsupported(UNKNOWN),
            (_, [signs @ .., _, _]) if halves && !in_registers && signs.len() == 2 => (signs, &immediates[2..]),
            (_, [signs @ .., _]) if halves && in_registers && signs.len() == 2 => (signs, &immediates[2..]),
            (_, signs) if !halves && signs.len() == 2 => (signs, &[][..]),
            _ => return unsupported("has the wrong number of operands"),
        };
        if !signs.iter().all(|sign| matches!(sign, 1 | -1)) || !orders.iter().all(|order| matches!(order, 0 | 1)) {
            return unsupported("needs 1 or -1 as scales, and 0 or 1 for transposition");
        }
        let form = |order: Option<&i64>| if order == Some(&1) { Form::Mn } else { Form::K };
        let forms =
            if in_registers { [Form::K, form(orders.first())] } else { [form(orders.first()), form(orders.get(1))] };
        let slots = self.destinations(to, File::Word, registers(16 * n, d.bits()))?;
        let a_factor = match first {
            Operand::Vector(_) => Factor::Registers(self.sources(first, File::Word, registers(16 * k, a.bits()))?),
            one => Factor::Shared(self.source(one, File::Long)?.0),
        };
        let (b_slot, adds) = (self.source(second, File::Long)?.0, self.source(adds, File::Pred)?);
        if !a.is_narrow_float() {
            self.described.facts = exact_product();
        }
        let negated = [signs.first() == Some(&-1), signs.get(1) == Some(&-1)];
        let product = Product { shape: multiply, d: slots, a: a_factor, b: b_slot, adds, negated, forms };
        Ok(Op::Warpgroup(Warpgroup::Multiply(Box::new(product))))
    }
}

fn immediate(operand: &Operand<'_>) -> Result<i64, Reject> {
    match operand {
        Operand::Integer(value) => Ok(*value as i64),
        _ => unsupported("needs constants as scales and orders"),
    }
}

/// Whether ptxas takes this shape with these types.
fn known(shape: &Multiply) -> bool {
    let Multiply { n, k, a, b, d, saturate, .. } = *shape;
    let types = match (a, b) {
        (Element::F16, Element::F16) => k == 16 && matches!(d, Sum::F16 | Sum::F32),
        (Element::Bf16, Element::Bf16) => k == 16 && d == Sum::F32,
        (Element::Tf32, Element::Tf32) => k == 8 && d == Sum::F32,
        (Element::E4m3 | Element::E5m2, Element::E4m3 | Element::E5m2) => k == 32 && matches!(d, Sum::F16 | Sum::F32),
        (Element::S8 | Element::U8, Element::S8 | Element::U8) => k == 32 && d == Sum::S32,
        _ => false,
    };
    let columns = match d {
        // Of integers, only these: PTX ISA, "Matrix Shape".
        Sum::S32 => n == 8 || n == 24 || n.is_multiple_of(16),
        _ => n.is_multiple_of(8),
    };
    types && columns && (8..=256).contains(&n) && (!saturate || d == Sum::S32)
}
