//! Factors to multiply.

use super::{TRANSPOSE_A, TRANSPOSE_B};
use crate::error::Result;
use crate::kernels::settings::{Choice, Setting};
use crate::kernels::{Demand, Distribution};
use rustwarp::tensor::Tensor;

/// The clock of tensor cores depends on the power that they draw, and that on the numbers.
pub(crate) const DISTRIBUTION: Setting<Choice> = Setting {
    name: "distribution",
    help: "Generated numbers: uniform in [-1, 1) (i8: over its whole range), or standard normal (i8: of standard \
           deviation 32)",
    generated: true,
    kind: Choice(&["uniform", NORMAL]),
};

const NORMAL: &str = "normal";

/// Generates both factors: matrices, or batches of matrices for a size of four numbers.
pub(super) fn generate(demand: &Demand<'_>) -> Result<Vec<Tensor>> {
    let axes = "MxNxK, BxMxNxK for a batch of B products, or one number for a cube";
    let (count, [m, n, k]) = match demand.size.len() {
        4 => demand.axes::<4>(axes).map(|[count, m, n, k]| (Some(count), [m, n, k]))?,
        _ => (None, demand.axes::<3>(axes)?),
    };
    let distribution = match demand.settings.choice(&DISTRIBUTION) {
        NORMAL => Distribution::Normal,
        _ => Distribution::Uniform,
    };
    let operand = |number: u64, setting, [rows, columns]: [usize; 2]| {
        let stored = if demand.settings.flag(setting) { [columns, rows] } else { [rows, columns] };
        demand.tensor_of(distribution, number, &count.into_iter().chain(stored).collect::<Vec<_>>())
    };
    Ok(vec![operand(0, &TRANSPOSE_A, [m, k])?, operand(1, &TRANSPOSE_B, [k, n])?])
}

#[cfg(test)]
mod tests {
    use crate::input::generate::generate;
    use crate::input::normal::normals;
    use crate::kernels::{Demand, Settings, matmul, mma, tensor, wgmma};
    use rustwarp::element::{Array, Dtype};
    use rustwarp::tensor::Tensor;

    #[test]
    fn factors_have_the_distribution_that_is_asked_for() {
        for family in [matmul::FAMILY, mma::FAMILY, wgmma::FAMILY, tensor::FAMILY] {
            let made = |given: &[(&str, &str)], dtype| -> Vec<Tensor> {
                let settings = Settings::new(family.settings, given.iter().copied()).expect("settings");
                (family.generate)(&Demand { size: &[3, 5, 4], dtype, seed: 7, settings: &settings }).expect("made")
            };
            for &dtype in family.dtypes {
                let normal = made(&[("distribution", "normal"), ("transpose-b", "")], dtype);
                let data = |len, seed| normals(dtype, len, seed).expect("normal numbers");
                let expected = [([3, 4], data(12, 7)), ([5, 4], data(20, 8))];
                let expected = expected.map(|(shape, data)| Tensor::new(&shape, data).expect("a matrix"));
                assert_eq!(normal, expected, "{} {dtype}", family.name);
                let uniform = made(&[], dtype);
                assert_eq!(uniform, made(&[("distribution", "uniform")], dtype), "the default");
                assert_ne!(uniform[0], normal[0]);
            }
        }
        let settings = Settings::default();
        let demand = Demand { size: &[2], dtype: Dtype::F32, seed: 7, settings: &settings };
        let [a, _] = <[Tensor; 2]>::try_from((matmul::FAMILY.generate)(&demand).expect("made")).expect("two");
        assert_eq!(*a.data(), Array::F32(generate(4, 7)), "as before");
    }
}
