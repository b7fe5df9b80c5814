//! Filters of pictures in strips of any number of rows, on the simulator with every checker on.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::picture::{Picture, best::near};
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

#[test]
fn convolutions_have_the_same_bits_in_strips_of_any_length() {
    let device = sim();
    same_in_all_strips::<f32>(&device, |i| (i % 97) as f32 / 7.0, |i| (i % 5) as f32 - 1.7);
    same_in_all_strips::<f64>(&device, |i| (i % 89) as f64 / 3.0, |i| (i % 7) as f64 - 2.3);
    same_in_all_strips::<u8>(&device, |i| (i * 31 % 256) as u8, |i| (i % 3) as f32 / 40.0);
    same_in_all_strips::<half::f16>(&device, |i| half::f16::from_f32((i % 61) as f32), |i| (i % 3) as f32 / 30.0);
}
