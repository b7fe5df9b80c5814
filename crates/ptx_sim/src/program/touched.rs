//! Accesses to the registers of asynchronous products by other instructions, which have to wait for the products.

use super::{Function, Inst, Op, Warpgroup, operands};
use crate::isa::File;
use crate::registers::{NO_SLOT, Slot};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the accesses of each instruction to registers of asynchronous products.
pub fn touched(function: &Function) -> Vec<Box<[(Slot, bool)]>> {
    let mut watched = BTreeSet::new();
    for inst in &function.code {
        if let Op::Warpgroup(Warpgroup::Multiply(product)) = &inst.op {
            watched.extend(product.d.iter().chain(product.fragments()).filter(|slot| **slot != NO_SLOT));
        }
    }
    if watched.is_empty() {
        return Vec::new();
    }
    let rows = function.rows;
    let numbers: BTreeMap<u32, Slot> = watched.iter().map(|&slot| (rows.number(File::Word, slot), slot)).collect();
    let accesses = |(pc, inst): (usize, &Inst)| {
        if matches!(inst.op, Op::Warpgroup(_)) {
            return Box::default();
        }
        let found = operands(&inst.op, function.meaning(pc as u32));
        let reads = found.decides.iter().chain(&found.sends).map(|operand| (operand, false));
        let writes = found.defines.iter().chain(&found.receives).map(|operand| (operand, true));
        reads
            .chain(writes)
            .filter(|((_, slot), _)| *slot != NO_SLOT)
            .filter_map(|((file, slot), written)| Some((*numbers.get(&rows.number(*file, *slot))?, written)))
            .collect()
    };
    function.code.iter().enumerate().map(accesses).collect()
}
