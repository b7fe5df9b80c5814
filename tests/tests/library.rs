//! The library's functions on the simulator, against a line of plain Rust each.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use rustwarp::filter::Border;
use rustwarp::matmul::Sizes;
use rustwarp::reduce::{self, Sum};
use rustwarp::scan::Kind;
use rustwarp::{Buffer, Device, Element, Error, Result, Tuning, matvec, vecadd};

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

/// Numbers whose sums are exact in any order.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i * 7 % 31) as f32 - 15.0).collect()
}

#[test]
fn reductions() {
    let (device, values) = (sim(), numbers(1003));
    let x = device.upload(&values).expect("memory");
    assert_eq!(device.sum(&x).expect("a sum"), values.iter().sum::<f32>());
    assert_eq!((device.max(&x).expect("a maximum"), device.min(&x).expect("a minimum")), (15.0, -15.0));
    let place = |wanted| values.iter().position(|&x| x == wanted).map(|i| i as u64);
    assert_eq!(device.argmax(&x).expect("an index"), place(15.0));
    assert_eq!(device.argmin(&x).expect("an index"), place(-15.0));
    assert_eq!(device.dot(&x, &x).expect("a product"), values.iter().map(|x| x * x).sum::<f32>());
    let empty = device.upload::<i32>(&[]).expect("memory");
    assert_eq!((device.sum(&empty).expect("0"), device.max(&empty).expect("the lowest")), (0, i32::MIN));
    assert_eq!(device.argmax(&empty).expect("none"), None);
}

#[test]
fn bits_of_all_elements() {
    let device = sim();
    let both = |values: &[i64]| {
        let x = device.upload(values).expect("memory");
        (device.highest_bit(&x).expect("a bit"), device.lowest_bit(&x).expect("a bit"))
    };
    assert_eq!((both(&[8, 9, 0]), both(&[1 << 40, 96])), ((Some(3), Some(0)), (Some(40), Some(5))));
    assert_eq!((both(&[0, -8]), both(&[0; 700]), both(&[])), ((Some(63), Some(3)), (None, None), (None, None)));
    let mut values = vec![0_u32; 5000];
    (values[4999], values[17]) = (1 << 30, 1 << 2);
    let x = device.upload(&values).expect("memory");
    let mut bit = device.uninit::<u32>(1).expect("memory");
    rustwarp::bits::highest_into(&x, &mut bit).expect("a launch");
    assert_eq!(bit.download().expect("a bit"), [30]);
    rustwarp::bits::lowest_into(&x, &mut bit).expect("a launch");
    assert_eq!(bit.download().expect("a bit"), [2]);
    rustwarp::bits::highest_into(&device.zeros::<u32>(3).expect("memory"), &mut bit).expect("a launch");
    assert_eq!(bit.download().expect("a bit"), [rustwarp::bits::NONE]);
    assert!(matches!(sim().highest_bit(&x), Err(Error::OtherDevice { .. })));
}

#[test]
fn segments() {
    let x = sim().upload(&[9, 1, 2, 4, 9]).expect("memory");
    let sums = |offsets: &[u64]| rustwarp::segreduce::sum(&x, offsets).and_then(|sums| sums.download());
    assert_eq!(sums(&[1, 3, 3, 4]).expect("sums"), [3, 0, 4]);
    assert_eq!(sums(&[0]).expect("no segments"), [0; 0]);
    let device = x.device();
    let all = [device.segmented_sum(&x, &[0, 2, 5]), device.segmented_max(&x, &[0, 2, 5])];
    let [sums_of_two, maxima] = all.map(|results| results.and_then(|y| y.download()).expect("results"));
    let minima = device.segmented_min(&x, &[0, 2, 5]).and_then(|y| y.download()).expect("minima");
    assert_eq!((sums_of_two, maxima, minima), (vec![10, 15], vec![9, 9], vec![1, 2]));
    for wrong in [&[][..], &[0, 3, 2], &[0, 6]] {
        assert!(matches!(sums(wrong), Err(Error::Mismatch(_))), "{wrong:?}");
    }
}

