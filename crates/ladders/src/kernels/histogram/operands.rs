//! Elements to count.

use super::question::{Question, SKEW};
use crate::error::Result;
use crate::input::generate::{generate, generate_with};
use crate::kernels::Demand;
use crate::kernels::spelling::N;
use rustwarp::backend::require_host_memory;
use rustwarp::element::{Dtype, Element, Scalar};
use rustwarp::tensor::Tensor;

/// Generates the elements to count: bytes and floats as in every family, u32 uniform in all bins; `skew` percent are
/// equal to the first one.
pub(super) fn generate_input(demand: &Demand<'_>) -> Result<Vec<Tensor>> {
    let [n] = demand.axes::<1>("one number")?;
    let bytes = (n as u64).saturating_mul(demand.dtype.size() as u64);
    require_host_memory(
        bytes,
        &format!("an operand of {n} elements of {}", demand.dtype),
        &format!("use a smaller {N}"),
    )?;
    let question = Question::new(demand.settings, demand.dtype)?;
    let skewed = Skewed { n, seed: demand.seed, percent: demand.settings.number(&SKEW) };
    let data = match demand.dtype {
        Dtype::U8 => skewed.make(|random| random as u8),
        Dtype::U32 => skewed.make(|random| (((random >> 32) * u64::from(question.bins)) >> 32) as u32),
        Dtype::F32 => skewed.make(f32::from_random),
        Dtype::F64 => skewed.make(f64::from_random),
        other => return Err(super::FAMILY.no_kernel(other)),
    };
    Ok(vec![data])
}

struct Skewed {
    n: usize,
    seed: u64,
    percent: u64,
}

impl Skewed {
    fn make<T: Scalar>(&self, make: impl Fn(u64) -> T + Sync) -> Tensor {
        let first = generate::<u64>(1, self.seed).first().copied().unwrap_or_default();
        // Bits that are part of no element determine which elements are equal to the first one.
        let chosen = |random: u64| ((random >> 8) & 0xffff) * 100 < (self.percent << 16);
        let values = generate_with(self.n, self.seed, |random| make(if chosen(random) { first } else { random }));
        T::wrap(values).into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::question::SETTINGS;
    use super::*;
    use crate::kernels::Settings;
    use rustwarp::element::Array;

    #[test]
    fn skew_is_a_percentage_of_equal_elements() {
        let made = |skew: &str| {
            let settings = Settings::new(SETTINGS, [("skew", skew), ("bins", "1000")]).expect("settings");
            let demand = Demand { size: &[10_000], dtype: Dtype::U32, seed: 5, settings: &settings };
            generate_input(&demand).expect("made").remove(0).into_data()
        };
        let like_the_first = |skew: &str| {
            let Array::U32(keys) = made(skew) else { panic!("u32") };
            assert!(keys.iter().all(|&key| key < 1000));
            keys.iter().filter(|&&key| key == keys[0]).count()
        };
        assert!(like_the_first("0") < 50);
        assert!((4800..5200).contains(&like_the_first("50")));
        assert_eq!(like_the_first("100"), 10_000);
    }
}
