//! Instructions on matrices of a warp: `mma`, `ldmatrix`, `stmatrix`, `movmatrix`, `wmma`.

use super::decoder::{Decoder, Effect};
use super::product::{consistent, dimensions, element, product_of, registers, sum};
use super::reject::{Reject, unsupported};
use crate::isa::File;
use crate::isa::facts::{Facts, Fidelity, Latency, Undefined, Work, facts};
use crate::isa::matrix::{Element, Fragment, Multiply, Order2, Sum};
use crate::isa::memory::{Space, space};
use crate::program::{Matrix, MatrixKind, Op, RowFormat, Transposed};
use crate::registers::Slot;
use crate::syntax::tree::Operand;

/// Facts of an instruction that moves matrices between memory and lanes.
const MOVED: Facts = facts(Undefined::Any, Work::None, Latency::Memory, Fidelity::Exact);
const TRANSPOSED: Facts = facts(Undefined::Any, Work::None, Latency::Alu, Fidelity::Exact);
/// Facts of a product of integers or of `f64`.
const EXACT_PRODUCT: Facts = facts(Undefined::Any, Work::Product, Latency::Alu, Fidelity::Exact);
/// Facts of a product of narrower floats.
pub const PRODUCT: Facts = facts(
    Undefined::Any,
    Work::Product,
    Latency::Alu,
    Fidelity::Approximate(
        "products exact; order and precision of the sum as observed on Hopper, which PTX leaves open",
    ),
);

/// Returns the facts of a product whose results are exact.
pub fn exact_product() -> &'static Facts {
    &EXACT_PRODUCT
}

/// Rows of this chapter. Products of integers and of `f64` take the facts of an exact product instead.
pub const ROWS: &[Effect] = &[
    Effect { name: "ldmatrix", facts: MOVED, decode: |d, words, operands| d.load_matrix(words, operands) },
    Effect { name: "stmatrix", facts: MOVED, decode: |d, words, operands| d.store_matrix(words, operands) },
    Effect { name: "movmatrix", facts: TRANSPOSED, decode: |d, words, operands| d.transpose(words, operands) },
    Effect { name: "mma.sync.aligned", facts: PRODUCT, decode: |d, words, operands| d.mma(words, operands) },
    Effect { name: "wmma.mma.sync.aligned", facts: PRODUCT, decode: |d, words, operands| d.wmma(words, operands) },
    Effect { name: "wmma.load", facts: MOVED, decode: |d, words, operands| d.load_fragment(words, operands) },
    Effect { name: "wmma.store", facts: MOVED, decode: |d, words, operands| d.store_fragment(words, operands) },
];

