//! Reference samples: the formulas of the CUDA C++ Programming Guide in f64, at the kernels' coordinates.
//!
//! With `--filter point` a result is one of the texels, bit by bit. If a coordinate is within f32's rounding of the
//! edge between two texels, which is possible for `--normalised` ones only, either texel is right.
//! With `--filter linear` a result may be off by
//!
//! - `depth` epsilons of f32, times the difference between the largest and the smallest texel that it is made of. For
//!   arithmetic by hand that is negligible. A texture unit rounds the weight of each axis to 8 bits, an error of at
//!   most 1/512 of the difference; with two axes the product of the weights is rounded once more, and with three, four
//!   more products are: 1/512, 4/512, 9/512, written as 2^14 epsilons per 512th;
//! - 16 epsilons of the largest of them: three roundings for each mean, and those of the unit's result;
//! - 2^-16 for u8, whose filtered values have 16 bits;
//! - the coordinate's rounding error times the difference between any two texels;
//! - half a step where the result is rounded to u8.

use super::request::{Read, Request};
use crate::compare::{Expected, Verdict};
use crate::error::Result;
use crate::kernels::problem::epsilon;
use crate::kernels::{Oracle, Problem, Wrong};
use kernels_gpu::texture::address;
use rustwarp::element::{Dtype, Scalar, Value};
use rustwarp::tensor::Tensor;
use std::rc::Rc;

/// Depth of a result's additions, for [`Oracle::judge`].
pub(super) fn depth(request: &Request, by_hand: bool) -> u64 {
    if by_hand { 1 } else { (request.dimensions * request.dimensions) as u64 * (1 << 14) }
}

pub(super) fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    let request = Request::new(problem)?;
    request.samples()?;
    match problem.dtype {
        Dtype::U8 => Ok(judge(request, problem.view::<u8>(0)?)),
        _ => Ok(judge(request, problem.view::<f32>(0)?)),
    }
}

fn judge<T: Scalar>(request: Request, elements: &[T]) -> Oracle<'_> {
    let samples = Rc::new(Samples::new(request, elements));
    let same_samples = samples.clone();
    let judge = move |result: &Tensor, depth| match samples.judged(result, depth) {
        Some(judged) => Verdict::of_all(judged.map(|(_, verdict, _)| verdict)),
        None => Verdict { verified: false, error: f64::NAN },
    };
    let find = move |result: &Tensor, depth| {
        let mut wrong = same_samples.judged(result, depth)?.filter(|(_, verdict, _)| !verdict.verified);
        wrong.next().map(|(index, _, (got, expected))| Wrong { index, got, expected })
    };
    Oracle::new(judge).with_search(find)
}

/// The data for judging the samples.
struct Samples<'a, T> {
    request: Request,
    elements: &'a [T],
    /// Largest difference between any two texels, including the border.
    spread: f64,
}

/// A texel's contribution to a sample along one axis: its index, `None` for the border, and its weight.
type Tap = (Option<usize>, f64);

impl<'a, T: Scalar> Samples<'a, T> {
    fn new(request: Request, elements: &'a [T]) -> Self {
        let mut samples = Self { request, elements, spread: 0.0 };
        let border = (samples.request.address == address::BORDER).then_some(0.0);
        let (low, high) = range((0..elements.len()).map(|i| samples.number(i)).chain(border));
        samples.spread = high - low;
        samples
    }

    /// The value of an element for the filter: u8 becomes 0 to 1.
    fn number(&self, index: usize) -> f64 {
        match self.elements[index].value() {
            Value::Float(x) => x,
            Value::Int(x) => x as f64 / 255.0,
        }
    }

