//! The example kernels of the Rust-CUDA project, unchanged but for their dependency lines: our builder compiles them,
//! the simulator runs them with every checker on, and their results are those of the formulas.
//!
//! Needs a clone of that project: `RUSTWARP_RUST_CUDA=PATH cargo test -p tests --test upstream`, and the registry, for
//! what the examples depend on. Without it each test is listed as ignored, with the reason.

use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::{Arch, CudaBuilder};
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_sim::harness::Kernels;
use ptx_sim::test;
use tests::project::{cargo, printed};
use tests::upstream::{COMMIT, Repository, VARIABLE};

/// A kernel crate of upstream's, its other crates that it needs, and the check of its results.
struct Example {
    name: &'static str,
    folder: &'static str,
    check: fn(&Kernels) -> Result<(), Failed>,
}

const EXAMPLES: [Example; 6] = [
    Example { name: "vecadd", folder: "examples/vecadd", check: vecadd },
    Example { name: "gemm", folder: "examples/gemm", check: gemm },
    Example { name: "i128_demo", folder: "examples/i128_demo", check: i128_demo },
    Example { name: "sha2_crates_io", folder: "examples/sha2_crates_io", check: sha2_crates_io },
    Example { name: "async_api", folder: "samples/introduction/async_api", check: async_api },
    Example { name: "matmul", folder: "samples/introduction/matmul", check: matmul },
];

fn main() {
    let clone = Repository::from_environment();
    let reason = format!("needs {VARIABLE}=a clone of Rust-GPU/rust-cuda");
    if clone.is_none() {
        println!("{reason}, with commit {COMMIT}");
    }
    let trial = |name: String, test: fn(&Example) -> Result<(), Failed>, example: &'static Example| {
        let absent = clone.is_none();
        let trial = Trial::test(name, move || test(example)).with_ignored_flag(absent);
        if absent { trial.with_kind(&*reason) } else { trial }
    };
    let mut trials: Vec<_> =
        EXAMPLES.iter().map(|example| trial(example.name.to_owned(), kernels_compile_and_run, example)).collect();
    trials.push(trial("vecadd_build_script".to_owned(), the_build_script_makes_ptx, &EXAMPLES[0]));
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..Arguments::from_args() }, trials).exit();
}

/// A folder for what a test writes; the target folders stay, so that only the first run is slow.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("upstream").join(name)
}

fn clone() -> Result<Repository, Failed> {
    Repository::from_environment().ok_or_else(|| Failed::from(format!("{VARIABLE} is not set")))
}

fn kernels_compile_and_run(example: &Example) -> Result<(), Failed> {
    let place = folder(example.name);
    let _ = fs::remove_dir_all(&place);
    let kernels = clone()?.copy(&format!("{}/kernels", example.folder), &place)?;
    let builder = CudaBuilder::new(&kernels).arch(Arch::Compute75).target_dir(folder("target"));
    let ptx = builder.build().map_err(|error| Failed::from(error.to_string()))?;
    (example.check)(&test(&ptx)?)
}

/// Upstream's own `build.rs` compiles against our builder, and leaves the PTX where the program includes it.
fn the_build_script_makes_ptx(example: &Example) -> Result<(), Failed> {
    let place = folder("build_script");
    let _ = fs::remove_dir_all(&place);
    let program = clone()?.copy(example.folder, &place)?;
    // The host program needs upstream's `cust` and a CUDA toolkit: a stand-in includes the PTX as it does.
    let manifest = fs::read_to_string(program.join("Cargo.toml"))?;
    let builder = manifest.lines().find(|line| line.starts_with("cuda_builder")).ok_or("no builder in the manifest")?;
    let stand_in = format!("[package]\nname = \"stand-in\"\nedition = \"2024\"\n\n[build-dependencies]\n{builder}\n");
    fs::write(program.join("Cargo.toml"), stand_in)?;
    let main = "fn main() { println!(\"{}\", include_str!(concat!(env!(\"OUT_DIR\"), \"/kernels.ptx\"))) }";
    fs::write(program.join("src/main.rs"), main)?;
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
    fs::copy(lock, place.join("Cargo.lock"))?;
    let text = printed(&cargo(&program, &folder("programs"), &["run"]));
    if text.contains(".entry vecadd(") { Ok(()) } else { Err(Failed::from(text)) }
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: &[T], expected: &[T]) -> Result<(), Failed> {
    if found == expected {
        return Ok(());
    }
    let at = found.iter().zip(expected).position(|(found, expected)| found != expected);
    Err(Failed::from(match at {
        Some(at) => format!("{what}[{at}] is {:?} instead of {:?}", found[at], expected[at]),
        None => format!("{what} has {} elements instead of {}", found.len(), expected.len()),
    }))
}

fn vecadd(kernels: &Kernels) -> Result<(), Failed> {
    let a: Vec<f32> = (0..1000).map(|i| i as f32 * 0.5).collect();
    let b: Vec<f32> = (0..1000).map(|i| 1000.0 - i as f32).collect();
    let mut c = Vec::new();
    kernels.entry("vecadd").grid(8).block(128).slice(&a).slice(&b).output(&mut c, 1000).run()?;
    let sum: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    expect("c", &c, &sum)
}

