//! Grey values of a picture, and the edges of grey values.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use cuda_std::prelude::*;

/// The grey value of each pixel, from 0 to 1; `rgb` has three bytes per pixel.
///
/// # Safety
/// `out` has an element per pixel.
#[kernel]
pub unsafe fn grey(rgb: &[u8], out: *mut f32) {
    let i = thread::global_index();
    if let Some([r, g, b]) = rgb.get(3 * i..3 * i + 3) {
        let sum = 0.299 * f32::from(*r) + 0.587 * f32::from(*g) + 0.114 * f32::from(*b);
        // SAFETY: `out` has an element `i`, which no other thread accesses.
        unsafe { *out.add(i) = sum / 255.0 };
    }
}

/// The strength of the edge at each pixel (the gradient by Sobel's masks), as bytes. Beyond the borders, the picture
/// continues with its outermost pixels.
///
/// # Safety
/// `out` has an element per pixel, and `grey` has `width * height` elements.
#[kernel]
pub unsafe fn edges(grey: &[f32], width: u32, height: u32, out: *mut u8) {
    let place = thread::index_2d();
    if place.x >= width || place.y >= height {
        return;
    }
    let at = |dx: i32, dy: i32| {
        let x = (place.x as i32 + dx).clamp(0, width as i32 - 1) as usize;
        let y = (place.y as i32 + dy).clamp(0, height as i32 - 1) as usize;
        grey[y * width as usize + x]
    };
    let across = at(1, -1) + 2.0 * at(1, 0) + at(1, 1) - at(-1, -1) - 2.0 * at(-1, 0) - at(-1, 1);
    let down = at(-1, 1) + 2.0 * at(0, 1) + at(1, 1) - at(-1, -1) - 2.0 * at(0, -1) - at(1, -1);
    let strength = (across * across + down * down).sqrt().min(1.0);
    let i = place.y as usize * width as usize + place.x as usize;
    // SAFETY: `out` has an element `i`, which no other thread accesses.
    unsafe { *out.add(i) = (255.0 * strength) as u8 };
}
