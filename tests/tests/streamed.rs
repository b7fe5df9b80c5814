//! Streamed operations on the simulator, against a line of plain Rust each.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use rustwarp::element::Value;
use rustwarp::histogram::{Bins, Letter};
use rustwarp::matmul::Real;
use rustwarp::reduce::{Max, Min, Op, Sum};
use rustwarp::scan::Kind;
use rustwarp::streamed::{self, Chunk, FilePart, Progress, Settings, Sink, Source};
use rustwarp::{Device, Element, Error};
use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

/// Settings with these bytes in a chunk.
fn chunks(bytes: u64) -> Settings<'static> {
    Settings { chunk: Some(bytes), readers: Some(3), ..Settings::default() }
}

/// Small whole numbers, so that float sums are exact in any order.
fn numbers<T: Element>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::round(Value::Int((i * 7 % 31) as i128 - 15))).collect()
}

fn whole<T>(values: &[T]) -> Range<u64> {
    0..values.len() as u64
}

/// The lengths, each with bytes of chunks: none, one chunk, whole chunks, a rest, and many tiny ones.
const CASES: [(usize, u64); 7] =
    [(0, 64), (1, 16), (1003, 1 << 20), (1024, 2048), (1003, 1600), (1003, 16), (70_001, 1 << 17)];

fn reductions<O: Op<T>, T: Element>() {
    let device = sim();
    for (n, chunk) in CASES {
        let values = numbers::<T>(n);
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        let total = streamed::reduce::<O, T>(&device, &bytes, whole(&values), &chunks(chunk)).expect("a value");
        let expected = values.iter().copied().fold(O::identity(), O::combine);
        assert_eq!(total.value, expected, "{n} elements in chunks of {chunk} bytes");
    }
}

#[test]
fn every_reduction() {
    reductions::<Sum, f32>();
    reductions::<Max, f32>();
    reductions::<Min, f64>();
    reductions::<Sum, f64>();
    reductions::<Sum, i32>();
    reductions::<Max, u32>();
    reductions::<Min, i64>();
    reductions::<Sum, u64>();
}

#[test]
fn special_values_of_reductions() {
    let device = sim();
    let mut values = vec![1.0_f32; 100];
    values[77] = f32::NAN;
    let bytes: &[u8] = bytemuck::cast_slice(&values);
    for chunk in [16, 1 << 10] {
        let max = streamed::reduce::<Max, f32>(&device, &bytes, 0..100, &chunks(chunk)).expect("a value");
        let before = streamed::reduce::<Max, f32>(&device, &bytes, 0..77, &chunks(chunk)).expect("a value");
        assert!(max.value.is_nan() && before.value == 1.0);
    }
    let wraps = [i32::MAX, 1, i32::MAX, 1, 7, 0, 0];
    let bytes: &[u8] = bytemuck::cast_slice(&wraps);
    let sum = streamed::reduce::<Sum, i32>(&device, &bytes, 0..7, &chunks(16)).expect("a value");
    assert_eq!((sum.value, sum.depth > 1), (7, true));
}

#[test]
fn products() {
    let device = sim();
    for (n, chunk) in CASES {
        let (a, b) = (numbers::<f32>(n), numbers::<f32>(n + 3)[3..].to_vec());
        let sources: [&dyn Source; 2] = [&bytemuck::cast_slice::<f32, u8>(&a), &bytemuck::cast_slice::<f32, u8>(&b)];
        let total = streamed::dot::<f32>(&device, sources, whole(&a), &chunks(chunk)).expect("a product");
        let exact: f64 = a.iter().zip(&b).map(|(a, b)| f64::from(a * b)).sum();
        assert_eq!(f64::from(total.value), exact, "{n} elements in chunks of {chunk} bytes");
    }
}