#[test]
fn scans() {
    let device = sim();
    // One tile, several small ones, and large ones.
    for n in [0_usize, 1, 1009, 5000, 140_001] {
        let values: Vec<u64> = (0..n as u64).map(|i| i * i % 97).collect();
        let x = device.upload(&values).expect("memory");
        let before: Vec<u64> = values.iter().scan(0, |sum, x| Some(std::mem::replace(sum, *sum + x))).collect();
        let through: Vec<u64> = before.iter().zip(&values).map(|(before, x)| before + x).collect();
        assert!(device.exclusive_scan(&x).and_then(|y| y.download()).expect("sums") == before, "{n}");
        assert!(device.inclusive_scan(&x).and_then(|y| y.download()).expect("sums") == through, "{n}");
    }
    let maxima = device.upload(&[3, 1, 4, 1, 5]).and_then(|x| rustwarp::scan::maxima(&x, Kind::Inclusive));
    assert_eq!(maxima.and_then(|y| y.download()).expect("maxima"), [3, 3, 4, 4, 5]);
    let other = sim().upload(&[1]).expect("memory");
    let refused = [device.scan_maxima(&other, Kind::Inclusive), device.scan_minima(&other, Kind::Exclusive)];
    assert!(refused.iter().all(|result| matches!(result, Err(Error::OtherDevice { .. }))), "{refused:?}");
}

#[test]
fn histograms() {
    let device = sim();
    let bytes = device.upload::<u8>(&[0, 3, 3, 255, 7]).expect("memory");
    assert_eq!(device.histogram(&bytes, 4).and_then(|y| y.download()).expect("counts"), [1, 0, 0, 2]);
    let keys: Vec<u32> = (0..3000).map(|i| i * i % 1000).collect();
    let x = device.upload(&keys).expect("memory");
    let mut expected = vec![0_u64; 1000];
    keys.iter().for_each(|&key| expected[key as usize] += 1);
    assert_eq!(device.histogram(&x, 1000).and_then(|y| y.download()).expect("counts"), expected);
    let text = device.upload(b"Hello, World").expect("memory");
    let letters = device.histogram_of_letters(&text).and_then(|y| y.download()).expect("counts");
    assert_eq!(letters, [1, 2, 3, 2, 1, 1, 0]);
    let floats = device.upload(&[0.0_f32, 0.49, 0.5, 1.0, -0.1, f32::NAN]).expect("memory");
    let halves = device.histogram_of_range(&floats, 2, 0.0..1.0).and_then(|y| y.download());
    assert_eq!(halves.expect("counts"), [2, 1]);
    assert!(matches!(device.histogram_of_range(&floats, 2, 1.0..1.0), Err(Error::Argument(_))));
    assert!(matches!(sim().histogram_of_letters(&text), Err(Error::OtherDevice { .. })));
    assert!(matches!(sim().histogram_of_range(&floats, 2, 0.0..1.0), Err(Error::OtherDevice { .. })));
}

#[test]
fn matrices() {
    let device = sim();
    let (m, n, k) = (33, 18, 7);
    let (a, b) = (numbers(m * k), numbers(k * n));
    let (x, y) = (device.upload(&a).expect("memory"), device.upload(&b).expect("memory"));
    let mut expected = vec![0.0; m * n];
    for i in 0..m * n {
        expected[i] = (0..k).map(|p| a[i / n * k + p] * b[p * n + i % n]).sum();
    }
    let sizes = Sizes { m, n, k, ..Sizes::default() };
    assert_eq!(device.matmul(&x, &y, sizes).and_then(|c| c.download()).expect("a product"), expected);
    let turned = device.transpose(&y, k, n).expect("a matrix");
    assert_eq!(turned.read(2).expect("a row"), [b[0], b[n]]);
    let sizes = Sizes { transposed: [false, true], ..sizes };
    assert_eq!(device.matmul(&x, &turned, sizes).and_then(|c| c.download()).expect("a product"), expected);
    let column = y.view(..k).expect("a vector");
    let expected: Vec<f32> = (0..m).map(|i| (0..k).map(|p| a[i * k + p] * b[p]).sum()).collect();
    let sizes = matvec::Sizes { rows: m, columns: k, transposed: false, leading_dimension: 0 };
    assert_eq!(device.matvec(&x, column, sizes).and_then(|y| y.download()).expect("a product"), expected);
    assert!(matches!(device.matvec(&x, &y, sizes), Err(Error::Mismatch(_))), "a longer vector");
    let wide = matvec::Sizes { columns: k + 1, ..sizes };
    assert!(matches!(device.matvec(&x, column, wide), Err(Error::Mismatch(_))), "a larger matrix");
    let sizes = Sizes { transposed: [false, true], m, n, k, ..Sizes::default() };
    let sum = device.add(&x, &x).and_then(|sum| sum.download()).expect("a sum");
    assert!(sum.iter().zip(&a).all(|(sum, a)| *sum == 2.0 * a) && sum.len() == a.len());
    assert!(matches!(device.add(&x, &y), Err(Error::Mismatch(_))));
    assert!(matches!(device.transpose(&y, k, n + 1), Err(Error::Mismatch(_))));
    assert!(matches!(device.matmul(&x, &y, Sizes { m: m + 1, ..sizes }), Err(Error::Mismatch(_))));
}

