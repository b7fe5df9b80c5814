//! Products of warpgroups: values in every layout of shared memory, against sums of a few lines, and planted defects.

use ptx_sim::{Checks, Config, Launch, Machine, Program, Report, Stop};
use std::path::Path;

/// How a factor lies in shared memory: chunks of a swizzled row, and whether it is transposed.
#[derive(Clone, Copy, Debug)]
struct Layout {
    width: usize,
    transposed: bool,
}

/// One factor: `rows` (of `b`: columns) by `k` numbers of `bytes` bytes.
struct Factor {
    rows: usize,
    k: usize,
    bytes: usize,
    values: Vec<i32>,
}

impl Factor {
    fn random(rows: usize, k: usize, bytes: usize, random: &mut Random, least: i32) -> Self {
        let values = (0..rows * k).map(|_| least + (random.bits() % (4 - least) as u64) as i32).collect();
        Self { rows, k, bytes, values }
    }

    fn at(&self, row: usize, k: usize) -> i32 {
        self.values[row * self.k + k]
    }

    /// Writes the factor to `image` from `start` on, and returns its descriptor. The layouts are those of the PTX ISA's
    /// figures: tiles of eight rows of 16 (no swizzle), 32, 64 or 128 bytes.
    fn place(&self, image: &mut [u8], start: usize, layout: Layout, encode: fn(i32) -> u32) -> u64 {
        let Layout { width, transposed } = layout;
        // Rows of bytes: along k, or along the other dimension if transposed.
        let (lines, length) = if transposed { (self.k, self.rows) } else { (self.rows, self.k) };
        let row_bytes = width * 16;
        let tile = 8 * row_bytes;
        // Tiles of eight lines and `width` chunks, first those of neighbouring lines.
        let tiles_down = lines / 8;
        for line in 0..lines {
            for place in 0..length {
                let byte = place * self.bytes;
                let (column_tile, within) = (byte / row_bytes, byte % row_bytes);
                let offset = (column_tile * tiles_down + line / 8) * tile + line % 8 * row_bytes + within;
                let address = start + offset;
                let address = address ^ ((address >> 7) & (width - 1)) << 4;
                let (row, k) = if transposed { (place, line) } else { (line, place) };
                let bits = encode(self.at(row, k)).to_le_bytes();
                image[address..address + self.bytes].copy_from_slice(&bits[..self.bytes]);
            }
        }
        let (down, across) = (tile, tiles_down * tile);
        let (leading, stride) = match (transposed, width) {
            (false, _) => (across, down),
            // Without swizzle, the strides change places.
            (true, 1) => (down, across),
            (true, _) => (across, down),
        };
        let mode = [0u64, 0, 3, 0, 2, 0, 0, 0, 1][width];
        (start >> 4) as u64 | ((leading >> 4) as u64) << 16 | ((stride >> 4) as u64) << 32 | mode << 62
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// The types of a program.
#[derive(Clone, Copy)]
struct Kind {
    bytes: usize,
    encode: [fn(i32) -> u32; 2],
    /// Least value of each factor.
    least: [i32; 2],
    sum: Sum,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Sum {
    F32,
    F16,
    S32,
}

fn single(value: i32) -> u32 {
    (value as f32).to_bits()
}

/// A small integer in a format with `bits` bits of mantissa and a bias.
fn narrow(value: i32, bits: u32, bias: i32, width: u32) -> u32 {
    if value == 0 {
        return 0;
    }
    let top = value.unsigned_abs().ilog2();
    let mantissa = (value.unsigned_abs() << bits >> top) & ((1 << bits) - 1);
    u32::from(value < 0) << (width - 1) | ((top as i32 + bias) as u32) << bits | mantissa
}

fn half(value: i32) -> u32 {
    narrow(value, 10, 15, 16)
}

fn bfloat(value: i32) -> u32 {
    single(value) >> 16
}

fn e4m3(value: i32) -> u32 {
    narrow(value, 3, 7, 8)
}

fn e5m2(value: i32) -> u32 {
    narrow(value, 2, 15, 8)
}

fn byte(value: i32) -> u32 {
    u32::from(value as u8)
}

const F16: Kind = Kind { bytes: 2, encode: [half; 2], least: [-4; 2], sum: Sum::F32 };
const BF16: Kind = Kind { encode: [bfloat; 2], ..F16 };

/// One run of a program.
struct Run {
    name: &'static str,
    n: usize,
    k: usize,
    kind: Kind,
    layouts: [Layout; 2],
    adds: bool,
    sign: i32,
}

const PLAIN: Layout = Layout { width: 1, transposed: false };
const SWIZZLED: Layout = Layout { width: 8, transposed: false };

fn program(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wgmma").join(format!("{name}.ptx"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Launches a program with these factors; returns the report and the sums' registers by thread.
fn launch(text: &str, run: &Run, a: &Factor, b: &Factor, old: &[u32]) -> Result<(Report, Vec<u32>), Stop> {
    let mut image = vec![0; 65536];
    let second = 32768;
    let descriptors = [
        a.place(&mut image, 0, run.layouts[0], run.kind.encode[0]),
        b.place(&mut image, second, run.layouts[1], run.kind.encode[1]),
    ];
    // Lane by lane: eight rows of four words in each 8x8 part of 32 bits.
    let per_word = 4 / run.kind.bytes;
    let count = 16 * run.k * run.kind.bytes / 128;
    let mut fragments = Vec::new();
    for thread in 0..128 {
        let (warp, lane) = (thread / 32, thread % 32);
        for r in 0..count {
            let (row, first) = (16 * warp + lane / 4 + 8 * (r % 2), (lane % 4 + 4 * (r / 2)) * per_word);
            let word = (0..per_word)
                .fold(0, |word, j| word | run.kind.encode[0](a.at(row, first + j)) << (8 * run.kind.bytes * j));
            fragments.extend(word.to_le_bytes());
        }
    }
    let mut machine = Machine::new(Config { workers: 1, checks: Checks::DEFECTS, ..Config::default() });
    let mut buffer = |name: &str, bytes: &[u8]| {
        let address = machine.alloc(bytes.len() as u64, name).expect("room");
        machine.write(address, bytes).expect("write");
        address
    };
    let old_bytes: Vec<u8> = old.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (sums, from) = (buffer("sums", &old_bytes), buffer("image", &image));
    let fragments = buffer("fragments", &fragments);
    let params = [
        sums.to_le_bytes().to_vec(),
        from.to_le_bytes().to_vec(),
        (image.len() as u32).to_le_bytes().to_vec(),
        fragments.to_le_bytes().to_vec(),
        descriptors[0].to_le_bytes().to_vec(),
        descriptors[1].to_le_bytes().to_vec(),
        u32::from(run.adds).to_le_bytes().to_vec(),
    ];
    let program = Program::parse(text).unwrap_or_else(|error| panic!("{}: {error}", run.name));
    let block = [128, 1, 1];
    let dynamic_shared = image.len() as u64;
    let launch = Launch { entry: "k", grid: [1; 3], block, dynamic_shared, params: &params, ..Launch::default() };
    let report = machine.launch(&program, &launch)?;
    let mut bytes = old_bytes;
    machine.read(sums, &mut bytes).expect("read");
    let words = bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    Ok((report, words.collect()))
}

fn check(run: &Run) {
    let mut random = Random(run.name.len() as u64);
    let Run { n, k, kind, .. } = *run;
    let a = Factor::random(64, k, kind.bytes, &mut random, kind.least[0]);
    let b = Factor::random(n, k, kind.bytes, &mut random, kind.least[1]);
    // Registers of a lane, and the old sums: row plus column.
    let per_word = if kind.sum == Sum::F16 { 2 } else { 1 };
    let count = n / 2 / per_word;
    let encode = match kind.sum {
        Sum::F32 => single,
        Sum::F16 => half,
        Sum::S32 => |value| value as u32,
    };
    let sums = |value: &dyn Fn(usize, usize) -> i32| -> Vec<u32> {
        let mut words = Vec::new();
        for thread in 0..128 {
            let (warp, lane) = (thread / 32, thread % 32);
            for r in 0..count {
                words.push((0..per_word).fold(0, |word, j| {
                    let i = r * per_word + j;
                    let (row, column) = (16 * warp + lane / 4 + 8 * (i / 2 % 2), i / 4 * 8 + lane % 4 * 2 + i % 2);
                    word | encode(value(row, column)) << (16 * j)
                }));
            }
        }
        words
    };
    let old = sums(&|row, column| (row + column) as i32);
    let (report, found) =
        launch(&program(run.name), run, &a, &b, &old).unwrap_or_else(|stop| panic!("{}: {stop}", run.name));
    assert!(report.findings.is_empty(), "{}: {}", run.name, report.findings[0]);
    let wanted = sums(&|row, column| {
        let sum = (0..k).map(|k| run.sign * a.at(row, k) * b.at(column, k)).sum::<i32>();
        sum + if run.adds { (row + column) as i32 } else { 0 }
    });
    let wrong = found.iter().zip(&wanted).filter(|(found, wanted)| found != wanted).count();
    assert_eq!(wrong, 0, "{} with {:?}: {wrong} of {} registers are wrong", run.name, run.layouts, found.len());
}

const FIRST: Run = Run { name: "m64n8k16_f16", n: 8, k: 16, kind: F16, layouts: [PLAIN; 2], adds: true, sign: 1 };

#[test]
fn f16() {
    check(&FIRST);
    check(&Run { adds: false, ..FIRST });
    let kind = Kind { sum: Sum::F16, ..F16 };
    check(&Run { name: "m64n128k16_f16_f16", n: 128, kind, layouts: [SWIZZLED, PLAIN], ..FIRST });
}

#[test]
fn every_swizzle() {
    for width in [1, 2, 4, 8] {
        let layouts = [Layout { width, transposed: false }; 2];
        // Rows of k = 16 have 32 bytes: wider rows hold several steps of k, of which the first is multiplied.
        if width <= 2 {
            check(&Run { layouts, ..FIRST });
        }
        let layouts = [Layout { width, transposed: true }; 2];
        check(&Run { name: "m64n64k16_f16_transposed", n: 64, layouts, ..FIRST });
    }
    check(&Run { layouts: [SWIZZLED; 2], ..FIRST });
}

#[test]
fn bf16() {
    check(&Run { name: "m64n256k16_bf16", n: 256, kind: BF16, layouts: [SWIZZLED; 2], ..FIRST });
    check(&Run { name: "m64n64k16_bf16_registers", n: 64, kind: BF16, layouts: [PLAIN, SWIZZLED], ..FIRST });
    check(&Run { name: "m64n32k16_bf16_negated", n: 32, kind: BF16, sign: -1, ..FIRST });
}

#[test]
fn tf32() {
    let kind = Kind { bytes: 4, encode: [single; 2], ..F16 };
    check(&Run { name: "m64n64k8_tf32", n: 64, k: 8, kind, layouts: [SWIZZLED, PLAIN], ..FIRST });
}

#[test]
fn fp8() {
    let kind = Kind { bytes: 1, encode: [e4m3, e5m2], ..F16 };
    check(&Run { name: "m64n64k32_e4m3_e5m2", n: 64, k: 32, kind, layouts: [SWIZZLED; 2], ..FIRST });
    let kind = Kind { bytes: 1, encode: [e5m2, e4m3], sum: Sum::F16, ..F16 };
    check(&Run { name: "m64n64k32_e5m2_e4m3_f16", n: 64, k: 32, kind, ..FIRST });
}

#[test]
fn integers() {
    let kind = Kind { bytes: 1, encode: [byte; 2], least: [-100, 0], sum: Sum::S32 };
    check(&Run { name: "m64n32k32_s8_u8", n: 32, k: 32, kind, layouts: [SWIZZLED; 2], ..FIRST });
    let kind = Kind { least: [0, -100], ..kind };
    check(&Run { name: "m64n16k32_u8_s8_registers", n: 16, k: 32, kind, ..FIRST });
}

/// Runs the first program with one replacement; returns the codes of its findings and its stop.
fn codes(from: &str, to: &str) -> Vec<String> {
    let text = program(FIRST.name);
    assert!(text.contains(from), "{from}");
    let mut random = Random(1);
    let (a, b) = (Factor::random(64, 16, 2, &mut random, -4), Factor::random(8, 16, 2, &mut random, -4));
    match launch(&text.replace(from, to), &FIRST, &a, &b, &[0; 512]) {
        Ok((report, _)) => report.findings.iter().map(|found| found.diagnostic.code.to_string()).collect(),
        Err(stop) => vec![stop.diagnostic().code.to_string()],
    }
}

#[test]
fn planted_defects() {
    assert_eq!(codes("bar.sync 0;", "bar.sync 0;"), Vec::<String>::new());
    assert_eq!(codes("fence.proxy.async;", ""), ["async-proxy"]);
    assert_eq!(codes("wgmma.fence.sync.aligned;", ""), ["wgmma-not-fenced"]);
    assert_eq!(codes("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned; mov.b32 %d1, 0;"), ["wgmma-not-fenced"]);
    assert_eq!(codes("wgmma.wait_group.sync.aligned 0;", ""), ["wgmma-not-waited"]);
    assert_eq!(codes("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;"), ["wgmma-not-waited"]);
    assert_eq!(codes("wgmma.commit_group.sync.aligned;", ""), ["wgmma-not-waited"]);
    assert_eq!(
        codes(
            "wgmma.commit_group.sync.aligned;",
            "wgmma.commit_group.sync.aligned; bar.sync 1; mov.u32 %s, tile; add.u32 %s, %s, %t;
             and.b32 %v, %t, 31; setp.eq.u32 %p, %v, 0;
             @%p st.shared.b32 [%s], 0;"
        ),
        ["race-war", "async-source-overwritten"]
    );
    // A warp that has waited overwrites a factor, which other warps still read by PTX's rules.
    assert_eq!(
        codes(
            "wgmma.wait_group.sync.aligned 0;",
            "wgmma.wait_group.sync.aligned 0; mov.u32 %s, tile; setp.eq.u32 %p, %t, 0; @%p st.shared.b32 [%s], 0;"
        ),
        Vec::<String>::new()
    );
    // A descriptor behind the end of shared memory; different descriptors; a warp that does not take part.
    assert_eq!(codes("wgmma.fence", "add.u64 %db, %db, 4096; wgmma.fence"), ["out-of-bounds"]);
    assert_eq!(
        codes("wgmma.fence", "cvt.u64.u32 %at, %t; and.b64 %at, %at, 64; add.u64 %db, %db, %at; wgmma.fence"),
        ["warpgroup"]
    );
    assert_eq!(codes("wgmma.fence", "setp.gt.u32 %p, %t, 95; @%p exit; wgmma.fence"), ["deadlock"]);
    assert_eq!(codes("wgmma.fence", "setp.gt.u32 %p, %t, 97; @%p exit; wgmma.fence"), ["missing-lanes"]);
    assert_eq!(codes("sm_90a", "sm_90"), ["unsupported"]);
}
