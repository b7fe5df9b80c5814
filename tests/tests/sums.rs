//! Sums of floats: the error bound and the class of every rung, on numbers for which a plain sum has a large error.

use kernels_gpu::reduce::sorted;
use ladders::kernels::reduce::bound::{Bound, Terms, unit};
use ladders::kernels::reduce::{self, oracle};
use ladders::kernels::{self, Job, Problem, Row, RungId, Settings};
use rustwarp::backend::{Backend, Buffer, Choice, Printed, explaining};
use rustwarp::element::{Array, Element, Value};
use rustwarp::{Device, Tensor, Tuning, reproducible};
use tests::fixed_point::Exact;
use tests::matrix::{Bench, bench, load};

/// One rung's sum, and whether it passed.
fn sum(bench: &Bench, rung: &'static str, input: Array) -> (f64, bool) {
    let (sum, row) = run(bench, rung, input);
    (sum, row.is_clean())
}

/// One rung's sum, and its row.
fn run(bench: &Bench, rung: &str, input: Array) -> (f64, Row) {
    run_of(bench, ("reduce", "sum"), rung_of("reduce", rung), input, (None, None)).expect("a run")
}

/// The sum of a family's rung with this block and grid, and its row.
fn run_of(
    bench: &Bench,
    (family, op): (&str, &str),
    rung: RungId,
    input: Array,
    (block, grid): (Option<u32>, Option<u32>),
) -> ladders::error::Result<(f64, Row)> {
    let family = kernels::family(family).expect("a family");
    let (inputs, settings) = ([Tensor::from(input)], Settings::default());
    let problem = Problem { inputs: &inputs, dtype: inputs[0].dtype(), op, settings: &settings };
    let ladder = family.resolve(&problem).expect("kernels");
    let oracle = ladder.oracle(problem).expect("an oracle");
    let (device, module, variants) = (&*bench.device, bench.module, &[rung]);
    let job = Job { device, module, problem, oracle: &oracle, variants, block, grid, plan: None };
    let mut last = None;
    let result = ladder.run(&job, &mut |row| last = Some(row))?;
    let Some(Value::Float(sum)) = result.single() else { panic!("{}: a float", rung.name) };
    Ok((sum, last.expect("a row")))
}

/// The rung of a family with this name.
fn rung_of(family: &str, name: &str) -> RungId {
    kernels::family(family).expect("a family").select(name).expect("a rung")[0]
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
    for rung in ["double_accumulator", "compensated", "double_float"] {
        let (sum, passed) = sum(&bench, rung, input());
        assert!(passed && sum == f64::from(right as f32), "{rung}: {sum}, not {right}");
    }
    // The plain rungs pass too, within their larger error bound.
    for rung in ["warp_shuffle", "sequential", "grid_stride", "fixed_tree", "best"] {
        let (sum, passed) = sum(&bench, rung, input());
        assert!(passed && (sum - right).abs() > 1.0, "{rung}: {sum} is about {right}");
    }
}

#[test]
fn f64_sums_are_compensated() {
    let bench = bench(Choice::Sim, "reduce");
    let values = cancelling(f64::powi(2.0, 56));
    let small = values.iter().filter(|&&x| x == 0.625).count() as f64 * 0.625;
    for rung in ["compensated", "double_float"] {
        let (precise, passed) = sum(&bench, rung, Array::F64(values.clone()));
        assert!(passed && precise == small, "{rung}: {precise}, not {small}");
    }
    for rung in ["double_accumulator", "best"] {
        let (sum, passed) = sum(&bench, rung, Array::F64(values.clone()));
        assert!(passed && (sum - small).abs() > 1.0, "{rung}: {sum} is about {small}");
    }
}

/// The bound of a rung of `reduce` or `exact_sum`.
fn kind<T: Element>(family: &str, rung: RungId) -> Bound {
    if family == "reduce" { reduce::bound(rung, T::DTYPE) } else { Bound::Rounded }
}

