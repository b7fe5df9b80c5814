//! A sink that compares the results of a scan before it passes them on.

use super::reference::{Prefixes, elements, lock};
use crate::compare::{Expected, Verdict};
use crate::kernels::Wrong;
use rustwarp::element::{Element, Value};
use rustwarp::streamed::{Sink, Source};
use std::io;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

/// Compares each piece with the input, which is read again: it lies in the page cache.
pub(super) struct Judged<'a, T> {
    input: &'a dyn Source,
    prefixes: &'a Prefixes,
    exclusive: bool,
    depth: u64,
    sink: &'a dyn Sink,
    outcome: Mutex<Outcome>,
    element: PhantomData<fn(T)>,
}

/// What comparisons have found.
pub(super) struct Outcome {
    /// The verdict on all elements.
    pub verdict: Verdict,
    /// The first wrong element.
    pub wrong: Option<Wrong>,
    /// Whether an integer sum left the type's range.
    pub wrapped: bool,
}

impl Outcome {
    /// The outcome before the first comparison.
    pub fn none() -> Self {
        Self { verdict: Verdict::of_all([]), wrong: None, wrapped: false }
    }

    /// Compares one more element.
    pub fn compare(&mut self, index: u64, got: Value, expected: Expected) {
        let judged = expected.judge(got);
        let wrong = (!judged.verified).then_some(Wrong { index, got, expected: expected.value });
        self.merge(Self { verdict: judged, wrong, wrapped: false });
    }

    /// Adds the outcome of other elements.
    pub fn merge(&mut self, other: Self) {
        self.verdict = Verdict::of_all([self.verdict, other.verdict]);
        self.wrapped |= other.wrapped;
        self.wrong = self.wrong.take().into_iter().chain(other.wrong).min_by_key(|wrong| wrong.index);
    }
}

impl<'a, T: Element> Judged<'a, T> {
    /// Judges what is written to the sink; `depth` is the largest number of additions in a chain.
    pub fn new(input: &'a dyn Source, prefixes: &'a Prefixes, exclusive: bool, depth: u64, sink: &'a dyn Sink) -> Self {
        let outcome = Mutex::new(Outcome::none());
        Self { input, prefixes, exclusive, depth, sink, outcome, element: PhantomData }
    }

    /// What the comparisons have found.
    pub fn outcome(self) -> Outcome {
        self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Element> Sink for Judged<'_, T> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (op, first) = (self.prefixes.op(), offset / size_of::<T>() as u64);
        let results = elements::<T>(bytes);
        let mut values = vec![T::ZERO; results.len()];
        self.input.read_at(offset, bytemuck::cast_slice_mut(&mut values))?;
        let mut prefix = self.prefixes.before::<T>(first, self.input)?;
        let mut outcome = Outcome::none();
        for (index, (x, result)) in (first..).zip(values.iter().zip(&*results)) {
            let before = prefix;
            prefix.append(op, x.value());
            outcome.wrapped |= prefix.wrapped::<T>();
            let reference = if self.exclusive { before } else { prefix }.reference::<T>();
            outcome.compare(index, result.value(), reference.expected::<T>(self.depth));
        }
        lock(&self.outcome).merge(outcome);
        self.sink.write_at(offset, bytes)
    }
}
