//! Bugs planted into the rungs of the family `wgmma`, in their PTX: each is found, and the kernels without them are
//! clean.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use cuda_std::launch::{Call, Ptr, PtrMut};
use cuda_std::memory::TensorMap;
use half::f16;
use kernels_gpu::wgmma::{BOX, F16, ROWS, copied, persistent, producer, tma};
use rustwarp::Error;
use rustwarp::backend::{Backend, Buffer, Checkers, Checks, Choice, Shape, TensorLayout, open};
use rustwarp::element::Dtype;
use std::sync::LazyLock;

/// More stages than a ring has, and two tiles for each block of a cluster.
const M: usize = 256;
const N: usize = 512;
const K: usize = 64 * 11;

/// Small integers, whose sums are exact.
static FACTORS: LazyLock<[Vec<f16>; 2]> = LazyLock::new(|| {
    let numbers = |len: usize, step| (0..len).map(|i| f16::from_f32((i * step % 3) as f32 - 1.0)).collect();
    [numbers(M * K, 5), numbers(K * N, 7)]
});

/// Their product.
static PRODUCT: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let [a, b] = FACTORS.each_ref().map(|factor| factor.iter().map(|x| x.to_f32()).collect::<Vec<_>>());
    (0..M * N).map(|i| (0..K).map(|l| a[i / N * K + l] * b[l * N + i % N]).sum()).collect()
});

type MapsLauncher =
    for<'a> fn(TensorMap, TensorMap, Ptr<'a, u16>, Ptr<'a, u16>, PtrMut<'a, u16>, u32, u32, u32, u32) -> Call<'a>;

/// What launches a rung: the maps of both factors, or the factors.
enum Launcher {
    Reads(for<'a> fn(Ptr<'a, u16>, Ptr<'a, u16>, PtrMut<'a, u16>, u32, u32, u32) -> Call<'a>),
    Maps(MapsLauncher),
}

/// A rung for f16, neither factor stored transposed.
struct Rung {
    entry: &'static str,
    launcher: Launcher,
    columns: u32,
    /// Blocks, if they stay.
    blocks: Option<u32>,
    threads: u32,
    shared: u32,
}

const COPIED: Rung = Rung {
    entry: ".entry wgmma_copied_f16_false_true(",
    launcher: Launcher::Reads(copied::wgmma_copied::<F16, false, true>),
    columns: copied::COLUMNS,
    blocks: None,
    threads: copied::BLOCK,
    shared: copied::SHARED,
};

const TMA: Rung = Rung {
    entry: ".entry wgmma_tma_f16_false_true(",
    launcher: Launcher::Maps(tma::wgmma_tma::<F16, false, true>),
    columns: tma::COLUMNS,
    blocks: None,
    threads: tma::BLOCK,
    shared: tma::SHARED,
};

const PRODUCER: Rung = Rung {
    entry: ".entry wgmma_producer_f16_false_true(",
    launcher: Launcher::Maps(producer::wgmma_producer::<F16, false, true>),
    columns: producer::COLUMNS,
    blocks: None,
    threads: producer::BLOCK,
    shared: producer::SHARED,
};

const PERSISTENT: Rung = Rung {
    entry: ".entry wgmma_persistent_f16_false_true(",
    launcher: Launcher::Maps(persistent::wgmma_persistent::<F16, false, true>),
    columns: persistent::COLUMNS,
    blocks: Some(persistent::CLUSTER),
    threads: persistent::BLOCK,
    shared: persistent::SHARED,
};

/// The map of a matrix of f16.
fn map(device: &dyn Backend, matrix: &Buffer<'_, f16>, rows: usize, columns: usize) -> TensorMap {
    let layout = TensorLayout {
        dtype: Dtype::F16,
        address: matrix.address(),
        sizes: [columns as u64, rows as u64, 1],
        strides: [columns as u64 * 2; 2],
        block: BOX,
        swizzle: 128,
    };
    device.tensor_map(&layout).expect("a map")
}