#[test]
fn convolutions() {
    let device = sim();
    let signal = device.upload(&[1.0_f64, 2.0, 4.0]).expect("memory");
    let mask = device.upload(&[100.0, 10.0, 1.0]).expect("memory");
    for (border, expected) in [
        (Border::Zero, [12.0, 124.0, 240.0]),
        (Border::Clamp, [112.0, 124.0, 244.0]),
        (Border::Mirror, [212.0, 124.0, 242.0]),
    ] {
        let filtered = device.conv1d(&signal, 1, &mask, border).and_then(|y| y.download());
        assert_eq!(filtered.expect("a signal"), expected, "{border:?}");
        let taps = [100.0, 10.0, 1.0];
        let row = device.conv2d(&signal, [1, 3, 1], &taps, [1, 3], border).and_then(|y| y.download());
        assert_eq!(row.expect("a picture"), expected, "{border:?}");
    }
    let stereo = device.upload(&[1.0_f32, 10.0, 2.0, 20.0]).expect("memory");
    let mean = device.upload(&[1.0_f32, 1.0]).expect("memory");
    let sums = rustwarp::conv1d::conv1d(&stereo, 2, &mean, Border::Zero).and_then(|y| y.download());
    assert_eq!(sums.expect("a signal"), [1.0, 10.0, 3.0, 30.0]);
    let picture = device.upload(&[1.0_f32; 25]).expect("memory");
    let filtered = rustwarp::conv2d::conv2d(&picture, [5, 5, 1], &[1.0; 9], [3, 3], Border::Zero);
    let filtered = filtered.and_then(|y| y.download()).expect("a picture");
    assert_eq!((filtered[0], filtered[2], filtered[12]), (4.0, 6.0, 9.0));
}

/// Bytes and f16 are filtered as f32, and results rounded to their type once: also between the two passes of a
/// separable mask.
#[test]
fn convolutions_of_narrow_pictures() {
    let (device, shape) = (sim(), [3, 4, 1]);
    let bytes: [u8; 12] = [0, 10, 20, 255, 7, 0, 0, 0, 255, 255, 255, 255];
    let photo = device.upload(&bytes).expect("memory");
    let scaled = |tap: f32| device.conv2d(&photo, shape, &[tap], [1, 1], Border::Zero).and_then(|y| y.download());
    assert_eq!(scaled(0.25).expect("a picture"), [0, 2, 5, 64, 2, 0, 0, 0, 64, 64, 64, 64], "2.5 becomes 2");
    assert_eq!(scaled(-3.0).expect("a picture"), [0; 12], "at least 0");
    assert_eq!(scaled(13.0).expect("a picture"), [0, 130, 255, 255, 91, 0, 0, 0, 255, 255, 255, 255], "at most 255");
    // A third of 255 is not a byte, three thirds are.
    let thirds = [1.0_f32 / 3.0; 3];
    let white = device.upload(&[255_u8; 27]).expect("memory");
    let mean = device.separable(&white, [3, 3, 3], [&thirds, &thirds], Border::Mirror).and_then(|y| y.download());
    assert_eq!(mean.expect("a picture"), [255; 27]);
    let difference =
        device.separable(&photo, shape, [&[0.5], &[-0.5, 0.0, 0.5]], Border::Zero).and_then(|y| y.download());
    assert_eq!(difference.expect("a picture"), [2, 5, 61, 0, 0, 0, 0, 0, 64, 0, 0, 0]);
    let halves: Vec<half::f16> = [1.0, 2048.0, 1.0, 60_000.0].map(half::f16::from_f32).into();
    let halves = device.upload(&halves).expect("memory");
    let sums = device.conv2d(&halves, [1, 4, 1], &[1.0; 3], [1, 3], Border::Zero).and_then(|y| y.download());
    // In f16, 2049 would be rounded to 2048 before the next 1 is added.
    let expected = [2049.0, 2050.0, 62_049.0, 60_001.0].map(half::f16::from_f32);
    assert_eq!(sums.expect("a picture"), expected);
    let infinite = device.conv2d(&halves, [1, 4, 1], &[2.0], [1, 1], Border::Zero).and_then(|y| y.download());
    assert_eq!(infinite.expect("a picture")[3], half::f16::INFINITY);
    let wrong = device.separable(&photo, [3, 5, 1], [&[1.0], &[1.0]], Border::Zero).map(|_| ());
    assert!(matches!(wrong, Err(Error::Mismatch(_))));
    let wrong = device.separable(&photo, shape, [&[], &[1.0]], Border::Zero).map(|_| ());
    assert!(matches!(wrong, Err(Error::Argument(_))));
}