impl<'t> Decoder<'_, 't> {
    /// `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 r, [p]`.
    fn load_matrix(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let (Form { shape, count, trans, space, formats }, [d @ Operand::Vector(_), address]) =
            (Form::of(words)?, operands)
        else {
            return unsupported("has the wrong operands");
        };
        let format = match *formats.as_slice() {
            ["b16" | "b8"] => RowFormat::Bytes,
            ["b8x16", "b6x16_p32"] => RowFormat::Six,
            ["b8x16", "b4x16_p64"] => RowFormat::Four,
            _ => return unsupported(UNKNOWN_MOVE),
        };
        let (registers, transposed) = match (shape, count, trans, formats[0]) {
            ("m8n8", 1 | 2 | 4, false, "b16") | ("m8n16", 1 | 2 | 4, false, "b8x16") => (count, Transposed::No),
            ("m8n8", 1 | 2 | 4, true, "b16") => (count, Transposed::Halves),
            ("m16n16", 1 | 2, true, "b8" | "b8x16") => (2 * count, Transposed::Bytes),
            _ => return unsupported(UNKNOWN_MOVE),
        };
        let d = self.destinations(d, File::Word, registers)?;
        let address = Some(self.address(address)?.0);
        Ok(Matrix { d, address, space, ..Matrix::new(MatrixKind::Load { transposed, format }) }.into())
    }

    /// `stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [p], r`.
    fn store_matrix(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let (Form { shape, count, trans, space, formats }, [address, a @ Operand::Vector(_)]) =
            (Form::of(words)?, operands)
        else {
            return unsupported("has the wrong operands");
        };
        let transposed = match (shape, count, trans, formats.as_slice()) {
            ("m8n8", 1 | 2 | 4, false, ["b16"]) => Transposed::No,
            ("m8n8", 1 | 2 | 4, true, ["b16"]) => Transposed::Halves,
            ("m16n8", 1 | 2 | 4, true, ["b8"]) => Transposed::Bytes,
            _ => return unsupported(UNKNOWN_MOVE),
        };
        let a = self.sources(a, File::Word, count)?;
        let address = Some(self.address(address)?.0);
        Ok(Matrix { a, address, space, ..Matrix::new(MatrixKind::Store { transposed }) }.into())
    }

    /// `movmatrix.sync.aligned.m8n8.trans.b16 d, a`.
    fn transpose(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let (Form { shape: "m8n8", count: 0, trans: true, formats, .. }, [d, a]) = (Form::of(words)?, operands) else {
            return unsupported("has the wrong operands");
        };
        if formats != ["b16"] {
            return unsupported(UNKNOWN_MOVE);
        }
        let (d, a) = (vec![self.destination(d, File::Word)?], vec![self.source(a, File::Word)?.0]);
        Ok(Matrix { d, a, ..Matrix::new(MatrixKind::Transpose) }.into())
    }

    /// Decodes `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c`.
    fn mma(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let multiply = product_of(words)?;
        let Multiply { m, n, k, a, c, d, .. } = multiply;
        // `m8n8k4` with f16 has a layout of its own, made for the first tensor cores.
        let known = match a {
            Element::F16 => m == 16 && matches!(k, 8 | 16),
            Element::Bf16 => m == 16 && matches!(k, 8 | 16) && d == Sum::F32,
            Element::Tf32 => m == 16 && matches!(k, 4 | 8) && d == Sum::F32,
            Element::E4m3 | Element::E5m2 => m == 16 && matches!(k, 16 | 32),
            Element::F64 => (m == 16 && matches!(k, 4 | 8 | 16)) || (m, k) == (8, 4),
            Element::S8 | Element::U8 => (m == 16 && matches!(k, 16 | 32)) || (m, k) == (8, 16),
            Element::S4 | Element::U4 => (m == 16 && matches!(k, 32 | 64)) || (m, k) == (8, 32),
            Element::B1 => (m == 16 && matches!(k, 128 | 256)) || (m, k) == (8, 128),
        };
        if !known || n != 8 || c != d || !consistent(&multiply) {
            return unsupported("this form of `mma` is not supported");
        }
        Ok(self.multiply(multiply, operands, registers)?.into())
    }

    fn wmma(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let mut orders = Vec::new();
        let (mut shape, mut types, mut saturate) = (None, Vec::new(), false);
        for &word in words {
            match word {
                "row" => orders.push(Order2::Row),
                "col" => orders.push(Order2::Column),
                "satfinite" => saturate = true,
                _ if word.starts_with('m') => shape = dimensions(word),
                _ => types.push(word),
            }
        }
        let (&[a_order, b_order], Some((m, n, k))) = (orders.as_slice(), shape) else {
            return unsupported("this form of `wmma.mma` is not supported");
        };
        let types = match types[..] {
            // If there are two types, they are those of `d` and `c`, and the factors are f16.
            [d, c] => [d, "f16", "f16", c],
            [d, a, b, c] => [d, a, b, c],
            _ => return unsupported("this form of `wmma.mma` is not supported"),
        };
        let (Some(d), Some(a), Some(b), Some(c)) = (sum(types[0]), element(types[1]), element(types[2]), sum(types[3]))
        else {
            return unsupported("this form of `wmma.mma` is not supported");
        };
        let multiply =
            Multiply { m, n, k, a, b, c, d, saturate, and: false, wmma: Some([a_order, b_order]), sparse: None };
        if !wmma_shape(a, (m, n, k)) || !consistent(&multiply) {
            return unsupported("this form of `wmma.mma` is not supported");
        }
        let matrix = self.multiply(multiply, operands, |elements, bits| match a {
            // There are always eight, the number for the largest shape.
            Element::F16 => 8,
            _ => registers(elements, bits),
        })?;
        Ok(matrix.into())
    }

    /// Binds the operands of a product; `registers(elements, bits)` is the number of registers of a matrix.
    ///
    /// # Errors
    /// [`Reject`] if their number or their types are wrong.
    pub fn multiply(
        &mut self,
        multiply: Multiply,
        operands: &[Operand<'t>],
        registers: impl Fn(usize, usize) -> usize,
    ) -> Result<Matrix, Reject> {
        let [d, a, b, c] = operands else { return unsupported("needs four operands") };
        let Multiply { m, n, k, .. } = multiply;
        let depth = multiply.depth();
        let file = |bits: usize| if bits == 64 { File::Long } else { File::Word };
        let (a_bits, b_bits, c_bits, d_bits) =
            (multiply.a.bits(), multiply.b.bits(), multiply.c.bits(), multiply.d.bits());
        let mut matrix = Matrix::new(MatrixKind::Multiply(multiply));
        matrix.a = self.sources(a, file(a_bits), registers(m * depth, a_bits))?;
        matrix.b = self.sources(b, file(b_bits), registers(k * n, b_bits))?;
        matrix.c = self.sources(c, file(c_bits), self::registers(m * n, c_bits))?;
        matrix.d = self.destinations(d, file(d_bits), self::registers(m * n, d_bits))?;
        if !multiply.a.is_narrow_float() {
            self.described.facts = &EXACT_PRODUCT;
        }
        Ok(matrix)
    }

    /// `wmma.load.a.sync.aligned.row.m16n16k16.global.f16 r, [p], stride`.
    fn load_fragment(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [data, address, stride @ ..] = operands else { return unsupported("has the wrong operands") };
        let form = FragmentForm::of(words)?;
        let d = self.destinations(data, form.file, form.count)?;
        let matrix = Matrix { d, ..Matrix::new(MatrixKind::LoadFragment(form.fragment)) };
        self.fragment(matrix, form.space, address, stride)
    }

    /// `wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [p], r, stride`.
    fn store_fragment(&mut self, words: &[&str], operands: &[Operand<'t>]) -> Result<Op, Reject> {
        let [address, data, stride @ ..] = operands else { return unsupported("has the wrong operands") };
        let form = FragmentForm::of(words)?;
        let a = self.sources(data, form.file, form.count)?;
        let matrix = Matrix { a, ..Matrix::new(MatrixKind::StoreFragment(form.fragment)) };
        self.fragment(matrix, form.space, address, stride)
    }

    fn fragment(
        &mut self,
        matrix: Matrix,
        space: Space,
        address: &Operand<'t>,
        stride: &[Operand<'t>],
    ) -> Result<Op, Reject> {
        let address = Some(self.address(address)?.0);
        let stride = match stride {
            [] => None,
            [stride] => Some(self.source(stride, File::Word)?.0),
            _ => return unsupported("has the wrong operands"),
        };
        Ok(Matrix { space, address, stride, ..matrix }.into())
    }

    fn elements<'b>(&self, operand: &'b Operand<'t>, count: usize) -> Result<&'b [Operand<'t>], Reject>
    where
        't: 'b,
    {
        let found = match operand {
            Operand::Vector(span) => self.body.get(span),
            one => std::slice::from_ref(one),
        };
        if found.len() == count {
            Ok(found)
        } else {
            unsupported(format!("has {} registers, but takes {count}", found.len()))
        }
    }

    /// Returns the rows of a vector of `count` destinations.
    ///
    /// # Errors
    /// [`Reject`] if there are more or fewer.
    pub fn destinations(&mut self, operand: &Operand<'t>, file: File, count: usize) -> Result<Vec<Slot>, Reject> {
        self.elements(operand, count)?.iter().map(|element| self.destination(element, file)).collect()
    }

    /// Returns the rows of a vector of `count` sources.
    ///
    /// # Errors
    /// [`Reject`] if there are more or fewer.
    pub fn sources(&mut self, operand: &Operand<'t>, file: File, count: usize) -> Result<Vec<Slot>, Reject> {
        self.elements(operand, count)?.iter().map(|element| Ok(self.source(element, file)?.0)).collect()
    }
}

impl Matrix {
    fn new(kind: MatrixKind) -> Self {
        let none = Vec::new;
        let (address, stride, metadata) = (None, None, None);
        Self { kind, d: none(), a: none(), b: none(), c: none(), metadata, address, space: Space::Generic, stride }
    }
}

/// The modifiers of `ldmatrix`, which come in any order.
struct Form<'w> {
    shape: &'w str,
    /// Number of matrices; 0 if there is none.
    count: usize,
    trans: bool,
    space: Space,
    /// The type, or the types of the destination and of the source.
    formats: Vec<&'w str>,
}

impl<'w> Form<'w> {
    fn of(words: &[&'w str]) -> Result<Self, Reject> {
        let mut form = Self { shape: "", count: 0, trans: false, space: Space::Generic, formats: Vec::new() };
        let (mut sync, mut aligned) = (false, false);
        for &word in words {
            match word {
                "sync" if !sync => sync = true,
                "aligned" if !aligned => aligned = true,
                "m8n8" | "m8n16" | "m16n8" | "m16n16" if form.shape.is_empty() => form.shape = word,
                "x1" if form.count == 0 => form.count = 1,
                "x2" if form.count == 0 => form.count = 2,
                "x4" if form.count == 0 => form.count = 4,
                "trans" if !form.trans => form.trans = true,
                "b16" | "b8" | "b8x16" | "b6x16_p32" | "b4x16_p64" => form.formats.push(word),
                _ if space(word) == Some(Space::Shared) => form.space = Space::Shared,
                _ => return unsupported(UNKNOWN_MOVE),
            }
        }
        if sync && aligned { Ok(form) } else { unsupported("needs `.sync` and `.aligned`") }
    }
}

const UNKNOWN_MOVE: &str = "this form of the matrix instruction is not supported";

/// The modifiers after `wmma.load` and `wmma.store`.
struct FragmentForm {
    fragment: Fragment,
    space: Space,
    file: File,
    /// Registers of a lane.
    count: usize,
}

impl FragmentForm {
    fn of(words: &[&str]) -> Result<Self, Reject> {
        let [which, "sync", "aligned", words @ ..] = words else { return unsupported(UNKNOWN_FRAGMENT) };
        let (mut order, mut shape, mut kind, mut place) = (Order2::Row, None, "", Space::Generic);
        for &word in words {
            match word {
                "row" => order = Order2::Row,
                "col" => order = Order2::Column,
                _ if word.starts_with('m') => shape = dimensions(word),
                _ => match space(word) {
                    Some(space) => place = space,
                    None => kind = word,
                },
            }
        }
        let Some((m, n, k)) = shape else { return unsupported(UNKNOWN_FRAGMENT) };
        let (rows, columns, bits) = match (*which, element(kind), sum(kind)) {
            ("a", Some(element), _) if wmma_shape(element, (m, n, k)) => (m, k, element.bits()),
            ("b", Some(element), _) if wmma_shape(element, (m, n, k)) => (k, n, element.bits()),
            ("c" | "d", _, Some(Sum::F16)) => (m, n, 16),
            ("c" | "d", _, Some(Sum::F32 | Sum::S32)) => (m, n, 32),
            ("c" | "d", _, Some(Sum::F64)) => (m, n, 64),
            _ => return unsupported(UNKNOWN_FRAGMENT),
        };
        let sum = matches!(*which, "c" | "d");
        let count = if kind == "f16" && !sum { 8 } else { registers(rows * columns, bits) };
        let file = if bits == 64 { File::Long } else { File::Word };
        Ok(Self { fragment: Fragment { rows, columns, bits, order, sum }, space: place, file, count })
    }
}

const UNKNOWN_FRAGMENT: &str = "this form of `wmma` is not supported";

fn wmma_shape(element: Element, shape: (usize, usize, usize)) -> bool {
    match element {
        Element::F16 | Element::Bf16 | Element::S8 | Element::U8 => {
            matches!(shape, (16, 16, 16) | (32, 8, 16) | (8, 32, 16))
        }
        Element::Tf32 => shape == (16, 16, 8),
        Element::F64 => shape == (8, 8, 4),
        _ => false,
    }
}
