//! Products of streamed matrices: rows of A pass by columns of B that stay on the device.

use super::cut::Cut;
use super::panel::Panel;
use super::pipeline::{Chunk, for_each_chunk, run};
use super::results::{RESULTS, Results};
use super::settings::{Progress, Settings};
use super::sink::Sink;
use super::source::Source;
use crate::backend::human;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::matmul::{Real, Sizes, matmul_into};
use std::marker::PhantomData;
use std::ops::Range;

/// Columns to which a panel of B is rounded down, so that its tiles are whole and its rows start at multiples of 16
/// bytes.
const ALIGNED: usize = 256;

/// Rows of a chunk that are multiplied fast, although their part of the product may be larger than a chunk.
const ROWS: usize = 256;

/// Multiplies the rows of A in the range by B, both row-major: A has `k` columns, and B is `k` x `n`. Row `i` of the
/// product is written to the sink from byte `i * n * size_of::<T>()` on, as it would be for all rows of A.
///
/// All of B stays on the device if that has room for it, beside the chunks. Otherwise A is read once for every panel of
/// columns of B that has room. So A, B and the product may each be larger than the device; a row of A must fit, and so
/// must a column of B. A chunk is of whole rows of A, at least one; products are fast from 256 rows on.
/// Of more rows than that, the rows of the product fit in a chunk, too.
///
/// - *Error bound*: that of [`matmul`](mod@crate::matmul).
/// - *Determinism*: the same bits on every run with the same chunk, on devices with the same room; the tile depends on
///   both, as in [`matmul`](mod@crate::matmul).
///
/// # Errors
/// Those of [`for_each_chunk`], [`Error::NoPtx`] if the kernels are not built, [`Error::Argument`] for more bytes than
/// 64 bits can count, and [`Error::Stream`] for results that cannot be written, of which others may have been.
pub fn matmul<T: Real>(
    device: &Device,
    factors: [&dyn Source; 2],
    rows: Range<u64>,
    [n, k]: [usize; 2],
    sink: &dyn Sink,
    settings: &Settings<'_>,
) -> Result<()> {
    let product = Product::<T>::new(device, factors, rows, [n, k], sink, settings)?;
    let width = if n * k == 0 || product.rows.is_empty() { n } else { product.room()? };
    product.by_panels(width)
}

/// A product, with all that does not depend on the panels of B.
struct Product<'a, T> {
    device: &'a Device,
    factors: [&'a dyn Source; 2],
    rows: Range<u64>,
    n: usize,
    k: usize,
    sink: &'a dyn Sink,
    settings: &'a Settings<'a>,
    /// The rows of A.
    cut: Cut,
    /// Bytes of device memory for the chunks of A or B, of which those of one are there at a time.
    chunks: u64,
    element: PhantomData<fn(T)>,
}

