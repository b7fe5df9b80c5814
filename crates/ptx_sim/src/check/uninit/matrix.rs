//! Propagation of undefined values through matrix instructions: an undefined bit in any factor makes the whole product
//! undefined. Loaded fragments count as defined, and stored memory becomes defined, because fragments at the edge of a
//! matrix are often partly undefined.

use super::state::Uninit;
use crate::isa::File;
use crate::observe::Scene;
use crate::program::{Element, Matrix, MatrixKind, Sum};
use crate::registers::Registers;

impl Uninit {
    /// Checks a matrix instruction before the warp executes it.
    #[inline(never)]
    pub fn matrix_shadows(&mut self, scene: &mut Scene<'_>, registers: &mut Registers, matrix: &Matrix) {
        if let Some(address) = &matrix.address {
            let file = if address.narrow { File::Word } else { File::Long };
            self.needs_defined(scene, registers, (file, address.base), u32::MAX);
        }
        if let Some(stride) = matrix.stride {
            self.needs_defined(scene, registers, (File::Word, stride), u32::MAX);
        }
        let wide = |yes: bool| if yes { File::Long } else { File::Word };
        let of = |file: File, slots: &[u32]| slots.iter().map(|slot| (file, *slot)).collect::<Vec<_>>();
        match &matrix.kind {
            MatrixKind::Multiply(shape) => {
                let mut read = of(wide(shape.a == Element::F64), &matrix.a);
                read.extend(of(wide(shape.b == Element::F64), &matrix.b));
                read.extend(of(wide(shape.c == Sum::F64), &matrix.c));
                read.extend(matrix.metadata.map(|slot| (File::Word, slot)));
                let written = of(wide(shape.d == Sum::F64), &matrix.d);
                self.computes_together(scene, registers, &read, &written, u32::MAX);
            }
            MatrixKind::Transpose => {
                let (read, written) = (of(File::Word, &matrix.a), of(File::Word, &matrix.d));
                self.computes_together(scene, registers, &read, &written, u32::MAX);
            }
            MatrixKind::Load { .. } => self.defines(registers, &of(File::Word, &matrix.d), u32::MAX),
            MatrixKind::LoadFragment(fragment) => {
                self.defines(registers, &of(wide(fragment.bits == 64), &matrix.d), u32::MAX);
            }
            MatrixKind::Store { .. } | MatrixKind::StoreFragment(_) => {}
        }
    }
}
