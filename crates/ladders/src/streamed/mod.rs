//! Families over files that are read in chunks, by the library's streamed functions, with their results verified.
//!
//! The threads that read also compute the reference, by the same rules as for inputs in memory: exactly for integers,
//! maxima, minima and counts, in compensated f64 for sums of floats.

use crate::compare::{Expected, Verdict};
use crate::error::{Error, Result};
use crate::kernels::generic::{Reduces, with_float, with_op};
use crate::kernels::histogram::oracle::count;
use crate::kernels::histogram::question::Question;
use crate::kernels::reduce::oracle::Reference;
use crate::kernels::spelling::{CHUNK, OP, STREAM};
use crate::kernels::{self, Family, Oracle, Problem, Row, Settings, Wrong, dot, histogram, reduce, scan};
use input::Input;
use judged::Outcome;
use kernels_gpu::reduce::{Op, Sum};
use reference::{Prefixes, Watched};
use rustwarp::element::{Array, Dtype, Element, Scalar, Value};
use rustwarp::histogram::{Counted, Letter};
use rustwarp::streamed::{FilePart, Settings as Streaming, Sink, Source, Total, default_chunk};
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

mod input;
mod judged;
mod matmul;
mod place;
mod product;
mod reference;

pub use place::Place;
pub use rustwarp::streamed::Progress;

/// The name of the variant in rows: the kernel is `best`, and the time is that of reading, copying and computing.
const VARIANT: &str = "best, streamed";

/// A problem whose operands are files that are read in chunks.
pub struct Request<'a> {
    /// One of the families for which [`streams`] holds.
    pub family: &'a Family,
    /// One of the family's operations.
    pub op: &'static str,
    /// Type of the elements, for files that do not say it.
    pub dtype: Option<Dtype>,
    /// A file for each operand.
    pub inputs: &'a [PathBuf],
    /// The family's settings.
    pub settings: &'a Settings,
    /// Bytes of a chunk.
    pub chunk: Option<u64>,
    /// Whether the result is compared with a reference.
    pub verify: bool,
    /// The `.npy` file for the result, if the family [`writes`] it in chunks.
    pub output: Option<&'a Path>,
}

/// Functions that a run calls.
pub struct Events<'a> {
    /// Called with the name of the unfinished output file.
    pub begun: &'a dyn Fn(&Path),
    /// Called after each piece of the input.
    pub progress: &'a dyn Fn(Progress),
}

/// Whether the family can be streamed.
pub fn streams(family: &Family) -> bool {
    let others = [reduce::FAMILY.name, dot::FAMILY.name, histogram::FAMILY.name];
    writes(family) || others.contains(&family.name)
}

/// Whether the family's result may be as long as its input, so that it is written in chunks, too.
pub fn writes(family: &Family) -> bool {
    [scan::FAMILY.name, kernels::matmul::FAMILY.name].contains(&family.name)
}

/// The types that the family reads in chunks.
fn dtypes(family: &Family) -> &'static [Dtype] {
    if family.name == reduce::FAMILY.name { reduce::IN_PARTS } else { family.dtypes }
}

fn no_kernel(family: &Family, dtype: Dtype) -> Error {
    if family.dtypes.contains(&dtype) {
        let name = family.name;
        return Error::Usage(format!("{name} reads no {dtype} in chunks: read the file whole, or convert it to f32"));
    }
    family.no_kernel(dtype)
}

/// The opened operands of a request.
pub struct Inputs(Vec<Input>);

impl Inputs {
    /// Bytes of all operands.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(Source::bytes).sum()
    }

    /// Bytes of the result, if the family [`writes`] it in chunks.
    pub fn result_bytes(&self, request: &Request<'_>) -> u64 {
        if request.family.name != kernels::matmul::FAMILY.name {
            return if writes(request.family) { self.bytes() } else { 0 };
        }
        let size = self.0.first().map_or(0, |input| input.dtype.size() as u64);
        let elements = matmul::sizes(request, &self.0).map_or(0, |[m, n, _]| (m as u64).saturating_mul(n as u64));
        elements.saturating_mul(size)
    }

    /// Number of elements of the result that are compared with a reference, if the others are not.
    pub fn sampled(&self, request: &Request<'_>) -> Option<u64> {
        if request.family.name != kernels::matmul::FAMILY.name {
            return None;
        }
        product::sampled(matmul::sizes(request, &self.0).ok()?)
    }
}