impl<'a, T: Real> Product<'a, T> {
    fn new(
        device: &'a Device,
        [a, b]: [&'a dyn Source; 2],
        rows: Range<u64>,
        [n, k]: [usize; 2],
        sink: &'a dyn Sink,
        settings: &'a Settings<'a>,
    ) -> Result<Self> {
        let end = rows.end;
        let elements = |rows: u64, columns: usize, what: &str| {
            let elements = rows.checked_mul(columns as u64);
            elements.filter(|count| count.checked_mul(size_of::<T>() as u64).is_some()).ok_or_else(|| {
                Error::Argument(format!("{what} has {rows} rows of {columns} elements: more bytes than 64 bits count"))
            })
        };
        elements(end, n, "the product")?;
        let of_a = elements(rows.start, k, "A")?..elements(end, k, "A")?;
        // This also checks the lengths of both.
        let of_b = Cut::new::<T>(device, &[b], 0..elements(k as u64, n, "B")?, settings, 0)?;
        let cut = Cut::new::<T>(device, &[a], of_a, settings, 0)?;
        let most = (cut.most / n.max(1)).max(ROWS);
        let cut = cut.of_rows(k, most);
        let chunks = ((cut.slots * size_of::<T>()) as u64).saturating_mul(cut.chunk.max(of_b.chunk) as u64);
        let element = PhantomData;
        Ok(Self { device, factors: [a, b], rows, n, k, sink, settings, cut, chunks, element })
    }

    /// Rows of a chunk.
    fn chunk(&self) -> usize {
        self.cut.chunk / self.k.max(1)
    }

    /// Columns of B for which the device has room.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is none.
    fn room(&self) -> Result<usize> {
        let free = self.device.free_memory()?;
        let width = width(free, self.chunks, self.bytes_of_column(), self.n);
        width.ok_or_else(|| {
            Error::OutOfMemory(format!(
                "a product of {} rows at a time needs {} of device memory for A and {} for each column of B and of the \
                 product, and {} has {} free: use smaller chunks",
                self.chunk(),
                human(self.chunks),
                human(self.bytes_of_column()),
                self.device.info().device,
                human(free)
            ))
        })
    }

    /// Bytes of device memory for a column of B, and for the elements of the product that it gives.
    fn bytes_of_column(&self) -> u64 {
        ((self.k + RESULTS * self.chunk()) * size_of::<T>()) as u64
    }

    /// Multiplies by panels of B of at most `width` columns.
    fn by_panels(&self, width: usize) -> Result<()> {
        let Self { n, k, .. } = *self;
        if n == 0 || self.rows.is_empty() {
            return Ok(());
        }
        if k == 0 {
            return self.zeros();
        }
        let panels = n.div_ceil(width);
        let size = size_of::<T>();
        let of_a = self.cut.bytes::<T>();
        let total = (n * k * size) as u64 + panels as u64 * of_a;
        let memory = || self.device.uninit::<T>(width * self.chunk());
        let mut b = self.device.uninit::<T>(width * k)?;
        let mut results = (0..RESULTS).map(|_| memory()).collect::<Result<Vec<_>>>()?;
        let mut before = 0;
        for start in (0..n).step_by(width) {
            let columns = start..(start + width).min(n);
            let of_b = (columns.len() * k * size) as u64;
            self.counted(before, total, |settings| self.load(columns.clone(), &mut b, settings))?;
            self.counted(before + of_b, total, |settings| self.multiply(columns, &b, &mut results, settings))?;
            before += of_b + of_a;
        }
        Ok(())
    }

    /// Does a part of the work, which begins after `before` of the `total` bytes have been read.
    fn counted(&self, before: u64, total: u64, work: impl FnOnce(&Settings<'_>) -> Result<()>) -> Result<()> {
        let Some(report) = self.settings.progress else { return work(self.settings) };
        let of_all = |progress: Progress| report(Progress { done: before + progress.done, total });
        work(&Settings { progress: Some(&of_all), ..*self.settings })
    }

    /// Copies columns of B to the device.
    fn load(&self, columns: Range<usize>, b: &mut Buffer<T>, settings: &Settings<'_>) -> Result<()> {
        let elements = 0..(self.k * columns.len()) as u64;
        let panel = self.panel(self.factors[1], columns, self.k as u64);
        let loaded = for_each_chunk::<T>(self.device, &panel, elements, settings, |Chunk { first, view }| {
            let first = first as usize;
            b.view_mut(first..first + view.len())?.copy_from(view)
        });
        loaded.map_err(|error| panel.placed(error, "read"))
    }

    /// Multiplies all rows by columns of B that are on the device.
    fn multiply(
        &self,
        columns: Range<usize>,
        b: &Buffer<T>,
        results: &mut [Buffer<T>],
        settings: &Settings<'_>,
    ) -> Result<()> {
        let (k, width) = (self.k, columns.len());
        let sink = self.panel(self.sink, columns, self.rows.end);
        let done = std::thread::scope(|scope| {
            let mut written = Results::start(scope, self.device, &sink, self.cut.piece, self.cut.writers)?;
            run::<T>(self.device, &self.factors[..1], &self.cut, &[], settings, |slots| {
                let rows = slots.len / k;
                let sizes = Sizes { m: rows, n: width, k, ..Sizes::default() };
                let result = &mut results[slots.number as usize % RESULTS];
                let a = slots.memory[0].view(..slots.len)?;
                matmul_into(a, b.view(..k * width)?, sizes, result.view_mut(..rows * width)?)?;
                written.send(slots.first / k as u64 * width as u64, result.view(..rows * width)?)
            })?;
            written.finish()
        });
        done.map_err(|error| sink.placed(error, "write"))
    }

    /// Columns of a matrix with rows of `n` elements.
    fn panel<S>(&self, matrix: S, columns: Range<usize>, rows: u64) -> Panel<S> {
        let bytes = |elements: usize| (elements * size_of::<T>()) as u64;
        Panel { matrix, pitch: bytes(self.n), columns: bytes(columns.start)..bytes(columns.end), rows }
    }

    /// Writes the product without terms, whose elements are 0.
    fn zeros(&self) -> Result<()> {
        let row = (self.n * size_of::<T>()) as u64;
        let zeros = vec![0_u8; 1 << 16];
        let end = self.rows.end * row;
        for offset in (self.rows.start * row..end).step_by(zeros.len()) {
            let bytes = zeros.len().min((end - offset) as usize);
            let error = |source| Error::Stream { attempt: "write", bytes, offset, source };
            self.sink.write_at(offset, &zeros[..bytes]).map_err(error)?;
        }
        Ok(())
    }
}

/// The columns, of `n`, that fit in free memory beside the chunks; `None` if none does.
fn width(free: u64, chunks: u64, column: u64, n: usize) -> Option<usize> {
    // A tenth is left for the memory of the driver and of other streams.
    let fitting = (free / 10 * 9).saturating_sub(chunks) / column.max(1);
    match usize::try_from(fitting).unwrap_or(usize::MAX) {
        0 => None,
        fitting if fitting >= n => Some(n),
        fitting if fitting >= ALIGNED => Some(fitting / ALIGNED * ALIGNED),
        fitting => Some(fitting),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::Mutex;

    #[test]
    fn panels_are_as_wide_as_memory_allows() {
        assert_eq!(width(10_000, 1000, 8, 900), Some(900));
        assert_eq!(width(10_000, 1000, 8, 2000), Some(768));
        assert_eq!(width(10_000, 1000, 80, 2000), Some(100));
        assert_eq!((width(10_000, 9000, 8, 2000), width(10_000, 8993, 8, 2000)), (None, None));
        assert_eq!(width(u64::MAX, 0, 0, 7), Some(7));
    }

    #[test]
    fn rows_of_a_chunk_are_limited_by_those_of_the_product() {
        let device = Device::sim().expect("the simulator");
        let (sink, settings) = (Mutex::new([0_u8; 0]), Settings { chunk: Some(1 << 16), ..Settings::default() });
        let rows = |[m, n, k]: [usize; 3]| {
            let (a, b) = (vec![0_u8; m * k * 4], vec![0_u8; k * n * 4]);
            let factors: [&dyn Source; 2] = [&&a[..], &&b[..]];
            let product = Product::<f32>::new(&device, factors, 0..m as u64, [n, k], &sink, &settings);
            product.expect("a product").chunk()
        };
        // As many as A, or the product, has in a chunk.
        assert_eq!((rows([5000, 2, 8]), rows([5000, 16, 2])), (2048, 1024));
        // No fewer than are fast, and than A has.
        assert_eq!((rows([5000, 1000, 1]), rows([40, 1000, 1])), (ROWS, 40));
        assert_eq!((rows([10, 2, 1 << 13]), rows([10, 2, 1 << 15])), (2, 1));
    }

    #[test]
    fn a_product_without_rows_needs_no_memory() {
        let device = Device::sim().expect("the simulator");
        let (sink, bytes) = (Mutex::new([0_u8; 0]), [0_u8; 64]);
        let factors: [&dyn Source; 2] = [&&bytes[..], &&bytes[..]];
        matmul::<f32>(&device, factors, 2..2, [4, 4], &sink, &Settings::default()).expect("nothing to do");
    }

    #[test]
    fn errors_say_the_place_in_the_matrix() {
        struct Full;
        impl Sink for Full {
            fn write_at(&self, _: u64, _: &[u8]) -> std::io::Result<()> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
        }
        let device = Device::sim().expect("the simulator");
        let (a, b) = ([0_u8; 4 * 2 * 4], [0_u8; 2 * 6 * 4]);
        let factors: [&dyn Source; 2] = [&&a[..], &&b[..]];
        let settings = Settings::default();
        let product = Product::<f32>::new(&device, factors, 3..4, [6, 2], &Full, &settings).expect("a product");
        let error = product.by_panels(4).expect_err("a full disk");
        assert!(matches!(error, Error::Stream { attempt: "write", offset: 72, .. }), "{error:?}");
    }

    #[test]
    fn panels_of_any_width_give_the_same_product() {
        let device = Device::sim().expect("the simulator");
        let (m, n, k) = (37, 29, 21);
        let numbers = |len: usize| -> Vec<f32> { (0..len).map(|i| (i * 7 % 31) as f32 - 15.0).collect() };
        let (a, b) = (numbers(m * k), numbers(k * n + 3)[3..].to_vec());
        let element = |i: usize| (0..k).map(|at| a[i / n * k + at] * b[at * n + i % n]).sum::<f32>();
        let expected: Vec<f32> = (0..m * n).map(element).collect();
        let factors: [&dyn Source; 2] = [&bytemuck::cast_slice::<f32, u8>(&a), &bytemuck::cast_slice::<f32, u8>(&b)];
        for (width, chunk) in [(29, 1 << 20), (16, 400), (7, 84), (1, 1000), (28, 16)] {
            let sink = Mutex::new(vec![0_u8; m * n * 4]);
            let seen = Cell::new((0, 0));
            let progress = |progress: Progress| {
                assert!(progress.done > seen.get().0, "{progress:?} after {seen:?}");
                seen.set((progress.done, progress.total));
            };
            let settings =
                Settings { chunk: Some(chunk), readers: Some(2), progress: Some(&progress), ..Settings::default() };
            // Two ranges of rows, which two devices could multiply at the same time.
            for rows in [0..10, 10..37] {
                seen.set((0, 0));
                let product = Product::<f32>::new(&device, factors, rows, [n, k], &sink, &settings).expect("a product");
                product.by_panels(width).expect("written");
                assert_eq!(seen.get().0, seen.get().1, "all is read");
            }
            let result = sink.into_inner().expect("bytes");
            assert!(result == bytemuck::cast_slice::<f32, u8>(&expected), "{width} columns, chunks of {chunk} bytes");
        }
    }
}
