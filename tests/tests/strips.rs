//! Filters of pictures in strips of any number of rows, on the simulator with every checker on.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::conv2d::{self as kernels, Frame, best, march, unrolled, width};
use kernels_gpu::picture::{Picture, best::near};
use kernels_gpu::separable::best as outer_best;
use rustwarp::backend::{Buffer, Choice, Shape};
use rustwarp::conv2d::{self, Pixel};
use rustwarp::filter::Border;
use rustwarp::{Device, Tuning, separable};
use tests::checked::{device as sim, require_no_finding};
use tests::matrix::{Bench, bench};

/// The averages of the squares of this side around each pixel, of the part of them inside the picture.
fn blurred(input: &[u8], [rows, columns, channels]: [usize; 3], radius: usize) -> Vec<u8> {
    let inside = |at: usize, len: usize| at.saturating_sub(radius)..(at + radius + 1).min(len);
    let pixel = |i: usize| {
        let (row, column, channel) = (i / channels / columns, i / channels % columns, i % channels);
        let (mut sum, mut count) = (0, 0);
        for y in inside(row, rows) {
            for x in inside(column, columns) {
                sum += u32::from(input[(y * columns + x) * channels + channel]);
                count += 1;
            }
        }
        ((sum + count / 2) / count) as u8
    };
    (0..input.len()).map(pixel).collect()
}

/// An element as kernels take it.
type Bits<T> = <<T as Pixel>::Kind as kernels::Pixel>::Bits;

type Kernel = for<'a> fn(Slice<'a, u8>, Picture, u32, PtrMut<'a, u8>) -> Call<'a>;

/// One, two and three rounds to a strip, rows that end inside a round, one to three vectors in a row.
#[test]
fn a_small_window_moves_down_strips_of_several_rounds() {
    let Bench { device, module } = bench(Choice::Sim, "picture");
    for (radius, channels, kernel) in [
        (1, 1, near::picture_best_blur_near::<1, 1> as Kernel),
        (1, 3, near::picture_best_blur_near::<1, 3>),
        (2, 1, near::picture_best_blur_near::<2, 1>),
        (2, 3, near::picture_best_blur_near::<2, 3>),
        (3, 1, near::picture_best_blur_near::<3, 1>),
        (3, 3, near::picture_best_blur_near::<3, 3>),
    ] {
        for (columns, rounds) in [16, 32, 48].into_iter().flat_map(|columns| [1, 2, 3].map(|rounds| (columns, rounds)))
        {
            let strip = rounds * (2 * radius + 1);
            for rows in [1, 2 * radius, strip + 1, 2 * strip + radius] {
                let picture = Picture { rows, columns, channels, amount: radius };
                assert!(near::suits(picture));
                let shape = [rows, columns, channels].map(|n| n as usize);
                let input: Vec<u8> =
                    (0..shape.iter().product()).map(|i: usize| (i * i / 3 + i % 7 * 31) as u8).collect();
                let bytes = Buffer::from_slice(&*device, &input, "picture").expect("memory");
                let output = Buffer::<u8>::uninit(&*device, input.len(), "output").expect("memory");
                let call = kernel(bytes.slice(input.len()), picture, strip, output.ptr());
                let blocks = near::threads(picture, strip).div_ceil(32);
                // SAFETY: the picture suits the kernel, the output is as long, and there are enough threads.
                unsafe { device.launch(module, &call, Shape::linear(blocks, 32)) }.expect("a launch");
                let result = output.read(input.len()).expect("the result");
                assert_eq!(result, blurred(&input, shape, radius as usize), "{picture:?}, strips of {strip} rows");
            }
        }
    }
    assert!(device.observed().expect("a simulator").findings.is_empty());
}

