//! Undefined values through matrix instructions: an undefined bit in any factor makes the whole product undefined. What
//! they load counts as defined, and what they store becomes so: fragments at the edge of a matrix are often undefined
//! in part.

use crate::isa::File;
use crate::machine::block::Block;
use crate::machine::faults::At;
use crate::machine::grid::Worker;
use crate::machine::lanes::each;
use crate::machine::warp::Warp;
use crate::observe::Observer;
use crate::program::{Element, Matrix, MatrixKind, Space, Sum};
use crate::registers::{LANES, Registers};

impl<O: Observer> Worker<'_, O> {
    /// Before the warp carries out a matrix instruction.
    #[inline(never)]
    pub fn matrix_shadows(
        &mut self,
        block: &Block<O::Block>,
        warp: &Warp,
        registers: &mut Registers,
        matrix: &Matrix,
        at: At,
    ) {
        if let Some(address) = &matrix.address {
            let file = if address.narrow { File::Word } else { File::Long };
            self.needs_defined(block, warp, registers, (file, address.base), u32::MAX, at);
        }
        if let Some(stride) = matrix.stride {
            self.needs_defined(block, warp, registers, (File::Word, stride), u32::MAX, at);
        }
        let wide = |yes: bool| if yes { File::Long } else { File::Word };
        let of = |file: File, slots: &[u32]| slots.iter().map(|slot| (file, *slot)).collect::<Vec<_>>();
        match &matrix.kind {
            MatrixKind::Multiply(shape) => {
                let mut read = of(wide(shape.a == Element::F64), &matrix.a);
                read.extend(of(wide(shape.b == Element::F64), &matrix.b));
                read.extend(of(wide(shape.c == Sum::F64), &matrix.c));
                let written = of(wide(shape.d == Sum::F64), &matrix.d);
                self.computes_together(block, warp, registers, &read, &written, u32::MAX, at);
            }
            MatrixKind::Transpose => {
                let (read, written) = (of(File::Word, &matrix.a), of(File::Word, &matrix.d));
                self.computes_together(block, warp, registers, &read, &written, u32::MAX, at);
            }
            MatrixKind::Load { .. } => self.defines(registers, &of(File::Word, &matrix.d), u32::MAX),
            MatrixKind::LoadFragment(fragment) => {
                self.defines(registers, &of(wide(fragment.bits == 64), &matrix.d), u32::MAX);
            }
            MatrixKind::Store { .. } | MatrixKind::StoreFragment(_) => {}
        }
    }

    /// The lanes of `mask` each write some bytes.
    pub fn lanes_write(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        space: Space,
        addresses: &[u64; LANES],
        mask: u32,
        bytes: u32,
    ) {
        if O::INIT {
            each(mask, |lane| self.writes_memory(block, warp, space, lane, addresses[lane], u64::from(bytes)));
        }
    }
}
