//! A panel of columns of a row-major matrix, as if its rows were next to each other.

use super::sink::Sink;
use super::source::Source;
use crate::error::Error;
use std::io;
use std::ops::Range;

/// Columns of the matrix that a source or a sink has.
pub(super) struct Panel<S> {
    pub matrix: S,
    /// Bytes of a row of the matrix.
    pub pitch: u64,
    /// The bytes of each row that belong to the panel; not empty.
    pub columns: Range<u64>,
    /// Number of rows.
    pub rows: u64,
}

impl<S> Panel<S> {
    fn width(&self) -> u64 {
        self.columns.end - self.columns.start
    }

    /// The parts of `len` bytes from `offset` on that are next to each other: their place in the matrix, and their
    /// range among the bytes.
    fn parts(&self, offset: u64, len: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
        let (width, pitch, columns) = (self.width(), self.pitch, self.columns.clone());
        let mut done = 0;
        std::iter::from_fn(move || {
            let (row, column) = ((offset + done as u64) / width, (offset + done as u64) % width);
            let part = done..len.min(done + usize::try_from(width - column).unwrap_or(usize::MAX));
            done = part.end;
            (!part.is_empty()).then_some((row * pitch + columns.start + column, part))
        })
    }

    /// The error with its place in the matrix, if it is that of a piece of the panel: of the attempt.
    pub fn placed(&self, error: Error, of: &str) -> Error {
        match error {
            Error::Stream { attempt, bytes, offset, source } if attempt == of => {
                let offset = self.parts(offset, 1).next().map_or(offset, |(place, _)| place);
                Error::Stream { attempt, bytes, offset, source }
            }
            error => error,
        }
    }

    /// Whether the rows are next to each other in the matrix, too.
    fn is_whole(&self) -> bool {
        self.width() == self.pitch
    }
}

impl Source for Panel<&dyn Source> {
    fn bytes(&self) -> u64 {
        self.rows * self.width()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        if self.is_whole() {
            return self.matrix.read_at(offset, into);
        }
        self.parts(offset, into.len()).try_for_each(|(place, part)| self.matrix.read_at(place, &mut into[part]))
    }
}

impl Sink for Panel<&dyn Sink> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.is_whole() {
            return self.matrix.write_at(offset, bytes);
        }
        self.parts(offset, bytes.len()).try_for_each(|(place, part)| self.matrix.write_at(place, &bytes[part]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn the_bytes_of_a_panel_are_those_of_its_columns() {
        let matrix: Vec<u8> = (0..60).collect();
        let (rows, pitch) = (6, 10);
        for columns in [0..10, 0..3, 4..9, 9..10] {
            let of_row = |row: usize| &matrix[row * 10..][columns.start as usize..columns.end as usize];
            let packed: Vec<u8> = (0..6).flat_map(of_row).copied().collect();
            let panel = Panel { matrix: &&matrix[..] as &dyn Source, pitch, columns: columns.clone(), rows };
            assert_eq!(panel.bytes(), packed.len() as u64);
            let copy = Mutex::new(vec![0_u8; 60]);
            let sink = Panel { matrix: &copy as &dyn Sink, pitch, columns: columns.clone(), rows };
            for start in (0..packed.len()).step_by(4) {
                let mut piece = vec![0; 4.min(packed.len() - start)];
                panel.read_at(start as u64, &mut piece).expect("bytes");
                assert_eq!(piece, packed[start..][..piece.len()], "{columns:?} from {start}");
                sink.write_at(start as u64, &piece).expect("a write");
            }
            let copy = copy.into_inner().expect("bytes");
            let inside = |at: usize| columns.contains(&(at as u64 % 10));
            let error =
                Error::Stream { attempt: "read", bytes: 1, offset: panel.width() + 1, source: io::Error::other("") };
            let place = 10 + columns.start + if panel.width() == 1 { 10 } else { 1 };
            let Error::Stream { offset, .. } = panel.placed(error, "read") else { unreachable!("it is kept") };
            assert_eq!(offset, place);
            assert!(copy.iter().enumerate().all(|(at, &x)| x == if inside(at) { matrix[at] } else { 0 }));
        }
    }
}