    /// For each element its index, the verdict, its value, and the expected value; `None` for a result of another shape
    /// or type.
    fn judged<'r>(
        &'r self,
        result: &'r Tensor,
        depth: u64,
    ) -> Option<impl Iterator<Item = (u64, Verdict, (Value, Value))> + 'r> {
        let values: Box<dyn Iterator<Item = Value> + 'r> = match self.request.read {
            Read::Byte => Box::new(u8::view(result.data())?.iter().map(|x| x.value())),
            _ => Box::new(f32::view(result.data())?.iter().map(|x| x.value())),
        };
        let judged = values.enumerate().map(move |(index, value)| {
            let (sample, channel) = (index / self.request.channels, index % self.request.channels);
            let coordinate = self.coordinate(sample);
            let (verdict, expected) = match self.request.linear {
                true => self.linear(coordinate, channel, depth, value),
                false => self.point(coordinate, channel, value),
            };
            (index as u64, verdict, (value, expected))
        });
        (result.shape() == self.request.shape()).then_some(judged)
    }

    /// The coordinates, computed by the same fused operations as in the kernels.
    fn coordinate(&self, sample: usize) -> [f64; 3] {
        let ([wide, high, _], map) = (self.request.size, self.request.map);
        let [i, j, k] = [sample % wide, sample / wide % high, sample / wide / high].map(|n| n as f32);
        let x = i.mul_add(map[0], j.mul_add(map[1], map[2]));
        let y = i.mul_add(map[3], j.mul_add(map[4], map[5]));
        let z = k.mul_add(map[6], map[7]);
        [x, y, z].map(f64::from)
    }

    /// A coordinate in texels, and a bound on f32's rounding error of it.
    fn place(&self, axis: usize, coordinate: f64) -> (f64, f64) {
        let size = self.request.extent[axis] as f64;
        match self.request.normalised {
            true => (coordinate * size, 2.0 * epsilon(Dtype::F32) * (coordinate * size).abs().max(size)),
            false => (coordinate, 0.0),
        }
    }

    /// Maps an index outside to one inside by the address mode; `None` for the border.
    fn inside(&self, axis: usize, index: i64) -> Option<usize> {
        let size = self.request.extent[axis] as i64;
        let inside = match self.request.address {
            address::WRAP => index.rem_euclid(size),
            address::MIRROR if index.div_euclid(size) % 2 == 0 => index.rem_euclid(size),
            address::MIRROR => size - 1 - index.rem_euclid(size),
            address::CLAMP => index.clamp(0, size - 1),
            _ => index,
        };
        usize::try_from(inside).ok().filter(|&index| index < self.request.extent[axis])
    }

    /// Every combination of one tap per axis: its value, and the product of the weights.
    fn combinations(&self, taps: [[Tap; 2]; 3], channel: usize) -> [(f64, f64); 8] {
        std::array::from_fn(|i| {
            let [(x, a), (y, b), (z, c)] = [taps[0][i & 1], taps[1][i >> 1 & 1], taps[2][i >> 2]];
            let [wide, high, _] = self.request.extent;
            let texel = x.zip(y).zip(z).map(|((x, y), z)| (z * high + y) * wide + x);
            (texel.map_or(0.0, |texel| self.number(texel * self.request.channels + channel)), a * b * c)
        })
    }

    /// The taps of the axes; an axis that does not exist has a single one.
    fn taps(&self, of_axis: impl Fn(usize) -> [Tap; 2]) -> [[Tap; 2]; 3] {
        std::array::from_fn(|axis| match axis < self.request.dimensions {
            true => of_axis(axis),
            false => [(Some(0), 1.0), (Some(0), 0.0)],
        })
    }

    /// The verdict with `--filter point`, and the right texel, or one of them.
    fn point(&self, coordinate: [f64; 3], channel: usize, result: Value) -> (Verdict, Value) {
        let taps = self.taps(|axis| {
            let (place, doubt) = self.place(axis, coordinate[axis]);
            [place - doubt, place + doubt].map(|place| (self.inside(axis, place.floor() as i64), 1.0))
        });
        let of = |(value, _): (f64, f64)| {
            let expected = match self.request.read {
                Read::Float => Value::Float(value),
                Read::Fraction => Value::Float(f64::from(value as f32)),
                Read::Byte => Value::Int((value * 255.0).round() as i128),
            };
            (Expected::exactly(expected).judge(result), expected)
        };
        let [first, others @ ..] = self.combinations(taps, channel).map(of);
        others.into_iter().find(|(verdict, _)| verdict.verified && !first.0.verified).unwrap_or(first)
    }

    /// The verdict with `--filter linear`, and the filtered value.
    fn linear(&self, coordinate: [f64; 3], channel: usize, depth: u64, result: Value) -> (Verdict, Value) {
        let mut doubt = 0.0;
        for (axis, coordinate) in coordinate.into_iter().enumerate().take(self.request.dimensions) {
            doubt += self.place(axis, coordinate).1 + epsilon(Dtype::F32);
        }
        let taps = self.taps(|axis| {
            let place = self.place(axis, coordinate[axis]).0 - 0.5;
            let index = place.floor();
            let weight = place - index;
            [(index, 1.0 - weight), (index + 1.0, weight)].map(|(index, w)| (self.inside(axis, index as i64), w))
        });
        let parts = self.combinations(taps, channel);
        let value: f64 = parts.iter().map(|(value, weight)| value * weight).sum();
        let (low, high) = range(parts.iter().filter(|(_, weight)| *weight > 0.0).map(|(value, _)| *value));
        let step = epsilon(Dtype::F32);
        let bytes = if self.request.read == Read::Float { 0.0 } else { f64::powi(2.0, -16) };
        let tolerance = depth as f64 * step * (high - low) + 16.0 * step * high.max(-low) + bytes + doubt * self.spread;
        let (error, bound, expected) = match result {
            Value::Float(x) => ((x - value).abs(), tolerance, Value::Float(value)),
            Value::Int(x) => {
                let steps = 255.0 * value;
                ((x as f64 - steps).abs(), 255.0 * tolerance + 0.5, Value::Int(steps.round() as i128))
            }
        };
        (Verdict { verified: error <= bound, error }, expected)
    }
}

