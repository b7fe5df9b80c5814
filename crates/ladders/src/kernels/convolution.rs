//! Items shared by the convolutions of one and of two axes: settings, the reference, and checks of the operands.

use super::demand::Demand;
use super::job::Job;
use super::problem::{Operand, Oracle, Problem, Work, epsilon};
use super::settings::{Choice, Setting, Settings};
use crate::compare::Expected;
use crate::error::{Error, Result};
use kernels_gpu::conv2d::Frame;
use kernels_gpu::filter;
use rustwarp::backend::{Buffer, require_memory};
use rustwarp::element::{Array, Dtype, Element, Scalar, Value};
use rustwarp::filter::Border;
use rustwarp::tensor::Tensor;

/// Types that have kernels.
pub(super) const DTYPES: &[Dtype] = &[Dtype::F32, Dtype::F64];

/// Types of images that have kernels; the narrow ones have masks of f32.
pub(super) const PIXELS: &[Dtype] = &[Dtype::F32, Dtype::F64, Dtype::U8, Dtype::F16];

/// Values assumed for the elements outside the array.
pub(super) const BORDER: Setting<Choice> = Setting {
    name: "border",
    help: "Values of elements outside the array: zeros, the nearest element, or the mirror image (about the edge \
        element)",
    generated: false,
    kind: Choice(&["zero", "clamp", "mirror"]),
};

/// The values of elements outside the array that the settings choose.
pub(super) fn border(settings: &Settings) -> Border {
    match settings.choice(&BORDER) {
        "clamp" => Border::Clamp,
        "mirror" => Border::Mirror,
        _ => Border::Zero,
    }
}

/// The taps of a generated mask: those of filtered bytes add up to about 1, of both signs, so that most results are
/// bytes too.
pub(super) fn generated_taps(demand: &Demand<'_>, operand: u64, shape: &[usize]) -> Result<Tensor> {
    if demand.dtype != Dtype::U8 {
        let dtype = Operand::of_sums("mask").dtype_in(demand.dtype);
        return Demand { dtype, ..*demand }.tensor(operand, shape);
    }
    let taps = Demand { dtype: Dtype::F32, ..*demand }.tensor(operand, shape)?;
    let share = 2.0 / taps.len() as f32;
    let scaled = f32::view(taps.data()).unwrap_or_default().iter().map(|x| (x + 0.5) * share).collect();
    Ok(Tensor::new(shape, Array::F32(scaled))?)
}

/// Checks that the taps are finite. With others, the result would depend on whether a tap times an element outside the
/// array, which is 0, is added.
pub(super) fn require_finite<T: Element>(mask: &[T]) -> Result<()> {
    match mask.iter().find(|tap| !float(**tap).is_finite()) {
        None => Ok(()),
        Some(tap) => Err(Error::Usage(format!("the mask holds {}: its taps must be finite", tap.value()))),
    }
}

/// An array and a mask on a device, with the sizes `F` of both.
pub(super) struct Arrays<'j, T, F, M = T> {
    /// The array.
    pub input: Buffer<'j, T>,
    /// The mask.
    pub mask: Buffer<'j, M>,
    /// The mask, on the host.
    pub taps: &'j [M],
    /// The sizes.
    pub frame: F,
    /// Shape of the array and of the result.
    pub shape: &'j [usize],
}

impl<'j, T: Scalar, F, M: Element> Arrays<'j, T, F, M> {
    /// Checks that the device has room for the array twice, and copies the operands of the job there; `names` are those
    /// of the array and of the computation, in reports and errors.
    pub fn upload(job: &'j Job<'_>, frame: F, names: [&str; 2], advice: &str) -> Result<Self> {
        let (input, taps) = (job.problem.view::<T>(0)?, job.problem.view::<M>(1)?);
        require_memory(job.device, Some(2 * size_of_val(input) as u64), names[1], advice)?;
        Ok(Self {
            input: Buffer::from_slice(job.device, input, names[0])?,
            mask: Buffer::from_slice(job.device, taps, "mask")?,
            taps,
            frame,
            shape: job.problem.inputs[0].shape(),
        })
    }

    /// The minimum work: every element is read and written once, and multiplied by every tap.
    pub fn work(&self) -> Work {
        Work { bytes: 2 * self.input.bytes(), flops: 2 * (self.taps.len() * self.input.len()) as u64 }
    }
}