/// Opens the files of a request, and checks everything that needs no device.
///
/// # Errors
/// [`Error::Input`] for a file that cannot be read; [`Error::Usage`] for one that cannot be streamed, another number of
/// files, another type or shape than the family takes, and settings that contradict the type.
pub fn open(request: &Request<'_>) -> Result<Inputs> {
    let family = request.family;
    let operands = family.operands;
    if request.inputs.len() != operands.len() {
        let names: Vec<_> = operands.iter().map(|operand| operand.name).collect();
        return Err(Error::Usage(format!(
            "{} reads {} in chunks, one file for each: name {} .npy or .bin",
            family.name,
            names.join(" and "),
            operands.len()
        )));
    }
    let dtypes = dtypes(family);
    request.dtype.filter(|dtype| !dtypes.contains(dtype)).map_or(Ok(()), |dtype| Err(no_kernel(family, dtype)))?;
    let open = |(path, operand): (&PathBuf, _)| input::open(path, dtypes, operand, request.dtype);
    let inputs: Vec<_> = request.inputs.iter().zip(operands).map(open).collect::<Result<_>>()?;
    if family.name == kernels::matmul::FAMILY.name {
        matmul::sizes(request, &inputs)?;
        return Ok(Inputs(inputs));
    }
    let [first, rest @ ..] = inputs.as_slice() else { return Ok(Inputs(inputs)) };
    for other in rest {
        if other.dtype != first.dtype || other.elements != first.elements {
            return Err(Error::Usage(format!(
                "{} needs two vectors of one type and length, not {} of {} and {} of {}",
                family.name, first.elements, first.dtype, other.elements, other.dtype
            )));
        }
    }
    if family.name == scan::FAMILY.name && first.shape.len() != 1 {
        return Err(Error::Usage(format!(
            "scan takes a vector, not an array of {} axes: reshape it",
            first.shape.len()
        )));
    }
    if family.name == histogram::FAMILY.name {
        Question::new(request.settings, first.dtype)?.require_one_channel("in chunks")?;
    }
    if !family.ops.is_empty() && !["sum", "max", "min"].contains(&request.op) {
        return Err(Error::Usage(format!("{OP} {} is not computed in chunks: sum, max and min are", request.op)));
    }
    Ok(Inputs(inputs))
}

/// Runs a request, and returns its row with the result; without one for a scan, whose result is in the output file.
///
/// # Errors
/// Those of the library's streamed functions; [`Error::Write`] if the output cannot be written.
pub fn run(
    place: Place<'_>,
    request: &Request<'_>,
    inputs: &Inputs,
    events: &Events<'_>,
) -> Result<(Row, Option<Tensor>)> {
    let Some(first) = inputs.0.first() else { return Err(Error::Usage("a file is needed".to_owned())) };
    let job = Job { place, request, events, inputs: &inputs.0, start: Instant::now(), chunk: chunk(place, request)? };
    let dtype = first.dtype;
    match request.family.name {
        name if name == reduce::FAMILY.name => with_dtype!(
            dtype,
            T => with_op!(request.family, request.op, O => job.reduce::<O, T>()?),
            else => Err(no_kernel(request.family, dtype))
        ),
        name if name == dot::FAMILY.name => with_float!(request.family, dtype, T => job.dot::<T>()),
        name if name == scan::FAMILY.name => with_dtype!(
            dtype,
            T => with_op!(request.family, request.op, O => (job.scan::<O, T>()?, None)),
            else => Err(request.family.no_kernel(dtype))
        ),
        name if name == kernels::matmul::FAMILY.name => {
            with_float!(request.family, dtype, T => Ok((job.matmul::<T>()?, None)))
        }
        name if name == histogram::FAMILY.name => {
            let question = Question::new(request.settings, dtype)?;
            match dtype {
                Dtype::U8 if question.letters => job.histogram::<Letter>(&question),
                Dtype::U8 => job.histogram::<u8>(&question),
                Dtype::U32 => job.histogram::<u32>(&question),
                Dtype::F32 => job.histogram::<f32>(&question),
                Dtype::F64 => job.histogram::<f64>(&question),
                other => Err(request.family.no_kernel(other)),
            }
        }
        name => Err(Error::Usage(format!("{name} cannot be computed in chunks"))),
    }
}

