//! Operators and values of a crate of its own, of many sizes, on the simulator with every checker on, against a loop.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use bytemuck::Zeroable;
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::operator::{
    Operator,
    launch::{ReduceKernel, ScanByKeyKernel, ScanKernel, SegmentedReduceKernel},
};
use kernels_gpu::reduce::gather;
use kernels_gpu::scan::best;
use rustwarp::backend::{Handle, Shape, Simulation};
use rustwarp::operators::{Reduce, Scan, ScanByKey, SegmentedReduce, Transform};
use rustwarp::scan::Kind;
use rustwarp::{Device, Error, Module, Tuning};
use test_operators::{Sample, Summary};
use tests::checked::{self, require_no_finding};

/// Lengths around those of warps and chunks, and a prime above the tiles of values of four bytes and more.
const LENGTHS: [usize; 9] = [0, 1, 31, 32, 33, 255, 257, 1025, 4099];

/// The simulator with every checker on, and the kernels.
fn module() -> Module {
    let image = rustwarp::ptx::find("test-operators", None, None).expect("the PTX: run `cargo xtask build-ptx`");
    checked::device().load(&image.bytes, "test-operators.ptx").expect("a module")
}

/// Values of a linear congruential generator.
fn samples<T: Sample>(n: usize) -> Vec<T> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        T::sample(state >> 7)
    };
    std::iter::repeat_with(next).take(n).collect()
}

fn fold<O: Operator<T>, T: Sample>(values: &[T]) -> T {
    values.iter().fold(O::identity(), |sum, &x| O::combine(sum, x))
}

fn reduce<K: ReduceKernel<Input = <K as ReduceKernel>::Value>>(module: &Module, kernel: K)
where
    K::Value: Sample,
{
    let device = module.device();
    let values = samples::<K::Value>(LENGTHS[LENGTHS.len() - 1]);
    for n in LENGTHS {
        let what = format!("{kernel:?} of {n}", kernel = std::any::type_name::<K>());
        let plan = Reduce::new(module, kernel, n).expect("a plan");
        let input = device.upload(&values[..n]).expect("memory");
        let mut output = device.uninit(1).expect("memory");
        // Two launches by one plan: ticket and records are ready for the second.
        for _ in 0..2 {
            plan.launch(&input, &mut output).expect("a launch");
            assert_eq!(output.download().expect("a value"), [fold::<K::Operator, _>(&values[..n])], "{what}");
        }
        require_no_finding(device, &what);
    }
    // Parts that start anywhere, in blocks of other sizes.
    let input = device.upload(&values).expect("memory");
    // In the last two there are more blocks than threads of a block.
    for (start, grid, block) in [(1, 3, 64), (2, 1, 32), (3, 2, 256), (5, 7, 96), (0, 70, 32), (1, 33, 32)] {
        let size = gather::words(grid, size_of::<K::Value>());
        let (words, output) = (device.zeros::<u64>(size).expect("memory"), device.uninit(1).expect("memory"));
        let what = format!("{} from {start}", std::any::type_name::<K>());
        // Launches with the same words, as the simulator schedules them and under seeds, in which blocks wait.
        for seed in [None, Some(1), Some(2), Some(3)] {
            device.backend().simulate(&Simulation { seed, ..Simulation::default() }).expect("a simulator");
            let call = K::call(input.slice(values.len()).skip(start), words.ptr(), output.ptr());
            // SAFETY: whole warps, and the words for these blocks, which are 0.
            unsafe { module.launch(&call, Shape::linear(grid, block)) }.expect("a launch");
            assert_eq!(output.download().expect("a value"), [fold::<K::Operator, _>(&values[start..])], "{what}");
            assert!(words.download().expect("the words").iter().all(|word| *word == 0), "{what}");
        }
        device.backend().simulate(&Simulation::default()).expect("a simulator");
        require_no_finding(device, &what);
    }
}

/// The inclusive and the exclusive scan.
fn scans<O: Operator<T>, T: Sample>(values: &[T]) -> [Vec<T>; 2] {
    let mut sum = O::identity();
    let (mut through, mut before) = (Vec::new(), Vec::new());
    for &x in values {
        before.push(sum);
        sum = O::combine(sum, x);
        through.push(sum);
    }
    [through, before]
}

