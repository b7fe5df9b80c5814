//! The recommended variants on the simulator with every checker on, under several schedules: results are right, no
//! checker finds anything, and the bits are the same under each.

use ladders::kernels::{BEST, Case, FAMILIES, Family, Problem, RungId, family};
use libtest_mimic::{Arguments, Failed, Trial};
use rustwarp::backend::{Choice, Handle, Simulation};
use rustwarp::element::Dtype::{self, Bf16, F16, F32, F64, I8, I64, U8, U32};
use rustwarp::reduce::Sum;
use rustwarp::scan::{Kind, Plan};
use std::collections::BTreeSet;
use tests::checked::{device, require_no_finding};
use tests::matrix::{Bench, OLDEST, bench, bench_for, largest, operands, ops};
use tests::order::{Explored, same_bits};
use tests::planted;

/// Seeds that differ in how often blocks are interrupted, in the number that start together, and in which of them goes
/// on: 9 prefers the newest, the others any.
const SEEDS: [u64; 4] = [1, 2, 5, 9];

/// A size of a family with settings, for these types, or for all if there are none.
struct Size(&'static str, &'static [u64], &'static [(&'static str, &'static str)], &'static [Dtype]);

/// Several blocks each, of few instructions. A family with a `best` that is not listed has the largest of its own
/// cases.
const SIZES: &[Size] = &[
    Size("vecadd", &[20_011], &[], &[]),
    Size("dot", &[60_013], &[], &[]),
    Size("reduce", &[20_011], &[], Dtype::NUMBERS),
    Size("reduce", &[70_001], &[], &[F16, Bf16]),
    Size("exact_sum", &[20_011], &[("data", "spread")], &[]),
    Size("exact_sum", &[20_011], &[("data", "cancelling")], &[]),
    // A warp or a block per segment, and equal parts for all blocks.
    Size("segreduce", &[5003], &[("length", "1"), ("mix", "uniform")], &[]),
    Size("segreduce", &[5003], &[("length", "64"), ("mix", "equal")], &[]),
    Size("segreduce", &[12_007], &[("length", "5000"), ("mix", "equal")], &[]),
    Size("segreduce", &[12_007], &[("length", "300"), ("mix", "power")], &[]),
    Size("scan", &[20_011], &[], &[]),
    Size("scan", &[20_011], &[("exclusive", "")], &[]),
    // Two groups of tiles, whose sums are looked up first; the tiles of i64 are larger ones.
    Size("scan", &[71_681], &[], &[F32, I64]),
    Size("scan_by_key", &[20_011], &[("length", "300"), ("mix", "power")], &[]),
    Size("scan_by_key", &[20_011], &[("length", "9000"), ("mix", "equal"), ("exclusive", "")], &[]),
    Size("scan_by_key", &[71_681], &[("length", "50000"), ("mix", "power")], &[F32, I64]),
    // Two groups of tiles whose lanes have neighbours.
    Size("scan_by_key", &[180_001], &[("length", "50000"), ("mix", "power")], &[F32, F64, I64]),
    Size("transpose", &[130, 200], &[], &[]),
    Size("transpose", &[516, 512], &[], &[U8, F16]),
    Size("histogram", &[70_001], &[], &[U8]),
    Size("histogram", &[40_009], &[], &[U32, F32, F64]),
    Size("histogram", &[33_013], &[("bins", "60000")], &[U32]),
    Size("histogram", &[140_001], &[("channels", "3"), ("skew", "90")], &[U8]),
    Size("histogram", &[70_001], &[("letters", "")], &[U8]),
    Size("picture", &[62, 176, 3], &[], &[]),
    Size("picture", &[62, 176, 3], &[("radius", "5")], &[]),
    Size("matvec", &[130, 2000], &[], &[]),
    Size("matvec", &[3, 9000], &[], &[]),
    Size("matvec", &[2000, 130], &[("transpose-a", "")], &[]),
    Size("matmul", &[129, 131, 50], &[], &[]),
    Size("matmul", &[3, 33, 40, 70], &[], &[]),
    // The depth is divided, and the last block of a tile adds the parts.
    Size("matmul", &[33, 34, 700], &[("tile", "mini")], &[]),
    // Slices of the depth, and tiles that a block computes together.
    Size("mma", &[129, 130, 100], &[], &[]),
    Size("mma", &[257, 258, 40], &[], &[]),
    // The depth is divided, and a second launch adds the parts.
    Size("mma", &[33, 34, 2000], &[], &[F32]),
    Size("mma", &[33, 34, 4000], &[], &[F16, Bf16]),
    Size("mma", &[33, 34, 8000], &[], &[I8]),
    Size("wgmma", &[136, 264, 72], &[], &[]),
    Size("tensor", &[129, 136, 72], &[], &[]),
    // The depth is divided here, too.
    Size("tensor", &[72, 136, 2056], &[], &[F16, I8]),
    Size("conv1d", &[6151], &[("mask", "5"), ("border", "mirror")], &[]),
    Size("conv1d", &[3000], &[("mask", "31"), ("border", "zero")], &[]),
    Size("conv1d", &[2101, 2], &[("mask", "31"), ("border", "mirror")], &[]),
    Size("conv1d", &[2101, 2], &[("mask", "8"), ("border", "mirror")], &[]),
    Size("conv1d", &[2101, 3], &[("mask", "31"), ("border", "clamp")], &[]),
    Size("conv2d", &[70, 333], &[("mask", "5"), ("border", "mirror")], &[]),
    Size("conv2d", &[40, 70, 3], &[("mask", "3"), ("border", "clamp")], &[]),
    // Enough rows for strips that are unrolled.
    Size("conv2d", &[210, 40], &[("mask", "5"), ("border", "mirror")], &[]),
    Size("separable", &[158, 24], &[("mask", "3"), ("border", "zero")], &[]),
    Size("separable", &[70, 333], &[("mask", "9"), ("border", "mirror")], &[]),
    Size("separable", &[70, 45, 3], &[("mask", "5"), ("mask-rows", "8")], &[]),
    Size("texture", &[60, 70], &[("turn", "30")], &[]),
];