/// The smallest and the largest value.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Settings;
    use crate::kernels::texture::FAMILY;
    use rustwarp::element::Array;
    use rustwarp::tensor::Tensor;

    /// Judges results of `[0, 10, 20, 30]` in one dimension.
    fn judged(given: &[(&str, &str)], results: Vec<f32>, depth: u64) -> bool {
        let settings = Settings::new(FAMILY.settings, given.iter().copied()).expect("settings");
        let inputs = [Tensor::from(Array::F32(vec![0.0, 10.0, 20.0, 30.0]))];
        let problem = Problem { inputs: &inputs, dtype: Dtype::F32, op: "", settings: &settings };
        oracle(problem).expect("an oracle").judge(&Array::F32(results).into(), depth).verified
    }

    #[test]
    fn the_first_wrong_sample_is_named() {
        let settings = Settings::new(FAMILY.settings, [("filter", "point")]).expect("settings");
        let inputs = [Tensor::from(Array::F32(vec![0.0, 10.0, 20.0, 30.0]))];
        let problem = Problem { inputs: &inputs, dtype: Dtype::F32, op: "", settings: &settings };
        let oracle = oracle(problem).expect("an oracle");
        let first = |results: Vec<f32>| {
            let wrong = oracle.first_wrong(&Array::F32(results).into(), 1)?;
            Some((wrong.index, wrong.got.to_string(), wrong.expected.to_string()))
        };
        assert_eq!(first(vec![0.0, 10.0, 20.0, 30.0]), None);
        assert_eq!(first(vec![0.0, 10.0, 21.0, 3.0]), Some((2, "21".to_owned(), "20".to_owned())));
        assert_eq!(first(vec![0.0; 3]), None, "another shape");
    }

    #[test]
    fn linear_samples_lie_between_their_neighbours() {
        let double = [("scale", "200")];
        // At 0.25, 0.75, 1.25, …
        let right = vec![0.0, 2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 30.0];
        assert!(judged(&double, right.clone(), 1));
        for off in [0.03, -0.03] {
            let mut wrong = right.clone();
            wrong[3] += off;
            assert!(!judged(&double, wrong.clone(), 1), "more than rounding");
            assert_eq!(judged(&double, wrong.clone(), 1 << 14), off.abs() < 10.0 / 512.0);
        }
        let mut near = right;
        near[3] += 0.019;
        assert!(judged(&double, near.clone(), 1 << 14) && !judged(&double, near, 1));
        assert!(!judged(&double, vec![0.0; 4], 1 << 14), "another shape");
        assert!(!judged(&double, vec![f32::NAN; 8], 1 << 14));
    }

    #[test]
    fn outside_is_what_the_mode_says() {
        let around = |mode| vec![("window", "-0.5:1.5"), ("filter", "point"), ("normalised", ""), ("address", mode)];
        assert!(judged(&around("clamp"), vec![0.0, 0.0, 0.0, 10.0, 20.0, 30.0, 30.0, 30.0], 1));
        assert!(judged(&around("wrap"), vec![20.0, 30.0, 0.0, 10.0, 20.0, 30.0, 0.0, 10.0], 1));
        assert!(judged(&around("mirror"), vec![10.0, 0.0, 0.0, 10.0, 20.0, 30.0, 30.0, 20.0], 1));
        assert!(judged(&around("border"), vec![0.0, 0.0, 0.0, 10.0, 20.0, 30.0, 0.0, 0.0], 1));
        assert!(!judged(&around("border"), vec![0.0, 0.0, 0.0, 10.0, 20.0, 30.0, 0.0, 0.1], 1));
        let border = [("window", "-0.25:0.25"), ("scale", "200"), ("address", "border")];
        assert!(judged(&border, vec![0.0, 0.0, 0.0, 2.5], 1));
    }

    #[test]
    fn on_an_edge_a_plain_coordinate_belongs_to_the_texel_behind_it() {
        let window = [("window", "0.125:1.125"), ("filter", "point")];
        assert!(judged(&window, vec![10.0, 20.0, 30.0, 30.0], 1));
        assert!(!judged(&window, vec![0.0, 20.0, 30.0, 30.0], 1));
        let normalised = [window[0], window[1], ("normalised", "")];
        assert!(judged(&normalised, vec![0.0, 20.0, 30.0, 30.0], 1), "where f32 may be on either side");
        assert!(!judged(&normalised, vec![20.0, 20.0, 30.0, 30.0], 1));
    }

    #[test]
    fn bytes_as_fractions_are_rounded_once() {
        for byte in 0..=255_u8 {
            assert_eq!((f64::from(byte) / 255.0) as f32, f32::from(byte) / 255.0);
        }
    }
}