/// The product of an `m x k` and a `k x n` matrix of small integers, which every order of summation computes exactly.
fn product(a: &[f32], b: &[f32], (m, n, k): (usize, usize, usize)) -> Vec<f32> {
    let element = |row: usize, column: usize| (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum();
    (0..m * n).map(|i| element(i / n, i % n)).collect()
}

fn small_integers(len: usize, step: usize) -> Vec<f32> {
    (0..len).map(|i| (i * step % 13) as f32 - 6.0).collect()
}

fn gemm(kernels: &Kernels) -> Result<(), Failed> {
    // No size is a multiple of the tile's 16.
    let (m, n, k) = (37, 50, 41);
    let (a, b, c) = (small_integers(m * k, 5), small_integers(k * n, 7), small_integers(m * n, 3));
    let (alpha, beta) = (2.0_f32, 0.5_f32);
    let result: Vec<f32> = product(&a, &b, (m, n, k)).iter().zip(&c).map(|(ab, c)| alpha * ab + beta * c).collect();
    for entry in ["gemm_naive", "gemm_tiled"] {
        let mut found = c.clone();
        let launch = kernels.entry(entry).grid((3, 4)).block((16, 16)).slice(&a).slice(&b).buffer_mut(&mut found);
        launch.arg(m).arg(n).arg(k).arg(alpha).arg(beta).run()?;
        expect(entry, &found, &result)?;
    }
    Ok(())
}

fn matmul(kernels: &Kernels) -> Result<(), Failed> {
    let (m, n, k) = (64, 96, 32);
    let (a, b) = (small_integers(m * k, 5), small_integers(k * n, 7));
    let mut c = Vec::new();
    let launch = kernels.entry("matrix_mul_cuda").grid((3, 2)).block((32, 32)).output(&mut c, m * n);
    launch.slice(&a).slice(&b).arg(k).arg(n).run()?;
    expect("c", &c, &product(&a, &b, (m, n, k)))
}

fn async_api(kernels: &Kernels) -> Result<(), Failed> {
    let mut data: Vec<u32> = (0..512).collect();
    kernels.entry("increment").grid(2).block(256).buffer_mut(&mut data).arg(26_u32).run()?;
    expect("g_data", &data, &(26..538).collect::<Vec<u32>>())
}

fn i128_demo(kernels: &Kernels) -> Result<(), Failed> {
    // No divisor is 0 or, as a signed number, -1.
    let values = [1, 7, 1 << 64, u128::MAX / 3, (1 << 127) + 5, 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210];
    let pairs = values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b)));
    let (a, b): (Vec<u128>, Vec<u128>) = pairs.unzip();
    type Operation = fn(u128, u128) -> u128;
    let operations: [(&str, Operation); 12] = [
        ("add", u128::wrapping_add),
        ("sub", u128::wrapping_sub),
        ("mul", u128::wrapping_mul),
        ("and", |a, b| a & b),
        ("xor", |a, b| a ^ b),
        ("shl", |a, b| a << (b & 127)),
        ("lshr", |a, b| a >> (b & 127)),
        ("ashr", |a, b| (a.cast_signed() >> (b & 127)).cast_unsigned()),
        ("udiv", |a, b| a / b),
        ("sdiv", |a, b| (a.cast_signed() / b.cast_signed()).cast_unsigned()),
        ("urem", |a, b| a % b),
        ("srem", |a, b| (a.cast_signed() % b.cast_signed()).cast_unsigned()),
    ];
    let mut found: [Vec<u128>; 12] = Default::default();
    let mut launch = kernels.entry("i128_ops").grid(2).block(32).slice(&a).slice(&b);
    for output in &mut found {
        launch = launch.output(output, a.len());
    }
    launch.run()?;
    for ((name, operation), found) in operations.iter().zip(&found) {
        let expected: Vec<u128> = a.iter().zip(&b).map(|(&a, &b)| operation(a, b)).collect();
        expect(name, found, &expected)?;
    }
    Ok(())
}

/// Test vectors of FIPS 180-4: the digests of "abc", and of the 448-bit message.
fn sha2_crates_io(kernels: &Kernels) -> Result<(), Failed> {
    let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    let digests = [
        ("sha256_oneshot", &b"abc"[..], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ("sha256_oneshot", long, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        (
            "sha512_oneshot",
            b"abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (
            "sha512_incremental",
            long,
            "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c335\
             96fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd70354ec631238ca3445",
        ),
    ];
    let hex = |digest: &[u8]| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for (entry, message, digest) in digests {
        let mut found: Vec<u8> = Vec::new();
        kernels.entry(entry).grid(1).block(32).slice(message).output(&mut found, digest.len() / 2).run()?;
        expect(entry, &[hex(&found)], &[digest.to_owned()])?;
    }
    let mut found: Vec<u8> = Vec::new();
    let launch = kernels.entry("sha256_incremental").grid(1).block(32).slice(&long[..10]).slice(&long[10..]);
    launch.output(&mut found, 32).run()?;
    expect("sha256_incremental", &[hex(&found)], &[digests[1].2.to_owned()])
}
