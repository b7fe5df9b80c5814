//! The sizes of a product, and how its matrices lie in memory.

use crate::error::{Error, Result};

/// Sizes of a product, and storage of its matrices. All are row-major.
///
/// ```
/// use rustwarp::matmul::Sizes;
///
/// // The left half of a matrix of 100 columns times a matrix of its own, without gaps.
/// let sizes = Sizes { m: 20, n: 30, k: 50, leading_dimensions: [100, 0, 0], ..Sizes::default() };
/// assert_eq!(sizes.spans()?, [19 * 100 + 50, 50 * 30, 20 * 30]);
/// # Ok::<(), rustwarp::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of A and of the product.
    pub m: usize,
    /// Columns of B and of the product.
    pub n: usize,
    /// Columns of A and rows of B.
    pub k: usize,
    /// Whether A is stored transposed, as `k` x `m`, and whether B is, as `n` x `k`.
    pub transposed: [bool; 2],
    /// Elements from the start of one row in memory to the start of the next: of A, of B, as they are stored, and of
    /// the product. 0: its rows follow each other without gaps. More than a row has: the matrix is a part of a larger
    /// one. In CBLAS these are `lda`, `ldb` and `ldc`, with `CblasRowMajor`.
    pub leading_dimensions: [usize; 3],
}

impl Sizes {
    /// Elements from the first of A, of B and of the product to the last, with those between rows: what their memory
    /// has.
    ///
    /// # Errors
    /// [`Error::Argument`] for more elements than memory has, and for a leading dimension that is less than a row.
    pub fn spans(&self) -> Result<[usize; 3]> {
        let pitches = self.pitches()?;
        let mut spans = [0; 3];
        for ((span, [rows, columns]), pitch) in spans.iter_mut().zip(self.stored()).zip(pitches) {
            if rows > 0 && columns > 0 {
                let before = (rows - 1).checked_mul(pitch);
                *span = before.and_then(|n| n.checked_add(columns)).ok_or_else(|| too_large(rows, pitch))?;
            }
        }
        Ok(spans)
    }

    /// Rows and columns of A, of B and of the product, as they are stored.
    pub(crate) fn stored(&self) -> [[usize; 2]; 3] {
        let Self { m, n, k, transposed, .. } = *self;
        let of = |[rows, columns]: [usize; 2], transposed| if transposed { [columns, rows] } else { [rows, columns] };
        [of([m, k], transposed[0]), of([k, n], transposed[1]), [m, n]]
    }

    /// Elements from one row in memory to the next: of A, of B and of the product.
    ///
    /// # Errors
    /// [`Error::Argument`] for a leading dimension that is less than a row.
    pub(crate) fn pitches(&self) -> Result<[usize; 3]> {
        let mut pitches = self.leading_dimensions;
        for ((pitch, [_, columns]), name) in pitches.iter_mut().zip(self.stored()).zip(["A", "B", "the product"]) {
            if *pitch == 0 {
                *pitch = columns;
            } else if *pitch < columns {
                return Err(Error::Argument(format!(
                    "the leading dimension of {name} is {pitch}, and its rows have {columns} elements: choose \
                     {columns} or more, or 0 for rows without gaps"
                )));
            }
        }
        Ok(pitches)
    }

    /// Checks that the product's rows have no gaps between them, which a new buffer would leave uninitialised.
    ///
    /// # Errors
    /// [`Error::Argument`] if they have.
    pub(crate) fn require_no_gaps(&self) -> Result<()> {
        let ([.., pitch], n) = (self.pitches()?, self.n);
        if pitch == n || self.m < 2 {
            return Ok(());
        }
        Err(Error::Argument(format!(
            "rows of {n} elements that start every {pitch} elements have gaps between them, which a new buffer cannot \
             have: let the product's leading dimension be 0, or write into memory of yours"
        )))
    }
}

/// Sizes, or leading dimensions, as kernels take them.
///
/// # Errors
/// [`Error::Argument`] beyond 2^32 - 1.
pub(crate) fn small(sizes: [usize; 3]) -> Result<[u32; 3]> {
    let [Ok(a), Ok(b), Ok(c)] = sizes.map(u32::try_from) else {
        let [a, b, c] = sizes;
        return Err(Error::Argument(format!(
            "sizes and leading dimensions are at most 2^32 - 1, not {a}, {b} and {c}: multiply in parts"
        )));
    };
    Ok([a, b, c])
}

/// The number of elements of a matrix.
///
/// # Errors
/// [`Error::Argument`] if there are more than memory has.
pub(crate) fn elements(rows: usize, columns: usize) -> Result<usize> {
    rows.checked_mul(columns).ok_or_else(|| too_large(rows, columns))
}

fn too_large(rows: usize, columns: usize) -> Error {
    Error::Argument(format!("a matrix of {rows}x{columns} elements is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { m: 2, n: 3, k: 4, transposed: [false, true], leading_dimensions: [0; 3] };

    #[test]
    fn spans_have_the_gaps_between_rows() {
        assert_eq!(SIZES.spans().expect("it is small"), [8, 12, 6]);
        let apart = Sizes { leading_dimensions: [5, 7, 0], ..SIZES };
        // A has two rows, B is stored as three.
        assert_eq!(apart.spans().expect("it is small"), [5 + 4, 2 * 7 + 4, 6]);
        assert_eq!(Sizes { k: 0, ..apart }.spans().expect("no element"), [0, 0, 6]);
        assert!(Sizes { leading_dimensions: [0, 0, usize::MAX], m: 3, ..SIZES }.spans().is_err());
    }

    #[test]
    fn rows_do_not_overlap() {
        let refusal = Sizes { leading_dimensions: [0, 3, 0], ..SIZES }.spans().expect_err("rows have 4").to_string();
        assert!(refusal.contains("B is 3") && refusal.contains("have 4 elements"), "{refusal}");
    }

    #[test]
    fn a_new_buffer_has_no_gaps_between_rows() {
        let with = |pitch| Sizes { leading_dimensions: [0, 0, pitch], ..SIZES };
        assert!(with(3).require_no_gaps().is_ok() && with(0).require_no_gaps().is_ok());
        let refusal = with(4).require_no_gaps().expect_err("a gap of one").to_string();
        assert!(refusal.contains("every 4 elements"), "{refusal}");
        assert!(Sizes { m: 1, ..with(4) }.require_no_gaps().is_ok(), "nothing follows a single row");
    }
}
