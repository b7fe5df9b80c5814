//! Parts of memory as operands and results of every family of the library, on the simulator.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use bytemuck::Pod;
use rustwarp::filter::Border;
use rustwarp::histogram::Bins;
use rustwarp::matmul::Sizes;
use rustwarp::scan::Kind;
use rustwarp::{Buffer, Device, Error, View};

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

/// Numbers whose sums are exact in any order.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i * 7 % 31) as f32 - 15.0).collect()
}

/// Memory that holds the values behind three others, and in front of three.
fn framed(device: &Device, values: &[f32]) -> Buffer<f32> {
    let frame = [f32::NAN; 3];
    device.upload(&[&frame, values, &frame].concat()).expect("memory")
}

fn inner(framed: &Buffer<f32>) -> View<'_, f32> {
    framed.view(3..framed.len() - 3).expect("the values")
}

#[test]
fn values_are_those_of_the_part() {
    let (device, values) = (sim(), numbers(1003));
    let (memory, whole) = (framed(&device, &values), device.upload(&values).expect("memory"));
    let x = inner(&memory);
    assert_eq!(device.sum(x).expect("a sum"), device.sum(&whole).expect("a sum"));
    assert_eq!((device.max(x).expect("a maximum"), device.min(x).expect("a minimum")), (15.0, -15.0));
    assert_eq!(device.argmax(x).expect("an index"), device.argmax(&whole).expect("an index"));
    assert_eq!(device.argmin(x).expect("an index"), device.argmin(&whole).expect("an index"));
    assert_eq!(device.dot(x, &whole).expect("a product"), device.dot(&whole, &whole).expect("a product"));
    let (first, second) = x.split_at(400).expect("two parts");
    assert_eq!(device.sum(first).expect("a sum"), values[..400].iter().sum::<f32>());
    assert_eq!(second.download().expect("values"), values[400..]);
}

