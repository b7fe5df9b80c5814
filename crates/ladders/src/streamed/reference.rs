//! The reference of a streamed input: the threads that read compute it piece by piece.

use crate::kernels::generic::Reduction;
use crate::kernels::scan::oracle::Prefix;
use bytemuck::Pod;
use rustwarp::element::{Element, Value};
use rustwarp::streamed::Source;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A source of elements of `T` that shows each piece to a function, with the index of its first element.
pub(super) struct Watched<'a, T, F> {
    source: &'a dyn Source,
    look: F,
    element: PhantomData<fn(T)>,
}

impl<'a, T: Pod, F: Fn(u64, &[T]) -> io::Result<()> + Sync> Watched<'a, T, F> {
    /// Watches a source.
    pub fn new(source: &'a dyn Source, look: F) -> Self {
        Self { source, look, element: PhantomData }
    }
}

impl<T: Pod, F: Fn(u64, &[T]) -> io::Result<()> + Sync> Source for Watched<'_, T, F> {
    fn bytes(&self) -> u64 {
        self.source.bytes()
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.source.read_at(offset, into)?;
        (self.look)(offset / size_of::<T>() as u64, &elements::<T>(into))
    }
}

/// Bytes as elements, which are copied where they are not aligned.
pub(super) fn elements<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(elements) => Cow::Borrowed(elements),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}

/// The reductions of all pieces, by the index of their first elements.
pub(super) struct Prefixes {
    op: Reduction,
    pieces: Mutex<BTreeMap<u64, (u64, Prefix)>>,
    /// Prefixes of the whole input, by their lengths.
    known: Mutex<BTreeMap<u64, Prefix>>,
}

impl Prefixes {
    /// No pieces, for this reduction.
    pub fn new(op: Reduction) -> Self {
        Self { op, pieces: Mutex::default(), known: Mutex::default() }
    }

    /// The reduction.
    pub fn op(&self) -> Reduction {
        self.op
    }

    /// Adds a piece.
    pub fn add<T: Element>(&self, first: u64, values: &[T]) {
        let mut prefix = Prefix::new::<T>(self.op);
        values.iter().for_each(|x| prefix.append(self.op, x.value()));
        lock(&self.pieces).insert(first, (values.len() as u64, prefix));
    }

    /// Adds the products of two vectors as a piece of sums.
    pub fn add_products<T: Element>(&self, first: u64, a: &[T], b: &[T]) {
        let mut prefix = Prefix::new::<f64>(self.op);
        crate::kernels::dot::products(a, b).for_each(|x| prefix.append(self.op, Value::Float(x)));
        lock(&self.pieces).insert(first, (a.len() as u64, prefix));
    }

    /// The reduction of all pieces.
    pub fn total<T: Element>(&self) -> Prefix {
        let mut all = Prefix::new::<T>(self.op);
        lock(&self.pieces).values().for_each(|(_, piece)| all.merge(self.op, piece));
        all
    }

    /// The reduction of the elements before `index`, of which those behind the last whole piece are read again.
    pub fn before<T: Element>(&self, index: u64, source: &dyn Source) -> io::Result<Prefix> {
        let (mut at, mut prefix) = {
            let (pieces, mut known) = (lock(&self.pieces), lock(&self.known));
            let last = known.range(..=index).next_back();
            let (mut at, mut prefix) = last.map_or((0, Prefix::new::<T>(self.op)), |(at, prefix)| (*at, *prefix));
            while let Some((len, piece)) = pieces.get(&at).filter(|(len, _)| *len > 0 && at + len <= index) {
                prefix.merge(self.op, piece);
                at += len;
                known.insert(at, prefix);
            }
            (at, prefix)
        };
        /// Elements that are read at a time.
        const STEP: u64 = 1 << 16;
        while at < index {
            let mut values = vec![T::ZERO; (index - at).min(STEP) as usize];
            source.read_at(at * size_of::<T>() as u64, bytemuck::cast_slice_mut(&mut values))?;
            values.iter().for_each(|x| prefix.append(self.op, x.value()));
            at += values.len() as u64;
        }
        Ok(prefix)
    }
}

/// The data, also after a panic of another thread: pieces are added whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_same_reference_as_all_elements() {
        let values: Vec<f32> = (0..1000).map(|i| (i as f32).sin() * 1e6).collect();
        let whole = crate::kernels::reduce::oracle::reference(Reduction::Sum, &values);
        let prefixes = Prefixes::new(Reduction::Sum);
        // Pieces come in any order.
        for first in [700_usize, 0, 333] {
            let end = if first == 0 {
                333
            } else if first == 333 {
                700
            } else {
                1000
            };
            prefixes.add(first as u64, &values[first..end]);
        }
        let total = prefixes.total::<f32>().reference::<f32>();
        let (Value::Float(expected), Value::Float(got)) = (whole.value, total.value) else { panic!("floats") };
        assert!((expected - got).abs() <= expected.abs() * 4.0 * f64::EPSILON, "{expected} {got}");
        let (expected, got) = (whole.magnitude.expect("a sum"), total.magnitude.expect("a sum"));
        assert!((expected - got).abs() <= expected * 1e-12, "{expected} {got}");
        // Prefixes end within pieces, too.
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        for index in [0_usize, 5, 333, 334, 999, 1000] {
            let prefix = prefixes.before::<f32>(index as u64, &bytes).expect("bytes").reference::<f32>();
            let Value::Float(got) = prefix.value else { panic!("a float") };
            let exact: f64 = values[..index].iter().map(|&x| f64::from(x)).sum();
            assert!((exact - got).abs() <= 1e-6, "{index}: {exact} {got}");
        }
    }

    #[test]
    fn special_values_of_pieces() {
        let total = |pieces: &[&[f64]]| {
            let prefixes = Prefixes::new(Reduction::Sum);
            pieces.iter().enumerate().for_each(|(i, piece)| prefixes.add(10 * i as u64, piece));
            prefixes.total::<f64>().reference::<f64>().value.to_string()
        };
        assert_eq!(total(&[&[1.0, f64::INFINITY], &[2.0]]), "inf");
        assert_eq!(total(&[&[f64::INFINITY], &[f64::NEG_INFINITY]]), "NaN");
        assert_eq!(total(&[&[1.0], &[f64::NAN], &[2.0]]), "NaN");
        assert_eq!(total(&[&[1e308, 1e308], &[1.0]]), "inf");
        assert_eq!(total(&[&[1e16], &[1.0], &[-1e16]]), "1");
    }
}
