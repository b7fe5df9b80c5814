//! The reference of operations on pictures, in whole numbers.

use super::Operation;
use kernels_gpu::picture::Picture;

/// The right results by the definition; the sums of squares are computed by a table of the sums of all rectangles that
/// start at the first pixel.
pub(super) fn reference(operation: Operation, input: &[u8], picture: Picture) -> Vec<u8> {
    let Picture { rows, columns, channels, amount } = picture;
    let [rows, columns, channels, amount] = [rows, columns, channels, amount].map(|n| n as usize);
    let rounded = |sum: usize, count: usize| ((2 * sum + count) / (2 * count)).min(255) as u8;
    match (operation, channels) {
        (Operation::Scale, _) => input.iter().map(|&x| rounded(usize::from(x) * amount, 100)).collect(),
        (Operation::Grey, 3) => {
            let [red, green, blue] = [299, 587, 114];
            let grey = |x: &[u8]| red * usize::from(x[0]) + green * usize::from(x[1]) + blue * usize::from(x[2]);
            input.chunks(3).map(|pixel| rounded(grey(pixel), 1000)).collect()
        }
        (Operation::Grey, _) => input.to_vec(),
        (Operation::Blur, _) => {
            let mut results = vec![0; input.len()];
            for channel in 0..channels {
                // table[y][x]: the sum of the first y rows' first x pixels.
                let mut table = vec![vec![0_usize; columns + 1]; rows + 1];
                for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
                    let byte = usize::from(input[(y * columns + x) * channels + channel]);
                    table[y + 1][x + 1] = byte + table[y][x + 1] + table[y + 1][x] - table[y][x];
                }
                for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
                    let (top, bottom) = (y.saturating_sub(amount), rows.min(y + amount + 1));
                    let (left, right) = (x.saturating_sub(amount), columns.min(x + amount + 1));
                    let sum = table[bottom][right] + table[top][left] - table[top][right] - table[bottom][left];
                    results[(y * columns + x) * channels + channel] = rounded(sum, (bottom - top) * (right - left));
                }
            }
            results
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_by_hand() {
        let picture = |rows, columns, channels, amount| Picture { rows, columns, channels, amount };
        assert_eq!(reference(Operation::Scale, &[0, 3, 127, 128, 255], picture(1, 5, 1, 200)), [0, 6, 254, 255, 255]);
        assert_eq!(reference(Operation::Scale, &[1, 2, 3], picture(1, 3, 1, 50)), [1, 1, 2], "halves are rounded up");
        let colours = [255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30];
        assert_eq!(reference(Operation::Grey, &colours, picture(1, 5, 3, 0)), [255, 76, 150, 29, 18]);
        assert_eq!(reference(Operation::Grey, &[7, 9], picture(1, 2, 1, 0)), [7, 9]);
        // 1 2 | 3 4 | 5 6: the corners see four pixels, the middle all six.
        assert_eq!(reference(Operation::Blur, &[1, 2, 3, 4, 5, 6], picture(3, 2, 1, 1)), [3, 3, 4, 4, 5, 5]);
        assert_eq!(reference(Operation::Blur, &[0, 9, 30, 0, 0, 9], picture(1, 2, 3, 1)), [0, 5, 20, 0, 5, 20]);
    }
}