/// Checks the taps of a problem, and computes the right result.
pub(super) fn oracle<T: Scalar, M: Element>(problem: Problem<'_>, frame: Frame) -> Result<Oracle<'_>> {
    let (input, mask) = (problem.view::<T>(0)?, problem.view::<M>(1)?);
    require_finite(mask)?;
    Ok(Reference::new(input, mask, frame).oracle::<T>(problem, M::DTYPE))
}

/// The right result of a convolution, with the data for its error bound.
pub(super) struct Reference {
    values: Vec<f64>,
    /// Sums of the products' absolute values.
    magnitudes: Vec<f64>,
    /// Whether all elements are finite.
    finite: bool,
}

impl Reference {
    /// Filters by the definition, in f64: products of f32 are exact in it, and for f64 the rounding errors are summed
    /// too (Ogita, Rump, Oishi, "Accurate Sum and Dot Product", 2005). Pieces of rows are filtered on all processors.
    pub fn new<T: Scalar, M: Element>(image: &[T], mask: &[M], frame: Frame) -> Self {
        let (mut values, mut magnitudes) = (vec![0.0; image.len()], vec![0.0; image.len()]);
        let channels = (frame.channels as usize).max(1);
        let pitch = (frame.columns as usize * channels).max(1);
        let lines = values.chunks_mut(pitch).zip(magnitudes.chunks_mut(pitch)).enumerate();
        let mut pieces: Vec<_> = lines
            .flat_map(|(row, (values, magnitudes))| {
                let pieces =
                    values.chunks_mut(PIECE * channels).zip(magnitudes.chunks_mut(PIECE * channels)).enumerate();
                pieces.map(move |(k, (values, magnitudes))| Piece { row, first: k * PIECE, values, magnitudes })
            })
            .collect();
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let share = pieces.len().div_ceil(workers).max(1);
        std::thread::scope(|scope| {
            for pieces in pieces.chunks_mut(share) {
                scope.spawn(move || pieces.iter_mut().for_each(|piece| piece.filter(image, mask, frame)));
            }
        });
        Self { values, magnitudes, finite: image.iter().all(|x| float(*x).is_finite()) }
    }

    /// The oracle of a problem whose sums have this type.
    pub fn oracle<'a, T: Scalar>(self, problem: Problem<'a>, sums: Dtype) -> Oracle<'a> {
        let shape = problem.inputs[0].shape().to_vec();
        Oracle::elements::<T>(shape, move |i, depth| narrowed(self.expected(i, depth, sums), T::DTYPE))
    }

    /// The expected sum for a kernel that adds at most `depth` products in a chain.
    ///
    /// The sum by `d` fused multiply-adds is within `d * u / (1 - d * u) * sum(|x * tap|)` of the exact one, with `u`
    /// half the type's epsilon (Higham, "Accuracy and Stability of Numerical Algorithms", sections 3.1 and 4.2); the
    /// bound here is `(d + 1) * epsilon * sum(|x * tap|)`, and one step of the smallest numbers per addition.
    pub fn expected(&self, i: usize, depth: u64, dtype: Dtype) -> Expected {
        let (smallest, largest) = match dtype {
            Dtype::F32 => (f64::from(f32::from_bits(1)), f64::from(f32::MAX)),
            _ => (f64::from_bits(1), f64::MAX),
        };
        let magnitude = self.magnitudes[i];
        Expected {
            value: Value::Float(self.values[i]),
            tolerance: (depth + 1) as f64 * (epsilon(dtype) * magnitude + smallest),
            may_overflow: self.finite && magnitude > largest,
        }
    }
}

/// The expected element of a type to which sums are rounded, given the expected sum.
fn narrowed(sum: Expected, dtype: Dtype) -> Expected {
    let (Value::Float(value), tolerance) = (sum.value, sum.tolerance) else { return sum };
    match dtype {
        Dtype::U8 => {
            let byte = |x: f64| x.clamp(0.0, 255.0).round_ties_even();
            let nearest = byte(value);
            let apart = (byte(value + tolerance) - nearest).max(nearest - byte(value - tolerance));
            // A sum that overflows on the way may be any byte.
            let tolerance = if sum.may_overflow { 255.0 } else { apart };
            Expected { value: Value::Int(nearest as i128), tolerance, may_overflow: false }
        }
        // From halfway between the largest number and the next power of two, a number is rounded to infinity.
        Dtype::F16 if value.is_finite() && value.abs() - tolerance >= 65_520.0 => {
            Expected { value: Value::Float(value.signum() * f64::INFINITY), ..sum }
        }
        Dtype::F16 => {
            let largest = value.abs() + tolerance;
            // Half a place of a normal or a subnormal number.
            let rounding = largest * f64::powi(2.0, -11) + f64::powi(2.0, -25);
            let may_overflow = sum.may_overflow || value.is_finite() && largest >= 65_520.0;
            Expected { tolerance: tolerance + rounding, may_overflow, ..sum }
        }
        _ => sum,
    }
}