/// The bound that a rung's documentation states for the error of a sum of floats, whose exact value is `sum` and whose
/// magnitudes have the sum `all`.
fn bound<T: Element>(row: &Row, sum: f64, all: f64) -> f64 {
    kind::<T>(row.family, rung_of(row.family, &row.variant)).error(Terms {
        dtype: T::DTYPE,
        depth: row.depth,
        sum,
        magnitude: all,
    })
}

/// Numbers in [0, 1), the same in every run.
fn random(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// `n` floats of which the sum of magnitudes is about `condition` times the magnitude of the sum: the first half has
/// exponents up to the square root, and of the second half each number cancels what has been added so far down to a
/// smaller exponent. (T. Ogita, S. M. Rump, S. Oishi, "Accurate Sum and Dot Product", algorithm 6.1.)
fn ill_conditioned<T: Element>(n: usize, condition: f64, seed: u64) -> Vec<T> {
    let mut random = random(seed);
    let spread = condition.log2() / 2.0;
    let (mut sum, half) = (Exact::sum([]), n / 2);
    let mut values: Vec<T> = (0..n)
        .map(|i| {
            let power = if i < half { random() * spread } else { spread * (1.0 - 4.0 * (i - half) as f64 / n as f64) };
            let wanted = (2.0 * random() - 1.0) * power.exp2();
            let x = T::round(Value::Float(if i < half { wanted } else { wanted - sum.to_f64() }));
            sum.add(x.to_f64());
            x
        })
        .collect();
    for i in (1..n).rev() {
        values.swap(i, (random() * (i + 1) as f64) as usize);
    }
    values
}

/// Checks the bound of every rung on numbers with condition numbers from 1 to 10^30.
fn every_bound_holds<T: Element>(array: fn(Vec<T>) -> Array) {
    let families = [("reduce", "sum"), ("exact_sum", "")].map(|of| (of, bench(Choice::Sim, of.0)));
    let mut worst: f64 = 0.0;
    for (seed, (n, condition)) in
        [(1000, 1.0), (1500, 1e4), (4000, 1e8), (999, 1e16), (1500, 1e23), (4000, 1e30)].into_iter().enumerate()
    {
        let values = ill_conditioned::<T>(n, condition, seed as u64);
        let exact = Exact::sum(values.iter().map(|x| x.to_f64()));
        let (sum, all) = (exact.to_f64(), Exact::sum(values.iter().map(|x| x.to_f64().abs())).to_f64());
        let reached = all / sum.abs();
        assert!(reached >= condition / 100.0, "the condition is {reached:e}, not {condition:e}");
        worst = worst.max(reached);
        for (of, bench) in &families {
            for rung in kernels::family(of.0).expect("a family").rungs() {
                let run = run_of(bench, *of, rung, array(values.clone()), (None, None));
                let (result, row) = run.expect("a run");
                let (error, bound) = (exact.minus(result).abs(), bound::<T>(&row, sum, all));
                let name = format!("{} {} at condition {reached:e}", of.0, rung.name);
                assert!(row.is_clean(), "{name}: {:?}", row.findings);
                assert!(error <= bound, "{name}: off by {error:e}, more than {bound:e}");
            }
        }
    }
    assert!(worst >= 1e29, "{worst:e}");
}

#[test]
fn f32_sums_are_within_their_bounds() {
    every_bound_holds::<f32>(Array::F32);
}

#[test]
fn f64_sums_are_within_their_bounds() {
    every_bound_holds::<f64>(Array::F64);
}

#[test]
fn a_bound_rejects_what_is_beyond_it() {
    let bench = bench(Choice::Sim, "reduce");
    // The error of a plain sum is beyond the bounds of the precise ones for many inputs, and a bit of the result beyond
    // that of a sum that is rounded once.
    for rung in ["compensated", "double_accumulator", "double_float"] {
        let rejected = (1..=8).filter(|&seed| {
            let values = ill_conditioned::<f32>(4000, 1e16, seed);
            let exact = Exact::sum(values.iter().map(|&x| f64::from(x)));
            let all = Exact::sum(values.iter().map(|&x| f64::from(x.abs()))).to_f64();
            let (plain, _) = run(&bench, "best", Array::F32(values.clone()));
            let (_, row) = run(&bench, rung, Array::F32(values));
            exact.minus(plain).abs() > bound::<f32>(&row, exact.to_f64(), all)
        });
        let rejected = rejected.count();
        assert!(rejected >= 3, "{rung}: {rejected} of 8");
    }
    let ones = vec![1.0_f32; 4000];
    let (right, row) = run(&bench, "double_float", Array::F32(ones.clone()));
    let exact = Exact::sum(ones.iter().map(|&x| f64::from(x)));
    let next = f64::from((right as f32).next_up());
    assert_eq!(right, 4000.0);
    assert!(exact.minus(next).abs() > bound::<f32>(&row, 4000.0, 4000.0));
}

/// Checks that no chain of additions is longer than the bound of a rung assumes, on numbers that make a chain's error
/// as large as the bound allows: 1, and in the other operand of each addition in its chain a single half of its last
/// place, which is rounded away. The operands are those of the rung: a half is kept if the sum is still 1.
fn no_chain_is_longer_than_its_bound<T: Element>(array: fn(Vec<T>) -> Array) {
    const N: usize = 150;
    let (bench, u) = (bench(Choice::Sim, "reduce"), unit(T::DTYPE));
    for rung in kernels::family("reduce").expect("a family").rungs() {
        if reduce::bound(rung, T::DTYPE) != Bound::Plain {
            continue;
        }
        for (first, shape) in [(0, (None, None)), (0, (Some(32), Some(1))), (64, (Some(32), Some(1)))] {
            let mut values = vec![T::ZERO; N];
            values[first] = T::round(Value::Float(1.0));
            let run = |values: &[T]| run_of(&bench, ("reduce", "sum"), rung, array(values.to_vec()), shape);
            let (_, row) = match run(&values) {
                Ok(run) => run,
                // Some rungs have larger blocks only, or a grid of their own.
                Err(error) if shape == (None, None) => panic!("{}: {error}", rung.name),
                Err(_) => continue,
            };
            let mut chain = 0_u32;
            for i in (0..N).filter(|&i| i != first) {
                values[i] = T::round(Value::Float(u));
                if run(&values).expect("a run").0 == 1.0 {
                    chain += 1;
                } else {
                    values[i] = T::ZERO;
                }
            }
            let (error, sum) = (f64::from(chain) * u, 1.0 + f64::from(chain) * u);
            let bound = bound::<T>(&row, sum, sum);
            assert!(error <= bound, "{} {shape:?}: {chain} additions are beyond {}", rung.name, row.depth);
            // Nor is it far shorter: blocks also add the zeros of threads without elements.
            assert!(4.0 * error >= bound, "{} {shape:?}: {chain} additions, {error:e} of {bound:e}", rung.name);
        }
    }
}

/// Checks the other bounds on numbers that bring the errors near them, from below: sums that are rounded once on a sum
/// halfway between two floats, and sorted numbers on those that are each a little above 1, by half of the last place
/// of the sum so far, which is rounded away.
fn other_bounds_are_reached<T: Element>(array: fn(Vec<T>) -> Array) {
    let u = unit(T::DTYPE);
    let halves = (1..=1000_u32).map(|k| if k == 1 { 1.0 } else { 1.0 + u * f64::from(1_u32 << k.ilog2()) }).collect();
    for of in [("reduce", "sum"), ("exact_sum", "")] {
        let bench = bench(Choice::Sim, of.0);
        for rung in kernels::family(of.0).expect("a family").rungs() {
            let (values, share): (Vec<f64>, _) = match kind::<T>(of.0, rung) {
                Bound::Plain => continue,
                Bound::Sorted => (Vec::clone(&halves), 0.6),
                _ => (vec![1.0, u], 0.999),
            };
            let exact = Exact::sum(values.iter().copied());
            let values: Vec<T> = values.into_iter().map(|x| T::round(Value::Float(x))).collect();
            let (result, row) = run_of(&bench, of, rung, array(values), (None, None)).expect("a run");
            let (error, bound) = (exact.minus(result).abs(), bound::<T>(&row, exact.to_f64(), exact.to_f64()));
            assert!(error <= bound && error >= share * bound, "{} {}: {error:e}, {bound:e}", of.0, rung.name);
        }
    }
}

#[test]
fn sums_of_f32_reach_their_bounds_and_no_more() {
    no_chain_is_longer_than_its_bound::<f32>(Array::F32);
    other_bounds_are_reached::<f32>(Array::F32);
}

#[test]
fn sums_of_f64_reach_their_bounds_and_no_more() {
    no_chain_is_longer_than_its_bound::<f64>(Array::F64);
    other_bounds_are_reached::<f64>(Array::F64);
}

#[test]
fn sums_of_specials_are_those_of_ieee() {
    let bench = bench(Choice::Sim, "reduce");
    let family = kernels::family("reduce").expect("a family");
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (special, other, right) in
        [(inf, 1.0, inf), (-inf, 1.0, -inf), (inf, -inf, nan), (nan, 1.0, nan), (nan, inf, nan), (-0.0, -0.0, 0.0)]
    {
        let mut values = vec![if right == 0.0 { -0.0 } else { 0.5 }; 300];
        (values[7], values[290]) = (special, other);
        for rung in family.rungs() {
            for array in [Array::F64(values.clone()), Array::F32(values.iter().map(|&x| x as f32).collect())] {
                let (sum, row) = run(&bench, rung.name, array);
                let same = sum == right || sum.is_nan() && right.is_nan();
                assert!(same && row.is_clean(), "{} {special} {other}: {sum}, not {right}", rung.name);
            }
        }
    }
}

/// Numbers whose sum depends on the order of additions.
fn uneven<T: Element>(n: usize) -> Vec<T> {
    let mut random = random(n as u64);
    (0..n).map(|_| T::round(Value::Float((random() - 0.3) * (30.0 * random()).exp2()))).collect()
}

/// Checks that the bits of a `fixed_tree` are those of the CPU, for every grid and on devices of different sizes.
fn fixed_bits<T: Element + reproducible::Rounded>() {
    let bits = |x: T| x.to_f64().to_bits();
    let device = Device::sim().expect("the simulator");
    for n in [0, 1, 5, 4097, 8192, 8193, 50_000, 3 * 8192] {
        let values = uneven::<T>(n);
        let right = oracle::fixed_tree(&values);
        let x = device.upload(&values).expect("memory");
        assert_eq!(bits(device.sum_reproducible(&x).expect("a sum")), bits(right), "{n}");
        assert_eq!(bits(device.sum_reproducible_async(&x).and_then(|sum| sum.wait()).expect("a sum")), bits(right));
        for grid in [1, 2, 3, 5, 64] {
            let mut output = device.uninit::<T>(1).expect("memory");
            let plan = reproducible::Plan::new(&device, n, Tuning { grid: Some(grid), block: None }).expect("a plan");
            // The second launch finds the ticket as the first one left it.
            for _ in 0..2 {
                plan.launch(&x, &mut output).expect("a launch");
                assert_eq!(bits(output.read(1).expect("a sum")[0]), bits(right), "{n} on {grid} blocks");
            }
        }
        // Off a 16-byte boundary.
        let framed = device.upload(&[&[T::ZERO; 3][..], &values].concat()).expect("memory");
        let part = framed.view(3..).expect("the values");
        assert_eq!(bits(device.sum_reproducible(part).expect("a sum")), bits(right), "{n} off a boundary");
    }
    let refusal = reproducible::Plan::<T, _>::new(&device, 9, Tuning { block: Some(128), grid: None });
    assert!(refusal.err().expect("refused").to_string().contains("256 threads"));
}

#[test]
fn the_length_alone_fixes_the_bits() {
    fixed_bits::<f32>();
    fixed_bits::<f64>();
}

#[test]
fn devices_of_different_sizes_give_the_same_bits() {
    // Enough leaves for all multiprocessors of the smaller devices.
    let values = uneven::<f32>(200 * 8192 + 77);
    let mut found = Vec::new();
    for profile in ["H200", "A100", "RTX 3050 Laptop"] {
        let (device, _) = explaining(profile, Printed::Stderr).expect("a profile");
        let module = load(&*device, "reduce", None);
        let handle: &dyn Backend = &*device;
        let x = Buffer::from_slice(handle, &values, "input").expect("memory");
        let output = Buffer::<f32>::uninit(handle, 1, "output").expect("memory");
        let plan = reproducible::Plan::<f32, _>::new(&handle, values.len(), Tuning::default()).expect("a plan");
        let launch = plan.prepare(&x, &output).expect("a launch");
        // SAFETY: the module has the family's entries, and the device the memory.
        unsafe { launch.run(handle, module) }.expect("a run");
        found.push((handle.info().multiprocessors, launch.shape().grid[0], output.read(1).expect("a sum")[0]));
    }
    let right = oracle::fixed_tree(&values);
    assert!(found.iter().all(|(_, _, sum)| sum.to_bits() == right.to_bits()), "{found:?}, not {right}");
    found.dedup_by_key(|(multiprocessors, grid, _)| (*multiprocessors, *grid));
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn sorted_sums_do_not_depend_on_the_order() {
    let bench = bench(Choice::Sim, "reduce");
    let mut values = uneven::<f32>(1000);
    let (first, passed) = sum(&bench, "sorted", Array::F32(values.clone()));
    assert!(passed);
    values.reverse();
    values.swap(3, 700);
    assert_eq!(sum(&bench, "sorted", Array::F32(values)), (first, true));
}

#[test]
fn what_does_not_fit_a_block_is_refused() {
    let bench = bench(Choice::Sim, "reduce");
    let refused = |rungs: &str, input: Array, op: &str| {
        let reduce = kernels::family("reduce").expect("a family");
        let (inputs, settings) = ([Tensor::from(input)], Settings::default());
        let problem = Problem { inputs: &inputs, dtype: inputs[0].dtype(), op, settings: &settings };
        let ladder = reduce.resolve(&problem).expect("kernels");
        let oracle = ladder.oracle(problem).expect("an oracle");
        let (device, module, variants) = (&*bench.device, bench.module, &reduce.select(rungs).expect("rungs"));
        let job = Job { device, module, problem, oracle: &oracle, variants, block: None, grid: None, plan: None };
        let mut ran = Vec::new();
        ladder.run(&job, &mut |row| ran.push(row.variant)).map(|_| ran).map_err(|error| error.to_string())
    };
    let most = sorted::BYTES / 8;
    assert_eq!(refused("sorted", Array::F64(vec![1.0; most]), "sum"), Ok(vec!["sorted".to_owned()]));
    let refusal = refused("sorted", Array::F64(vec![1.0; most + 1]), "sum").expect_err("too many");
    assert!(refusal.contains("`sorted` sorts at most 4096 elements of f64") && refusal.contains("4097"), "{refusal}");
    // Among others it is left out.
    assert_eq!(refused("sorted,best", Array::F64(vec![1.0; most + 1]), "sum"), Ok(vec!["best".to_owned()]));
    let refusal = refused("fixed_tree", Array::F32(vec![1.0]), "max").expect_err("a sum only");
    assert!(refusal.contains("`fixed_tree` is for sums of f32 and f64 only"), "{refusal}");
    let refusal = refused("double_float,sorted", Array::I32(vec![1]), "sum").expect_err("floats only");
    assert!(refusal.contains("`double_float` is for sums of f32 and f64 only"), "{refusal}");
    let refusal = refused("sequential", Array::U32(vec![1]), "lowest_bit").expect_err("`best` only");
    assert!(refusal.contains("`sequential` combines by sum, max and min only"), "{refusal}");
}