/// Every family writes to a part, and to nothing around it.
#[test]
fn results_are_written_to_the_part() {
    let (device, values) = (sim(), numbers(60));
    let memory = framed(&device, &values);
    let (x, n) = (inner(&memory), values.len());
    let check = |what: &str, expected: Vec<f32>, write: &dyn Fn(rustwarp::ViewMut<'_, f32>) -> rustwarp::Result<()>| {
        let mut out = framed(&device, &vec![0.5; expected.len()]);
        write(out.view_mut(3..3 + expected.len()).expect("a part")).expect(what);
        let all = out.download().expect("values");
        let (before, rest) = all.split_at(3);
        let (written, after) = rest.split_at(expected.len());
        assert_eq!(written, expected, "{what}");
        assert!(before.iter().chain(after).all(|x| x.is_nan()), "{what} writes beyond its output");
    };
    let of = |y: rustwarp::Result<Buffer<f32>>| y.and_then(|y| y.download()).expect("a result");
    let whole = device.upload(&values).expect("memory");
    let sum = |part: &[f32]| part.iter().sum::<f32>();
    check("sum", vec![sum(&values)], &|y| rustwarp::reduce::sum_into(x, y));
    check("max", vec![15.0], &|y| rustwarp::reduce::max_into(x, y));
    check("min", vec![-15.0], &|y| rustwarp::reduce::min_into(x, y));
    check("dot", vec![device.dot(&whole, &whole).expect("a product")], &|y| rustwarp::dot::dot_into(x, x, y));
    check("add", values.iter().map(|x| x + x).collect(), &|y| rustwarp::vecadd::add_into(x, x, y));
    let scans = of(device.inclusive_scan(&whole));
    check("scan", scans, &|y| rustwarp::scan::sums_into(x, Kind::Inclusive, y));
    let maxima = of(rustwarp::scan::maxima(&whole, Kind::Exclusive));
    check("maxima", maxima, &|y| rustwarp::scan::maxima_into(x, Kind::Exclusive, y));
    let minima = of(rustwarp::scan::minima(&whole, Kind::Exclusive));
    check("minima", minima, &|y| rustwarp::scan::minima_into(x, Kind::Exclusive, y));
    let keys = device.upload(&(0..60).map(|i| i / 7).collect::<Vec<i64>>()).expect("memory");
    let sums = of(device.exclusive_scan_by_key(&keys, &whole));
    check("scan by key", sums, &|y| rustwarp::scan_by_key::sums_into(&keys, x, Kind::Exclusive, y));
    let maxima = of(rustwarp::scan_by_key::maxima(&keys, &whole, Kind::Inclusive));
    check("maxima by key", maxima, &|y| rustwarp::scan_by_key::maxima_into(&keys, x, Kind::Inclusive, y));
    let minima = of(rustwarp::scan_by_key::minima(&keys, &whole, Kind::Inclusive));
    check("minima by key", minima, &|y| rustwarp::scan_by_key::minima_into(&keys, x, Kind::Inclusive, y));
    let offsets = [0, 7, 7, 60];
    let sums = vec![sum(&values[..7]), 0.0, sum(&values[7..])];
    check("segmented sum", sums, &|y| rustwarp::segreduce::sum_into(x, &offsets, y));
    let maxima = of(device.segmented_max(&whole, &offsets));
    check("segmented max", maxima, &|y| rustwarp::segreduce::max_into(x, &offsets, y));
    let minima = of(device.segmented_min(&whole, &offsets));
    check("segmented min", minima, &|y| rustwarp::segreduce::min_into(x, &offsets, y));
    check("transpose", of(device.transpose(&whole, 5, 12)), &|y| rustwarp::transpose::transpose_into(x, 5, 12, y));
    let sizes = Sizes { m: 5, n: 5, k: 12, ..Sizes::default() };
    let product = of(device.matmul(&whole, &whole, sizes));
    check("matmul", product, &|y| rustwarp::matmul::matmul_into(x, x, sizes, y));
    let sizes = rustwarp::matvec::Sizes { rows: 5, columns: 12, transposed: false, leading_dimension: 0 };
    let (row, factor) = (x.view(..12).expect("a row"), whole.view(..12).expect("a row"));
    let product = of(device.matvec(&whole, factor, sizes));
    check("matvec", product, &|y| rustwarp::matvec::matvec_into(x, row, sizes, y));
    let mask = framed(&device, &[1.0, 2.0, 3.0]);
    let taps = device.upload(&[1.0, 2.0, 3.0]).expect("memory");
    let filtered = of(device.conv1d(&whole, 1, &taps, Border::Clamp));
    check("conv1d", filtered, &|y| rustwarp::conv1d::conv1d_into(x, 1, inner(&mask), Border::Clamp, y));
    let (shape, taps) = ([5, 12, 1], ([1.0_f32; 9].as_slice(), [3, 3]));
    let filtered = of(device.conv2d(&whole, shape, taps.0, taps.1, Border::Mirror));
    check("conv2d", filtered, &|y| rustwarp::conv2d::conv2d_into(x, shape, taps, Border::Mirror, y));
    let taps: [&[f32]; 2] = [&[1.0, 2.0, 1.0], &[1.0, 0.0, -1.0]];
    let filtered = of(device.separable(&whole, shape, taps, Border::Clamp));
    check("separable", filtered, &|y| rustwarp::separable::separable_into(x, shape, taps, Border::Clamp, y));
    assert_eq!(inner(&memory).len(), n);
}

/// Transposes matrices whose rows begin on any element, from and to memory that begins on any element.
fn transposes<T: Pod + PartialEq>(number: impl Fn(usize) -> T) {
    let (device, frame) = (sim(), 9);
    for [rows, columns] in [[65, 67], [66, 72], [136, 31], [7, 130], [64, 64], [1, 9]] {
        let values: Vec<T> = (0..rows * columns).map(&number).collect();
        let turned: Vec<T> = (0..values.len()).map(|i| values[i % rows * columns + i / rows]).collect();
        for (i, j) in [(0, 0), (1, 0), (0, 1), (2, 3), (3, 4), (4, 6), (5, 7), (8, 8)] {
            let (before, after) = (vec![number(1); i], vec![number(1); frame - i]);
            let memory = device.upload(&[before, values.clone(), after].concat()).expect("memory");
            let mut out = device.upload(&vec![number(2); values.len() + frame]).expect("memory");
            let x = memory.view(i..i + values.len()).expect("a part");
            let y = out.view_mut(j..j + values.len()).expect("a part");
            rustwarp::transpose::transpose_into(x, rows, columns, y).expect("a launch");
            let all = out.download().expect("values");
            let case = format!("{rows}x{columns}, from {i} to {j}");
            assert!(all[j..j + values.len()] == turned, "{case}");
            let around = all[..j].iter().chain(&all[j + values.len()..]);
            assert!(around.copied().all(|x| x == number(2)), "{case} writes beyond its output");
        }
    }
}

