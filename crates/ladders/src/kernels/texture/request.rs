//! The request of a problem: the texels' extent, the way in which they are read, and the positions of the samples.

use super::options::{ADDRESS, DIMS, FILTER, NORMALISED, READ, SCALE, TURN, WINDOW};
use crate::error::{Error, Result};
use crate::kernels::Problem;
use kernels_gpu::texture::{Map, address, filter};
use rustwarp::backend::extent_text;
use rustwarp::element::{Array, Dtype};
use rustwarp::tensor;
use std::borrow::Cow;

/// The properties of a problem.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Number of dimensions: 1, 2 or 3.
    pub dimensions: usize,
    /// Number of texels along x, y and z; 1 for an axis that does not exist.
    pub extent: [usize; 3],
    /// Number of channels of a texel: 1 to 4.
    pub channels: usize,
    /// Whether operand and result have an axis of channels.
    pub has_channels: bool,
    /// The conversion of elements.
    pub read: Read,
    /// Whether the filter is linear.
    pub linear: bool,
    /// The address mode, one of [`address`].
    pub address: u32,
    /// Whether coordinates go from 0 to 1.
    pub normalised: bool,
    /// Number of samples along x, y and z.
    pub size: [usize; 3],
    /// The map from samples to coordinates.
    pub map: Map,
}

/// The conversion from elements to results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// f32 to f32.
    Float,
    /// u8 to f32 from 0 to 1.
    Fraction,
    /// u8 to u8.
    Byte,
}

/// Largest number of samples along an axis, for which their indices are exact in f32.
const MOST: f64 = (1 << 24) as f64;

/// Largest number of texels along an axis, of which twice the number fits an i32.
const LARGEST: usize = 1 << 30;

/// Limit of a window, in lengths of the array: farther out, f32 cannot distinguish neighbouring texels of a large
/// array.
const FARTHEST: f64 = 16.0;

impl Request {
    /// Reads the request from a problem.
    ///
    /// # Errors
    /// [`Error::Usage`] for an operand and settings that do not fit together.
    pub fn new(problem: Problem<'_>) -> Result<Self> {
        let wrong = |text: String| Err(Error::Usage(text));
        let (settings, [texels]) = (problem.settings, problem.inputs) else {
            return wrong(format!("texture takes one operand, not {}", problem.inputs.len()));
        };
        let shape = texels.shape();
        let dimensions = match settings.choice(&DIMS) {
            "1" => 1,
            "2" => 2,
            "3" => 3,
            _ => match (texels.dtype(), shape) {
                (Dtype::U8, [_, _, 3 | 4]) | (_, [_, _]) => 2,
                (_, [_]) => 1,
                _ => 3,
            },
        };
        let (axes, channels) = match shape.len().checked_sub(dimensions) {
            Some(0) => (shape, 1),
            Some(1) if (1..=4).contains(&shape[dimensions]) => (&shape[..dimensions], shape[dimensions]),
            _ => {
                return wrong(format!(
                    "{DIMS} {dimensions} needs an operand of {dimensions} axes, or one more with 1 to 4 channels, not \
                     {}",
                    tensor::text(shape)
                ));
            }
        };
        let mut extent = [1; 3];
        for (n, axis) in extent.iter_mut().zip(axes.iter().rev()) {
            *n = *axis;
        }
        if extent.iter().any(|&n| n > LARGEST) {
            return wrong(format!(
                "texture takes up to 2^30 texels along an axis, not {}",
                extent_text(extent.map(|n| n as u64))
            ));
        }
        let read = match (problem.dtype, settings.choice(&READ)) {
            (Dtype::F32, _) => Read::Float,
            (Dtype::U8, "normalised") => Read::Fraction,
            (Dtype::U8, _) => Read::Byte,
            (other, _) => return wrong(format!("texture has no kernel for {other}: convert the data to f32 or u8")),
        };
        let address = match settings.choice(&ADDRESS) {
            "wrap" => address::WRAP,
            "mirror" => address::MIRROR,
            "border" => address::BORDER,
            _ => address::CLAMP,
        };
        let normalised = settings.flag(&NORMALISED);
        if matches!(address, address::WRAP | address::MIRROR) && !normalised {
            return wrong(format!(
                "{ADDRESS} {} needs {NORMALISED}: with other coordinates texture units clamp instead",
                settings.choice(&ADDRESS)
            ));
        }
        let turn = settings.number(&TURN);
        if turn != 0 && dimensions == 1 {
            return wrong(format!("{TURN} needs two dimensions or three"));
        }
        let window = settings.range(&WINDOW);
        if window.0 < -FARTHEST || window.1 > FARTHEST {
            return wrong(format!(
                "{WINDOW} {}:{}: it must lie between -{FARTHEST} and {FARTHEST}",
                window.0, window.1
            ));
        }
        let linear = settings.choice(&FILTER) != "point";
        if linear && problem.dtype == Dtype::F32 && problem.view::<f32>(0)?.iter().any(|x| !x.is_finite()) {
            return wrong(format!(
                "a linear filter needs finite numbers: use {FILTER} point for texels that are NaN or infinite"
            ));
        }
        let density = settings.number(&SCALE) as f64 / 100.0 * (window.1 - window.0);
        let mut size = [1; 3];
        for (m, &n) in size.iter_mut().zip(&extent).take(dimensions) {
            let samples = (n as f64 * density).round();
            if samples > MOST {
                return wrong(format!(
                    "{samples} samples along an axis of {n} texels are more than 2^24: use a smaller {SCALE}"
                ));
            }
            *m = if n == 0 { 0 } else { samples.max(1.0) as usize };
        }
        let map = map(extent, size, window, turn, normalised);
        let has_channels = axes.len() < shape.len();
        Ok(Self { dimensions, extent, channels, has_channels, read, linear, address, normalised, size, map })
    }

