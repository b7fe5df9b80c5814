//! Batches of products of f32 and f64 on the simulator, under every checker. The factors are small integers, so that
//! products are exact, and everything between matrices is NaN, so that a read of it shows.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use rustwarp::backend::{Atomics, Backend, Buffer, Checkers, Checks, Choice, Module, open};
use rustwarp::matmul::{Batch, Plan, Real, Sizes, Tile, matmul_batched_into};
use rustwarp::{Device, Error};
use tests::mixed::STORED;
use tests::storage;

/// What the product's memory contains before the launch.
const BEFORE: f64 = 0.5;

fn sizes(m: usize, n: usize, k: usize, transposed: [bool; 2]) -> Sizes {
    Sizes { m, n, k, transposed, ..Sizes::default() }
}

/// Elements of A, of B and of the product.
fn matrices(Sizes { m, n, k, .. }: Sizes) -> [usize; 3] {
    [m * k, k * n, m * n]
}

/// The factors, with NaN between matrices, and the expected memory of the products.
fn expected(sizes: Sizes, batch: Batch) -> [Vec<f64>; 3] {
    let [a, b] = [0, 1].map(|matrix| storage::factor(sizes, batch, matrix, f32::NAN));
    let before = vec![BEFORE as f32; batch.spans(sizes).expect("products that do not overlap")[2]];
    let c = storage::products([&a, &b], &before, sizes, batch, [1.0, 0.0]);
    [a, b, c].map(|values| values.into_iter().map(|x| x as f64).collect())
}

/// A type with its conversions.
trait Float: Real + PartialEq {
    fn from(x: f64) -> Self;
}

impl Float for f32 {
    fn from(x: f64) -> Self {
        x as f32
    }
}

impl Float for f64 {
    fn from(x: f64) -> Self {
        x
    }
}

fn converted<T: Float>(values: &[f64]) -> Vec<T> {
    values.iter().map(|&x| T::from(x)).collect()
}

/// A simulator that stops at no finding, with kernels.
struct Bench {
    device: Box<dyn Backend>,
    module: Module,
}

impl Bench {
    /// Loads the kernels as `change` makes them of the built ones.
    fn new(change: impl Fn(&str) -> String) -> Self {
        // Atomics order only what fences order, as PTX has it.
        let checks = Checks::On(Checkers { atomics: Atomics::Ptx, ..Checkers::default() });
        let (device, _) = open(Choice::Sim, checks).expect("the simulator");
        let image = rustwarp::ptx::find_family("kernels-gpu", "matmul", None, None).expect("the kernels' PTX");
        let text = String::from_utf8(image.bytes).expect("PTX is text");
        let module = device.load(change(&text).as_bytes(), "matmul").expect("PTX");
        Self { device, module }
    }

    /// The codes of the findings of one run, and whether all memory of the products is as expected.
    fn run<T: Float>(&self, sizes: Sizes, batch: Batch, tile: Option<&Tile<T>>) -> (Vec<String>, bool) {
        let device = &*self.device;
        let [a, b, c] = expected(sizes, batch);
        let on_a = Buffer::from_slice(device, &converted::<T>(&a), "a").expect("memory");
        let on_b = Buffer::from_slice(device, &converted::<T>(&b), "b").expect("memory");
        let products = Buffer::from_slice(device, &vec![T::from(BEFORE); c.len()], "c").expect("memory");
        let plan = Plan::<T, _>::batched(&device, sizes, batch, tile).expect("a plan");
        let launch = plan.prepare([&on_a, &on_b], &products).expect("a launch");
        // SAFETY: the parameters are those of the plan; the simulator refuses what a changed kernel must not do.
        let ran = unsafe { launch.run(device, self.module) };
        let found = device.observed().map(|observed| observed.findings).unwrap_or_default();
        let mut codes: Vec<_> = found.iter().map(|finding| finding.code.to_string()).collect();
        if let Err(Error::Fault(fault)) = &ran {
            codes.push(fault.code.to_string());
        }
        codes.dedup();
        let right = ran.is_ok() && products.read(c.len()).expect("elements") == converted::<T>(&c);
        (codes, right)
    }

    fn require<T: Float>(&self, sizes: Sizes, batch: Batch, tile: &Tile<T>) {
        let found = self.run(sizes, batch, Some(tile));
        assert_eq!(found, (Vec::new(), true), "tile {} of {}, {sizes:?}, {batch:?}", tile.name(), T::DTYPE);
    }
}

/// Batches of 3 with no gaps, with gaps that keep the alignment and that don't, and with one A, one B, and one of each.
fn layouts(sizes: Sizes) -> [Batch; 6] {
    let [a, b, c] = matrices(sizes);
    let contiguous = Batch::contiguous(3, sizes).expect("it is small");
    [
        contiguous,
        Batch::new(3, [a.next_multiple_of(4) + 4, b.next_multiple_of(4) + 8, c.next_multiple_of(4) + 12]),
        Batch::new(3, [a + 5, b + 3, c + 1]),
        contiguous.sharing(0),
        contiguous.sharing(1),
        contiguous.sharing(0).sharing(1),
    ]
}