fn main() {
    for Size(name, ..) in SIZES {
        assert!(family(name).is_some(), "there is no family {name}");
    }
    let chosen = |family: &&'static Family| {
        let best = (family.variants)().iter().any(|variant| variant.name == BEST);
        // `wgmma`, which has no variant of that name, is tested by its last one.
        best || SIZES.iter().any(|Size(name, ..)| *name == family.name)
    };
    let of = |family: &'static Family| {
        let trial = |name: &str, arch: Option<&'static str>| {
            Trial::test(format!("{}::{name}", family.name), move || explore(family, arch).map_err(Failed::from))
        };
        [trial("every_type_and_operation", None), trial("one_type_on_the_oldest_architecture", Some(OLDEST))]
    };
    let mut tests: Vec<_> = FAMILIES.iter().filter(chosen).flat_map(of).collect();
    tests.push(Trial::test("dot::a_block_that_is_not_the_last_one_is_found", || {
        planted_block_number();
        Ok(())
    }));
    tests.push(Trial::test("reduce::a_record_that_is_not_waited_for_is_found", || {
        planted_impatience();
        Ok(())
    }));
    tests.push(Trial::test("scan_by_key::a_missing_barrier_of_lanes_is_found", || {
        planted_order_of_lanes();
        Ok(())
    }));
    tests.push(Trial::test("scan::persistent_blocks", || {
        persistent_blocks();
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

/// The cases of a family.
fn cases(family: &Family) -> Vec<Case> {
    let listed = SIZES.iter().filter(|Size(name, ..)| *name == family.name);
    let case = |Size(_, size, settings, dtypes): &Size| {
        settings.iter().fold(Case::new(size).only(dtypes), |case, (name, value)| case.with(name, value))
    };
    let listed: Vec<_> = listed.map(case).collect();
    if listed.is_empty() { vec![largest(family)] } else { listed }
}

/// The recommended variants of a family.
fn variants(family: &Family) -> Vec<RungId> {
    // `reduce` has one more for sums whose bits do not depend on the device.
    let names = if family.name == "reduce" { "fixed_tree,best" } else { BEST };
    family.select(names).expect("variants")
}

/// Families whose blocks look at results of others, again and again until they are there.
const WAITING: &[&str] = &["dot", "reduce", "scan", "scan_by_key"];

/// Runs all operations on all cases, in each type; on a given architecture in the first type only.
fn explore(family: &'static Family, arch: Option<&str>) -> Result<(), String> {
    let bench = bench_for(Choice::Sim, family.name, arch);
    let dtypes = if arch.is_some() { &family.dtypes[..1] } else { family.dtypes };
    let (variants, mut ran, mut waited) = (variants(family), BTreeSet::new(), false);
    for case in cases(family) {
        for &dtype in dtypes.iter().filter(|dtype| case.is_for(**dtype)) {
            let (inputs, settings) = operands(family, dtype, &case)?;
            for op in ops(family, dtype) {
                let problem = Problem { inputs: &inputs, dtype, op, settings: &settings };
                let mut solved = false;
                for &variant in &variants {
                    let Some(Explored { blocks, instructions }) = same_bits(&bench, family, variant, problem, &SEEDS)?
                    else {
                        continue;
                    };
                    solved = true;
                    ran.insert(variant.name);
                    waited |= instructions.iter().any(|count| *count != instructions[0]);
                    if blocks < 2 {
                        return Err(format!("{} {op} {dtype} {case:?} is too small for two blocks", variant.name));
                    }
                }
                if !solved {
                    return Err(format!("no variant solves {op} {dtype} {case:?}"));
                }
            }
        }
    }
    if WAITING.contains(&family.name) && !waited {
        return Err("no seed makes a block wait for results of another one".to_owned());
    }
    let idle = variants.iter().find(|variant| !ran.contains(variant.name));
    idle.map_or(Ok(()), |variant| Err(format!("{} solved no problem", variant.name)))
}

/// Checks scans by persistent blocks, which otherwise only large inputs get: the bits are those of a block for each
/// tile.
fn persistent_blocks() {
    let device = &device();
    let n: u32 = 40 * 8192 + 5;
    let values: Vec<f32> = (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e4 - 400.0).collect();
    let values = device.upload(&values).expect("memory");
    let scan = |from: u64, seed: Option<u64>| {
        device.backend().simulate(&Simulation { seed, ..Simulation::default() }).expect("a seed");
        let plan = Plan::<Sum, f32>::with_ring_from(device, values.len(), Kind::Inclusive, from).expect("a plan");
        let mut output = device.uninit::<f32>(values.len()).expect("memory");
        let threads = plan.prepare(&values, &output).expect("a launch").shape().threads();
        plan.launch(&values, &mut output).expect("a run");
        require_no_finding(device, "a scan");
        (threads, output.download().expect("sums").into_iter().map(f32::to_bits).collect::<Vec<_>>())
    };
    let (threads_of_tile, expected) = scan(u64::MAX, None);
    for seed in SEEDS {
        let (threads, sums) = scan(0, Some(seed));
        assert!(threads != threads_of_tile, "both are scanned by blocks of {threads} threads");
        assert!(sums == expected, "seed {seed}");
    }
}

/// Checks that a planted bug is found, which shows that blocks run in another order under the seeds: the block with the
/// highest number, not the one with the last ticket, adds the partial sums. Blocks that end in their order add them
/// right.
fn planted_block_number() {
    let ticket = "atom.global.inc.u32";
    let ptx = planted::ptx("dot", ".entry dot_single_launch_f32(", |entry| {
        planted::changed(entry, "bar.red.or.pred", ticket, |line| {
            let register = line[ticket.len()..].split(',').next().expect("a register");
            format!("{line} mov.u32 {register}, %ctaid.x;")
        })
    });
    let run = planted_runs(("dot", "single_launch"), (Dtype::F32, ""), 20_011, &ptx);
    run(&[]).expect("a clean run in the usual order");
    let found = SEEDS.iter().filter(|seed| run(&[**seed]).is_err()).count();
    assert!(found > 1, "found under {found} of {} seeds", SEEDS.len());
}

/// Checks that a planted bug is found: the block that starts last takes the others' records as they are.
fn planted_impatience() {
    let ptx = planted::ptx("reduce", ".entry reduce_best_sum_i32(", |entry| {
        let (before, after) = entry.rsplit_once(&(1_u64 << 32).to_string()).expect("the tag of a record");
        let line = before.rsplit('\n').next().expect("a line");
        assert!(line.contains("setp.ne"), "{line}");
        let tag = line.trim_end_matches(", ").rsplit(' ').next().expect("a register");
        format!("{before}{tag}{after}")
    });
    let run = planted_runs(("reduce", BEST), (Dtype::I32, "sum"), 20_011, &ptx);
    run(&[]).expect("a clean run in the usual order");
    let found = SEEDS.iter().filter(|seed| run(&[**seed]).is_err()).count();
    assert!(found > 1, "found under {found} of {} seeds", SEEDS.len());
}

/// Checks that a planted bug is found: keys and values go through shared memory without one of the warp's barriers.
fn planted_order_of_lanes() {
    let barrier = "bar.warp.sync";
    let without = |k: usize| {
        let ptx = planted::ptx("scan_by_key", ".entry scan_by_key_best_sum_i64_u32_4(", |entry| {
            assert_eq!(entry.matches(barrier).count(), 5);
            planted::without(entry, entry.match_indices(barrier).nth(k))
        });
        planted_runs(("scan_by_key", BEST), (Dtype::I64, "sum"), 71_681, &ptx)(&[])
    };
    // Before the first one nothing was read from there.
    let found: Vec<_> = (0..5).map(|k| without(k).is_err()).collect();
    assert_eq!(found, [false, true, true, true, true]);
}

/// Runs of a family's variant with this PTX, in the usual order and under the seeds that are passed.
fn planted_runs(
    (name, variant): (&str, &'static str),
    (dtype, op): (Dtype, &'static str),
    n: u64,
    ptx: &str,
) -> impl Fn(&[u64]) -> Result<Option<Explored>, String> {
    let Bench { device, .. } = bench(Choice::Sim, name);
    let module = device.load(ptx.as_bytes(), "a planted bug").expect("PTX that the simulator takes");
    let bench = Bench { device, module };
    let family = family(name).expect("a family");
    let (inputs, settings) = operands(family, dtype, &Case::new(&[n])).expect("operands");
    move |seeds| {
        let problem = Problem { inputs: &inputs, dtype, op, settings: &settings };
        same_bits(&bench, family, family.select(variant).expect("a variant")[0], problem, seeds)
    }
}