/// The convolutions of a picture of 37 x 50 pixels in one, two, and three strips, and in as many as the plan makes, by
/// a mask of K x K and by the product of a column and a row: the order of additions is the same, and so are the bits.
fn same_in_all_strips<T: Pixel + PartialEq + std::fmt::Debug>(
    device: &Device,
    pixel: impl Fn(usize) -> T,
    tap: impl Fn(usize) -> T::Tap,
) {
    for channels in 1..=4 {
        let shape = [37, 50, channels];
        let values: Vec<T> = (0..37 * 50 * channels).map(&pixel).collect();
        let input = device.upload(&values).expect("memory");
        for size in [3, 5, 7, 9, 13, 17] {
            let frame = conv2d::frame(shape, [size; 2], Border::Clamp).expect("a frame");
            let taps: Vec<T::Tap> = (0..size * size).map(&tap).collect();
            let filtered = |grid| {
                let tuning = Tuning { grid, ..Tuning::default() };
                let mut outputs = [(); 2].map(|()| device.uninit::<T>(values.len()).expect("memory"));
                let whole = conv2d::Plan::<T>::new(device, frame, &taps, tuning).expect("a plan");
                whole.launch(&input, &mut outputs[0]).expect("a launch");
                let outer = [&taps[..size], &taps[size..2 * size]];
                let outer = separable::Plan::<T>::new(device, frame, outer, tuning).expect("a plan");
                outer.launch(&input, &mut outputs[1]).expect("a launch");
                outputs.map(|output| output.download().expect("the result"))
            };
            let short = filtered(None);
            for grid in [1, 2, 3] {
                assert_eq!(filtered(Some(grid * channels as u32)), short, "{size}x{size}, {channels} channels, {grid}");
            }
        }
    }
    require_no_finding(device, std::any::type_name::<T>());
}

/// What two calls write: one for strips of `rows` rows, which are unrolled, and one for a single strip that a thread
/// has `together` channels of.
fn filtered<'a, T: Pixel>(
    Bench { device, module }: &Bench,
    input: &[T],
    (frame, rows, together): (Frame, u32, u32),
    calls: impl FnOnce(Slice<'a, Bits<T>>, [PtrMut<'a, Bits<T>>; 2]) -> [Call<'a>; 2],
) -> [Vec<T>; 2] {
    let n = input.len();
    let picture = Buffer::from_slice(&**device, input, "picture").expect("memory");
    let outputs = [(); 2].map(|()| Buffer::<T>::uninit(&**device, n, "output").expect("memory"));
    // SAFETY: the memory has these elements, which the kernels take as integers of the same size.
    let (bits, results) =
        unsafe { (Slice::new(picture.address(), n), [0, 1].map(|i: usize| PtrMut::new(outputs[i].address()))) };
    let [unrolled, march] = calls(bits, results);
    let width = width(size_of::<T>(), frame.mask_rows as usize);
    let [across, down] = unrolled::grid(frame, rows, width).map(|n| n as u32);
    // SAFETY: the rows of the picture start on vectors, and the grid has a thread for every element.
    unsafe { device.launch(*module, &unrolled, Shape::new([across, down, 1], [march::BLOCK, 1, 1])) }
        .expect("a launch");
    let across = (frame.columns * together).div_ceil(march::BLOCK * width as u32);
    let shape = Shape::new([across, 1, frame.channels / together], [march::BLOCK, 1, 1]);
    // SAFETY: a strip of all rows, with a thread for every vector of a row.
    unsafe { device.launch(*module, &march, shape) }.expect("a launch");
    outputs.map(|output| output.read(n).expect("the result"))
}

/// Pictures without an inner strip, with one, and with several and any number of rows below; rows that are hardly more
/// than their ends, and rows of two blocks; the last picture with every border.
fn pictures(size: u32, channels: u32, strip: u32, width: usize) -> [Frame; 5] {
    let ends = unrolled::ends(size as usize, width, channels as usize);
    let ((top, _), half) = (unrolled::inner_strips(0, size, strip), size / 2);
    let least = ends.next_multiple_of(width as u32 * channels) / channels;
    let columns = [least, least + width as u32, (march::BLOCK + 3) * width as u32];
    let rows = [size.max(top + half), top + half + strip, top + half + 2 * strip + half];
    let borders = [Border::Zero, Border::Clamp, Border::Mirror];
    [(0, 0), (1, 1), (2, 0), (2, 1), (2, 2)].map(|(i, border): (usize, usize)| {
        let shape = [rows[i], columns[i].max(size.next_multiple_of(width as u32)), channels].map(|n| n as usize);
        conv2d::frame(shape, [size as usize; 2], borders[border]).expect("a frame")
    })
}