fn scan<K: ScanKernel>(module: &Module, kernel: K)
where
    K::Value: Sample,
{
    let device = module.device();
    let values = samples::<K::Value>(LENGTHS[LENGTHS.len() - 1]);
    for n in LENGTHS {
        let expected = scans::<K::Operator, _>(&values[..n]);
        for (kind, expected) in [Kind::Inclusive, Kind::Exclusive].into_iter().zip(expected) {
            let what = format!("{} of {n}, {kind:?}", std::any::type_name::<K>());
            let plan = Scan::new(module, kernel, n, kind).expect("a plan");
            let input = device.upload(&values[..n]).expect("memory");
            let mut output = device.uninit(n).expect("memory");
            plan.launch(&input, &mut output).expect("a launch");
            assert!(output.download().expect("values") == expected, "{what}");
            require_no_finding(device, &what);
        }
    }
    let (start, n) = (3, values.len() - 3);
    let bytes = size_of::<K::Value>();
    let tiles = n.div_ceil(best::tile(best::any_rows(bytes), bytes) as usize);
    let (input, output) = (device.upload(&values).expect("memory"), device.uninit::<K::Value>(n).expect("memory"));
    let state = device.zeros::<u64>(best::state_words(tiles as u64, bytes) as usize).expect("memory");
    let call = K::call(input.slice(values.len()).skip(start), 0, state.ptr(), output.ptr());
    // SAFETY: the kernel's block, a block per tile, and a state of zeros.
    unsafe { module.launch(&call, Shape::linear(tiles as u32, best::BLOCK)) }.expect("a launch");
    assert!(output.download().expect("values") == scans::<K::Operator, _>(&values[start..])[0], "from {start}");
    require_no_finding(device, std::any::type_name::<K>());
}

/// The inclusive and the exclusive scan of each run.
fn scans_of_runs<O: Operator<T>, T: Sample>(keys: &[impl PartialEq], values: &[T]) -> [Vec<T>; 2] {
    let mut all = [Vec::new(), Vec::new()];
    let mut start = 0;
    for run in keys.chunk_by(|a, b| a == b) {
        let of_run = scans::<O, T>(&values[start..start + run.len()]);
        all.iter_mut().zip(of_run).for_each(|(all, part)| all.extend(part));
        start += run.len();
    }
    all
}

fn by_key<K: ScanByKeyKernel>(module: &Module, kernel: K)
where
    K::Value: Sample,
{
    let device = module.device();
    // Several tiles of values of every size.
    let longest = 2 * best::tile(best::any_rows(size_of::<K::Value>()), size_of::<K::Value>()) as usize + 4099;
    let values = samples::<K::Value>(longest);
    // Runs of one length, of growing lengths whose keys come again, and a single one; keys differ in their last byte.
    let (one, other) = (K::Key::zeroed(), key_of_last_byte::<K::Key>());
    let of_length = |length: usize| (0..longest).map(|i| [one, other][i / length % 2]).collect::<Vec<_>>();
    let growing = (0..longest).map(|i| [one, other][(2 * i).isqrt() % 2]).collect();
    for keys in [of_length(1), of_length(3), of_length(1500), growing, of_length(longest)] {
        for n in LENGTHS.into_iter().chain([longest]) {
            let expected = scans_of_runs::<K::Operator, _>(&keys[..n], &values[..n]);
            for (kind, expected) in [Kind::Inclusive, Kind::Exclusive].into_iter().zip(expected) {
                let what = format!("{} of {n}, {kind:?}", std::any::type_name::<K>());
                let plan = ScanByKey::new(module, kernel, n, kind).expect("a plan");
                let (x, y) = (device.upload(&keys[..n]).expect("memory"), device.upload(&values[..n]).expect("memory"));
                let mut output = device.uninit(n).expect("memory");
                plan.launch(&x, &y, &mut output).expect("a launch");
                assert!(output.download().expect("values") == expected, "{what}");
                require_no_finding(device, &what);
            }
        }
    }
}

/// A key that differs from zeros in its last byte.
fn key_of_last_byte<K: bytemuck::Pod>() -> K {
    let mut key = K::zeroed();
    bytemuck::bytes_of_mut(&mut key)[size_of::<K>() - 1] = 1;
    key
}