    /// Shape of the result.
    pub fn shape(&self) -> Vec<usize> {
        let axes = self.size[..self.dimensions].iter().rev().copied();
        axes.chain(self.has_channels.then_some(self.channels)).collect()
    }

    /// Number of elements of the result.
    ///
    /// # Errors
    /// [`Error::Usage`] for more samples than 64 bits can count.
    pub fn samples(&self) -> Result<usize> {
        let count = self.shape().iter().try_fold(size_of::<f32>(), |product, &n| product.checked_mul(n));
        count.map(|bytes| bytes / size_of::<f32>()).ok_or_else(|| {
            Error::Usage(format!(
                "{} samples are more than 64 bits can count: use a smaller {SCALE}",
                tensor::text(&self.shape())
            ))
        })
    }

    /// The filter and address mode as kernels that filter by hand take them.
    pub fn how(&self) -> [u32; 3] {
        let filter = if self.linear { filter::LINEAR } else { filter::POINT };
        [filter, self.address, u32::from(self.normalised)]
    }

    /// The texels' bytes, with a fourth channel where there are three: textures have 1, 2 or 4.
    pub fn padded<'t>(&self, texels: &'t Array) -> Cow<'t, [u8]> {
        let bytes = texels.bytes();
        if self.channels != 3 {
            return Cow::Borrowed(bytes);
        }
        let channel = texels.dtype().size();
        let zeros = [0; size_of::<f32>()];
        Cow::Owned(bytes.chunks_exact(3 * channel).flat_map(|texel| [texel, &zeros[..channel]].concat()).collect())
    }
}

