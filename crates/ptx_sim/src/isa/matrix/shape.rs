//! Shapes, types and orders of matrices. PTX ISA, "Matrix Data-types", "Matrix Storage".

/// Shapes and types of a product: `a` is m by k, `b` is k by n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub struct Multiply {
    pub m: usize,
    pub n: usize,
    pub k: usize,
    pub a: Element,
    pub b: Element,
    pub c: Sum,
    pub d: Sum,
    /// Whether integer sums saturate, `.satfinite`.
    pub saturate: bool,
    /// Whether one-bit elements are combined by and; otherwise by exclusive or.
    pub and: bool,
    /// Memory orders of `a` and `b` for `wmma`, whose fragments have a layout of the simulator's own.
    pub wmma: Option<[Order2; 2]>,
    /// Where the metadata of a sparse `a` is, of which half is stored.
    pub sparse: Option<Sparse>,
}

impl Multiply {
    /// Returns the number of products of a sum, which is half of `k` if `a` is sparse.
    pub fn depth(&self) -> usize {
        if self.sparse.is_some() { self.k / 2 } else { self.k }
    }
}

/// Where the metadata of a product is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sparse {
    /// The sparsity selector: of the lanes of a group of four, which have the metadata.
    pub selector: usize,
    /// Whether the indices of neighbours ascend, `.sp::ordered_metadata`.
    pub ordered: bool,
}

/// Element types of factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    E4m3,
    E5m2,
    F64,
    S8,
    U8,
    S4,
    U4,
    B1,
}

impl Element {
    /// Width in a register.
    pub fn bits(self) -> usize {
        match self {
            Element::F64 => 64,
            Element::Tf32 => 32,
            Element::F16 | Element::Bf16 => 16,
            Element::E4m3 | Element::E5m2 | Element::S8 | Element::U8 => 8,
            Element::S4 | Element::U4 => 4,
            Element::B1 => 1,
        }
    }

    /// Whether sums of products are rounded in a way that PTX leaves open: floats of at most 32 bits.
    pub fn is_narrow_float(self) -> bool {
        matches!(self, Element::F16 | Element::Bf16 | Element::Tf32 | Element::E4m3 | Element::E5m2)
    }
}

/// Element types of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Sum {
    F16,
    F32,
    F64,
    S32,
}

impl Sum {
    /// Width in a register.
    pub fn bits(self) -> usize {
        match self {
            Sum::F16 => 16,
            Sum::F32 | Sum::S32 => 32,
            Sum::F64 => 64,
        }
    }
}

/// Order of a matrix in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order2 {
    /// Rows are contiguous.
    Row,
    /// Columns are contiguous.
    Column,
}

/// A matrix of `wmma` in memory and in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Rows of the matrix.
    pub rows: usize,
    /// Columns of the matrix.
    pub columns: usize,
    /// Bits of an element.
    pub bits: usize,
    /// Order in memory.
    pub order: Order2,
    /// Whether it is a sum: sums have one register layout for both orders in memory.
    pub sum: bool,
}

impl Fragment {
    /// Returns row and column of element `j` of register `register` of a lane. The PTX ISA does not specify this
    /// layout. Here consecutive elements of a register, then consecutive lanes, hold elements that are consecutive in
    /// memory (of sums: in a row). A fragment larger than the matrix holds it repeatedly.
    pub fn place(&self, register: usize, lane: usize, j: usize) -> (usize, usize) {
        let per_register = (32 / self.bits).max(1);
        let index = ((register * 32 + lane) * per_register + j) % (self.rows * self.columns).max(1);
        match self.order {
            Order2::Column if !self.sum => (index % self.rows, index / self.rows),
            _ => (index / self.columns, index % self.columns),
        }
    }

    /// Returns the offset in elements from the start of the matrix in memory.
    pub fn offset(&self, (row, column): (usize, usize), stride: u64) -> u64 {
        match self.order {
            Order2::Row => (row as u64).wrapping_mul(stride).wrapping_add(column as u64),
            Order2::Column => (column as u64).wrapping_mul(stride).wrapping_add(row as u64),
        }
    }
}
