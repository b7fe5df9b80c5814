//! Precise sums, on numbers for which a plain sum has a large error.

use ladders::kernels::{self, Job, Problem, Settings};
use rustwarp::Tensor;
use rustwarp::backend::Choice;
use rustwarp::element::{Array, Value};
use tests::matrix::{Bench, bench};

/// One rung's sum, and whether it passed.
fn sum(bench: &Bench, rung: &'static str, input: Array) -> (f64, bool) {
    let reduce = kernels::family("reduce").expect("a family");
    let (inputs, settings) = ([Tensor::from(input)], Settings::default());
    let problem = Problem { inputs: &inputs, dtype: inputs[0].dtype(), op: "sum", settings: &settings };
    let ladder = reduce.resolve(&problem).expect("kernels");
    let oracle = ladder.oracle(problem).expect("an oracle");
    let (device, module, variants) = (&*bench.device, bench.module, &reduce.select(rung).expect("a rung"));
    let job = Job { device, module, problem, oracle: &oracle, variants, block: None, grid: None, plan: None };
    let mut passed = false;
    let result = ladder.run(&job, &mut |row| passed = row.is_clean()).expect("a run");
    let Some(Value::Float(sum)) = result.single() else { panic!("{rung}: a float") };
    (sum, passed)
}

/// Large numbers that cancel between small ones that do not: the sum has fewer correct digits than its terms.
fn cancelling(large: f64) -> Vec<f64> {
    let large = [large, -large, 3.0 * large, -2.0 * large, -large];
    (0..20_011).map(|i| if i % 1000 == 500 { large[i / 1000 % 5] } else { 0.625 }).collect()
}

#[test]
fn f32_is_added_as_in_twice_its_precision() {
    let bench = bench(Choice::Sim, "reduce");
    let values = cancelling(f64::from(1_u32 << 27));
    let right: f64 = values.iter().sum();
    let input = || Array::F32(values.iter().map(|&x| x as f32).collect());
    for rung in ["double_accumulator", "compensated"] {
        let (sum, passed) = sum(&bench, rung, input());
        assert!(passed && sum == f64::from(right as f32), "{rung}: {sum}, not {right}");
    }
    // The plain rungs pass too, within their larger error bound.
    for rung in ["warp_shuffle", "sequential", "grid_stride", "best"] {
        let (sum, passed) = sum(&bench, rung, input());
        assert!(passed && (sum - right).abs() > 1.0, "{rung}: {sum} is about {right}");
    }
}

#[test]
fn f64_sums_are_compensated() {
    let bench = bench(Choice::Sim, "reduce");
    let values = cancelling(f64::powi(2.0, 56));
    let small = values.iter().filter(|&&x| x == 0.625).count() as f64 * 0.625;
    let (precise, passed) = sum(&bench, "compensated", Array::F64(values.clone()));
    assert!(passed && precise == small, "{precise}, not {small}");
    for rung in ["double_accumulator", "best"] {
        let (sum, passed) = sum(&bench, rung, Array::F64(values.clone()));
        assert!(passed && (sum - small).abs() > 1.0, "{rung}: {sum} is about {small}");
    }
}