/// The codes of the findings of one run, and whether the product is right.
fn run(rung: &Rung, change: impl Fn(&str) -> String) -> (Vec<String>, bool) {
    let image = rustwarp::ptx::find_family("kernels-gpu", "wgmma", None, None).expect("the kernels' PTX");
    let text = String::from_utf8(image.bytes).expect("PTX is text");
    let start = text.find(rung.entry).expect("the kernel");
    let end = start + text[start..].find("\n}").expect("its end");
    let text = format!("{}{}{}", &text[..start], change(&text[start..end]), &text[end..]);
    let (device, _) = open(Choice::Sim, Checks::On(Checkers::default())).expect("the simulator");
    let device = &*device;
    let module = device.load(text.as_bytes(), "planted").expect("PTX");
    let [on_a, on_b] = FACTORS.each_ref().map(|factor| Buffer::from_slice(device, factor, "a factor").expect("memory"));
    let c = Buffer::<f16>::zeros(device, M * N, "c").expect("memory");
    let [m, n, k] = [M, N, K].map(|size| size as u32);
    // SAFETY: the buffers live until the launch has ended.
    let (ptr_a, ptr_b, out) = unsafe { (Ptr::new(on_a.address()), Ptr::new(on_b.address()), PtrMut::new(c.address())) };
    let call = match rung.launcher {
        Launcher::Reads(launcher) => launcher(ptr_a, ptr_b, out, m, n, k),
        Launcher::Maps(launcher) => {
            launcher(map(device, &on_a, M, K), map(device, &on_b, K, N), ptr_a, ptr_b, out, m, n, k, 1)
        }
    };
    let blocks = rung.blocks.unwrap_or(m / ROWS * (n / rung.columns));
    let shape = Shape::linear(blocks, rung.threads).with_shared(rung.shared);
    // SAFETY: the parameters are the kernel's; the simulator refuses what a changed kernel must not do.
    let ran = unsafe { device.launch(module, &call, shape) };
    let found = device.observed().map(|observed| observed.findings).unwrap_or_default();
    let mut codes: Vec<_> = found.iter().map(|finding| finding.code.to_string()).collect();
    if let Err(Error::Fault(fault)) = &ran {
        codes.push(fault.code.to_string());
    }
    codes.sort();
    codes.dedup();
    let elements = c.read(M * N).expect("elements");
    let right = ran.is_ok() && elements.iter().zip(&*PRODUCT).all(|(c, expected)| f32::from(*c) == *expected);
    (codes, right)
}

/// The entry with occurrence `number` of `what` replaced.
fn replaced(entry: &str, what: &str, number: usize, by: &str) -> String {
    let (at, _) = entry.match_indices(what).nth(number).expect(what);
    format!("{}{by}{}", &entry[..at], &entry[at + what.len()..])
}

/// The entry whose stages can be filled again after another number of arrivals.
fn arrivals(entry: &str, right: &str, wrong: &str) -> String {
    let start = entry.find("mbarrier.init").expect("barriers");
    let (before, after) = entry.split_at(start);
    assert!(after.contains(right), "{right}");
    format!("{before}{}", after.replacen(right, wrong, 1))
}

#[test]
fn the_kernels_themselves_are_clean() {
    for rung in [&COPIED, &TMA, &PRODUCER, &PERSISTENT] {
        assert_eq!(run(rung, str::to_owned), (Vec::new(), true), "{}", rung.entry);
    }
}

#[test]
fn every_planted_bug_is_found() {
    const FENCE: &str = "fence.proxy.async.shared::cta;";
    const BARRIER: &str = "bar.sync";
    const CLUSTER: &str = "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;";
    type Change<'a> = &'a dyn Fn(&str) -> String;
    let bugs: [(&str, &Rung, Change<'_>, &[&str], bool); 8] = [
        ("no proxy fence before products", &COPIED, &|e| replaced(e, FENCE, 0, ""), &["async-proxy"], true),
        (
            "products before others copied",
            &COPIED,
            &|e| replaced(e, BARRIER, 0, "//"),
            &["race-raw", "race-war"],
            false,
        ),
        ("copies over what is read", &COPIED, &|e| replaced(e, BARRIER, 1, "//"), &["race-raw", "race-war"], false),
        ("barriers that are not initialised", &TMA, &|e| replaced(e, BARRIER, 0, "//"), &["race-raw"], true),
        (
            "a stage is filled while the other warpgroup reads",
            &TMA,
            &|e| replaced(e, BARRIER, 1, "//"),
            &["async-source-overwritten", "race-war"],
            true,
        ),
        ("one warpgroup gives a stage back", &PRODUCER, &|e| arrivals(e, ", 2;", ", 1;"), &["deadlock"], false),
        ("one block gives a stage back", &PERSISTENT, &|e| arrivals(e, ", 4;", ", 2;"), &["mbarrier-overflow"], false),
        (
            "a block ends before copies to it",
            &PERSISTENT,
            &|e| replaced(e, CLUSTER, 1, ""),
            &["async-not-waited", "block-ended"],
            false,
        ),
    ];
    for (name, rung, change, codes, right) in bugs {
        assert_eq!(run(rung, change), (codes.iter().map(ToString::to_string).collect(), right), "{name}");
    }
}
