//! Fetches from textures of one, two and three dimensions, by float and by integer coordinates, for every type of
//! channel.

use cuda_std::launch::Scalar;
use cuda_std::prelude::*;
use cuda_std::texture::*;

/// Samples at half steps along x: two channels of each texture per thread.
#[kernel(for T in [f32, i32, u32])]
pub unsafe fn texture_samples<T: Channel + Scalar>(line: u64, plane: u64, space: u64, out: *mut T) {
    let i = thread::global_index();
    let x = i as f32 * 0.5 - 1.0;
    // SAFETY: the textures have the dimensions that their names say, and `out` has six values per thread.
    unsafe {
        let out = out.add(6 * i).cast::<[T; 2]>();
        out.write(two(tex1d(line, x)));
        out.add(1).write(two(tex2d(plane, x, 1.25)));
        out.add(2).write(two(tex3d(space, x, 1.25, 1.0)));
    }
}

/// Fetches texels along x, from two before the first.
#[kernel(for T in [f32, i32, u32])]
pub unsafe fn texture_texels<T: Channel + Scalar>(row: u64, plane: u64, space: u64, out: *mut T) {
    let i = thread::global_index();
    let x = i as i32 - 2;
    // SAFETY: as in `texture_samples`; the one-dimensional texture lies in linear memory.
    unsafe {
        let out = out.add(6 * i).cast::<[T; 2]>();
        out.write(two(tex1d_fetch(row, x)));
        out.add(1).write(two(tex2d_fetch(plane, x, 2)));
        out.add(2).write(two(tex3d_fetch(space, x, 2, 1)));
    }
}

/// The first two channels, which are those that the textures have.
#[inline(always)]
fn two<T: Copy>([first, second, ..]: [T; 4]) -> [T; 2] {
    [first, second]
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, Memory, Texels, Texture, out};
    use std::vec::Vec;

    const THREADS: u32 = 12;
    const EXTENT: [u64; 3] = [4, 3, 2];
    // Texel (x, y, z) holds x + 10 y + 100 z - 5, and 7 more in a second channel.
    let value = |x: u64, y: u64, z: u64| (x + 10 * y + 100 * z) as i32 - 5;
    let numbers = |dimensions: usize| -> Vec<i32> {
        let [wide, high, deep] = core::array::from_fn(|axis| if axis < dimensions { EXTENT[axis] } else { 1 });
        let all = (0..deep).flat_map(|z| (0..high).flat_map(move |y| (0..wide).map(move |x| value(x, y, z))));
        all.flat_map(|v| [v, v + 7]).collect()
    };
    let extent = |dimensions: usize| core::array::from_fn(|axis| if axis < dimensions { EXTENT[axis] } else { 0 });
    let texture = |dimensions: usize, texels: Texels, memory: Memory, linear: bool| {
        let normalised_reads = linear && !std::matches!(texels, Texels::F32(_));
        Texture { extent: extent(dimensions), memory, texels, channels: 2, linear, normalised_reads }
    };
    let floats = |v: Vec<i32>| Texels::F32(v.into_iter().map(|v| v as f32).collect());
    let bytes = |v: Vec<i32>| Texels::I8(v.into_iter().map(|v| v as i8).collect());
    let words = |v: Vec<i32>| Texels::U16(v.into_iter().map(|v| (v + 5) as u16).collect());

    // The results for the expected values of channel 0; fetches by integers are 0 outside.
    let sampled = |point: bool| {
        let place =
            move |x: f64, n: f64| if point { x.floor().clamp(0.0, n - 1.0) } else { (x - 0.5).clamp(0.0, n - 1.0) };
        (0..THREADS).flat_map(move |i| {
            let (x, y, z) = (place(f64::from(i) * 0.5 - 1.0, 4.0), place(1.25, 3.0), place(1.0, 2.0));
            [x, x + 10.0 * y, x + 10.0 * y + 100.0 * z].map(|v| Some(v - 5.0))
        })
    };
    let fetched = || {
        (0..THREADS).flat_map(|i| {
            let x = (2..6).contains(&i).then(|| f64::from(i) - 2.0);
            [0.0, 20.0, 120.0].map(|rest| x.map(|x| x + rest - 5.0))
        })
    };
    let channels = |v: Option<f64>, shift: f64| v.map_or([0.0; 2], |v| [v + shift, v + shift + 7.0]);
    let expected = |values: Vec<Option<f64>>, shift: f64, unit: f64| -> Vec<f64> {
        values.into_iter().flat_map(|v| channels(v, shift)).map(|v| v / unit).collect()
    };
    let as_f32 = |v: Vec<f64>| v.into_iter().map(|v| v as f32).collect::<Vec<f32>>();
    let as_i32 = |v: Vec<f64>| v.into_iter().map(|v| v as i32).collect::<Vec<i32>>();
    let as_u32 = |v: Vec<f64>| v.into_iter().map(|v| v as u32).collect::<Vec<u32>>();

    let arrays = |case: Case, texels: &dyn Fn(Vec<i32>) -> Texels, linear: bool| {
        (1..=3).fold(case, |case, n| case.texture(texture(n, texels(numbers(n)), Memory::Array, linear)))
    };
    let rows = |case: Case, texels: &dyn Fn(Vec<i32>) -> Texels| {
        let case = case.texture(texture(1, texels(numbers(1)), Memory::Linear, false));
        (2..=3).fold(case, |case, n| case.texture(texture(n, texels(numbers(n)), Memory::Array, false)))
    };
    let case = |name: &str| Case::new(name, 1, THREADS);
    std::vec![
        arrays(case("texture_samples of f32"), &floats, true)
            .near(&as_f32(expected(sampled(false).collect(), 0.0, 1.0)), 1e-6, 0.0)
            .calls(|b| texture_samples::<f32>(b[1], b[2], b[3], out(b[0]))),
        // Floats from -1 to 1, of which the filter keeps 16 bits.
        arrays(case("texture_samples of i8 as f32"), &bytes, true)
            .near(&as_f32(expected(sampled(false).collect(), 0.0, 127.0)), 0.0, 1e-4)
            .calls(|b| texture_samples::<f32>(b[1], b[2], b[3], out(b[0]))),
        arrays(case("texture_samples of i8"), &bytes, false)
            .output(&as_i32(expected(sampled(true).collect(), 0.0, 1.0)))
            .calls(|b| texture_samples::<i32>(b[1], b[2], b[3], out(b[0]))),
        arrays(case("texture_samples of u16"), &words, false)
            .output(&as_u32(expected(sampled(true).collect(), 5.0, 1.0)))
            .calls(|b| texture_samples::<u32>(b[1], b[2], b[3], out(b[0]))),
        rows(case("texture_texels of f32"), &floats)
            .output(&as_f32(expected(fetched().collect(), 0.0, 1.0)))
            .calls(|b| texture_texels::<f32>(b[1], b[2], b[3], out(b[0]))),
        rows(case("texture_texels of i8"), &bytes)
            .output(&as_i32(expected(fetched().collect(), 0.0, 1.0)))
            .calls(|b| texture_texels::<i32>(b[1], b[2], b[3], out(b[0]))),
        rows(case("texture_texels of u16"), &words)
            .output(&as_u32(expected(fetched().collect(), 5.0, 1.0)))
            .calls(|b| texture_texels::<u32>(b[1], b[2], b[3], out(b[0]))),
    ]
}
