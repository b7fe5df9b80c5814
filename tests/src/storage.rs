//! Matrices of products as they lie in memory: where their elements are, their contents, and what the products are.

use rustwarp::matmul::{Batch, Sizes};

/// Elements from one row in memory to the next: of A, of B and of the product.
pub fn pitches(sizes: Sizes) -> [usize; 3] {
    let Sizes { n, k, m, transposed, leading_dimensions } = sizes;
    let columns = [if transposed[0] { m } else { k }, if transposed[1] { k } else { n }, n];
    std::array::from_fn(|i| if leading_dimensions[i] == 0 { columns[i] } else { leading_dimensions[i] })
}

/// Place of the element in row `i` and column `j` of A (0), B (1) or the product (2), from its first element on.
pub fn place(sizes: Sizes, matrix: usize, [i, j]: [usize; 2]) -> usize {
    let (pitch, transposed) = (pitches(sizes)[matrix], matrix < 2 && sizes.transposed[matrix]);
    if transposed { j * pitch + i } else { i * pitch + j }
}

/// Rows and columns of A (0), of B (1) and of the product (2), whichever way they are stored.
fn size(sizes: Sizes, matrix: usize) -> [usize; 2] {
    let Sizes { m, n, k, .. } = sizes;
    [[m, k], [k, n], [m, n]][matrix]
}

/// Calls `f` with the number of the product, and the row, the column and the place in memory of each element.
pub fn each(sizes: Sizes, batch: Batch, matrix: usize, mut f: impl FnMut(usize, [usize; 2], usize)) {
    let [rows, columns] = size(sizes, matrix);
    for number in 0..batch.count {
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            f(number, [i, j], number * batch.steps[matrix] + place(sizes, matrix, [i, j]));
        }
    }
}

/// -1, 0 or 1 without a period, so that rows are seldom equal: a mixed index. Sums of 640 products are below 2^8 in
/// size, so that bf16 has them.
pub fn integer(i: usize) -> f32 {
    let mixed = (i as u32 ^ (i as u32 >> 7)).wrapping_mul(0x9e37_79b1);
    [-1.0, 0.0, 1.0, 0.0][((mixed ^ (mixed >> 15)).wrapping_mul(0x85eb_ca77) >> 30) as usize]
}

/// The memory of A (0) or B (1): integers, with `gap` between rows and matrices.
///
/// # Panics
/// If products overlap.
pub fn factor(sizes: Sizes, batch: Batch, matrix: usize, gap: f32) -> Vec<f32> {
    let mut memory = vec![gap; batch.spans(sizes).expect("products that do not overlap")[matrix]];
    each(sizes, batch, matrix, |_, _, at| memory[at] = integer(at * (matrix + 2)));
    memory
}

/// The memory of the products, `scales[0] * sum + scales[1] * before`, where `before` is what it has.
pub fn products([a, b]: [&[f32]; 2], before: &[f32], sizes: Sizes, batch: Batch, scales: [f32; 2]) -> Vec<f32> {
    let mut memory = before.to_vec();
    each(sizes, batch, 2, |number, [i, j], at| {
        let of_a = |l| a[number * batch.steps[0] + place(sizes, 0, [i, l])];
        let of_b = |l| b[number * batch.steps[1] + place(sizes, 1, [l, j])];
        memory[at] = scales[0] * (0..sizes.k).map(|l| of_a(l) * of_b(l)).sum::<f32>() + scales[1] * before[at];
    });
    memory
}