/// Products within a tile, which are computed without the pipeline if a factor is turned.
fn small_products<T: Float>() {
    let bench = Bench::new(str::to_owned);
    for tile in T::tiles() {
        for transposed in STORED {
            let sizes = sizes(13, 18, 9, transposed);
            layouts(sizes).into_iter().for_each(|batch| bench.require::<T>(sizes, batch, &tile));
        }
    }
}

/// Products of several tiles that are deeper than the stages of a tile, at sizes with aligned rows and without.
fn large_products<T: Float>(name: &str, sides: [usize; 3]) {
    let (bench, tiles) = (Bench::new(str::to_owned), T::tiles());
    let tile = tiles.iter().find(|tile| tile.name() == name).expect("a tile of this name");
    for transposed in STORED {
        let [_, aligned, odd, ..] = layouts(sizes(sides[0], sides[1], sides[2], transposed));
        for batch in [aligned, odd] {
            let sizes = sizes(sides[0], sides[1], sides[2], transposed);
            bench.require::<T>(sizes, Batch::new(2, batch.steps), tile);
        }
    }
    let ragged = sizes(sides[0] + 1, sides[1] + 1, sides[2] + 1, [false, true]);
    bench.require::<T>(ragged, Batch::contiguous(2, ragged).expect("it is small"), tile);
}

#[test]
fn small_products_of_f32() {
    small_products::<f32>();
}

#[test]
fn small_products_of_f64() {
    small_products::<f64>();
}

macro_rules! tiles {
    ($($test:ident $t:ident $tile:literal $sizes:expr;)*) => { $(
        #[test]
        fn $test() {
            large_products::<$t>($tile, $sizes);
        }
    )* };
}
tiles! {
    large_tiles_of_f32 f32 "large" [260, 132, 36];
    small_tiles_of_f32 f32 "small" [132, 68, 68];
    tiny_tiles_of_f32 f32 "tiny" [68, 72, 68];
    short_tiles_of_f32 f32 "short" [36, 68, 132];
    mini_tiles_of_f32 f32 "mini" [36, 40, 196];
    mini_tiles_of_f64 f64 "mini" [34, 36, 134];
    tall_tiles_of_f32 f32 "tall" [68, 36, 132];
    tall_tiles_of_f64 f64 "tall" [66, 34, 134];
    pair_tiles_of_f32 f32 "pair" [68, 72, 68];
    pair_tiles_of_f64 f64 "pair" [34, 36, 70];
    single_tiles_of_f32 f32 "single" [36, 40, 68];
    large_tiles_of_f64 f64 "large" [132, 130, 36];
    small_tiles_of_f64 f64 "small" [66, 70, 36];
}

/// Products whose tiles are divided among blocks: each part has its own place in the factors and among the sums.
#[test]
fn parts_of_the_depth() {
    parts_of::<f32>();
    parts_of::<f64>();
}

fn parts_of<T: Float>() {
    let bench = Bench::new(str::to_owned);
    let device = Device::sim().expect("the simulator");
    for tile in T::tiles().into_iter().filter(|tile| tile.size().divides) {
        let [rows, columns] = [tile.size().rows, tile.size().columns].map(|side| side as usize);
        for transposed in STORED {
            let sizes = sizes(rows + 3, columns - 2, 1300, transposed);
            let batch = Batch::contiguous(2, sizes).expect("it is small");
            bench.require::<T>(sizes, batch, &tile);
            let plan = Plan::<T>::batched(&device, sizes, batch, Some(&tile)).expect("a plan");
            assert!(plan.blocks() > 2 * 2, "tile {} of {} is not divided", tile.name(), T::DTYPE);
        }
    }
}

/// More tiles than multiprocessors: the first ones have a block each, and the others are divided.
#[test]
fn whole_tiles_and_parts() {
    whole_and_parts::<f32>("mini", 700);
    whole_and_parts::<f64>("mini", 700);
    whole_and_parts::<f32>("small", 256);
    whole_and_parts::<f64>("large", 192);
}