fn segmented<K: SegmentedReduceKernel>(module: &Module, kernel: K)
where
    K::Value: Sample,
{
    let device = module.device();
    let n = LENGTHS[LENGTHS.len() - 1];
    let values = samples::<K::Value>(n);
    let input = device.upload(&values).expect("memory");
    // Segments of every length from 0 on; one that begins and ends inside the values; one; none; only empty ones.
    let growing: Vec<u64> = (0..90).map(|k| k * k / 2).collect();
    for offsets in [growing, vec![5, 4000, 4001], vec![0, n as u64], vec![7], vec![9; 300], vec![3, 2000, 2000, 4099]] {
        let what = format!("{} of {} segments", std::any::type_name::<K>(), offsets.len() - 1);
        let plan = SegmentedReduce::new(module, kernel, n, &offsets).expect("a plan");
        let mut results = device.uninit(plan.segments()).expect("memory");
        let segment = |ends: &[u64]| fold::<K::Operator, _>(&values[ends[0] as usize..ends[1] as usize]);
        let expected: Vec<_> = offsets.windows(2).map(segment).collect();
        for _ in 0..2 {
            plan.launch(&input, &mut results).expect("a launch");
            assert!(results.download().expect("values") == expected, "{what}");
        }
        require_no_finding(device, &what);
    }
    // A part that starts anywhere, in more blocks than it needs.
    let (start, grid, offsets) = (1, 9, [0_u64, 10, 10, 3000, 4090]);
    let (limits, results) = (device.upload(&offsets).expect("memory"), device.uninit::<K::Value>(4).expect("memory"));
    let carries = device.uninit::<K::Value>(grid as usize).expect("memory");
    let (keys, ticket) = (device.uninit(grid as usize).expect("memory"), device.zeros(1).expect("memory"));
    let (values_of, limits_of): (Slice<'_, K::Value>, Slice<'_, u64>) = (input.slice(n).skip(start), limits.slice(5));
    let (results_of, carries_of): (PtrMut<'_, K::Value>, PtrMut<'_, K::Value>) = (results.ptr(), carries.ptr());
    let call = K::call(values_of, limits_of, results_of, carries_of, keys.ptr(), ticket.ptr());
    // SAFETY: the kernel's block, offsets within the values, a carry and a key per block, a ticket of 0.
    unsafe { module.launch(&call, Shape::linear(grid, kernels_gpu::segreduce::best::BLOCK)) }.expect("a launch");
    let of = |ends: &[u64]| fold::<K::Operator, _>(&values[start + ends[0] as usize..start + ends[1] as usize]);
    assert_eq!(results.download().expect("values"), offsets.windows(2).map(of).collect::<Vec<_>>());
    require_no_finding(device, std::any::type_name::<K>());
}

/// A test for each kernel.
macro_rules! tests {
    ($($of:ident: $($kernel:ident)*;)*) => { $( mod $of {
        $(
            #[test]
            fn $kernel() {
                super::$of(&super::module(), test_operators::$kernel);
            }
        )*
    } )* };
}
tests! {
    reduce: reduce_line16 reduce_line32 reduce_text reduce_matrix32 reduce_long_text reduce_matrix64 reduce_summary
        reduce_bytes1 reduce_bytes3 reduce_halves3 reduce_words3 reduce_words5 reduce_longs3 reduce_words8
        reduce_words12 reduce_words16;
    scan: scan_line16 scan_line32 scan_text scan_matrix32 scan_long_text scan_matrix64 scan_summary scan_bytes1
        scan_bytes3 scan_halves3 scan_words3 scan_words5 scan_longs3 scan_words8 scan_words12 scan_words16;
    by_key: by_key_line16 by_key_line32 by_key_text by_key_matrix32 by_key_bytes1 by_key_bytes3 by_key_longs3
        by_key_words16 by_key_of_16_bytes;
    segmented: segmented_line16 segmented_line32 segmented_text segmented_matrix32 segmented_long_text
        segmented_matrix64 segmented_summary segmented_bytes1 segmented_bytes3 segmented_halves3 segmented_words3
        segmented_words5 segmented_longs3 segmented_words8;
}

/// More tiles than a group of look-back has, by an operator that does not commute.
#[test]
fn a_scan_of_several_groups_of_tiles_keeps_the_order() {
    let module = module();
    let values = samples::<test_operators::Matrix32>(70 * 1024 + 1);
    let input = module.device().upload(&values).expect("memory");
    let scan = module.device().scan_with(&module, test_operators::scan_matrix32, &input, Kind::Inclusive);
    assert!(
        scan.and_then(|y| y.download()).expect("values") == scans::<test_operators::Multiply32, _>(&values)[0],
        "another scan"
    );
    require_no_finding(module.device(), "scan_matrix32");
}

