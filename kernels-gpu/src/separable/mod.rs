//! Two-dimensional convolution by a separable mask, the outer product of a column of R taps and a row of C:
//! `out[y][x] = sum over i of column[i] * (sum over j of in[y + i - R/2][x + j - C/2] * row[j])`.
//!
//! Gaussian and box filters are separable, and so are the masks of Sobel. An element takes R + C multiply-adds instead
//! of the R * C of [`conv2d`](crate::conv2d), which defines images, their types, and the order of taps;
//! [`crate::filter`] defines the elements outside the image.
//!
//! The rungs: [`two_passes`] writes the rows' sums to memory, and filters their columns in a second launch; [`tiled`]
//! keeps the rows' sums of a tile in shared memory; [`best`] keeps everything in registers.
//!
//! Rows' sums are not rounded to the image's type. A sum is within `(R + C) * epsilon * sum(|in * column * row|)` of
//! the exact one, and the same in every run.
//!
//! Sources: V. Podlozhnyuk, "Image Convolution with CUDA" (NVIDIA, 2007), for tiles with a halo of rows; and those of
//! `conv2d`.

pub mod best;
pub mod tiled;
pub mod two_passes;