fn whole_and_parts<T: Float>(name: &str, depth: usize) {
    let bench = Bench::new(str::to_owned);
    let device = Device::sim().expect("the simulator");
    let tile = T::tiles().into_iter().find(|tile| tile.name() == name).expect("a tile");
    let many = device.info().multiprocessors as usize;
    let [rows, columns] = [tile.size().rows, tile.size().columns].map(|side| side as usize);
    for (count, transposed) in [(many + 3, [false, false]), (many / 2 + 1, [true, true])] {
        // One tile or two.
        let sizes = sizes(rows, if count > many { columns } else { columns + 5 }, depth, transposed);
        let batch = Batch::contiguous(count, sizes).expect("it is small");
        bench.require::<T>(sizes, batch, &tile);
        let tiles = count * sizes.n.div_ceil(columns);
        let blocks = Plan::<T>::batched(&device, sizes, batch, Some(&tile)).expect("a plan").blocks() as usize;
        assert!(tiles < blocks && blocks < 2 * tiles, "{blocks} blocks for {tiles} tiles");
    }
}

#[test]
fn no_product_one_product_and_products_without_elements_or_terms() {
    let bench = Bench::new(str::to_owned);
    for tile in f32::tiles() {
        for (m, n, k) in [(5, 7, 3), (0, 7, 3), (5, 0, 3), (5, 7, 0)] {
            let sizes = sizes(m, n, k, [false; 2]);
            let [a, b, c] = matrices(sizes);
            for count in [0, 1, 4] {
                bench.require::<f32>(sizes, Batch::new(count, [a, b, c]), &tile);
                bench.require::<f32>(sizes, Batch::new(count, [a + 2, b + 6, c + 3]), &tile);
            }
            bench.require::<f32>(sizes, Batch::SINGLE, &tile);
        }
    }
}

/// The library's functions, with the tile that they choose.
#[test]
fn functions_of_the_library() {
    let device = Device::sim().expect("the simulator");
    // Many small products.
    let small = sizes(4, 3, 5, [true, false]);
    let batch = Batch::contiguous(700, small).expect("it is small");
    let [a, b, c] = expected(small, batch).map(|values| converted::<f32>(&values));
    let (x, y) = (device.upload(&a).expect("memory"), device.upload(&b).expect("memory"));
    let products = device.matmul_batched(&x, &y, small, batch).and_then(|c| c.download());
    assert_eq!(products.expect("products"), c);

    // Memory of the caller with gaps.
    let gaps = Batch::new(3, [21, 0, 17]);
    let [a, b, c] = expected(small, gaps).map(|values| converted::<f64>(&values));
    let (x, y) = (device.upload(&a).expect("memory"), device.upload(&b).expect("memory"));
    let mut products = device.upload(&vec![BEFORE; c.len()]).expect("memory");
    matmul_batched_into(&x, &y, small, gaps, &mut products).expect("products");
    assert_eq!(products.download().expect("elements"), c);
}

#[test]
fn wrong_lengths_overlaps_gaps_and_devices_are_refused() {
    let device = Device::sim().expect("the simulator");
    let sizes = sizes(4, 3, 5, [false; 2]);
    let batch = Batch::contiguous(2, sizes).expect("it is small");
    let (x, y) = (device.zeros::<f32>(40).expect("memory"), device.zeros::<f32>(30).expect("memory"));
    let refusal = |sizes, batch| device.matmul_batched(&x, &y, sizes, batch).map(drop).expect_err("a refusal");
    device.matmul_batched(&x, &y, sizes, batch).map(drop).expect("products");
    for wrong in [Batch::new(3, batch.steps), Batch::SINGLE, batch.sharing(0), batch.sharing(1)] {
        let error = refusal(sizes, wrong);
        assert!(matches!(error, Error::Mismatch(_)), "{wrong:?}: {error}");
    }
    for (step, words) in [(11, "overlap"), (13, "gaps")] {
        let error = refusal(sizes, Batch::new(2, [20, 15, step]));
        assert!(matches!(&error, Error::Argument(text) if text.contains(words)), "{error}");
    }
    let mut short = device.zeros::<f32>(24).expect("memory");
    let gaps = Batch::new(2, [20, 15, 13]);
    assert!(matches!(matmul_batched_into(&x, &y, sizes, gaps, &mut short), Err(Error::Mismatch(_))));
    let point = Sizes { m: 1, n: 1, k: 0, ..Sizes::default() };
    let error = Plan::<f32>::batched(&device, point, Batch::new(1 << 32, [0, 0, 1]), None).map(drop);
    let error = error.expect_err("too many blocks").to_string();
    assert!(error.contains("4294967296 blocks") && error.contains("multiply in parts"), "{error}");
    let other = Device::sim().expect("the simulator");
    assert!(matches!(other.matmul_batched(&x, &y, sizes, batch), Err(Error::OtherDevice { .. })));
}

