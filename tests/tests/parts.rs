//! Operands that each start at any element, and segments that the generator does not produce, on the simulator with
//! every checker on.

use cuda_std::launch::Slice;
use kernels_gpu::{dot, reduce::gather, vecadd};
use ladders::Result;
use ladders::kernels::{Job, Problem, Settings, family};
use rustwarp::backend::{Buffer, Choice, Shape};
use rustwarp::element::{Array, Dtype};
use rustwarp::reduce::Sum;
use rustwarp::{Device, Tensor, Tuning, segreduce};
use tests::matrix::{Bench, bench, load};

/// Number of elements of each operand.
const LEN: usize = 1009;
const STARTS: [usize; 4] = [0, 1, 2, 3];

fn parts<'a>(buffer: &'a Buffer<'_, f32>, start: usize, len: usize) -> Slice<'a, f32> {
    buffer.slice(start + len).skip(start)
}

#[test]
fn vectors_off_different_boundaries() {
    let Bench { device, module } = bench(Choice::Sim, "vecadd");
    let dot_module = load(&*device, "dot", None);
    // Every sum of these small whole numbers is exact.
    let numbers = |from: usize| (0..LEN).map(|i| ((i + from) % 61) as f32).collect::<Vec<_>>();
    let (a, b) = (numbers(7), numbers(20));
    let buffer = |values: &[f32], name| Buffer::from_slice(&*device, values, name).expect("memory");
    let (device_a, device_b) = (buffer(&a, "a"), buffer(&b, "b"));
    let words = Buffer::from_slice(&*device, &[0_u64; gather::words(3, 4)], "records").expect("memory");
    for (i, j) in STARTS.into_iter().flat_map(|i| STARTS.map(|j| (i, j))) {
        for len in [0, 1, 5, 1000] {
            let (part_a, part_b) = (parts(&device_a, i, len), parts(&device_b, j, len));
            let sums: Vec<_> = (0..len).map(|k| a[i + k] + b[j + k]).collect();
            for launcher in [vecadd::vectorised::vecadd_vectorised::<f32>, vecadd::best::vecadd_best::<f32>] {
                let out = Buffer::<f32>::uninit(&*device, len, "out").expect("memory");
                let call = launcher(part_a, part_b, out.ptr());
                // SAFETY: the launch has whole warps, operands of equal length, and room for as many results.
                unsafe { device.launch(module, &call, Shape::linear(3, 64)) }.expect("a launch");
                assert_eq!(out.read(len).expect("the sums"), sums, "vecadd from {i} and {j}, {len} elements");
            }

            let out = Buffer::<f32>::uninit(&*device, 1, "output").expect("memory");
            let call = dot::best::dot_best::<f32>(part_a, part_b, words.ptr(), out.ptr());
            // SAFETY: the launch has three blocks of whole warps, the words for these, and room for one result.
            unsafe { device.launch(dot_module, &call, Shape::linear(3, 64)) }.expect("a launch");
            let sum: f32 = (0..len).map(|k| a[i + k] * b[j + k]).sum();
            assert_eq!(out.read(1).expect("the sum"), [sum], "dot from {i} and {j}, {len} elements");
        }
    }
    assert!(device.observed().expect("a simulator").findings.is_empty());
}

/// Runs all variants of `segreduce`, or `best` alone if `grid` is given, and fails if a result is wrong or a checker
/// reports a finding.
fn segments(bench: &Bench, values: Array, offsets: &[u64], op: &str, grid: Option<u32>) -> Result<()> {
    let family = family("segreduce").expect("a family");
    let settings = Settings::new(family.settings, []).expect("defaults");
    let inputs: [Tensor; 2] = [values.into(), Array::U64(offsets.to_vec()).into()];
    let problem = Problem { inputs: &inputs, dtype: inputs[0].dtype(), op, settings: &settings };
    let ladder = family.resolve(&problem)?;
    let oracle = ladder.oracle(problem)?;
    let variants = family.select(if grid.is_some() { "best" } else { "all" })?;
    let job = Job {
        device: &*bench.device,
        module: bench.module,
        problem,
        oracle: &oracle,
        variants: &variants,
        block: None,
        grid,
        plan: None,
    };
    ladder
        .run(&job, &mut |row| {
            let case = format!(
                "{} {op} {} of {} in {offsets:?} on {grid:?}",
                row.variant,
                row.dtype,
                row.n,
                offsets = offsets.len()
            );
            assert!(row.is_clean(), "{case}: off by {} {:?}", row.error, row.findings);
        })
        .map(|_| ())
}

/// `count` numbers whose sums are exact in floats.
fn numbers(dtype: Dtype, count: usize) -> Array {
    let small = |i: usize| (i * 37 % 101) as i32 - 50;
    match dtype {
        Dtype::F64 => Array::F64((0..count).map(|i| f64::from(small(i))).collect()),
        _ => Array::F32((0..count).map(|i| small(i) as f32).collect()),
    }
}