/// A frame's fields are public, so plans check its sizes.
#[test]
fn frames_beyond_the_limits_are_rejected() {
    let device = sim();
    let mut frame = rustwarp::conv1d::frame([100, 1, 3], Border::Zero).expect("a frame");
    frame.taps = rustwarp::conv1d::MAX_MASK + 1;
    let plan = rustwarp::conv1d::Plan::<f32>::new(&device, frame).map(|_| ());
    assert!(matches!(plan, Err(Error::Argument(_))));
    let mut frame = rustwarp::conv2d::frame([9, 9, 1], [3, 3], Border::Zero).expect("a frame");
    frame.rows = u32::MAX;
    let plan = rustwarp::conv2d::Plan::<f32>::new(&device, frame, &[1.0; 9], Tuning::default()).map(|_| ());
    assert!(matches!(plan, Err(Error::Argument(_))));
}

#[test]
fn memory_of_another_device_is_rejected() {
    let (one, other) = (sim(), sim());
    let x = one.upload(&[1.0_f32]).expect("memory");
    assert!(matches!(other.sum(&x), Err(Error::OtherDevice { .. })));
    let y = other.upload(&[1.0_f32]).expect("memory");
    assert!(matches!(rustwarp::dot::dot(&x, &y), Err(Error::OtherDevice { .. })));
    drop(one);
    assert_eq!(x.download().expect("the buffer keeps its device open"), [1.0]);
}

/// A plan's scratch memory is valid for the next launch after each one.
#[test]
fn plans_are_launched_many_times() {
    let (device, n) = (sim(), 3001);
    let inputs = [0, 1, 2].map(|k| (0..n as u64).map(|i| i * i % (97 + k)).collect::<Vec<_>>());
    let uploaded = inputs.each_ref().map(|values| device.upload(values).expect("memory"));
    let mut sum = device.uninit::<u64>(1).expect("memory");
    let mut prefixes = device.uninit::<u64>(n).expect("memory");
    let reduction = reduce::Plan::<Sum, u64>::new(&device, n, Tuning::default()).expect("a plan");
    let scan = rustwarp::scan::Plan::<Sum, u64>::new(&device, n, Kind::Inclusive).expect("a plan");
    for (values, x) in inputs.iter().zip(&uploaded) {
        reduction.launch(x, &mut sum).expect("launched");
        scan.launch(x, &mut prefixes).expect("launched");
        let total: u64 = values.iter().sum();
        assert_eq!((sum.read(1).expect("a sum")[0], prefixes.download().expect("sums")[n - 1]), (total, total));
    }
    let short = device.upload(&[1_u64]).expect("memory");
    assert!(matches!(reduction.launch(&short, &mut sum), Err(Error::Mismatch(_))));
    assert!(matches!(scan.launch(&uploaded[0], &mut sum), Err(Error::Mismatch(_))));
    assert!(matches!(scan.prepare(&uploaded[0], &uploaded[0]), Err(Error::Mismatch(_))), "the output is the input");
    let elsewhere = sim().upload(&inputs[0]).expect("memory");
    assert!(matches!(reduction.launch(&elsewhere, &mut sum), Err(Error::OtherDevice { .. })));
    let tuned = |block, grid| reduce::Plan::<Sum, u64>::new(&device, n, Tuning { block, grid }).map(|_| ());
    assert!(tuned(Some(64), Some(3)).is_ok());
    for (block, grid) in [(Some(33), None), (None, Some(0))] {
        assert!(matches!(tuned(block, grid), Err(Error::Argument(_))), "{block:?} {grid:?}");
    }
}