/// Maps samples to the middles of their shares of the window, turned around its middle.
fn map(extent: [usize; 3], size: [usize; 3], window: (f64, f64), turn: u64, normalised: bool) -> Map {
    // These are exact for multiples of 90 degrees.
    let (sine, cosine) = match turn {
        0 => (0.0, 1.0),
        90 => (1.0, 0.0),
        180 => (0.0, -1.0),
        270 => (-1.0, 0.0),
        _ => (turn as f64).to_radians().sin_cos(),
    };
    let step: [f64; 3] =
        std::array::from_fn(|axis| (window.1 - window.0) * extent[axis] as f64 / size[axis].max(1) as f64);
    let first: [f64; 3] = std::array::from_fn(|axis| (0.5 - size[axis] as f64 / 2.0) * step[axis]);
    let middle: [f64; 3] = std::array::from_fn(|axis| (window.0 + window.1) / 2.0 * extent[axis] as f64);
    let unit = extent.map(|n| if normalised { n.max(1) as f64 } else { 1.0 });
    let x = [cosine * step[0], -sine * step[1], middle[0] + cosine * first[0] - sine * first[1]];
    let y = [sine * step[0], cosine * step[1], middle[1] + sine * first[0] + cosine * first[1]];
    let z = [step[2], middle[2] + first[2]];
    let [x, y] = [(x, unit[0]), (y, unit[1])].map(|(row, unit)| row.map(|number| (number / unit) as f32));
    let z = z.map(|number| (number / unit[2]) as f32);
    [x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Settings;
    use crate::kernels::texture::FAMILY;
    use rustwarp::tensor::Tensor;

    fn request(shape: &[usize], dtype: Dtype, given: &[(&str, &str)]) -> Result<Request> {
        let settings = Settings::new(FAMILY.settings, given.iter().copied()).expect("settings");
        let inputs = [Tensor::new(shape, Array::zeros(dtype, shape.iter().product())).expect("texels")];
        Request::new(Problem { inputs: &inputs, dtype, op: "", settings: &settings })
    }

    #[test]
    fn samples_lie_in_the_middles_of_their_shares() {
        let whole = request(&[3, 4], Dtype::F32, &[]).expect("a request");
        assert_eq!((whole.size, whole.shape()), ([4, 3, 1], vec![3, 4]));
        assert_eq!(whole.map[..6], [1.0, 0.0, 0.5, 0.0, 1.0, 0.5]);
        let double = request(&[8], Dtype::F32, &[("scale", "200"), ("window", "0.5:1"), ("normalised", "")]);
        let double = double.expect("a request");
        assert_eq!((double.size[0], double.map[0], double.map[2]), (8, 0.0625, 0.53125));
    }

    #[test]
    fn a_quarter_turn_is_exact() {
        let turned = request(&[4, 4], Dtype::F32, &[("turn", "90")]).expect("a request");
        // Sample (0, 0) lies in the last column of the first row, and those of its row follow down the column.
        assert_eq!(turned.map[..6], [0.0, -1.0, 3.5, 1.0, 0.0, 0.5]);
    }

    #[test]
    fn axes_are_dimensions_or_channels() {
        let found = |shape: &[usize], dtype, dims| {
            request(shape, dtype, &[("dims", dims)])
                .map(|found| (found.dimensions, found.channels, found.has_channels))
                .ok()
        };
        assert_eq!(found(&[6, 5, 3], Dtype::U8, "auto"), Some((2, 3, true)));
        assert_eq!(found(&[6, 5, 3], Dtype::F32, "auto"), Some((3, 1, false)));
        assert_eq!(found(&[6, 5, 3], Dtype::U8, "3"), Some((3, 1, false)));
        assert_eq!(found(&[6, 1], Dtype::U8, "1"), Some((1, 1, true)));
        assert_eq!(found(&[6, 5], Dtype::U8, "1"), None);
        assert_eq!(found(&[6, 5], Dtype::U8, "3"), None);
        assert_eq!(found(&[6, 5, 4, 3, 2], Dtype::U8, "auto"), None);
    }

    #[test]
    fn refusals_say_what_to_do() {
        let refusal = |shape: &[usize], given: &[(&str, &str)]| {
            request(shape, Dtype::F32, given).expect_err("refused").to_string()
        };
        assert!(refusal(&[4], &[("address", "wrap")]).contains("needs --normalised"));
        assert!(refusal(&[4], &[("turn", "10")]).contains("two dimensions"));
        assert!(refusal(&[4, 4], &[("window", "0:99")]).contains("between"));
        assert!(refusal(&[1 << 20], &[("scale", "10000")]).contains("smaller --scale"));
        let settings = Settings::new(FAMILY.settings, []).expect("defaults");
        let inputs = [Tensor::from(Array::F32(vec![1.0, f32::NAN]))];
        let nan = Request::new(Problem { inputs: &inputs, dtype: Dtype::F32, op: "", settings: &settings });
        assert!(nan.expect_err("refused").to_string().contains("--filter point"));
    }

    #[test]
    fn a_fourth_channel_makes_three_four() {
        let three = request(&[2, 2, 3], Dtype::U8, &[]).expect("a request");
        let padded = three.padded(&Array::U8((1..=12).collect())).into_owned();
        assert_eq!(padded, [1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 10, 11, 12, 0]);
    }
}
