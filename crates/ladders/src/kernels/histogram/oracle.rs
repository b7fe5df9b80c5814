//! Reference counts, computed one element after the other.

use super::question::Question;
use crate::compare::{Expected, Verdict};
use crate::error::Result;
use crate::kernels::{Oracle, Problem, Wrong};
use rustwarp::element::{Array, Scalar, Value};
use rustwarp::tensor::Tensor;
use std::rc::Rc;

/// Counts the elements. A library may count in 32 bits: the numbers must be the same.
pub(super) fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    let question = Question::of(&problem)?;
    let counts = Rc::new((count(problem.inputs[0].data(), &question), question.shape()));
    let same_counts = counts.clone();
    let judge = move |result: &Tensor, _| match bins(result, &counts) {
        Some(bins) => Verdict::of_all(bins.map(|(_, have, expected)| expected.judge(have))),
        None => Verdict { verified: false, error: f64::NAN },
    };
    Ok(Oracle::new(judge).with_search(move |result, _| bins(result, &same_counts).and_then(Wrong::first)))
}

/// The index of each bin, its count, and the expected count; `None` for a result of another type or shape.
fn bins<'a>(
    result: &'a Tensor,
    (counts, shape): &'a (Vec<u64>, Vec<usize>),
) -> Option<impl Iterator<Item = (usize, Value, Expected)> + 'a> {
    let have: Box<dyn Iterator<Item = Value> + 'a> = match result.data() {
        Array::U64(have) => Box::new(have.iter().map(|x| x.value())),
        Array::U32(have) => Box::new(have.iter().map(|x| x.value())),
        _ => return None,
    };
    let expected = counts.iter().map(|&count| Expected::exactly(Value::Int(count.into())));
    let bins = have.zip(expected).enumerate().map(|(bin, (have, expected))| (bin, have, expected));
    (result.shape() == shape.as_slice()).then_some(bins)
}

/// The number of elements in each bin; of several channels, those of the first one first.
pub(crate) fn count(data: &Array, question: &Question) -> Vec<u64> {
    let mut counts = vec![0; question.counts()];
    let mut add = |bin: usize| {
        if let Some(count) = counts.get_mut(bin) {
            *count += 1;
        }
    };
    match data {
        Array::U8(text) if question.letters => text.iter().filter_map(|&byte| group(byte)).for_each(add),
        Array::U8(bytes) => {
            let [interleaved, bins] = [question.channels.interleaved(), question.bins].map(|x| x as usize);
            for (channel, &byte) in (0..interleaved).cycle().zip(bytes) {
                if usize::from(byte) < bins {
                    add(channel * bins + usize::from(byte));
                }
            }
        }
        Array::U32(keys) => keys.iter().for_each(|&key| add(key as usize)),
        Array::F32(values) => {
            let [low, high, scale] = question.range.map(|x| x as f32);
            let inside = values.iter().filter(|&&x| (low..high).contains(&x));
            inside.for_each(|x| add((((x - low) * scale).floor() as usize).min(question.bins as usize - 1)));
        }
        Array::F64(values) => {
            let [low, high, scale] = question.range;
            let inside = values.iter().filter(|&&x| (low..high).contains(&x));
            inside.for_each(|x| add((((x - low) * scale).floor() as usize).min(question.bins as usize - 1)));
        }
        _ => {}
    }
    counts
}

fn group(byte: u8) -> Option<usize> {
    match byte.to_ascii_lowercase() {
        b'a'..=b'd' => Some(0),
        b'e'..=b'h' => Some(1),
        b'i'..=b'l' => Some(2),
        b'm'..=b'p' => Some(3),
        b'q'..=b't' => Some(4),
        b'u'..=b'x' => Some(5),
        b'y' | b'z' => Some(6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::element::Dtype;
    use rustwarp::histogram::Channels;

    #[test]
    fn letters_of_a_sentence() {
        let text = Array::U8(b"The quick brown fox jumps over the lazy dog. {|}~@[`".to_vec());
        let question = Question { bins: 7, letters: true, range: [0.0; 3], channels: Channels::ONE };
        // a b c d, e e e f g h h, i j k l, m n o o o o p, q r r s t t, u u v w x, y z
        assert_eq!(count(&text, &question), [4, 7, 4, 7, 6, 5, 2]);
    }

    #[test]
    fn edges_of_a_range() {
        let below_one = 1.0_f32.next_down();
        let values =
            vec![0.0, -0.0, 0.25, 0.5, below_one, 1.0, -1e-9, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.75];
        let question = Question { bins: 4, letters: false, range: [0.0, 1.0, 4.0], channels: Channels::ONE };
        assert_eq!(count(&Array::F32(values), &question), [2, 1, 1, 2]);
        // 3 bins of 0.1..0.7: the last number below the end times the scale is 3 when rounded.
        let (low, high) = (0.1_f32, 0.7_f32);
        let scale = 3.0 / (high - low);
        let question =
            Question { bins: 3, letters: false, range: [low, high, scale].map(f64::from), channels: Channels::ONE };
        assert_eq!(count(&Array::F32(vec![high.next_down(), high]), &question), [0, 0, 1]);
    }

    #[test]
    fn keys_that_have_no_bin_are_not_counted() {
        let question = Question { bins: 2, letters: false, range: [0.0; 3], channels: Channels::ONE };
        assert_eq!(count(&Array::U32(vec![0, 1, 1, 2, u32::MAX]), &question), [1, 2]);
        assert_eq!(count(&Array::U8(vec![0, 1, 2, 255]), &question), [1, 1]);
    }

    #[test]
    fn channels_take_turns() {
        // The last pixel is incomplete, and the value 2 has no bin.
        let bytes = Array::U8(vec![0, 1, 1, 0, 1, 2, 1, 0]);
        let count = |interleaved, active| {
            let channels = Channels::new(interleaved, active).expect("channels");
            count(&bytes, &Question { bins: 2, letters: false, range: [0.0; 3], channels })
        };
        assert_eq!(count(1, 1), [3, 4]);
        assert_eq!(count(3, 3), [2, 1, 1, 2, 0, 1]);
        assert_eq!(count(3, 2), [2, 1, 1, 2]);
        assert_eq!(count(4, 3), [1, 1, 0, 1, 0, 2]);
    }

    #[test]
    fn counts_of_either_width_are_compared() {
        let inputs = [Tensor::from(Array::U32(vec![1, 1, 0]))];
        let settings =
            crate::kernels::Settings::new(super::super::question::SETTINGS, [("bins", "2")]).expect("settings");
        let oracle =
            oracle(Problem { inputs: &inputs, dtype: Dtype::U32, op: "", settings: &settings }).expect("counts");
        assert!(oracle.judge(&Array::U64(vec![1, 2]).into(), 0).verified);
        assert!(oracle.judge(&Array::U32(vec![1, 2]).into(), 0).verified);
        assert!(!oracle.judge(&Array::U64(vec![2, 1]).into(), 0).verified);
        assert!(!oracle.judge(&Array::U64(vec![1, 2, 0]).into(), 0).verified);
        assert!(!oracle.judge(&Array::I64(vec![1, 2]).into(), 0).verified);
        let wrong = oracle.first_wrong(&Array::U32(vec![1, 3]).into(), 0).expect("a wrong one");
        assert!(matches!((wrong.index, wrong.got, wrong.expected), (1, Value::Int(3), Value::Int(2))), "{wrong:?}");
        assert!(oracle.first_wrong(&Array::U64(vec![1, 2]).into(), 0).is_none());
    }
}
