//! The families that demonstrate one counter each: a formula gives the number that the simulator must count.

use ladders::kernels::{self, Demand, Family, Job, Problem, Settings};
use rustwarp::Tensor;
use rustwarp::backend::{Backend, Checkers, Checks, Choice, Counters, Module, Printed, open_printing};
use rustwarp::element::Array;
use std::cell::RefCell;
use std::collections::BTreeMap;
use tests::matrix::load;

struct Simulator {
    device: Box<dyn Backend>,
    /// Modules of the families, loaded on first use.
    modules: RefCell<BTreeMap<&'static str, Module>>,
}

impl Simulator {
    fn new() -> Self {
        let checks = Checks::On(Checkers::default());
        let (device, _) = open_printing(Choice::Sim, checks, Printed::Stderr).expect("the simulator");
        Self { device, modules: RefCell::default() }
    }

    fn module(&self, family: &Family) -> Module {
        *self.modules.borrow_mut().entry(family.name).or_insert_with(|| load(&*self.device, family.name, None))
    }

    /// Counters of one variant, on generated operands or on the given ones.
    fn count(
        &self,
        family: &str,
        variant: &str,
        dtype: &str,
        size: &[u64],
        settings: &[(&str, &str)],
        inputs: Option<Vec<Tensor>>,
    ) -> Counters {
        let family = kernels::family(family).expect("a family");
        let variants = family.select(variant).expect("a variant");
        let settings = Settings::new(family.settings, settings.iter().copied()).expect("settings");
        let dtype = dtype.parse().expect("a type");
        let demand = Demand { size, dtype, seed: 7, settings: &settings };
        let inputs = inputs.unwrap_or_else(|| (family.generate)(&demand).expect("operands"));
        let op = family.ops.first().copied().unwrap_or_default();
        let problem = Problem { inputs: &inputs, dtype, op, settings: &settings };
        let ladder = family.resolve(&problem).expect("kernels");
        let oracle = ladder.oracle(problem).expect("an oracle");
        let (device, module, variants) = (&*self.device, self.module(family), variants.as_slice());
        let job = Job { device, module, problem, oracle: &oracle, variants, block: None, grid: None, plan: None };
        let mut counters = None;
        let result = ladder.run(&job, &mut |row| {
            assert!(row.is_clean(), "{} {} {}: {:?}", family.name, row.variant, settings.text(), row.findings);
            counters = row.counters;
        });
        result.expect("a run");
        counters.expect("what the simulator counted")
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A warp that touches `size` bytes per lane, `stride` elements apart, touches min(32, stride * size) sectors.
#[test]
fn a_stride_costs_sectors() {
    let simulator = Simulator::new();
    for (dtype, size) in [("f32", 4), ("f64", 8)] {
        for stride in 1..=32_u64 {
            // The length is a multiple of 32 * stride elements, so that every warp is full.
            let text = stride.to_string();
            let settings = [("stride", text.as_str())];
            let counted = simulator.count("access", "strided", dtype, &[8, 32 * stride], &settings, None);
            assert_eq!(counted.global_loads, 8 * stride);
            assert_eq!(counted.global_load_sectors, 8 * stride * (stride * size).min(32), "{dtype} {stride}");
            assert_eq!(counted.global_store_sectors, counted.global_load_sectors);
        }
    }
}

/// Accesses that start inside a sector touch one sector more per warp.
#[test]
fn an_offset_costs_one_sector() {
    let simulator = Simulator::new();
    for (dtype, size) in [("f32", 4), ("f64", 8)] {
        for offset in 0..=32_u64 {
            let text = offset.to_string();
            let settings = [("offset", text.as_str())];
            let counted = simulator.count("access", "offset", dtype, &[64, 32], &settings, None);
            // Warp w accesses the elements from 32 w - offset on, as far as they exist.
            let sectors: u64 = (0..=64)
                .map(|warp: u64| {
                    let (first, end) = ((32 * warp).saturating_sub(offset), (32 * (warp + 1) - offset).min(2048));
                    if first < end { (end * size).div_ceil(32) - first * size / 32 } else { 0 }
                })
                .sum();
            assert_eq!(counted.global_load_sectors, sectors, "{dtype} {offset}");
            let inner = u64::from(offset * size % 32 != 0) + size;
            assert!(sectors >= 63 * inner && sectors <= 65 * inner, "{dtype} {offset}: all but two warps need {inner}");
        }
    }
}

/// Walking along rows scatters a warp's accesses, walking down columns coalesces them; a field of a structure costs the
/// structure's width, unless a lane loads the whole structure at once.
#[test]
fn walks_and_layouts_cost_by_the_distance_of_their_lanes() {
    let simulator = Simulator::new();
    for (dtype, size) in [("f32", 4_u64), ("f64", 8)] {
        let count = |variant| simulator.count("access", variant, dtype, &[64, 64], &[], None);
        let per_request = |counted: Counters| counted.global_load_sectors as f64 / counted.global_loads as f64;
        assert_eq!(per_request(count("row_walk")), 32.0);
        assert_eq!(per_request(count("column_walk")), size as f64);
        assert_eq!(per_request(count("structures")), (4 * size).min(32) as f64);
        assert_eq!(per_request(count("arrays")), size as f64);
        let vector = count("structures_vector");
        assert_eq!(per_request(vector), 16.0);
        assert_eq!(vector.global_loads * 16 / size, count("structures").global_loads);
        assert_eq!(vector.global_load_bytes, 32 * vector.global_load_sectors, "every byte that moves is used");
    }
}

/// Strides 1 to 33 of words of 4, 8 and 16 bytes: the conflicts are the gcd of the stride and the number of lanes
/// served together.
#[test]
fn strides_conflict_by_their_common_divisor() {
    let simulator = Simulator::new();
    for (word, together) in [("4", 32), ("8", 16), ("16", 8)] {
        let passes = 32 / together;
        for stride in 1..=33_u64 {
            let text = stride.to_string();
            let settings = [("stride", text.as_str()), ("word", word)];
            let counted = simulator.count("banks", "strided", "u32", &[256], &settings, None);
            let warps = counted.barriers;
            assert_eq!((counted.shared_loads, counted.shared_stores), (32 * warps, warps));
            let each = passes * gcd(stride, together);
            assert_eq!(counted.shared_load_wavefronts, 32 * warps * each, "{word} bytes, stride {stride}");
            assert_eq!(counted.bank_conflicts, 33 * warps * (each - passes), "{word} bytes, stride {stride}");

            let counted = simulator.count("banks", "broadcast", "u32", &[256], &settings, None);
            let one = if word == "16" { 2 } else { 1 };
            assert_eq!(counted.shared_load_wavefronts, 32 * warps * one, "{word} bytes, stride {stride}");
        }
    }
}

/// One padding word per row of banks removes the conflicts of every power of two up to a row; words two rows apart
/// conflict again, and so do 33 words of 4 bytes.
#[test]
fn padding_removes_conflicts_of_powers_of_two() {
    let simulator = Simulator::new();
    for (word, row) in [("4", 32), ("8", 16), ("16", 8)] {
        let count = |stride: u64| {
            let text = stride.to_string();
            simulator.count("banks", "padded", "u32", &[256], &[("stride", &text), ("word", word)], None)
        };
        for stride in [1, 2, 4, 8, 16, 32] {
            let conflicts = count(stride).bank_conflicts;
            assert_eq!(conflicts == 0, stride <= row, "{word} bytes, stride {stride}: {conflicts}");
        }
        assert_eq!(count(33).bank_conflicts > 0, word == "4", "{word} bytes");
    }
}

/// Lanes that read one word share its wavefront: only the four words of a step can conflict.
#[test]
fn multicast_conflicts_among_its_words_only() {
    let simulator = Simulator::new();
    for stride in 1..=33_u64 {
        let text = stride.to_string();
        let counted = simulator.count("banks", "multicast", "u32", &[256], &[("stride", &text)], None);
        // In step k the words k, k + 8, k + 16 and k + 24, modulo 32, are read: count the fullest bank.
        let step = |k: u64| {
            let banks = [0, 8, 16, 24].map(|word| (word + k) % 32 * stride % 32);
            banks.iter().map(|bank| banks.iter().filter(|other| *other == bank).count() as u64).max().unwrap_or(0)
        };
        let expected: u64 = (0..32).map(step).sum();
        assert_eq!(counted.shared_load_wavefronts, counted.barriers * expected, "stride {stride}");
    }
}

#[test]
fn branches_diverge_within_warps_only() {
    let simulator = Simulator::new();
    let n = 1024_u64;
    let warps = n / 128 * 8;
    let count = |variant, inputs| simulator.count("divergence", variant, "u32", &[n], &[], inputs);
    let (by_lane, by_warp) = (count("by_lane", None), count("by_warp", None));
    assert_eq!((by_lane.divergent_branches, by_warp.divergent_branches), (warps, 0));
    assert!(by_lane.warp_instructions > by_warp.warp_instructions);
    assert!(count("unequal_loops", None).divergent_branches >= warps);

    // For divergence by data: a warp diverges unless its 32 values are all even or all odd, in both halves of the
    // block.
    let mixed = |value: &dyn Fn(u32) -> u32| {
        let values: Vec<u32> = (0..n as u32).map(value).collect();
        let disagree = |warp: &&[u32]| warp.iter().any(|x| x % 2 != warp[0] % 2);
        let expected = 2 * values.chunks(32).filter(disagree).count() as u64;
        (count("by_data", Some(vec![Tensor::from(Array::U32(values))])).divergent_branches, expected)
    };
    assert_eq!(mixed(&|i| i), (warps, warps));
    assert_eq!(mixed(&|i| i / 32), (0, 0));
    assert_eq!(mixed(&|i| u32::from(i == 700)), (2, 2));
    assert_eq!(mixed(&|i| u32::from(i >= 513)), (2, 2));
}

/// Every table of threads is written row by row with coalesced stores, for any launch shape.
#[test]
fn threads_write_neighbours() {
    let simulator = Simulator::new();
    for variant in ["one_d", "two_d", "three_d"] {
        let settings = [("block-x", "8"), ("block-y", "4"), ("block-z", "4"), ("grid-x", "2")];
        let counted = simulator.count("threads", variant, "u32", &[1], &settings, None);
        assert_eq!(counted.global_store_sectors, 4 * counted.global_stores);
        assert_eq!(counted.divergent_branches, 0);
    }
}

/// Lanes of a warp add to the same address one after the other, unless they are combined first; counters per block need
/// fewer atomics in device memory.
#[test]
fn contention_is_lanes_over_addresses() {
    let simulator = Simulator::new();
    let n = 4096_u64;
    for addresses in [1, 2, 4, 8, 16, 32, 64, 1024] {
        let text = addresses.to_string();
        let count = |variant| simulator.count("atomics", variant, "u32", &[n], &[("addresses", &text)], None);
        let global = count("global");
        assert_eq!((global.global_atomics, global.atomic_lanes), (n / 32, n), "{addresses}");
        assert_eq!(global.atomic_addresses, n / 32 * addresses.min(32), "{addresses}");

        let aggregated = count("warp_aggregated");
        assert_eq!(aggregated.global_atomics, n / 32, "{addresses}");
        assert_eq!(aggregated.atomic_lanes, n / 32 * addresses.min(32), "{addresses}");
        assert_eq!(aggregated.atomic_addresses, aggregated.atomic_lanes, "{addresses}");

        let shared = count("shared");
        let blocks = n / 256;
        let own = addresses.min(256);
        assert_eq!((shared.shared_atomics, shared.global_atomics), (n / 32, blocks * own.div_ceil(32)), "{addresses}");
        assert_eq!(shared.atomic_lanes, n + blocks * own, "{addresses}");
    }
}