#[test]
fn segments_of_every_kind_in_one_vector() {
    let bench = bench(Choice::Sim, "segreduce");
    // The offsets have elements before all segments and after them; empty segments at both ends and between; one over
    // several tiles; many short ones; segments that end with a tile, one element before and one after it.
    let mut offsets = vec![5, 5, 5, 6, 7, 9, 9, 9000];
    offsets.extend((0..600).map(|i| 9000 + i / 3));
    offsets.extend([12287, 12288, 12289, 16384, 16384, 17000, 20480, 20480]);
    segments(&bench, numbers(Dtype::F32, 20500), &offsets, "max", None).expect("a run");
    for dtype in [Dtype::F32, Dtype::F64] {
        // Grids of one block; of blocks that begin and end inside the long segment; of more blocks than there is work
        // for.
        for grid in [Some(1), Some(2), Some(5), Some(300)] {
            segments(&bench, numbers(dtype, 20500), &offsets, "sum", grid).expect("a run");
        }
    }
}

#[test]
fn segments_without_elements_and_elements_without_segments() {
    let bench = bench(Choice::Sim, "segreduce");
    for grid in [None, Some(3)] {
        segments(&bench, numbers(Dtype::F32, 0), &[0; 900], "min", grid).expect("empty segments only");
        segments(&bench, numbers(Dtype::F32, 50), &[50; 2], "sum", grid).expect("an empty segment behind all elements");
        segments(&bench, numbers(Dtype::F32, 50), &[20], "sum", grid).expect("no segments");
    }
}

/// Segments for which `best` has a block each: of different lengths, empty ones among them, on any boundary.
#[test]
fn a_block_for_each_segment() {
    let bench = bench(Choice::Sim, "segreduce");
    let lengths: Vec<u64> = (0..24).map(|k| if k % 7 == 3 { 0 } else { k * k * 11 % 5003 + k }).collect();
    let mut offsets = vec![3];
    for length in &lengths {
        offsets.push(offsets[offsets.len() - 1] + length);
    }
    let count = offsets[24] as usize + 2;
    for (dtype, op) in [(Dtype::F32, "sum"), (Dtype::F32, "min"), (Dtype::F64, "max")] {
        segments(&bench, numbers(dtype, count), &offsets, op, None).expect("a run");
    }
}

/// Segments that `best` cuts into pieces: long ones that begin on any element, empty ones, and one that has several
/// pieces, whose last block combines them.
#[test]
fn long_segments_in_pieces() {
    let bench = bench(Choice::Sim, "segreduce");
    let lengths = (0..140).map(|k| match k {
        7 | 139 => 0,
        40 => 70_001,
        _ => 4096 + k * 37 % 9 - 4,
    });
    let offsets: Vec<u64> = std::iter::once(3)
        .chain(lengths.scan(3, |end, length| {
            *end += length;
            Some(*end)
        }))
        .collect();
    let count = offsets[140] as usize + 2;
    for (dtype, op) in [(Dtype::F32, "sum"), (Dtype::F64, "max")] {
        segments(&bench, numbers(dtype, count), &offsets, op, None).expect("a run");
    }
}

#[test]
fn special_floats_in_segments() {
    let bench = bench(Choice::Sim, "segreduce");
    let mut values = vec![1.5_f32; 5000];
    (values[10], values[31], values[32], values[4500]) = (f32::NAN, -0.0, 0.0, f32::INFINITY);
    values[100..130].fill(f32::NEG_INFINITY);
    let offsets = [0, 10, 11, 20, 31, 33, 100, 130, 131, 4501, 5000];
    for op in ["sum", "max", "min"] {
        segments(&bench, Array::F32(values.clone()), &offsets, op, None).expect("a run");
    }
}

#[test]
fn segments_have_a_kernel_that_suits_their_lengths() {
    let device = Device::sim().expect("the simulator");
    let equal = |count: u64, length: u64| (0..=count).map(|k| k * length).collect::<Vec<_>>();
    let mixed = [0, 60_000].into_iter().chain((1..500).map(|k| 60_000 + k)).collect();
    for (offsets, kernel) in [
        (equal(100, 16), "segreduce_warp_per_segment_sum_f32"),
        (equal(8, 2000), "segreduce_best_whole_sum_f32"),
        (mixed, "segreduce_best_sum_f32"),
        (equal(1 << 11, 4096), "segreduce_best_pieces_sum_f32"),
    ] {
        let n = offsets[offsets.len() - 1] as usize;
        let plan = segreduce::Plan::<Sum, f32>::new(&device, n, &offsets, Tuning::default()).expect("a plan");
        let (values, sums) = (device.zeros::<f32>(n).expect("memory"), device.zeros::<f32>(plan.segments()));
        let sums = sums.expect("memory");
        assert_eq!(plan.prepare(&values, &sums).expect("a launch").call().entry, kernel);
    }
}