/// Largest number of pixels of a piece.
const PIECE: usize = 1 << 14;

/// Neighbouring pixels of one row of the result.
struct Piece<'a> {
    row: usize,
    /// Column of the first pixel.
    first: usize,
    values: &'a mut [f64],
    magnitudes: &'a mut [f64],
}

impl Piece<'_> {
    fn filter<T: Scalar, M: Element>(&mut self, image: &[T], mask: &[M], frame: Frame) {
        let [columns, channels] = [frame.columns as usize, frame.channels as usize];
        let [mask_rows, mask_columns] = [frame.mask_rows as usize, frame.mask_columns as usize];
        let Self { row, first, values, magnitudes } = self;
        let mut lost = vec![0.0; values.len()];
        for i in 0..mask_rows {
            let source = continued(*row + i, mask_rows / 2, frame.rows as usize, frame.border);
            let Some(source) = source else { continue };
            // The row's piece, extended beyond its ends as far as the mask needs.
            let mut padded = vec![0.0; values.len() + (mask_columns - 1) * channels];
            for (x, pixel) in padded.chunks_mut(channels).enumerate() {
                if let Some(column) = continued(*first + x, mask_columns / 2, columns, frame.border) {
                    let at = (source * columns + column) * channels;
                    pixel.iter_mut().zip(&image[at..]).for_each(|(to, from)| *to = float(*from));
                }
            }
            for j in 0..mask_columns {
                let tap = float(mask[i * mask_columns + j]);
                let under = &padded[j * channels..];
                if T::DTYPE == Dtype::F64 {
                    for ((x, value), lost) in under.iter().zip(values.iter_mut()).zip(&mut lost) {
                        let product = x * tap;
                        let sum = *value + product;
                        let part = sum - *value;
                        *lost += x.mul_add(tap, -product) + ((*value - (sum - part)) + (product - part));
                        *value = sum;
                    }
                } else {
                    under.iter().zip(values.iter_mut()).for_each(|(x, value)| *value += x * tap);
                }
                under.iter().zip(magnitudes.iter_mut()).for_each(|(x, magnitude)| *magnitude += (x * tap).abs());
            }
        }
        // The lost part of an infinity is NaN.
        values.iter_mut().zip(lost).filter(|(_, lost)| lost.is_finite()).for_each(|(value, lost)| *value += lost);
    }
}

/// The index of position `i - before` on an axis of `len` elements by the border's definition; `None` for 0.
fn continued(i: usize, before: usize, len: usize, border: u32) -> Option<usize> {
    let inside = i.checked_sub(before).filter(|&at| at < len);
    match border {
        filter::ZERO => inside,
        filter::CLAMP => Some(i.saturating_sub(before).min(len - 1)),
        _ => {
            // 0 1 2 3 2 1 0 1 …: the axis and its mirror image, which share their ends.
            let period = (2 * len - 2).max(1);
            let at = (i + period * before - before) % period;
            Some(at.min(period - at))
        }
    }
}