#[test]
fn counts() {
    let device = sim();
    for (n, chunk) in CASES {
        let bytes: Vec<u8> = (0..n).map(|i| (i * i % 251) as u8).collect();
        let mut expected = vec![0_u64; 200];
        bytes.iter().for_each(|&byte| expected.get_mut(usize::from(byte)).into_iter().for_each(|count| *count += 1));
        let counts = streamed::histogram(&device, &&bytes[..], whole(&bytes), Bins::<u8>::keys(200), &chunks(chunk));
        assert_eq!(counts.expect("counts"), expected, "{n} elements in chunks of {chunk} bytes");
    }
    let values = numbers::<f32>(1003);
    let parts = Bins::parts(-15.0_f32..17.0, 4).expect("parts");
    let bytes: &[u8] = bytemuck::cast_slice(&values);
    let counts = streamed::histogram(&device, &bytes, whole(&values), parts, &chunks(400)).expect("counts");
    let part = |k: u32| (-15.0 + 8.0 * f64::from(k))..(-7.0 + 8.0 * f64::from(k));
    let count = |k| values.iter().filter(|&&x| part(k).contains(&f64::from(x))).count() as u64;
    assert_eq!(counts, [count(0), count(1), count(2), count(3)]);
    let text = b"Streaming is a pipeline.".repeat(9);
    let counts = streamed::histogram(&device, &&text[..], whole(&text), Bins::<Letter>::letters(), &chunks(16));
    assert_eq!(counts.expect("counts").iter().sum::<u64>(), 9 * 20);
    let none = streamed::histogram(&device, &&text[..], 0..0, Bins::<u8>::keys(0), &chunks(16));
    assert!(matches!(none, Err(Error::Argument(_))), "{none:?}");
}

fn scans<O: Op<T>, T: Element>(kind: Kind) {
    let device = sim();
    for (n, chunk) in CASES {
        let values = numbers::<T>(n);
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        let sink = Mutex::new(vec![0_u8; bytes.len()]);
        let carry = T::round(Value::Int(3));
        let total = streamed::scan::<O, T>(&device, &bytes, whole(&values), kind, carry, &sink, &chunks(chunk));
        let mut so_far = carry;
        let expected = values.iter().map(|&x| {
            let before = so_far;
            so_far = O::combine(so_far, x);
            if kind == Kind::Exclusive { before } else { so_far }
        });
        let expected: Vec<T> = expected.collect();
        assert_eq!(total.expect("a total").value, so_far, "{n} elements in chunks of {chunk} bytes");
        let results = sink.into_inner().expect("bytes");
        assert!(results == bytemuck::cast_slice::<T, u8>(&expected), "{n} elements in chunks of {chunk} bytes");
    }
}

#[test]
fn every_scan() {
    for kind in [Kind::Inclusive, Kind::Exclusive] {
        scans::<Sum, f32>(kind);
        scans::<Max, f32>(kind);
        scans::<Min, f64>(kind);
        scans::<Sum, i32>(kind);
        scans::<Sum, u64>(kind);
        scans::<Max, i64>(kind);
    }
}

#[test]
fn neighbouring_ranges_are_one() {
    let device = sim();
    let values: Vec<i32> = (0..5000).map(|i| i32::MAX / 11 * (i % 11)).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&values);
    let sink = Mutex::new(vec![0_u8; bytes.len()]);
    let mut carry = 0;
    for range in [0..1, 1..1777, 1777..1777, 1777..5000] {
        let total = streamed::scan::<Sum, i32>(&device, &bytes, range, Kind::Inclusive, carry, &sink, &chunks(960));
        carry = total.expect("a total").value;
    }
    let mut sum = 0_i32;
    let expected: Vec<i32> = values.iter().map(|x| (sum = sum.wrapping_add(*x), sum).1).collect();
    assert!(sink.into_inner().expect("bytes") == bytemuck::cast_slice::<i32, u8>(&expected));
    assert_eq!(carry, sum);
}

#[test]
fn chunks_come_in_order_with_their_elements() {
    let device = sim();
    let values: Vec<u32> = (0..200_000).collect();
    let bytes: &[u8] = bytemuck::cast_slice(&values);
    let (mut next, seen) = (100, RefCell::new(Vec::new()));
    let progress = |progress: Progress| seen.borrow_mut().push(progress);
    let settings = Settings { progress: Some(&progress), slots: Some(2), ..chunks(1 << 18) };
    streamed::for_each_chunk::<u32>(&device, &bytes, 100..190_001, &settings, |Chunk { first, view, .. }| {
        assert_eq!((first, view.download()?), (next, values[first as usize..][..view.len()].to_vec()));
        next += view.len() as u64;
        Ok(())
    })
    .expect("all chunks");
    assert_eq!(next, 190_001);
    let seen = seen.into_inner();
    let total = (190_001 - 100) * 4;
    assert!(seen.windows(2).all(|pair| pair[0].done < pair[1].done), "{seen:?}");
    assert!(seen.last().is_some_and(|last| (last.done, last.total) == (total, total)), "{seen:?}");
}