/// Elements of 16 bits are added and compared as f32, from any element on.
#[test]
fn halves_are_reduced_as_f32() {
    use half::{bf16, f16};

    let device = sim();
    let values: Vec<f32> = (0..3001).map(|i| (i * 7 % 31) as f32 - 12.0).collect();
    let x = device.upload(&values.iter().map(|&x| f16::from_f32(x)).collect::<Vec<_>>()).expect("memory");
    let y = device.upload(&values.iter().map(|&x| bf16::from_f32(x)).collect::<Vec<_>>()).expect("memory");
    for (start, end) in [(0, 3001), (1, 3001), (3, 2998), (7, 15), (5, 5)] {
        let part = &values[start..end];
        let sum: f32 = part.iter().sum();
        let (max, min) =
            (part.iter().fold(f32::NEG_INFINITY, |a, &b| a.max(b)), part.iter().fold(f32::INFINITY, |a, &b| a.min(b)));
        let (x, y) = (x.view(start..end).expect("a part"), y.view(start..end).expect("a part"));
        assert_eq!([device.sum(x), device.max(x), device.min(x)].map(|z| z.expect("a value")), [sum, max, min]);
        assert_eq!([device.sum(y), device.max(y), device.min(y)].map(|z| z.expect("a value")), [sum, max, min]);
        assert_eq!(device.sum_async(x).and_then(|sum| sum.wait()).expect("a value"), sum);
    }
    // Sums beyond the range of f16, whose largest number is 65504.
    let large = device.upload(&[f16::MAX; 1000]).expect("memory");
    assert_eq!(device.sum(&large).expect("a value"), 65_504_000.0);
}

/// Every function on numbers of one type; `of` converts small integers from `low` on exactly.
fn functions_on_numbers<T: Element + PartialEq>(low: i64, of: fn(i64) -> T) {
    let device = sim();
    let values: Vec<i64> = (0..1003).map(|i| i * 7 % 31 + low).collect();
    let all = |values: &[i64]| values.iter().map(|&x| of(x)).collect::<Vec<T>>();
    let x = device.upload(&all(&values)).expect("memory");
    let same = |what: &str, found: Result<Buffer<T>>, expected: &[i64]| {
        let found = found.and_then(|y| y.download()).expect(what);
        assert!(found == all(expected), "{what} of {}: {found:?}, not {expected:?}", T::DTYPE);
    };
    assert!(device.sum(&x).expect("a sum") == of(values.iter().sum()));
    assert!(device.max(&x).expect("a maximum") == of(low + 30));
    assert!(device.min(&x).expect("a minimum") == of(low));
    let place = |wanted| values.iter().position(|&x| x == wanted).map(|i| i as u64);
    assert_eq!(device.argmax(&x).expect("an index"), place(low + 30));
    assert_eq!(device.argmin(&x).expect("an index"), place(low));

    let running = |join: fn(i64, i64) -> i64| -> Vec<i64> {
        values.iter().scan(None, |state, &x| Some(*state.insert(state.map_or(x, |y| join(y, x))))).collect()
    };
    let sums = running(|a, b| a + b);
    same("inclusive sums", device.inclusive_scan(&x), &sums);
    same("exclusive sums", device.exclusive_scan(&x), &[&[0], &sums[..1002]].concat());
    same("maxima", device.scan_maxima(&x, Kind::Inclusive), &running(i64::max));
    same("minima", device.scan_minima(&x, Kind::Inclusive), &running(i64::min));

    let offsets = [3, 4, 500, 1003];
    let segments = || offsets.windows(2).map(|ends| &values[ends[0] as usize..ends[1] as usize]);
    let of_segments = |join: fn(&[i64]) -> i64| segments().map(join).collect::<Vec<_>>();
    same("sums of segments", device.segmented_sum(&x, &offsets), &of_segments(|x| x.iter().sum()));
    let [most, least]: [fn(&[i64]) -> i64; 2] =
        [|x| x.iter().copied().max().expect("any"), |x| *x.iter().min().expect("any")];
    same("maxima of segments", device.segmented_max(&x, &offsets), &of_segments(most));
    same("minima of segments", device.segmented_min(&x, &offsets), &of_segments(least));

    let turned: Vec<i64> = (0..1003).map(|i| values[i % 17 * 59 + i / 17]).collect();
    same("a transposed matrix", device.transpose(&x, 17, 59), &turned);
    same("a sum of vectors", device.add(&x, &x), &values.iter().map(|x| 2 * x).collect::<Vec<_>>());
}

