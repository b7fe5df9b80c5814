//! Instructions of `isa`'s table: operands are bound to the files that a row names.

use super::decoder::Decoder;
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::collective::Collective;
use crate::isa::table::Row;
use crate::program::Op;
use crate::registers::{Args, NO_SLOT, Slot};
use crate::syntax::tree::Operand;

impl<'t> Decoder<'_, 't> {
    /// Decodes an instruction of the table: destinations, then sources, then the mask of a collective instruction.
    ///
    /// # Errors
    /// [`Reject`] if the operands do not fit the row.
    pub fn row(&mut self, row: &'static Row, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let op = match row.collective {
            None => Op::Pure(row.meaning.run, self.args(row, operands)?),
            Some(kind) => self.collective(row, kind, operands)?,
        };
        self.describe(row);
        Ok(op)
    }

    /// Takes the facts and the meaning of the current instruction from a row.
    pub fn describe(&mut self, row: &'static Row) {
        self.described.facts = &row.facts;
        self.described.meaning = Some(&row.meaning);
    }

    fn collective(&mut self, row: &Row, kind: Collective, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let Some((mask, operands)) = operands.split_last() else { return unsupported("has no member mask") };
        let mask = self.source(mask, File::Word)?.0;
        let args = match (kind, operands) {
            (Collective::Sync, []) => Args::default(),
            (Collective::Sync, _) => return unsupported("takes only a mask"),
            (_, operands) => self.args(row, operands)?,
        };
        Ok(Op::Collective { kind, mask, run: row.meaning.run, args })
    }

    /// Binds operands to the files that a row names.
    ///
    /// # Errors
    /// [`Reject`] if the number or the widths of the operands do not fit the row.
    fn args(&mut self, row: &Row, operands: &[Operand<'t>]) -> Result<Args, Reject> {
        let (d, s) = (row.meaning.d, row.meaning.s);
        let named_d = &d[..d.len() - usize::from(row.carry_out)];
        let named_s = &s[..s.len() - usize::from(row.carry_in)];
        let Some((first, rest)) = operands.split_first() else { return unsupported("has no operands") };
        let mut args = Args { d: [NO_SLOT; 4], immediate: row.immediate, ..Args::default() };
        match first {
            Operand::Pair(a, b) if named_d.len() == 2 => {
                args.d[0] = self.destination_name(a, named_d[0])?;
                args.d[1] = self.destination_name(b, named_d[1])?;
            }
            _ if named_d.len() <= 1 + usize::from(row.optional) => {
                args.d[0] = self.destination(first, named_d.first().copied().unwrap_or(File::Word))?;
            }
            _ => return unsupported("needs two destinations, written `d|p`"),
        }
        if rest.len() != named_s.len() {
            return unsupported(format!("has {} sources, but takes {}", rest.len(), named_s.len()));
        }
        for (i, (operand, &file)) in rest.iter().zip(named_s).enumerate() {
            let (slot, negated) = self.source(operand, file)?;
            args.s[i] = slot;
            args.negated |= u8::from(negated) << i;
        }
        if row.carry_in {
            args.s[named_s.len()] = self.carry();
        }
        if row.carry_out {
            args.d[named_d.len()] = self.carry();
        }
        Ok(args)
    }

    fn carry(&mut self) -> Slot {
        let rows = &mut self.names.rows.pred;
        *self.carry.get_or_insert_with(|| {
            let slot = *rows;
            *rows += 1;
            slot
        })
    }
}