pub(super) fn float<T: Scalar>(x: T) -> f64 {
    x.value().to_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(signal: &[f64], mask: &[f64], border: u32) -> Vec<f64> {
        let (columns, mask_columns) = (signal.len() as u32, mask.len() as u32);
        Reference::new(signal, mask, Frame { rows: 1, columns, channels: 1, mask_rows: 1, mask_columns, border }).values
    }

    #[test]
    fn every_border_by_hand() {
        let signal = [1.0, 2.0, 4.0];
        assert_eq!(filtered(&signal, &[100.0, 10.0, 1.0], filter::ZERO), [12.0, 124.0, 240.0]);
        assert_eq!(filtered(&signal, &[100.0, 10.0, 1.0], filter::CLAMP), [112.0, 124.0, 244.0]);
        assert_eq!(filtered(&signal, &[100.0, 10.0, 1.0], filter::MIRROR), [212.0, 124.0, 242.0]);
        // An even mask has one tap more on the left; far outside the array, the mirror image is mirrored again.
        assert_eq!(filtered(&signal, &[10.0, 1.0], filter::ZERO), [1.0, 12.0, 24.0]);
        assert_eq!(filtered(&[1.0, 2.0], &[1e4, 1e3, 1e2, 1e1, 1.0], filter::MIRROR), [12121.0, 21212.0]);
        assert_eq!(filtered(&[3.0], &[1.0, 1.0, 1.0], filter::MIRROR), [9.0]);
    }

    #[test]
    fn channels_and_rows_are_apart() {
        let frame = Frame { rows: 2, columns: 2, channels: 2, mask_rows: 1, mask_columns: 3, border: filter::ZERO };
        let image = [1.0_f32, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0];
        let sums = Reference::new(&image, &[1.0, 1.0, 1.0], frame);
        assert_eq!(sums.values, [3.0, 30.0, 3.0, 30.0, 7.0, 70.0, 7.0, 70.0]);
        let down = Frame { mask_rows: 2, mask_columns: 1, ..frame };
        let sums = Reference::new(&image, &[1.0, -1.0], down);
        assert_eq!(sums.values, [-1.0, -10.0, -2.0, -20.0, -2.0, -20.0, -2.0, -20.0]);
        assert_eq!(sums.magnitudes[4..], [4.0, 40.0, 6.0, 60.0]);
    }

    #[test]
    fn the_bound_lets_rounding_pass_and_nothing_else() {
        let frame = Frame { rows: 1, columns: 3, channels: 1, mask_rows: 1, mask_columns: 3, border: filter::ZERO };
        let sums = Reference::new(&[1.0_f32, 1e8, -1e8], &[1.0, 1.0, 1.0], frame);
        let passes = |i, depth, x: f32| sums.expected(i, depth, Dtype::F32).judge(Value::Float(f64::from(x))).verified;
        assert!(passes(1, 3, 1.0) && passes(1, 3, 0.0) && !passes(1, 3, 100.0));
        assert!(passes(0, 3, 1e8) && !passes(0, 3, 1.0001e8) && !passes(0, 3, f32::NAN));
        assert_eq!(filtered(&[1e17, 1.0, -1e17], &[1.0; 3], filter::ZERO)[1], 1.0, "the lost part counts");
        let infinite =
            Reference::new(&[1.0_f32, f32::INFINITY, 2.0, 3.0], &[1.0, 1.0, 1.0], Frame { columns: 4, ..frame });
        let judge = |i, x| infinite.expected(i, 3, Dtype::F32).judge(Value::Float(x)).verified;
        assert!(judge(1, f64::INFINITY) && !judge(1, 3.0) && judge(3, 5.0) && !judge(3, f64::INFINITY));
        assert!(require_finite(&[1.0_f32, f32::NAN]).is_err() && require_finite(&[1.0_f64]).is_ok());
    }

    #[test]
    fn narrow_results_are_the_sums_rounded() {
        let sum = |value, tolerance| Expected { value: Value::Float(value), tolerance, may_overflow: false };
        let byte = |value, tolerance, x| narrowed(sum(value, tolerance), Dtype::U8).judge(Value::Int(x)).verified;
        assert!(byte(7.3, 0.1, 7) && !byte(7.3, 0.1, 8) && byte(7.45, 0.1, 8) && byte(7.45, 0.1, 7));
        assert!(byte(2.5, 0.0, 2) && byte(3.5, 0.0, 4) && !byte(2.5, 0.0, 3), "halves become even");
        assert!(byte(-9.0, 0.1, 0) && byte(300.0, 0.1, 255) && !byte(300.0, 0.1, 254));
        let half = |value, tolerance, x| narrowed(sum(value, tolerance), Dtype::F16).judge(Value::Float(x)).verified;
        assert!(half(1.0, 0.0, 1.0 + f64::powi(2.0, -11)) && !half(1.0, 0.0, 1.0 + f64::powi(2.0, -10)));
        assert!(half(70_000.0, 1.0, f64::INFINITY) && !half(70_000.0, 1.0, 65_504.0) && !half(1.0, 0.0, f64::INFINITY));
        assert!(half(65_519.5, 1.0, f64::INFINITY) && half(65_519.5, 1.0, 65_504.0) && half(1e-8, 0.0, 0.0));
    }
}