/// Compares the kernels for masks of one type. One element is not like the others.
fn unrolled_strips_are_like_others<T: Pixel + PartialEq + std::fmt::Debug>(
    other: T,
    pixel: impl Fn(usize) -> T,
    tap: impl Fn(usize) -> T::Tap,
) {
    let [whole, outer] = ["conv2d", "separable"].map(|family| bench(Choice::Sim, family));
    let bytes = size_of::<T>();
    let mut compared = [0; 2];
    for (size, channels) in best::SIZES.into_iter().flat_map(|size| (1..=4).map(move |channels| (size, channels))) {
        let taps: Vec<T::Tap> = (0..(size * size) as usize).map(&tap).collect();
        let of_both = [taps.as_slice(), &taps[..size as usize], &taps[size as usize..2 * size as usize]];
        let check = |unrolled: [Vec<T>; 2], frame: Frame, name: &str| {
            let [unrolled, march] = unrolled;
            assert_eq!(unrolled, march, "{name}: {frame:?} of {}", std::any::type_name::<T>());
        };
        let inputs = |frame: Frame| {
            let n = frame.rows as usize * frame.columns as usize * channels as usize;
            let pixel = &pixel;
            [0, n / 2, n - 1].map(|at| (0..n).map(|i| if i == at { other } else { pixel(i) }).collect::<Vec<T>>())
        };
        if let Some(strip) = best::unrolled_rows(size, channels, bytes) {
            let mask = Buffer::from_slice(&*whole.device, of_both[0], "mask").expect("memory");
            for frame in pictures(size, channels, strip, width(bytes, size as usize)) {
                let together = best::channels_per_thread(size, channels);
                for input in inputs(frame) {
                    let both = filtered(&whole, &input, (frame, strip, together), |input, [first, second]| {
                        let mask = mask.slice(taps.len());
                        let of = conv2d::Operands::<T> { input, mask, taps: of_both[0], frame };
                        [conv2d::unrolled_call(&of, first).expect("a kernel"), conv2d::call(of, frame.rows, second)]
                    });
                    check(both, frame, "conv2d");
                    compared[0] += 1;
                }
            }
        }
        if let Some(strip) = outer_best::unrolled_rows(size, channels, bytes) {
            let [column, row] =
                [1, 2].map(|i: usize| Buffer::from_slice(&*outer.device, of_both[i], "taps").expect("memory"));
            for frame in pictures(size, channels, strip, width(bytes, size as usize)) {
                let together = outer_best::channels_per_thread(size, channels);
                for input in inputs(frame) {
                    let both = filtered(&outer, &input, (frame, strip, together), |input, [first, second]| {
                        let [column, row] = [&column, &row].map(|taps| taps.slice(size as usize));
                        let taps = [of_both[1], of_both[2]];
                        let of = separable::Operands::<T> { input, column, row, taps, frame };
                        let unrolled = separable::unrolled_call(&of, first).expect("a kernel");
                        [unrolled, separable::call(of, frame.rows, second)]
                    });
                    check(both, frame, "separable");
                    compared[1] += 1;
                }
            }
        }
    }
    assert_eq!(compared.map(|n| n > 0), [true, bytes == 4], "kernels that were compared");
    for bench in [whole, outer] {
        assert!(bench.device.observed().expect("a simulator").findings.is_empty());
    }
}