#[test]
fn a_file_is_summed_in_two_parts() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("rustwarp-sum-{}", std::process::id()));
    let values: Vec<i64> = (0..10_001).collect();
    std::fs::write(&path, bytemuck::cast_slice::<i64, u8>(&values))?;
    let device = Device::sim()?;
    // ANCHOR: sum
    let file = FilePart::whole(File::open(&path)?)?;
    let (n, settings) = (file.bytes() / 8, Settings::default());
    let sum = streamed::reduce::<Sum, i64>(&device, &file, 0..n, &settings)?.value;
    // Two ranges, which two devices could sum at the same time.
    let first = streamed::reduce::<Sum, i64>(&device, &file, 0..n / 2, &settings)?.value;
    let second = streamed::reduce::<Sum, i64>(&device, &file, n / 2..n, &settings)?.value;
    assert_eq!(first + second, sum);
    // ANCHOR_END: sum
    std::fs::remove_file(&path)?;
    assert_eq!(sum, 10_000 * 10_001 / 2);
    Ok(())
}

/// A product of `m` x `n` x `k` in chunks of these bytes, written in two ranges of rows, against sums.
fn product<T: Real>([m, n, k]: [usize; 3], chunk: u64) {
    let device = sim();
    let (a, b) = (numbers::<T>(m * k), numbers::<T>(k * n + 3)[3..].to_vec());
    let float = |x: T| x.value().to_f64();
    let element =
        |i: usize| (0..k).map(|at| float(a[i / n * k + at]) * float(b[at * n + i % n])).fold(0.0, |sum, x| sum + x);
    let expected: Vec<T> = (0..m * n).map(|i| <T as Element>::round(Value::Float(element(i)))).collect();
    let sink = Mutex::new(vec![0xff_u8; m * n * size_of::<T>()]);
    let factors: [&dyn Source; 2] = [&bytemuck::cast_slice::<T, u8>(&a), &bytemuck::cast_slice::<T, u8>(&b)];
    for rows in [0..m as u64 / 3, m as u64 / 3..m as u64] {
        streamed::matmul::<T>(&device, factors, rows, [n, k], &sink, &chunks(chunk)).expect("a product");
    }
    let result = sink.into_inner().expect("bytes");
    assert!(result == bytemuck::cast_slice::<T, u8>(&expected), "{m}x{n}x{k} in chunks of {chunk} bytes");
}

#[test]
fn products_of_matrices() {
    for chunk in [16, 1000, 1 << 20] {
        product::<f32>([70, 67, 40], chunk);
        product::<f64>([9, 130, 33], chunk);
    }
    for [m, n, k] in [[0, 5, 3], [3, 0, 5], [5, 3, 0], [0, 0, 0], [1, 1, 1], [1, 300, 2], [300, 1, 2]] {
        product::<f32>([m, n, k], 64);
    }
}

#[test]
fn sources_with_too_few_elements_for_the_matrices() {
    let (device, bytes, sink) = (sim(), [0_u8; 48], Mutex::new(vec![0_u8; 48]));
    let factors: [&dyn Source; 2] = [&&bytes[..], &&bytes[..]];
    let product = |rows, sizes| {
        let product = streamed::matmul::<f32>(&device, factors, rows, sizes, &sink, &Settings::default());
        product.expect_err("too few elements")
    };
    // A of 4 x 3 or B of 3 x 4 fit, and one row or column more does not.
    assert!(streamed::matmul::<f32>(&device, factors, 0..4, [4, 3], &sink, &Settings::default()).is_err(), "64 bytes");
    streamed::matmul::<f32>(&device, factors, 1..3, [4, 3], &sink, &Settings::default()).expect("two rows of 16 bytes");
    assert!(matches!(product(0..5, [4, 3]), Error::Mismatch(_)));
    assert!(matches!(product(0..3, [5, 3]), Error::Mismatch(_)));
    assert!(matches!(product(0..u64::MAX / 4, [4, 3]), Error::Argument(_)));
    assert!(matches!(product(0..3, [usize::MAX / 4, 3]), Error::Argument(_)));
}

