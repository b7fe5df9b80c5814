//! Products of narrow types on tensor cores: every kernel, and products that have no error.

use float8::F8E4M3;
use half::f16;
use rustwarp::matmul::{Batch, Sizes};
use rustwarp::mixed_matmul::{Factor, Forced, Plan};
use rustwarp::{Buffer, Device, Scalar};

/// Every storage order of the factors.
pub const STORED: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

/// The kernels that can compute a product: warpgroups and, for types that have them, single warps with every part of
/// the product.
pub fn ways<T: Factor<O>, O: Scalar>() -> Vec<Forced> {
    let tiles = T::WARP_KERNELS.map_or(0, |_| Plan::<T, O>::WARP_TILES);
    let warps = (0..tiles).map(|tile| Forced { warps: Some(true), tile: Some(tile), ..Forced::default() });
    [Forced { warps: Some(false), ..Forced::default() }].into_iter().chain(warps).collect()
}

/// The plans of all [`ways`].
///
/// # Panics
/// If the device has too little memory.
pub fn plans<T: Factor<O>, O: Scalar>(device: &Device, sizes: Sizes) -> Vec<Plan<T, O>> {
    let plan = |way| Plan::forced(device, sizes, Batch::SINGLE, way).expect("a plan");
    ways::<T, O>().into_iter().map(plan).collect()
}

/// Small integers, so that sums are exact.
pub fn integers(n: usize, step: usize) -> impl Iterator<Item = f32> {
    (0..n).map(move |i| (i * step % 5) as f32 - 2.0)
}

/// The number that an element is.
pub fn value<T: Scalar>(x: T) -> f64 {
    x.value().to_f64()
}

/// Integers whose sums have few bits have no error, whatever the type and the storage order.
fn small_integers<T: Factor<O>, O: Scalar>(device: &Device, [m, n, k]: [usize; 3], narrow: fn(f32) -> T) {
    let (a, b): (Vec<f32>, Vec<f32>) = (integers(m * k, 3).collect(), integers(k * n, 7).collect());
    let upload = |x: &[f32]| device.upload(&x.iter().map(|x| narrow(*x)).collect::<Vec<_>>()).expect("memory");
    let (on_a, on_b) = (upload(&a), upload(&b));
    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
        let sizes = Sizes { m, n, k, transposed, ..Sizes::default() };
        let term = |i: usize, j: usize, l: usize| {
            let (in_a, in_b) =
                (if transposed[0] { l * m + i } else { i * k + l }, if transposed[1] { j * k + l } else { l * n + j });
            a[in_a] * b[in_b]
        };
        let sum = |at: usize| (0..k).map(|l| term(at / n, at % n, l)).sum::<f32>();
        let sums: Vec<f32> = (0..m * n).map(sum).collect();
        for plan in plans::<T, O>(device, sizes) {
            let mut c: Buffer<O> = device.zeros(m * n).expect("memory");
            plan.launch([&on_a, &on_b], &mut c).expect("a product");
            let product = c.download().expect("elements");
            let wrong = product.iter().zip(&sums).position(|(&c, sum)| value(c) != f64::from(*sum));
            assert_eq!(wrong, None, "{} of {}, {transposed:?}", O::DTYPE, T::DTYPE);
        }
    }
}

/// Of every type.
pub fn small_integers_are_exact(device: &Device) {
    let sizes = [70, 66, 264];
    small_integers::<f16, f32>(device, sizes, f16::from_f32);
    small_integers::<f32, f32>(device, sizes, |x| x);
    small_integers::<F8E4M3, f32>(device, sizes, F8E4M3::from_f32);
    small_integers::<i8, i32>(device, sizes, |x| x as i8);
    small_integers::<i8, f32>(device, sizes, |x| x as i8);
    // Each warp of a block with slices of the depth has more stages than are under way at once.
    small_integers::<f16, f32>(device, [34, 42, 1320], f16::from_f32);
    small_integers::<f32, f32>(device, [34, 42, 660], |x| x);
    small_integers::<i8, i32>(device, [34, 42, 2640], |x| x as i8);
}

/// The product of A and B, which is stored transposed.
fn of_rows(a: &[f32], b: &[f32], [n, k]: [usize; 2]) -> Vec<f32> {
    let sum = |row: &[f32], column: &[f32]| row.iter().zip(column).map(|(x, y)| x * y).sum();
    a.chunks(k).flat_map(|row| b[..n * k].chunks(k).map(move |column| sum(row, column))).collect()
}

/// The numbers in 16 bits.
fn narrow(numbers: &[f32]) -> Vec<f16> {
    numbers.iter().map(|x| f16::from_f32(*x)).collect()
}

/// Products whose depth is divided, in a graph: each of its launches makes a new product of what is in memory then, and
/// so does a launch beside it.
pub fn parts_in_a_graph(device: &Device) {
    let (m, n, k) = (70, 66, 2048);
    let sizes = Sizes { m, n, k, transposed: [false, true], ..Sizes::default() };
    for way in ways::<f16, f32>() {
        let way = Forced { part: Some(512), ..way };
        let plan: Plan<f16, f32> = Plan::forced(device, sizes, Batch::SINGLE, way).expect("a plan");
        let on_a = device.zeros::<f16>(m * k).expect("memory");
        let on_b = device.zeros::<f16>(k * n).expect("memory");
        let mut c = device.zeros::<f32>(m * n).expect("memory");
        let graph = device.capture(|_| plan.launch([&on_a, &on_b], &mut c)).expect("a graph");
        for round in 1..4 {
            let (a, b): (Vec<f32>, Vec<f32>) =
                (integers(m * k, 3 + round).collect(), integers(k * n, 7 + round).collect());
            on_a.write(&narrow(&a)).expect("a copy");
            on_b.write(&narrow(&b)).expect("a copy");
            let sums = of_rows(&a, &b, [n, k]);
            graph.launch().expect("a launch");
            assert_eq!(c.download().expect("elements"), sums, "{way:?}, round {round}");
            c.write(&vec![f32::NAN; m * n]).expect("a copy");
            plan.launch([&on_a, &on_b], &mut c).expect("a launch");
            assert_eq!(c.download().expect("elements"), sums, "{way:?}, beside the graph");
        }
    }
}

/// Every tile of warpgroups, with few parts of the depth, and with more than those of which a thread reads several
/// elements at once.
pub fn every_tile_in_parts(device: &Device) {
    let (m, k) = (70, 1024);
    for tile in 0..Plan::<f16, f32>::TILES {
        for (n, part) in [(258, 384), (60, 64)] {
            let sizes = Sizes { m, n, k, transposed: [false, true], ..Sizes::default() };
            let way = Forced { warps: Some(false), tile: Some(tile), part: Some(part) };
            let (a, b): (Vec<f32>, Vec<f32>) = (integers(m * k, 3).collect(), integers(k * n, 7).collect());
            let [on_a, on_b] = [&a, &b].map(|x| device.upload(&narrow(x)).expect("memory"));
            let mut c = device.zeros::<f32>(m * n).expect("memory");
            let plan = Plan::forced(device, sizes, Batch::SINGLE, way).expect("a plan");
            let sums = of_rows(&a, &b, [n, k]);
            for _ in 0..2 {
                plan.launch([&on_a, &on_b], &mut c).expect("a product");
                assert_eq!(c.download().expect("elements"), sums, "{way:?}");
            }
        }
    }
}