/// Every function on floats of one type, on small whole numbers.
macro_rules! functions_on_floats {
    ($t:ident) => {{
        let device = sim();
        let values: Vec<$t> = (0..35).map(|i| (i * 7 % 11) as $t).collect();
        let x = device.upload(&values).expect("memory");
        assert_eq!(device.dot(&x, &x).expect("a product"), values.iter().map(|x| x * x).sum());
        // 5 x 7 times its transpose.
        let sizes = Sizes { m: 5, n: 5, k: 7, transposed: [false, true], ..Sizes::default() };
        let row = |i: usize| &values[7 * i..7 * i + 7];
        let dot = |a: &[$t], b: &[$t]| a.iter().zip(b).map(|(a, b)| a * b).sum::<$t>();
        let product: Vec<$t> = (0..25).map(|i| dot(row(i / 5), row(i % 5))).collect();
        assert_eq!(device.matmul(&x, &x, sizes).and_then(|c| c.download()).expect("a product"), product);
        let taps: [$t; 3] = [1.0, 2.0, 4.0];
        let at = |i: usize| values.get(i).copied().unwrap_or(0.0);
        let filtered: Vec<$t> = (0_usize..35).map(|i| at(i.wrapping_sub(1)) + 2.0 * at(i) + 4.0 * at(i + 1)).collect();
        let mask = device.upload(&taps).expect("memory");
        let signal = device.conv1d(&x, 1, &mask, Border::Zero).and_then(|y| y.download());
        assert_eq!(signal.expect("a signal"), filtered);
        let row = device.conv2d(&x, [1, 35, 1], &taps, [1, 3], Border::Zero).and_then(|y| y.download());
        assert_eq!(row.expect("a picture"), filtered);
        let counts = device.histogram_of_range(&x, 3, 1.0..10.0).and_then(|y| y.download()).expect("counts");
        let in_bin = |low: $t| values.iter().filter(|x| (low..low + 3.0).contains(*x)).count() as u64;
        assert_eq!(counts, [in_bin(1.0), in_bin(4.0), in_bin(7.0)]);
    }};
}

#[test]
fn every_function_takes_every_type_of_number() {
    functions_on_numbers::<f32>(-15, |x| x as f32);
    functions_on_numbers::<f64>(-15, |x| x as f64);
    functions_on_numbers::<i32>(-15, |x| x as i32);
    functions_on_numbers::<i64>(-15, |x| x);
    functions_on_numbers::<u32>(1, |x| x as u32);
    functions_on_numbers::<u64>(1, |x| x as u64);
}

#[test]
fn every_function_of_floats_takes_both_types() {
    functions_on_floats!(f32);
    functions_on_floats!(f64);
}

#[test]
fn short_vectors_have_a_thread_for_every_16_bytes_and_long_ones_tiles() {
    let device = sim();
    // 2048 threads, of four elements each, on every multiprocessor.
    let short = device.info().multiprocessors as usize * 2048 * 4;
    for (n, tuning, kernel, blocks) in [
        (short, Tuning::default(), "vecadd_vectorised_f32", short / 1024),
        (short + 1, Tuning::default(), "vecadd_best_f32", short / 4096 + 1),
        (1000, Tuning { grid: Some(3), ..Tuning::default() }, "vecadd_best_f32", 3),
    ] {
        let values = numbers(n);
        let (x, mut sum) = (device.upload(&values).expect("memory"), device.zeros::<f32>(n).expect("memory"));
        let plan = vecadd::Plan::<f32>::new(&device, n, tuning).expect("a plan");
        let launch = plan.prepare([&x, &x], &sum).expect("a launch");
        assert_eq!((launch.call().entry.as_ref(), launch.shape().grid[0] as usize), (kernel, blocks), "{n}");
        plan.launch([&x, &x], &mut sum).expect("a launch");
        assert!(sum.download().expect("a sum").iter().zip(&values).all(|(sum, x)| *sum == 2.0 * x), "{n}");
    }
    // No vector of 16 bytes starts where these do.
    let x = device.upload(&numbers(1000)).expect("memory");
    let (plan, sum) = (vecadd::Plan::<f32>::new(&device, 999, Tuning::default()), device.zeros::<f32>(999));
    let (plan, sum, part) = (plan.expect("a plan"), sum.expect("memory"), x.view(1..).expect("a part"));
    assert_eq!(plan.prepare([part, part], &sum).expect("a launch").call().entry, "vecadd_best_f32");
}