/// Bytes of which one cannot be read.
struct Broken {
    at: u64,
    how: fn() -> io::Result<()>,
}

impl Source for Broken {
    fn bytes(&self) -> u64 {
        1 << 20
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        into.fill(0);
        if (offset..offset + into.len() as u64).contains(&self.at) { (self.how)() } else { Ok(()) }
    }
}

#[test]
fn errors_of_a_source_end_the_call() {
    let device = sim();
    let sum = |at, how| {
        let source = Broken { at, how };
        streamed::reduce::<Sum, u32>(&device, &source, 0..1 << 18, &chunks(1 << 12))
    };
    let how = || Err(io::Error::other("the disk is on fire"));
    for at in [0, 5000, (1 << 20) - 1] {
        let error = sum(at, how).expect_err("an error");
        assert!(matches!(error, Error::Stream { attempt: "read", .. }), "{error}");
        assert!(error.to_string().contains("the disk is on fire"), "{error}");
    }
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sum(70_000, || panic!("a broken source"))))
        .expect_err("a panic");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"a broken source"));
    assert_eq!(sum(1 << 20, how).expect("a sum").value, 0, "the device works as before");
}

#[test]
fn an_error_of_the_work_ends_the_call() {
    let device = sim();
    let bytes = vec![0_u8; 1 << 16];
    let mut count = 0;
    let outcome = streamed::for_each_chunk::<u32>(&device, &&bytes[..], 0..1 << 14, &chunks(1 << 10), |_| {
        count += 1;
        if count == 3 { Err(Error::Argument("enough".to_owned())) } else { Ok(()) }
    });
    assert!(matches!(outcome, Err(Error::Argument(text)) if text == "enough"));
    assert_eq!(count, 3);
}

#[test]
fn errors_of_a_sink_end_the_call() {
    struct Full(AtomicU64);
    impl Sink for Full {
        fn write_at(&self, _: u64, bytes: &[u8]) -> io::Result<()> {
            let written = self.0.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            if written < 5000 { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
        }
    }
    let (device, bytes) = (sim(), vec![0_u8; 1 << 16]);
    let full = Full(AtomicU64::new(0));
    let all = 0..1 << 14;
    let error = streamed::scan::<Sum, u32>(&device, &&bytes[..], all, Kind::Inclusive, 0, &full, &chunks(1 << 10));
    assert!(matches!(error, Err(Error::Stream { attempt: "write", .. })), "{error:?}");
}

#[test]
fn elements_that_are_not_there() {
    let device = sim();
    let bytes = [0_u8; 22];
    let sum = |range| streamed::reduce::<Sum, u32>(&device, &&bytes[..], range, &Settings::default());
    assert_eq!(sum(0..5).expect("a sum").value, 0);
    assert!(matches!(sum(0..6), Err(Error::Mismatch(text)) if text.contains("0..5")));
    let small = streamed::reduce::<Sum, u32>(&device, &&bytes[..], 0..5, &chunks(8));
    assert!(matches!(small, Err(Error::Argument(text)) if text.contains("at least 16")));
    // A file that has become shorter.
    let path = std::env::temp_dir().join(format!("rustwarp-streamed-{}", std::process::id()));
    std::fs::write(&path, [1_u8; 4096]).expect("a file");
    let part = FilePart::whole(std::fs::File::open(&path).expect("the file")).expect("its size");
    std::fs::write(&path, [1_u8; 1000]).expect("a shorter file");
    let error = streamed::reduce::<Sum, u32>(&device, &part, 0..1024, &chunks(256)).expect_err("it ends");
    std::fs::remove_file(&path).expect("removed");
    assert!(error.to_string().contains("shorter"), "{error}");
}