#[test]
fn elements_are_converted_before_they_are_reduced() {
    let module = module();
    let device = module.device();
    for n in LENGTHS {
        let values: Vec<f32> = (0..n).map(|i| (i * 7 % 31) as f32 - 15.0).collect();
        let bytes: Vec<u8> = (0..n).map(|i| (i * 7 % 251) as u8).collect();
        let (x, y) = (device.upload(&values).expect("memory"), device.upload(&bytes).expect("memory"));
        let expected =
            fold::<test_operators::Summarise, _>(&values.iter().map(|&x| Summary::of(x)).collect::<Vec<_>>());
        assert_eq!(device.reduce_with(&module, test_operators::summary, &x).expect("a summary"), expected, "{n}");
        let of_bytes: Vec<_> = bytes.iter().map(|&x| Summary::of(x.into())).collect();
        assert_eq!(
            device.reduce_with(&module, test_operators::summary_of_bytes, &y).expect("a summary"),
            fold::<test_operators::Summarise, _>(&of_bytes),
            "{n}"
        );
        require_no_finding(device, "summary");
    }
}

#[test]
fn long_elements_are_reduced_in_several_rounds() {
    let module = module();
    let mut rows = vec![<test_operators::Row as bytemuck::Zeroable>::zeroed(); 200];
    rows.iter_mut().zip(0..).for_each(|(row, i)| row.0[0] = i as f32);
    let tuning = Tuning { block: Some(32), grid: Some(1) };
    let plan = Reduce::tuned(&module, test_operators::summary_of_rows, rows.len(), tuning).expect("a plan");
    let mut output = module.device().uninit::<Summary>(1).expect("memory");
    plan.launch(&module.device().upload(&rows).expect("memory"), &mut output).expect("a launch");
    let expected = Summary { min: 0.0, max: 199.0, sum: 19_900.0, count: 200 };
    assert_eq!(output.download().expect("a summary"), [expected]);
    require_no_finding(module.device(), "summary_of_rows");
}

#[test]
fn transformations() {
    let module = module();
    let device = module.device();
    for n in LENGTHS {
        let values: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let summaries =
            device.upload(&values).and_then(|x| device.transform_with(&module, test_operators::summaries, &x));
        let expected: Vec<_> = values.iter().map(|&x| Summary::of(x)).collect();
        assert!(summaries.and_then(|y| y.download()).expect("values") == expected, "{n}");
        let bytes: Vec<u8> = (0..n).map(|i| i as u8).collect();
        let halves = device.upload(&bytes).and_then(|x| device.transform_with(&module, test_operators::halves, &x));
        let expected: Vec<_> = bytes.iter().map(|&x| f32::from(x) / 2.0).collect();
        assert!(halves.and_then(|y| y.download()).expect("values") == expected, "{n}");
        let texts = samples::<test_operators::Text>(n);
        let lengths = device.upload(&texts).and_then(|x| device.transform_with(&module, test_operators::lengths, &x));
        assert!(lengths.and_then(|y| y.download()).expect("values").iter().all(|&length| length == 1), "{n}");
        require_no_finding(device, "a transformation");
    }
}

#[test]
fn misuse_is_a_typed_error() {
    let module = module();
    let device = module.device();
    let x = device.upload(&[1.0_f32, 2.0]).expect("memory");
    let mut output = device.uninit::<Summary>(1).expect("memory");
    let plan = Reduce::new(&module, test_operators::summary, 3).expect("a plan");
    assert!(matches!(plan.launch(&x, &mut output), Err(Error::Mismatch(_))));
    let plan = Transform::new(&module, test_operators::summaries, 2).expect("a plan");
    assert!(matches!(plan.launch(&x, &mut output), Err(Error::Mismatch(_))));

    let other = Device::sim().expect("the simulator");
    let elsewhere = other.upload(&[1.0_f32]).expect("memory");
    let error = device.reduce_with(&module, test_operators::summary, &elsewhere).expect_err("two devices");
    assert!(matches!(error, Error::OtherDevice { .. }), "{error}");

    for block in [0, 48, 512] {
        let tuning = Tuning { block: Some(block), ..Tuning::default() };
        let refused = Reduce::tuned(&module, test_operators::summary, 3, tuning).map(|_| ());
        assert!(matches!(refused, Err(Error::Argument(_))), "{block} threads: {refused:?}");
    }

    // A module without the kernel.
    let ptx = b".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }\n";
    let wrong = device.load(ptx, "k.ptx").expect("a module");
    let error = device.reduce_with(&wrong, test_operators::summary, &x).expect_err("no such entry");
    assert!(matches!(error, Error::Argument(_)) && error.to_string().contains("summary"), "{error}");
}
