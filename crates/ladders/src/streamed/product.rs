//! The reference of a streamed product: columns of B are kept while B is read, and elements of the product are compared
//! before they are written.

use super::judged::Outcome;
use super::reference::{elements, lock};
use crate::error::Result;
use crate::kernels::matmul::oracle::{ALL, element};
use crate::kernels::matmul::reference::{PATCH, float, mix};
use crate::kernels::spelling::NO_VERIFY;
use rustwarp::backend::require_host_memory;
use rustwarp::element::Scalar;
use rustwarp::streamed::{Sink, Source};
use std::io;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::{Mutex, PoisonError, RwLock};

/// Elements of B up to which all of them are kept.
const KEPT: usize = 1 << 27;

/// Columns of which one is kept: 1 if all elements of the product are compared.
fn stride([m, n, k]: [usize; 3]) -> usize {
    let all = m as u128 * n as u128 * k as u128 <= ALL && n.saturating_mul(k.saturating_add(8)) <= KEPT;
    if all { 1 } else { PATCH }
}

/// Number of elements of a product that are compared, if the others are not.
pub(super) fn sampled(sizes @ [m, n, _]: [usize; 3]) -> Option<u64> {
    (stride(sizes) > 1).then(|| m.div_ceil(PATCH) as u64 * n.div_ceil(PATCH) as u64)
}

/// Columns of B in f64: all, or for a large product one of every [`PATCH`].
pub(super) struct Columns {
    n: usize,
    k: usize,
    /// Columns of which one is kept.
    stride: usize,
    kept: Vec<RwLock<Vec<f64>>>,
}

impl Columns {
    /// Columns of a factor of `k` x `n`, by which a matrix of `m` rows is multiplied.
    ///
    /// # Errors
    /// [`OutOfMemory`](rustwarp::Error::OutOfMemory) if this machine has no room for them.
    pub fn new(sizes @ [_, n, k]: [usize; 3]) -> Result<Self> {
        let stride = stride(sizes);
        let bytes = (n.div_ceil(stride) as u64).saturating_mul(k as u64).saturating_mul(size_of::<f64>() as u64);
        require_host_memory(bytes, "the reference of the product", &format!("add {NO_VERIFY}"))?;
        Ok(Self::every(stride, [n, k]))
    }

    fn every(stride: usize, [n, k]: [usize; 2]) -> Self {
        let kept = (0..n.div_ceil(stride)).map(|_| RwLock::new(vec![0.0; k])).collect();
        Self { n, k, stride, kept }
    }

    /// The column that is kept of each part.
    fn column(&self, part: usize) -> usize {
        (part * self.stride + mix(part as u64) as usize % self.stride).min(self.n - 1)
    }

    /// The kept columns among these: their parts.
    fn among(&self, columns: Range<usize>) -> impl Iterator<Item = usize> {
        let parts = columns.start / self.stride..columns.end.div_ceil(self.stride);
        parts.filter(move |part| columns.contains(&self.column(*part)))
    }

    /// Keeps what belongs to the columns of elements of B from the index `first` on.
    pub fn add<T: Scalar>(&self, first: u64, values: &[T]) {
        for (row, columns, values) in in_rows(first, values, self.n) {
            for part in self.among(columns.clone()) {
                let mut kept = self.kept[part].write().unwrap_or_else(PoisonError::into_inner);
                kept[row] = float(values[self.column(part) - columns.start]);
            }
        }
    }

    /// The parts whose columns are compared in a row of the product: of each [`PATCH`] rows, one row for each.
    fn compared(&self, row: usize, columns: Range<usize>, m: usize) -> Vec<usize> {
        let here = |part: &usize| {
            let patch = row / self.stride * self.stride;
            let random = mix((row / self.stride) as u64 ^ ((*part as u64) << 32)) >> 32;
            (patch + random as usize % self.stride).min(m - 1) == row
        };
        self.among(columns).filter(here).collect()
    }
}

/// The parts of elements from the index `first` on that lie in one row of `n`: the row, the columns, and the elements.
fn in_rows<T>(first: u64, values: &[T], n: usize) -> impl Iterator<Item = (usize, Range<usize>, &[T])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let index = first as usize + at;
        let (row, column) = (index / n, index % n);
        let part = &values[at..][..(n - column).min(values.len() - at)];
        at += part.len();
        (!part.is_empty()).then_some((row, column..column + part.len(), part))
    })
}

