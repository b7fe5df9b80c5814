//! Results that must not depend on the order in which blocks run.

use ladders::kernels::{Demand, Job, Problem, Settings, family};
use rustwarp::Tensor;
use rustwarp::backend::{Backend, Checks, Choice, Simulation, open};
use rustwarp::element::{Array, Dtype};

/// Checks that the last rung of `scan` returns the same bits whichever blocks and warps run first, on floats whose sums
/// are rounded and over several groups of tiles.
///
/// # Panics
/// Panics if the bits differ.
pub fn scan_gives_the_same_bits() {
    // A wrong order shows in the results. The checkers, which take most of the time, are not needed.
    let (device, _) = open(Choice::Sim, Checks::Bounds).expect("the simulator");
    let image = rustwarp::ptx::find_family("kernels-gpu", "scan", None, None).expect("the kernels' PTX");
    let module = device.load(&image.bytes, "kernels-gpu").expect("PTX that the simulator takes");
    let family = family("scan").expect("a family");
    let settings = Settings::new(family.settings, []).expect("defaults");
    let tiles = 2 * u64::from(kernels_gpu::scan::best::GROUP) + 3;
    let n = tiles * u64::from(kernels_gpu::scan::best::tile(kernels_gpu::scan::best::ROWS, 4));
    let demand = Demand { size: &[n], dtype: Dtype::F32, seed: 7, settings: &settings };
    let inputs = (family.generate)(&demand).expect("operands");

    let variants = family.select("best").expect("a variant");
    let run = |device: &dyn Backend, inputs: &[Tensor]| {
        let problem = Problem { inputs, dtype: Dtype::F32, op: "sum", settings: &settings };
        let ladder = family.resolve(&problem).expect("kernels");
        let oracle = ladder.oracle(problem).expect("an oracle");
        let job =
            Job { device, module, problem, oracle: &oracle, variants: &variants, block: None, grid: None, plan: None };
        let mut verified = false;
        let result = ladder.run(&job, &mut |row| verified = row.is_verified()).expect("a run");
        assert!(verified);
        result
    };
    let expected = run(&*device, &inputs);
    for seed in 1..=3 {
        device.simulate(&Simulation { seed: Some(seed), ..Simulation::default() }).expect("a seed");
        let result = run(&*device, &inputs);
        let bits = |tensor: &Tensor| match tensor.data() {
            Array::F32(values) => values.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            _ => Vec::new(),
        };
        assert!(bits(&result) == bits(&expected), "seed {seed}");
        assert_eq!(bits(&expected).len() as u64, n);
    }
}
