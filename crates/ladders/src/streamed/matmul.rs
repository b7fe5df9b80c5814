//! Products of matrices in files.

use super::input::Input;
use super::product::{Columns, JudgedProduct};
use super::reference::Watched;
use super::{Job, Nowhere, Request};
use crate::error::{Error, Result};
use crate::kernels::matmul::{FAMILY, TILE, TRANSPOSE_A, TRANSPOSE_B};
use crate::kernels::spelling::STREAM;
use crate::kernels::{Row, Work};
use rustwarp::element::Value;
use rustwarp::matmul::Real;
use rustwarp::streamed::{FilePart, Sink, Source};
use rustwarp::tensor::text;

/// Rows of A, columns of B, and the size that they share.
///
/// # Errors
/// [`Error::Usage`] for files that do not hold two matrices that fit together, and for settings that a streamed product
/// does not have.
pub(super) fn sizes(request: &Request<'_>, inputs: &[Input]) -> Result<[usize; 3]> {
    let [a, b] = inputs else { return Err(Error::Usage(format!("{} takes two files, A and B", FAMILY.name))) };
    if [&TRANSPOSE_A, &TRANSPOSE_B].into_iter().any(|setting| request.settings.flag(setting)) {
        let text =
            format!("{STREAM} multiplies matrices as they are stored: leave {TRANSPOSE_A} and {TRANSPOSE_B} out");
        return Err(Error::Usage(text));
    }
    if request.settings.choice(&TILE) != "auto" {
        return Err(Error::Usage(format!("{TILE} has no meaning with {STREAM}: leave it out")));
    }
    let shapes = [a, b].map(|input| input.shape.iter().map(|&n| n as usize).collect::<Vec<_>>());
    match [&shapes[0][..], &shapes[1][..]] {
        [&[m, k], &[depth, n]] if k == depth && a.dtype == b.dtype => Ok([m, n, k]),
        shapes => Err(Error::Usage(format!(
            "{} needs two matrices of one type, A with as many columns as B has rows, not {} of {} and {} of {}: \
             {STREAM} takes .npy files of two axes",
            FAMILY.name,
            text(shapes[0]),
            a.dtype,
            text(shapes[1]),
            b.dtype
        ))),
    }
}

impl Job<'_> {
    pub(super) fn matmul<T: Real>(&self) -> Result<Row> {
        let [m, n, k] = sizes(self.request, self.inputs)?;
        let bytes = [m, n, size_of::<T>()].iter().try_fold(1_u64, |product, &x| product.checked_mul(x as u64));
        let bytes = bytes.ok_or_else(|| {
            Error::Usage(format!("a product of {m}x{n} has more bytes than 64 bits can count: use smaller matrices"))
        })?;
        let mut row = self.to_output(T::DTYPE, &[m, n], bytes, |part| self.matmul_to::<T>([m, n, k], part))?;
        row.shape = Some(vec![m, n, k]);
        Ok(row)
    }

    fn matmul_to<T: Real>(&self, sizes: [usize; 3], part: Option<FilePart>) -> Result<Row> {
        let ([m, n, k], [a, b]) = (sizes, [&self.inputs[0], &self.inputs[1]]);
        let columns = Columns::new(if self.request.verify { sizes } else { [0; 3] })?;
        let watched = Watched::<T, _>::new(b, |first, values: &[T]| {
            columns.add(first, values);
            Ok(())
        });
        let to: &dyn Sink = part.as_ref().map_or(&Nowhere, |part| part);
        let judged = JudgedProduct::<T>::new(a, &columns, m, to);
        let (b, sink): (&dyn Source, &dyn Sink) = if self.request.verify { (&watched, &judged) } else { (b, to) };
        self.place.matmul::<T>([a, b], sizes, sink, &self.settings())?;
        let mut row = self.row();
        row.results = m as u64 * n as u64;
        if let Some(ms) = row.time_ms {
            row.work = Work { bytes: 0, flops: (2 * k as u64).saturating_mul(row.results) };
            row.tflops = Some(row.work.flops as f64 / ms / 1e9);
        }
        if self.request.verify {
            let outcome = judged.outcome();
            (row.verified, row.error) = (Some(outcome.verdict.verified), Value::Float(outcome.verdict.error));
            row.wrong = outcome.wrong;
        }
        Ok(row)
    }
}
