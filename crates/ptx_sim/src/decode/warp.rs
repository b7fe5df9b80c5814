//! Instructions of a whole warp.

use super::function::Decoder;
use super::{Reject, unsupported};
use crate::isa::lift::Meaning;
use crate::isa::table::Row;
use crate::isa::{File, warp};
use crate::program::{Collective, Op};
use crate::registers::{Args, NO_SLOT, Pure};
use crate::syntax::tree::Operand;

impl<'t> Decoder<'_, 't> {
    /// Operands, and the mask behind them.
    pub fn collective(&mut self, opcode: &str, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let Some(found) = warp::find(opcode) else { return unsupported("this warp instruction is not known") };
        let Some((mask, operands)) = operands.split_last() else { return unsupported("has no member mask") };
        let mask = self.source(mask, File::Word)?.0;
        let row = Row { meaning: found.meaning, optional: found.optional, ..Row::default() };
        let args = match (found.kind, operands) {
            (Collective::Sync, []) => Args::default(),
            (Collective::Sync, _) => return unsupported("takes a mask and nothing else"),
            (_, operands) => self.args(&row, operands)?,
        };
        self.meaning = Some(found.meaning);
        Ok(Op::Collective { kind: found.kind, mask, run: found.meaning.run, args })
    }

    pub fn activemask(&mut self, operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [d] = operands else { return unsupported("needs one destination") };
        let d = self.destination(d, File::Word)?;
        let run = Pure::plain(warp::activemask);
        self.meaning = Some(Meaning { run, d: &[File::Word], s: &[] });
        Ok(Op::Pure(run, Args { d: [d, NO_SLOT, NO_SLOT, NO_SLOT], ..Args::default() }))
    }
}
