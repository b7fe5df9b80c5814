//! A sink that compares the results of a scan before it passes them on.

use super::reference::{Prefixes, elements, lock};
use crate::compare::Verdict;
use crate::kernels::Wrong;
use rustwarp::element::Element;
use rustwarp::streamed::{Sink, Source};
use std::io;
use std::marker::PhantomData;
use std::sync::Mutex;

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

struct Outcome {
    verdict: Verdict,
    wrong: Option<Wrong>,
    wrapped: bool,
}

impl<'a, T: Element> Judged<'a, T> {
    /// Judges what is written to the sink; `depth` is the largest number of additions in a chain.
    pub fn new(input: &'a dyn Source, prefixes: &'a Prefixes, exclusive: bool, depth: u64, sink: &'a dyn Sink) -> Self {
        let outcome = Outcome { verdict: Verdict::of_all([]), wrong: None, wrapped: false };
        Self { input, prefixes, exclusive, depth, sink, outcome: Mutex::new(outcome), element: PhantomData }
    }

    /// The verdict of all pieces, and the first wrong element.
    pub fn outcome(&self) -> (Verdict, Option<Wrong>) {
        let outcome = lock(&self.outcome);
        (outcome.verdict, outcome.wrong)
    }

    /// Whether an integer sum left the type's range.
    pub fn has_wrapped(&self) -> bool {
        lock(&self.outcome).wrapped
    }
}

impl<T: Element> Sink for Judged<'_, T> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let (op, first) = (self.prefixes.op(), offset / size_of::<T>() as u64);
        let results = elements::<T>(bytes);
        let mut values = vec![T::ZERO; results.len()];
        self.input.read_at(offset, bytemuck::cast_slice_mut(&mut values))?;
        let mut prefix = self.prefixes.before::<T>(first, self.input)?;
        let (mut verdict, mut wrong, mut wrapped) = (Verdict::of_all([]), None, false);
        for (index, (x, result)) in (first..).zip(values.iter().zip(&*results)) {
            let before = prefix;
            prefix.append(op, x.value());
            wrapped |= prefix.wrapped::<T>();
            let reference = if self.exclusive { before } else { prefix }.reference::<T>();
            let expected = reference.expected::<T>(self.depth);
            let judged = expected.judge(result.value());
            verdict = Verdict::of_all([verdict, judged]);
            if !judged.verified && wrong.is_none() {
                wrong = Some(Wrong { index, got: result.value(), expected: expected.value });
            }
        }
        {
            let mut outcome = lock(&self.outcome);
            outcome.verdict = Verdict::of_all([outcome.verdict, verdict]);
            outcome.wrapped |= wrapped;
            outcome.wrong = outcome.wrong.into_iter().chain(wrong).min_by_key(|wrong| wrong.index);
        }
        self.sink.write_at(offset, bytes)
    }
}