#[test]
fn ragged_matrices_from_any_element_to_any_element() {
    transposes(|i| i as f32);
    transposes(|i| i as u64);
    transposes(|i| i as u8);
    transposes(|i| i as i16);
    // Elements of 4 bytes without an alignment of their own.
    transposes(|i| (i as u32).to_ne_bytes());
}

/// So many tiles that they are taken down the columns.
#[test]
fn a_matrix_of_many_tiles() {
    let (device, rows, columns) = (sim(), 65, 64 * 1030 + 1);
    let values: Vec<u32> = (0..(rows * columns) as u32).collect();
    let turned = device.transpose(&device.upload(&values).expect("memory"), rows, columns).expect("a launch");
    let turned = turned.download().expect("values");
    assert!(turned.iter().enumerate().all(|(i, &x)| x as usize == i % rows * columns + i / rows));
}

#[test]
fn indices_and_counts_are_written_to_a_part() {
    let device = sim();
    let keys = device.upload(&[9_u32, 1, 3, 1, 0, 9]).expect("memory");
    let x = keys.view(1..5).expect("a part");
    let mut out = device.upload(&[7_u64; 6]).expect("memory");
    rustwarp::reduce::argmax_into(x, out.view_mut(1..2).expect("an element")).expect("an index");
    rustwarp::reduce::argmin_into(x, out.view_mut(2..3).expect("an element")).expect("an index");
    assert_eq!(out.download().expect("values"), [7, 1, 3, 7, 7, 7]);
    rustwarp::histogram::count_into(x, Bins::<u32>::keys(4), out.view_mut(1..=4).expect("a part")).expect("counts");
    assert_eq!(out.download().expect("values"), [7, 1, 2, 0, 1, 7]);
}

#[test]
fn parts_are_copied() {
    let device = sim();
    let mut x = device.upload(&[1_u16, 2, 3, 4, 5]).expect("memory");
    let mut host = [0; 2];
    x.view(1..3).and_then(|part| part.download_into(&mut host)).expect("two values");
    assert_eq!(host, [2, 3]);
    assert!(matches!(x.download_into(&mut host), Err(Error::Mismatch(_))));
    let (first, mut rest) = x.split_at_mut(2).expect("two parts");
    rest.view_mut(..2).expect("two elements").copy_from(&first).expect("a copy");
    rest.view_mut(2..).expect("the last").write(&[9]).expect("a write");
    assert_eq!(x.download().expect("values"), [1, 2, 1, 2, 9]);
    x.view_mut(..1).expect("the first").fill(0x11).expect("a fill");
    assert_eq!(x.read(2).expect("values"), [0x1111, 2]);
}

/// Misuse is an error that says what is wrong.
#[test]
fn misuse_is_refused() {
    let device = sim();
    let mut x = device.upload(&[1.0_f32, 2.0, 3.0]).expect("memory");
    for error in [x.view(2..4).map(|_| ()), x.view_mut(4..).map(|_| ()), x.split_at(4).map(|_| ())] {
        let text = error.expect_err("beyond the end").to_string();
        assert!(text.contains("pass a range within 0..3"), "{text}");
    }
    // Views of one buffer cannot overlap in safe code that holds a `ViewMut`; `prepare` takes two views that may.
    let plan = rustwarp::scan::Plan::<rustwarp::reduce::Sum, f32>::new(&device, 2, Kind::Inclusive).expect("a plan");
    let overlapping = plan.prepare(x.view(..2).expect("two"), x.view(1..).expect("two")).map(|_| ());
    assert!(overlapping.expect_err("an overlap").to_string().contains("pass separate memory"));
    let other = sim().upload(&[1.0_f32]).expect("memory");
    let foreign = device.sum(&other).expect_err("another device").to_string();
    assert_eq!(foreign, "the input is on another `Device` of sim, and the work is on sim: copy it there first");
    let mut short = device.upload(&[0.0_f32]).expect("memory");
    assert!(matches!(rustwarp::vecadd::add_into(&x, &x, &mut short), Err(Error::Mismatch(_))));
    assert!(matches!(short.copy_from(&x), Err(Error::Mismatch(_))));
}