/// Bugs planted into the PTX of a kernel that computes a batch.
#[test]
fn every_planted_bug_is_found() {
    const KERNEL: &str = "matmul_best_tiny_f32_true_false";
    let sizes = sizes(68, 72, 68, [false; 2]);
    let batch = Batch::contiguous(3, sizes).expect("it is small");
    let tiny = f32::tiles().into_iter().find(|tile| tile.name() == "tiny").expect("a tile");
    // The kernel's load of a parameter, with what follows it. Parameter 8 has the steps.
    let after_load = |parameter: &'static str, then: fn(&str) -> String| {
        move |text: &str| {
            let parameter = format!("[{KERNEL}_param_{parameter}];");
            let end = text.find(&parameter).expect("a load") + parameter.len();
            let line = text[..end].rfind('\n').expect("a line");
            let register = text[line..end].split_whitespace().find_map(|word| word.strip_suffix(','));
            format!("{}{}{}", &text[..end], then(register.expect("a register")), &text[end..])
        }
    };
    let none = |register: &str| format!(" mov.b64 {register}, 0;");
    let twice = |register: &str| format!(" add.s64 {register}, {register}, {register};");
    let (clean, race) = (Vec::new(), vec!["race-waw".to_owned()]);
    let outside = vec!["out-of-bounds".to_owned()];
    assert_eq!(Bench::new(str::to_owned).run(sizes, batch, Some(&tiny)), (clean.clone(), true));
    let bugs = [
        ("every product has the first A", Bench::new(after_load("8", none)), clean.clone()),
        ("every product has the first B", Bench::new(after_load("8+8", none)), clean),
        ("all products are written to one place", Bench::new(after_load("8+16", none)), race),
        ("A beyond its end", Bench::new(after_load("8", twice)), outside.clone()),
        ("B beyond its end", Bench::new(after_load("8+8", twice)), outside.clone()),
        ("products beyond their end", Bench::new(after_load("8+16", twice)), outside),
    ];
    for (name, bench, codes) in bugs {
        assert_eq!(bench.run(sizes, batch, Some(&tiny)), (codes, false), "{name}");
    }
}

/// Bugs planted into the kernel's end, where the blocks of a tile add their parts up.
#[test]
fn every_planted_bug_of_parts_is_found() {
    const KERNEL: &str = "matmul_best_tiny_f32_true_false";
    let sizes = sizes(64, 64, 650, [false; 2]);
    let tiny = f32::tiles().into_iter().find(|tile| tile.name() == "tiny").expect("a tile");
    // The text of the kernel from the last `what` before its ticket on, or from the first one after it on.
    let ticket = "atom.global.inc.u32";
    let without = |what: &'static str, before: bool| {
        move |text: &str| {
            let kernel = text.find(&format!(".entry {KERNEL}(")).expect("the kernel");
            let drawn = kernel + text[kernel..].find(ticket).expect("a ticket");
            let at = match before {
                true => text[..drawn].rfind(what),
                false => text[drawn..].find(what).map(|at| drawn + at),
            };
            let at = at.expect("the instruction");
            format!("{}{}", &text[..at], &text[at + what.len()..])
        }
    };
    let found = |bench: Bench| bench.run(sizes, Batch::SINGLE, Some(&tiny)).0;
    assert_eq!(Bench::new(str::to_owned).run(sizes, Batch::SINGLE, Some(&tiny)), (Vec::new(), true));
    for (name, bench) in [
        ("a part counts before it is complete", Bench::new(without("bar.sync \t0;", true))),
        ("a part is not released", Bench::new(without("fence.acq_rel.gpu;", true))),
        ("the parts are not acquired", Bench::new(without("fence.acq_rel.gpu;", false))),
    ] {
        let codes = found(bench);
        assert!(codes.iter().any(|code| code == "race-raw"), "{name}: {codes:?}");
    }
}

/// Barriers and the wait taken out of the kernel of one warp.
#[test]
fn every_planted_bug_of_a_warp_is_found() {
    const KERNEL: &str = "matmul_best_single_f32_true_false";
    let sizes = sizes(36, 40, 68, [false; 2]);
    let batch = Batch::contiguous(2, sizes).expect("it is small");
    let single = f32::tiles().into_iter().find(|tile| tile.name() == "single").expect("a tile");
    assert_eq!(Bench::new(str::to_owned).run(sizes, batch, Some(&single)), (Vec::new(), true));
    let (barrier, wait) = ("bar.sync \t0;", "cp.async.wait_group 1;");
    for (what, which, code) in
        [(barrier, 0, "race-warp-raw"), (barrier, 1, "race-warp-war"), (wait, 0, "async-not-waited")]
    {
        let without = move |text: &str| {
            let kernel = text.find(&format!(".entry {KERNEL}(")).expect("the kernel");
            let (at, _) = text[kernel..].match_indices(what).nth(which).expect("the instruction");
            format!("{}{}", &text[..kernel + at], &text[kernel + at + what.len()..])
        };
        let (codes, _) = Bench::new(without).run(sizes, batch, Some(&single));
        assert!(codes.iter().any(|found| found == code), "without {what}: {codes:?}");
    }
}