/// Compares elements of the product with rows of A, which are read again, times the kept columns of B.
pub(super) struct JudgedProduct<'a, T> {
    a: &'a dyn Source,
    columns: &'a Columns,
    m: usize,
    sink: &'a dyn Sink,
    found: Mutex<(Outcome, u64)>,
    element: PhantomData<fn(T)>,
}

impl<'a, T: Scalar> JudgedProduct<'a, T> {
    /// Judges what is written to the sink, a product of `m` rows.
    pub fn new(a: &'a dyn Source, columns: &'a Columns, m: usize, sink: &'a dyn Sink) -> Self {
        Self { a, columns, m, sink, found: Mutex::new((Outcome::none(), 0)), element: PhantomData }
    }

    /// What the comparisons have found; a product that lacks elements is wrong.
    pub fn outcome(self) -> Outcome {
        let (mut outcome, written) = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        outcome.verdict.verified &= written == self.m as u64 * self.columns.n as u64;
        outcome
    }
}

impl<T: Scalar> Sink for JudgedProduct<'_, T> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let Columns { n, k, .. } = *self.columns;
        let results = elements::<T>(bytes);
        let mut outcome = Outcome::none();
        for (row, columns, values) in in_rows(offset / size_of::<T>() as u64, &results, n) {
            let parts = self.columns.compared(row, columns.clone(), self.m);
            if parts.is_empty() {
                continue;
            }
            let mut a = vec![T::zeroed(); k];
            self.a.read_at((row * k * size_of::<T>()) as u64, bytemuck::cast_slice_mut(&mut a))?;
            let a: Vec<f64> = a.into_iter().map(float).collect();
            for part in parts {
                let column = self.columns.column(part);
                let kept = self.columns.kept[part].read().unwrap_or_else(PoisonError::into_inner);
                let got = values[column - columns.start].value();
                outcome.compare((row * n + column) as u64, got, element::<T>(&a, &kept, k as u64));
            }
        }
        {
            let mut found = lock(&self.found);
            found.0.merge(outcome);
            found.1 += results.len() as u64;
        }
        self.sink.write_at(offset, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All elements are compared if all columns are kept, and one of every patch otherwise.
    #[test]
    fn compared_elements() {
        let (m, n) = (150, 200);
        for (stride, expected) in [(1, m * n), (PATCH, 3 * 4)] {
            let columns = Columns::every(stride, [n, 1]);
            let of_row = |row| columns.compared(row, 0..n, m).into_iter().map(move |part| (row, part));
            let places: Vec<_> = (0..m).flat_map(of_row).map(|(row, part)| (row, columns.column(part))).collect();
            assert_eq!(places.len(), expected, "every {stride}");
            let patches: std::collections::BTreeSet<_> =
                places.iter().map(|(row, column)| (row / stride, column / stride)).collect();
            assert_eq!(patches.len(), expected, "{places:?}");
        }
        assert_eq!((stride([64, 64, 64]), stride([1 << 12, 1 << 11, 1 << 12])), (1, PATCH));
        assert_eq!((sampled([64, 64, 64]), sampled([1, 1 << 14, 1 << 14])), (None, Some(1 << 8)));
    }

    #[test]
    fn a_wrong_and_a_missing_element_are_found() {
        let (m, n, k) = (3, 5, 4);
        let (a, b): (Vec<f32>, Vec<f32>) = ((0..12).map(|x| x as f32).collect(), (0..20).map(|x| x as f32).collect());
        let right: Vec<f32> =
            (0..m * n).map(|i| (0..k).map(|at| a[i / n * k + at] * b[at * n + i % n]).sum()).collect();
        let judge = |product: &[f32]| {
            let columns = Columns::new([m, n, k]).expect("columns");
            // Pieces end within rows.
            b.chunks(3).zip(0..).for_each(|(piece, at)| columns.add(3 * at, piece));
            let kept = Mutex::new(vec![0_u8; 4 * m * n]);
            let a: &[u8] = bytemuck::cast_slice(&a);
            let judged = JudgedProduct::<f32>::new(&a, &columns, m, &kept);
            for (piece, at) in product.chunks(4).zip(0..) {
                judged.write_at(16 * at, bytemuck::cast_slice(piece)).expect("written");
            }
            let outcome = judged.outcome();
            (outcome.verdict.verified, outcome.wrong.map(|wrong| wrong.index as usize))
        };
        assert_eq!(judge(&right), (true, None));
        assert_eq!(judge(&right[..m * n - 1]), (false, None));
        for at in 0..m * n {
            let mut product = right.clone();
            product[at] = if at % 2 == 0 { f32::NAN } else { product[at] + 0.01 };
            assert_eq!(judge(&product), (false, Some(at)));
        }
    }
}