/// Bytes of a chunk. They are fixed here, since error bounds depend on them.
fn chunk(place: Place<'_>, request: &Request<'_>) -> Result<u64> {
    /// Chunks of two operands on the device, or of one and its result.
    const CHUNKS: usize = 6;
    match (request.chunk, place.device()) {
        (Some(chunk), _) => Ok(chunk),
        (None, Some(device)) => Ok(default_chunk(device, CHUNKS)?),
        (None, None) => Err(Error::Usage("a device is needed".to_owned())),
    }
}

/// A request on a device or a group.
struct Job<'a> {
    place: Place<'a>,
    request: &'a Request<'a>,
    events: &'a Events<'a>,
    inputs: &'a [Input],
    start: Instant,
    chunk: u64,
}

impl Job<'_> {
    fn reduce<O: Op<T> + Reduces, T: Element>(&self) -> Result<(Row, Option<Tensor>)> {
        let input = &self.inputs[0];
        let prefixes = Prefixes::new(O::REDUCTION);
        let watched = Watched::<T, _>::new(input, |first, values: &[T]| {
            prefixes.add(first, values);
            Ok(())
        });
        let source = if self.request.verify { &watched as &dyn Source } else { input };
        let total = self.place.reduce::<O, T>(source, input.elements, &self.settings())?;
        let mut row = self.row();
        if self.request.verify {
            let reference = prefixes.total::<T>().reference::<T>();
            value(&mut row, total, &reference, reference.expected::<T>(total.depth));
        }
        row.value = Some(total.value.value());
        Ok((row, Some(T::wrap(vec![total.value]).into())))
    }

    fn dot<T: Element + rustwarp::dot::Real>(&self) -> Result<(Row, Option<Tensor>)> {
        let [a, b] = [&self.inputs[0], &self.inputs[1]];
        let prefixes = Prefixes::new(Sum::REDUCTION);
        let watched = Watched::<T, _>::new(b, |first, values: &[T]| {
            let mut others = vec![T::ZERO; values.len()];
            a.read_at(first * size_of::<T>() as u64, bytemuck::cast_slice_mut(&mut others))?;
            prefixes.add_products(first, &others, values);
            Ok(())
        });
        let second = if self.request.verify { &watched as &dyn Source } else { b };
        let total = self.place.dot::<T>([a, second], a.elements, &self.settings())?;
        let mut row = self.row();
        if self.request.verify {
            let reference = prefixes.total::<f64>().reference::<f64>();
            value(&mut row, total, &reference, dot::expected::<T>(&reference, a.elements, total.depth));
        }
        row.value = Some(total.value.value());
        Ok((row, Some(T::wrap(vec![total.value]).into())))
    }

    fn histogram<S: Counted>(&self, question: &Question) -> Result<(Row, Option<Tensor>)> {
        let input = &self.inputs[0];
        let expected = Mutex::new(vec![0_u64; question.bins as usize]);
        let watched = Watched::<S::Element, _>::new(input, |_, values: &[S::Element]| {
            let piece = count(&S::Element::wrap(values.to_vec()), question);
            let mut expected = expected.lock().unwrap_or_else(PoisonError::into_inner);
            expected.iter_mut().zip(piece).for_each(|(all, piece)| *all += piece);
            Ok(())
        });
        let source = if self.request.verify { &watched as &dyn Source } else { input };
        // SAFETY: `run` chose the rule by the question.
        let bins = unsafe { question.bins::<S>() };
        let counts = self.place.histogram(source, input.elements, bins, &self.settings())?;
        let mut row = self.row();
        row.results = counts.len() as u64;
        if self.request.verify {
            let expected = expected.lock().unwrap_or_else(PoisonError::into_inner);
            let pairs = || counts.iter().zip(&*expected).map(|(x, y)| (x.value(), Expected::exactly(y.value())));
            let verdict = Verdict::of_all(pairs().map(|(have, expected)| expected.judge(have)));
            (row.verified, row.error) = (Some(verdict.verified), Value::Float(verdict.error));
            row.wrong = Wrong::first(pairs().enumerate().map(|(i, (have, expected))| (i, have, expected)));
        }
        Ok((row, Some(Array::U64(counts).into())))
    }

    fn scan<O: Op<T> + Reduces, T: Element>(&self) -> Result<Row> {
        let input = &self.inputs[0];
        let shape: Vec<_> = input.shape.iter().map(|&n| n as usize).collect();
        self.to_output(T::DTYPE, &shape, input.bytes(), |part| self.scan_to::<O, T>(part))
    }

    /// Calls `write` with the part of the output file that holds the elements, if there is an output file.
    fn to_output(
        &self,
        dtype: Dtype,
        shape: &[usize],
        bytes: u64,
        write: impl FnOnce(Option<FilePart>) -> Result<Row>,
    ) -> Result<Row> {
        let Some(path) = self.request.output else { return write(None) };
        let header = crate::input::npy::header(dtype, shape);
        let header = header.ok_or_else(|| Error::Usage(format!("NumPy has no {dtype}")))?;
        let write = |file: std::fs::File| {
            use std::io::Write;
            (&file).write_all(&header).map_err(|source| Error::Write { path: path.to_owned(), source })?;
            write(Some(FilePart::new(file, header.len() as u64, bytes)))
        };
        let keep = |row: &Row| row.verified != Some(false);
        let mut row = crate::input::replace_at_positions(path, self.events.begun, write, keep)?;
        row.output = (row.verified != Some(false)).then(|| path.to_owned());
        Ok(row)
    }

    fn scan_to<O: Op<T> + Reduces, T: Element>(&self, part: Option<FilePart>) -> Result<Row> {
        let (input, settings) = (&self.inputs[0], self.settings());
        let exclusive = self.request.settings.flag(&scan::EXCLUSIVE);
        let kind = if exclusive { rustwarp::scan::Kind::Exclusive } else { rustwarp::scan::Kind::Inclusive };
        let prefixes = Prefixes::new(O::REDUCTION);
        let watched = Watched::<T, _>::new(input, |first, values: &[T]| {
            prefixes.add(first, values);
            Ok(())
        });
        let depth = self.place.scan_depth::<T>(input, input.elements, &settings)?;
        let to: &dyn Sink = part.as_ref().map_or(&Nowhere, |part| part);
        let judged = judged::Judged::<T>::new(input, &prefixes, exclusive, depth, to);
        let (source, sink): (&dyn Source, &dyn Sink) =
            if self.request.verify { (&watched, &judged) } else { (input, to) };
        self.place.scan::<O, T>(source, input.elements, kind, sink, &settings)?;
        let mut row = self.row();
        row.results = input.elements;
        if self.request.verify {
            let Outcome { verdict, wrong, wrapped } = judged.outcome();
            (row.verified, row.error) = (Some(verdict.verified), Value::Float(verdict.error));
            (row.wrong, row.wrapped) = (wrong, wrapped);
        }
        Ok(row)
    }

    fn settings(&self) -> Streaming<'_> {
        Streaming { chunk: Some(self.chunk), progress: Some(self.events.progress), ..Streaming::default() }
    }

    /// The row with the operands and the time so far, which is that of the whole run.
    fn row(&self) -> Row {
        let Request { family, op, settings, .. } = self.request;
        let (names, input) = (self.place.names(), &self.inputs[0]);
        let problem = Problem { inputs: &[], dtype: input.dtype, op, settings };
        let none = Verdict { verified: false, error: f64::NAN };
        let mut row = Row::of(family.name, VARIANT, (problem, &Oracle::none()), [&names[0], &names[1]], none);
        let given = [settings.text(), STREAM.to_string(), format!("{CHUNK} {}", self.chunk)];
        row.settings = Some(given.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" "));
        (row.n, row.results) = (input.elements, 1);
        row.shape = (input.shape.len() != 1).then(|| input.shape.iter().map(|&n| n as usize).collect());
        if self.place.device().is_some_and(|device| device.info().is_gpu()) {
            let (ms, bytes) =
                (self.start.elapsed().as_secs_f64() * 1e3, self.inputs.iter().map(Source::bytes).sum::<u64>());
            (row.time_ms, row.gbps) = (Some(ms), Some(bytes as f64 / ms / 1e6));
        }
        row
    }
}

/// Sets reference and verdict of a row whose result is a value.
fn value<T: Element>(row: &mut Row, total: Total<T>, reference: &Reference, expected: Expected) {
    let verdict = expected.judge(total.value.value());
    row.reference = Some(expected.value);
    (row.verified, row.error) = (Some(verdict.verified), Value::Float(verdict.error));
    row.wrapped = reference.wrapped;
}

/// A sink for results that are not kept.
struct Nowhere;

impl Sink for Nowhere {
    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}