#[test]
fn unrolled_strips_have_the_bits_of_others() {
    // Taps are positive, so that no sum is NaN.
    unrolled_strips_are_like_others::<f32>(f32::INFINITY, |i| (i % 97) as f32 / 7.0, |i| (i % 5) as f32 + 0.3);
    unrolled_strips_are_like_others::<f64>(f64::INFINITY, |i| (i % 89) as f64 / 3.0, |i| (i % 7) as f64 + 0.7);
    unrolled_strips_are_like_others::<u8>(255, |i| (i * 31 % 251) as u8, |i| (i % 3) as f32 / 40.0);
    let half = half::f16::from_f32;
    unrolled_strips_are_like_others::<half::f16>(
        half::f16::INFINITY,
        |i| half((i % 61) as f32),
        |i| (i % 3 + 1) as f32,
    );
}

/// The sizes are those of the ladders' cases that are to be filtered by such strips on a device of 16 multiprocessors.
#[test]
fn plans_unroll_strips_of_pictures_that_start_on_vectors() {
    let device = sim();
    let check = |shape: [usize; 3], size: usize, strip: Option<u32>, outer: bool| {
        let n: usize = shape.iter().product();
        let frame = conv2d::frame(shape, [size; 2], Border::Mirror).expect("a frame");
        let taps: Vec<f32> = (0..size * size).map(|i| (i % 5) as f32 - 1.7).collect();
        let unrolled = unrolled::grid(frame, strip.expect("a kernel"), 4);
        let mut results = Vec::new();
        for [from, to] in [[0, 0], [4, 8], [1, 0], [0, 1], [2, 0], [0, 2]] {
            let values: Vec<f32> = (0..from + n).map(|i| ((i + n - from) % n % 97) as f32 / 7.0).collect();
            let input = device.upload(&values).expect("memory");
            let mut output = device.uninit::<f32>(to + n).expect("memory");
            let picture = input.view(from..).expect("the picture");
            let grid = {
                let result = output.view_mut(to..).expect("room");
                let tuning = Tuning::default();
                if outer {
                    let plan =
                        separable::Plan::<f32>::new(&device, frame, [&taps[..size], &taps[size..2 * size]], tuning);
                    let plan = plan.expect("a plan");
                    let grid = plan.prepare(picture, result.as_view()).expect("a launch").shape().grid;
                    plan.launch(picture, result).expect("a launch");
                    grid
                } else {
                    let plan = conv2d::Plan::<f32>::new(&device, frame, &taps, tuning).expect("a plan");
                    let grid = plan.prepare(picture, result.as_view()).expect("a launch").shape().grid;
                    plan.launch(picture, result).expect("a launch");
                    grid
                }
            };
            let on_vectors = from % 4 == 0 && to % 4 == 0;
            let same = [u64::from(grid[0]), u64::from(grid[1])] == unrolled;
            assert_eq!(same, on_vectors, "{shape:?} by {size}, from {from} to {to}: {grid:?}");
            results.push(output.download().expect("the result").split_off(to));
        }
        assert!(results.iter().all(|result| *result == results[0]), "{shape:?} by {size}");
    };
    for (shape, size) in [([158, 24, 1], 3), ([210, 40, 1], 5), ([158, 16, 3], 3)] {
        check(shape, size, best::unrolled_rows(size as u32, shape[2] as u32, 4), false);
    }
    for (shape, size) in [([158, 24, 1], 3), ([312, 40, 1], 17), ([105, 16, 3], 3)] {
        check(shape, size, outer_best::unrolled_rows(size as u32, shape[2] as u32, 4), true);
    }
    require_no_finding(&device, "strips");
}

#[test]
fn convolutions_have_the_same_bits_in_strips_of_any_length() {
    let device = sim();
    same_in_all_strips::<f32>(&device, |i| (i % 97) as f32 / 7.0, |i| (i % 5) as f32 - 1.7);
    same_in_all_strips::<f64>(&device, |i| (i % 89) as f64 / 3.0, |i| (i % 7) as f64 - 2.3);
    same_in_all_strips::<u8>(&device, |i| (i * 31 % 256) as u8, |i| (i % 3) as f32 / 40.0);
    same_in_all_strips::<half::f16>(&device, |i| half::f16::from_f32((i % 61) as f32), |i| (i % 3) as f32 / 30.0);
}
