//! Grey values of a picture, and the edges of grey values.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use cuda_std::prelude::*;

/// The grey value of each pixel, from 0 to 1; `rgb` has three bytes per pixel.
#[kernel]
pub fn grey(rgb: &[u8], mut out: DisjointSlice<f32>) {
    let i = thread::unique_index();
    let pixel = 3 * i.get();
    if let (Some([r, g, b]), Some(out)) = (rgb.get(pixel..pixel + 3), out.get_mut(i)) {
        *out = (0.299 * f32::from(*r) + 0.587 * f32::from(*g) + 0.114 * f32::from(*b)) / 255.0;
    }
}

/// The strength of the edge at each pixel (the gradient by Sobel's masks), as bytes. Beyond the borders, the picture
/// continues with its outermost pixels.
#[kernel]
pub fn edges(grey: &[f32], mut out: DisjointMatrix<u8>) {
    let i = thread::unique_index_2d();
    let (height, width) = (out.rows(), out.columns());
    // The last blocks of a row and of a column may have more threads than there are pixels.
    let Some(out) = out.get_mut(i) else { return };
    let at = |dx: isize, dy: isize| {
        let x = i.column().saturating_add_signed(dx).min(width - 1);
        let y = i.row().saturating_add_signed(dy).min(height - 1);
        grey[y * width + x]
    };
    let across = at(1, -1) + 2.0 * at(1, 0) + at(1, 1) - at(-1, -1) - 2.0 * at(-1, 0) - at(-1, 1);
    let down = at(-1, 1) + 2.0 * at(0, 1) + at(1, 1) - at(-1, -1) - 2.0 * at(0, -1) - at(1, -1);
    *out = (255.0 * (across * across + down * down).sqrt().min(1.0)) as u8;
}
