//! Runs the PTX that nvcc and clang compile from the CUDA C++ programs in `tests/programs`, for several architectures
//! and with all checkers, and compares every result with a few lines of Rust. `generate.sh` there compiles the programs
//! again.

use ptx_sim::{Checks, Config, Counters, Launch, Machine, Program, Report};
use std::path::Path;

/// One run of one PTX file.
struct Run {
    machine: Machine,
    program: Program,
    name: String,
}

/// Whether the compilers' versions of a program must have equal memory counters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    /// All versions access memory alike.
    Alike,
    /// The compilers unroll, vectorise or hoist differently.
    Differs,
}

impl Run {
    fn buffer(&mut self, name: &str, bytes: &[u8]) -> u64 {
        let address = self.machine.alloc(bytes.len() as u64, name).expect("room");
        self.machine.write(address, bytes).expect("write");
        address
    }

    fn launch(&mut self, entry: &str, grid: [u32; 3], block: [u32; 3], shared: u64, params: &[Vec<u8>]) -> Report {
        let launch = Launch { entry, grid, block, dynamic_shared: shared, params, ..Launch::default() };
        let report = self.machine.launch(&self.program, &launch);
        let report = report.unwrap_or_else(|stop| panic!("{}: {stop}", self.name));
        assert!(report.findings.is_empty(), "{}: {}", self.name, report.findings[0]);
        report
    }

    fn read<T: Number>(&self, address: u64, count: usize) -> Vec<T> {
        let mut bytes = vec![0; count * T::BYTES];
        self.machine.read(address, &mut bytes).expect("read");
        bytes.chunks_exact(T::BYTES).map(T::from_bytes).collect()
    }
}

trait Number: Copy + PartialEq + std::fmt::Debug {
    const BYTES: usize;
    fn from_bytes(bytes: &[u8]) -> Self;
    fn append(self, bytes: &mut Vec<u8>);
}

macro_rules! number {
    ($($t:ty),*) => {$(
        impl Number for $t {
            const BYTES: usize = size_of::<$t>();
            fn from_bytes(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("whole numbers"))
            }
            fn append(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
        }
    )*};
}
number!(u8, u16, i32, u32, i64, u64, f32, f64);

fn bytes<T: Number>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    values.iter().for_each(|value| value.append(&mut bytes));
    bytes
}

fn param<T: Number>(value: T) -> Vec<u8> {
    bytes(&[value])
}

/// SplitMix64, the generator of the inputs.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a multiple of 2^-23 in [-1, 1).
    fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / 8_388_608.0 - 1.0
    }
}

/// Calls `check` with every compiled version of a program; it returns the report of its launch.
fn each(name: &str, memory: Memory, mut check: impl FnMut(&mut Run) -> Report) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut seen: Vec<(String, Counters)> = Vec::new();
    for compiler in ["nvcc", "clang"] {
        for arch in ["sm_75", "sm_80", "sm_90"] {
            let path = folder.join(compiler).join(format!("{name}.{arch}.ptx"));
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let name = format!("{compiler}/{name}.{arch}");
            let program = Program::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let checks = Checks::DEFECTS;
            let machine = Machine::new(Config { workers: 1, checks, ..Config::default() });
            let mut run = Run { machine, program, name: name.clone() };
            let report = check(&mut run);
            seen.push((name, report.counters));
        }
    }
    assert!(seen.len() >= 2, "{name}: compiled forms are missing");
    let traffic = |c: &Counters| {
        [
            c.shared_loads,
            c.shared_stores,
            c.shared_wavefronts,
            c.global_loads,
            c.global_stores,
            c.global_sectors,
            c.atomics,
        ]
    };
    if memory == Memory::Alike {
        for (other, counters) in &seen[1..] {
            assert_eq!(traffic(&seen[0].1), traffic(counters), "{} and {other} access memory differently", seen[0].0);
        }
    }
}

#[test]
fn saxpy() {
    each("saxpy", Memory::Alike, |run| {
        let mut random = Random(1);
        let x: Vec<f32> = (0..1000).map(|_| random.unit()).collect();
        let y: Vec<f32> = (0..1000).map(|_| random.unit()).collect();
        let (dx, dy) = (run.buffer("x", &bytes(&x)), run.buffer("y", &bytes(&y)));
        let params = [param(1000i32), param(1.5f32), param(dx), param(dy)];
        let report = run.launch("saxpy", [3, 1, 1], [128, 1, 1], 0, &params);
        let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 1.5 * x + y).collect();
        assert_eq!(run.read::<f32>(dy, 1000), expected, "{}", run.name);
        report
    });
}

#[test]
fn matmul() {
    each("matmul", Memory::Differs, |run| {
        let n = 37;
        let mut random = Random(2);
        let a: Vec<f32> = (0..n * n).map(|_| random.unit()).collect();
        let b: Vec<f32> = (0..n * n).map(|_| random.unit()).collect();
        let (da, db) = (run.buffer("a", &bytes(&a)), run.buffer("b", &bytes(&b)));
        let dc = run.buffer("c", &vec![0; n * n * 4]);
        let params = [param(da), param(db), param(dc), param(n as i32)];
        let report = run.launch("matmul", [3, 3, 1], [16, 16, 1], 0, &params);
        let expected: Vec<f32> =
            (0..n * n).map(|i| (0..n).fold(0.0f32, |sum, k| sum + a[i / n * n + k] * b[k * n + i % n])).collect();
        // Each sum is padded with zeros, which do not change it.
        assert_eq!(run.read::<f32>(dc, n * n), expected, "{}", run.name);
        report
    });
}

#[test]
fn reduce() {
    each("reduce", Memory::Alike, |run| {
        let mut random = Random(3);
        let input: Vec<i32> = (0..5000).map(|_| random.bits() as i32).collect();
        let (from, to) = (run.buffer("in", &bytes(&input)), run.buffer("out", &[0; 4]));
        let params = [param(from), param(to), param(5000i32)];
        let report = run.launch("reduce", [4, 1, 1], [256, 1, 1], 0, &params);
        let expected = input.iter().fold(0i32, |sum, x| sum.wrapping_add(*x));
        assert_eq!(run.read::<i32>(to, 1), [expected], "{}", run.name);
        report
    });
}

#[test]
fn scan() {
    each("scan", Memory::Differs, |run| {
        let mut random = Random(4);
        let input: Vec<i32> = (0..200).map(|_| random.bits() as i32 >> 8).collect();
        let (from, to) = (run.buffer("in", &bytes(&input)), run.buffer("out", &[0; 800]));
        let report = run.launch("scan", [1; 3], [200, 1, 1], 1600, &[param(from), param(to)]);
        let mut sum = 0i32;
        let expected: Vec<i32> = input
            .iter()
            .map(|x| {
                sum = sum.wrapping_add(*x);
                sum
            })
            .collect();
        assert_eq!(run.read::<i32>(to, 200), expected, "{}", run.name);
        report
    });
}

#[test]
fn histogram() {
    each("histogram", Memory::Alike, |run| {
        let mut random = Random(5);
        let input: Vec<u8> = (0..3000).map(|_| (random.bits() % 200) as u8).collect();
        let (from, bins) = (run.buffer("in", &input), run.buffer("bins", &[0; 1024]));
        let params = [param(from), param(3000i32), param(bins)];
        let report = run.launch("histogram", [3, 1, 1], [128, 1, 1], 0, &params);
        let mut expected = vec![0u32; 256];
        input.iter().for_each(|&x| expected[usize::from(x)] += 1);
        assert_eq!(run.read::<u32>(bins, 256), expected, "{}", run.name);
        report
    });
}

#[test]
fn transpose() {
    each("transpose", Memory::Alike, |run| {
        let (width, height) = (70, 45);
        let input: Vec<f32> = (0..width * height).map(|i| i as f32).collect();
        let (from, to) = (run.buffer("in", &bytes(&input)), run.buffer("out", &vec![0; width * height * 4]));
        let params = [param(from), param(to), param(width as i32), param(height as i32)];
        let report = run.launch("transpose", [3, 2, 1], [32, 8, 1], 0, &params);
        let expected: Vec<f32> = (0..width * height).map(|i| input[i % height * width + i / height]).collect();
        assert_eq!(run.read::<f32>(to, width * height), expected, "{}", run.name);
        assert_eq!(report.counters.bank_conflicts, 0);
        report
    });
}

#[test]
fn nbody() {
    each("nbody", Memory::Differs, |run| {
        let n = 100;
        let mut random = Random(6);
        let bodies: Vec<f32> = (0..4 * n).map(|_| random.unit().abs() + 0.1).collect();
        let (from, to) = (run.buffer("bodies", &bytes(&bodies)), run.buffer("velocities", &vec![0; 16 * n]));
        let params = [param(from), param(to), param(n as i32), param(0.125f32)];
        let report = run.launch("nbody", [2, 1, 1], [64, 1, 1], 0, &params);
        let found = run.read::<f32>(to, 4 * n);
        for i in 0..n {
            let me = &bodies[4 * i..][..3];
            let mut sum = [0.0f64; 3];
            for other in bodies.chunks_exact(4) {
                let d: [f64; 3] = std::array::from_fn(|axis| f64::from(other[axis]) - f64::from(me[axis]));
                let square = d.iter().map(|x| x * x).sum::<f64>() + 0.01;
                (0..3).for_each(|axis| sum[axis] += d[axis] * f64::from(other[3]) * square.powf(-1.5));
            }
            for axis in 0..3 {
                let (found, expected) = (f64::from(found[4 * i + axis]), sum[axis] * 0.125);
                assert!((found - expected).abs() <= 1e-3 * (1.0 + expected.abs()), "{}: {found} {expected}", run.name);
            }
        }
        report
    });
}

#[test]
fn look_back() {
    each("look_back", Memory::Differs, |run| {
        let blocks = 40u32;
        let n = (blocks * 128) as usize;
        let mut random = Random(7);
        let input: Vec<u32> = (0..n).map(|_| random.bits() as u32).collect();
        let (from, to) = (run.buffer("in", &bytes(&input)), run.buffer("out", &vec![0; 4 * n]));
        let (states, ticket) = (run.buffer("states", &vec![0; 8 * blocks as usize]), run.buffer("ticket", &[0; 4]));
        let params = [param(from), param(to), param(states), param(ticket)];
        let report = run.launch("look_back", [blocks, 1, 1], [128, 1, 1], 0, &params);
        let mut sum = 0u32;
        let expected: Vec<u32> = input
            .iter()
            .map(|x| {
                let before = sum;
                sum = sum.wrapping_add(*x);
                before
            })
            .collect();
        assert_eq!(run.read::<u32>(to, n), expected, "{}", run.name);
        report
    });
}

#[test]
fn stencil() {
    each("stencil", Memory::Differs, |run| {
        let (width, height) = (50, 30);
        let mut random = Random(8);
        let input: Vec<f64> = (0..width * height).map(|_| f64::from(random.unit())).collect();
        let (from, to) = (run.buffer("in", &bytes(&input)), run.buffer("out", &vec![0; width * height * 8]));
        let params = [param(from), param(to), param(width as i32), param(height as i32)];
        let report = run.launch("stencil", [4, 8, 1], [16, 4, 1], 0, &params);
        let expected: Vec<f64> = (0..width * height)
            .map(|i| {
                let (x, y) = (i % width, i / width);
                if x == 0 || y == 0 || x == width - 1 || y == height - 1 {
                    return input[i];
                }
                0.25 * ((input[i - 1] + input[i + 1]) + (input[i - width] + input[i + width]))
            })
            .collect();
        assert_eq!(run.read::<f64>(to, width * height), expected, "{}", run.name);
        report
    });
}

#[test]
fn mandelbrot() {
    each("mandelbrot", Memory::Alike, |run| {
        let (width, height, limit) = (40, 24, 200);
        let to = run.buffer("out", &vec![0; width * height * 2]);
        let params = [param(to), param(width as i32), param(height as i32), param(limit)];
        let report = run.launch("mandelbrot", [3, 6, 1], [16, 4, 1], 0, &params);
        let expected: Vec<u16> = (0..width * height)
            .map(|i| {
                let (x, y) = ((i % width) as f64, (i / width) as f64);
                let (cr, ci) = (-2.0 + 3.0 * x / width as f64, -1.0 + 2.0 * y / height as f64);
                let (mut zr, mut zi, mut n) = (0.0, 0.0, 0);
                while n < limit && zr * zr + zi * zi <= 4.0 {
                    (zr, zi) = (zr * zr - zi * zi + cr, 2.0 * zr * zi + ci);
                    n += 1;
                }
                n as u16
            })
            .collect();
        assert_eq!(run.read::<u16>(to, width * height), expected, "{}", run.name);
        report
    });
}

#[test]
fn strings() {
    each("strings", Memory::Differs, |run| {
        let lines = 50;
        let mut random = Random(9);
        let alphabet = b"abc XYZ nop, MLK. 0123 zZ";
        let text: Vec<u8> = (0..lines * 64).map(|_| alphabet[(random.bits() % 25) as usize]).collect();
        let data = run.buffer("text", &text);
        let (crc, words) = (run.buffer("crc", &vec![0; lines * 4]), run.buffer("words", &vec![0; lines * 4]));
        let params = [param(data), param(lines as i32), param(crc), param(words)];
        let report = run.launch("strings", [2, 1, 1], [32, 1, 1], 0, &params);
        let rotated: Vec<u8> = text
            .iter()
            .map(|&b| match b.to_ascii_lowercase() {
                b'a'..=b'm' => b + 13,
                b'n'..=b'z' => b - 13,
                _ => b,
            })
            .collect();
        assert_eq!(run.read::<u8>(data, lines * 64), rotated, "{}", run.name);
        let crcs = text.chunks_exact(64).map(|line| {
            !line.iter().fold(u32::MAX, |crc, &b| {
                (0..8).fold(crc ^ u32::from(b), |crc, _| crc >> 1 ^ if crc & 1 != 0 { 0xedb8_8320 } else { 0 })
            })
        });
        assert_eq!(run.read::<u32>(crc, lines), crcs.collect::<Vec<u32>>(), "{}", run.name);
        let counts = text
            .chunks_exact(64)
            .map(|line| line.split(|b| !b.is_ascii_alphabetic()).filter(|word| !word.is_empty()).count() as i32);
        assert_eq!(run.read::<i32>(words, lines), counts.collect::<Vec<i32>>(), "{}", run.name);
        report
    });
}

#[test]
fn hello() {
    each("hello", Memory::Differs, |run| {
        let report = run.launch("hello", [1; 3], [4, 1, 1], 0, &[param(3i32)]);
        let expected = "thread 0 of 4: even a  0.00 123456789abc %\n\
                        thread 1 of 4: odd b  0.50 123456789abd %\n\
                        thread 2 of 4: even c  1.00 123456789abe %\n";
        assert_eq!(report.printed, expected, "{}", run.name);
        report
    });
}

#[test]
fn dispatch() {
    each("dispatch", Memory::Differs, |run| {
        let to = run.buffer("out", &[0; 256]);
        let report = run.launch("dispatch", [1; 3], [64, 1, 1], 0, &[param(to), param(7i32)]);
        let fibonacci = [0, 1, 1, 2, 3, 5, 8, 13];
        let expected = (0..64).map(|t: i32| {
            let value = [t + 7, t * 7, t - 7][t as usize % 3];
            let area = if t * 7 % 2 != 0 { (t + 1) * (t + 1) } else { t * 3 };
            value * 1000 + area + fibonacci[t as usize % 8]
        });
        assert_eq!(run.read::<i32>(to, 64), expected.collect::<Vec<i32>>(), "{}", run.name);
        report
    });
}

#[test]
fn lists() {
    each("lists", Memory::Differs, |run| {
        let to = run.buffer("out", &[0; 128]);
        let report = run.launch("lists", [1; 3], [32, 1, 1], 0, &[param(to)]);
        let expected = (0..32).map(|t| (0..=t).map(|i| i * i).sum());
        assert_eq!(run.read::<i32>(to, 32), expected.collect::<Vec<i32>>(), "{}", run.name);
        report
    });
}

#[test]
fn pi() {
    each("pi", Memory::Alike, |run| {
        let (hits, samples) = (run.buffer("hits", &[0; 4]), 50);
        let report = run.launch("pi", [2, 1, 1], [64, 1, 1], 0, &[param(hits), param(42u64), param(samples)]);
        let mut expected = 0u32;
        for thread in 0..128u64 {
            let multiplier = 6_364_136_223_846_793_005u64;
            let mut state = 42u64.wrapping_add(multiplier.wrapping_mul(thread));
            let mut next = || {
                state = state.wrapping_mul(multiplier).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) as u32 as f32 * (1.0 / 16_777_216.0)
            };
            for _ in 0..samples {
                let (x, y) = (next(), next());
                expected += u32::from(x * x + y * y < 1.0);
            }
        }
        assert_eq!(run.read::<u32>(hits, 1), [expected], "{}", run.name);
        report
    });
}

#[test]
fn numbers() {
    each("numbers", Memory::Differs, |run| {
        let n = 70;
        let mut random = Random(10);
        let input: Vec<i64> = (0..n).map(|_| random.bits() as i64).collect();
        let (from, to) = (run.buffer("in", &bytes(&input)), run.buffer("out", &vec![0; n * 8]));
        let flags = [3u8, 250, 7, 0, 91];
        let mut options = bytes(&[-12_345i64]);
        options.extend(bytes(&[5i32]));
        options.extend((-9i16).to_le_bytes());
        options.extend(flags);
        options.resize(24, 0);
        let params = [param(from), param(to), options, param(n as i32)];
        let report = run.launch("numbers", [2, 1, 1], [64, 1, 1], 0, &params);
        let expected = input.iter().enumerate().map(|(i, &value)| {
            let mut x = value;
            let digits: Vec<i64> = (0..8)
                .map(|_| {
                    let digit = x % -12_345;
                    x /= -12_345;
                    digit
                })
                .collect();
            let sum = (0..5).fold(-9i64, |sum, r| {
                sum.wrapping_mul(31).wrapping_add(digits[(i + r * 3) & 7]).wrapping_add(i64::from(flags[(i + r) % 5]))
            });
            sum ^ ((u128::from(value as u64) * 0x9e37_79b9_7f4a_7c15) >> 64) as i64
        });
        assert_eq!(run.read::<i64>(to, n), expected.collect::<Vec<i64>>(), "{}", run.name);
        report
    });
}

#[test]
fn groups() {
    each("groups", Memory::Differs, |run| {
        let mut random = Random(11);
        let input: Vec<i32> = (0..128).map(|_| random.bits() as i32 >> 12).collect();
        let from = run.buffer("in", &bytes(&input));
        let (sums, scans, odd) =
            (run.buffer("sums", &[0; 32]), run.buffer("scans", &[0; 512]), run.buffer("odd", &[0; 4]));
        let params = [param(from), param(sums), param(scans), param(odd)];
        let report = run.launch("groups", [1; 3], [128, 1, 1], 0, &params);
        let expected: Vec<i32> = input.chunks(16).map(|tile| tile.iter().sum()).collect();
        assert_eq!(run.read::<i32>(sums, 8), expected, "{}", run.name);
        let expected: Vec<i32> = (0..128).map(|t| input[t / 32 * 32..=t].iter().sum()).collect();
        assert_eq!(run.read::<i32>(scans, 128), expected, "{}", run.name);
        let expected = input.iter().filter(|x| *x % 2 != 0).count() as i32;
        assert_eq!(run.read::<i32>(odd, 1), [expected], "{}", run.name);
        report
    });
}

#[test]
fn tiles() {
    let input: Vec<i32> = (0..256).collect();
    each("tiles", Memory::Differs, |run| {
        let (from, to) = (run.buffer("in", &bytes(&input)), run.buffer("out", &[0; 1024]));
        let report = run.launch("tiles", [1; 3], [256, 1, 1], 0, &[param(from), param(to)]);
        let expected: Vec<i32> = (0..256).map(|t| t ^ 64).collect();
        assert_eq!(run.read::<i32>(to, 256), expected, "{}", run.name);
        report
    });
    each("tiles", Memory::Differs, |run| {
        let params = |[from, pairs, fours]: [u64; 3]| [param(from), param(pairs), param(fours)];
        // NVIDIA's collectives rely on a shuffle to order memory, which the race checker reports.
        let all = [1024, 64, 32].map(|size| run.buffer("memory", &vec![0; size]));
        let launch = Launch {
            entry: "collectives",
            grid: [1; 3],
            block: [256, 1, 1],
            params: &params(all),
            ..Launch::default()
        };
        let races = run.machine.launch(&run.program, &launch).expect("a launch").findings;
        let reserved = "of the shared memory that the system reserves";
        let is_reserved = |race: &ptx_sim::Finding| race.to_string().contains(reserved);
        assert_eq!(races.iter().any(is_reserved), !run.name.ends_with("sm_75"), "{}: {races:?}", run.name);
        let checks = Checks { race: false, ..Checks::DEFECTS };
        run.machine = Machine::new(Config { workers: 1, checks, ..Config::default() });
        let from = run.buffer("in", &bytes(&input));
        let (pairs, fours) = (run.buffer("pairs", &[0; 64]), run.buffer("fours", &[0; 32]));
        let report = run.launch("collectives", [1; 3], [256, 1, 1], 0, &params([from, pairs, fours]));
        for (to, size) in [(pairs, 64), (fours, 128)] {
            let expected = input.chunks(size).flat_map(|tile| {
                let (any, all) = (tile.contains(&70), tile.iter().all(|&value| value < 64));
                [tile.iter().sum(), tile[1], any.into(), all.into()]
            });
            let expected: Vec<i32> = expected.collect();
            assert_eq!(run.read::<i32>(to, expected.len()), expected, "{}", run.name);
        }
        report
    });
}

/// Returns multiples of a quarter as `f16`, which represents all sums below exactly.
fn quarter(random: &mut Random) -> (u16, f32) {
    let value = (random.bits() % 17) as f32 / 4.0 - 2.0;
    let bits = value.to_bits();
    let half = if value == 0.0 {
        0
    } else {
        (bits >> 16 & 0x8000) as u16 | ((bits >> 13) as i32 - (112 << 10)) as u16 & 0x7fff
    };
    (half, value)
}

#[test]
fn wmma_gemm() {
    each("wmma_gemm", Memory::Differs, |run| {
        let n = 48;
        let mut random = Random(12);
        let (a, af): (Vec<u16>, Vec<f32>) = (0..n * n).map(|_| quarter(&mut random)).unzip();
        let (b, bf): (Vec<u16>, Vec<f32>) = (0..n * n).map(|_| quarter(&mut random)).unzip();
        let (da, db) = (run.buffer("a", &bytes(&a)), run.buffer("b", &bytes(&b)));
        let dc = run.buffer("c", &vec![0; n * n * 4]);
        let params = [param(da), param(db), param(dc), param(n as i32)];
        let report = run.launch("wmma_gemm", [3, 3, 1], [32, 1, 1], 0, &params);
        let expected: Vec<f32> =
            (0..n * n).map(|i| (0..n).map(|k| af[i / n * n + k] * bf[k * n + i % n]).sum::<f32>() * 0.5).collect();
        assert_eq!(run.read::<f32>(dc, n * n), expected, "{}", run.name);
        report
    });
}

#[test]
fn half_math() {
    each("half_math", Memory::Differs, |run| {
        let n = 60;
        let mut random = Random(13);
        let (a, af): (Vec<u16>, Vec<f32>) = (0..2 * n).map(|_| quarter(&mut random)).unzip();
        let (b, bf): (Vec<u16>, Vec<f32>) = (0..2 * n).map(|_| quarter(&mut random)).unzip();
        let (da, db) = (run.buffer("a", &bytes(&a)), run.buffer("b", &bytes(&b)));
        let (out, brains) = (run.buffer("out", &vec![0; 4 * n]), run.buffer("brains", &vec![0; 4 * n]));
        let sums = run.buffer("sums", &vec![0; 4 * n]);
        let params = [param(da), param(db), param(out), param(brains), param(sums), param(n as i32)];
        let report = run.launch("half_math", [2, 1, 1], [32, 1, 1], 0, &params);
        let mut results = Vec::new();
        for i in 0..n {
            let pair = |j: usize| (af[2 * i + j], bf[2 * i + j]);
            let both = (0..2).all(|j| pair(j).0 > pair(j).1);
            for j in 0..2 {
                let (x, y) = pair(j);
                let r = x * y + x.max(y) + if both { 1.0 } else { 0.0 };
                results.push(r.abs());
            }
        }
        let found = run.read::<f32>(sums, n);
        let expected: Vec<f32> = results.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        assert_eq!(found, expected, "{}", run.name);
        // All results are exact in `f16`. `bf16` is the upper half of `f32`, whose lower half is zero or is rounded.
        let brains = run.read::<u16>(brains, 2 * n);
        for (bits, value) in brains.iter().zip(&results) {
            let found = f32::from_bits(u32::from(*bits) << 16);
            assert!((found - value).abs() <= value.abs() / 256.0, "{}: {found} {value}", run.name);
        }
        report
    });
}

#[test]
fn texture() {
    use ptx_sim::texture::{Channel, Filter, Format, Layout, Texture};
    each("texture", Memory::Alike, |run| {
        let (width, height) = (20usize, 12usize);
        let mut random = Random(14);
        let image: Vec<f32> = (0..width * height).map(|_| random.unit()).collect();
        let address = run.buffer("image", &bytes(&image));
        let layout = Layout::Array { address, extent: [width as u64, height as u64, 1], layered: false };
        let linear =
            Texture { filter: Filter::Linear, ..Texture::new(layout, Format { channel: Channel::F32, channels: 1 }) };
        let handle = run.machine.texture(&linear).expect("texture");
        let to = run.buffer("out", &vec![0; width * height * 4]);
        let (sine, cosine) = (0.6f32, 0.8f32);
        let params = [param(handle), param(to), param(width as i32), param(height as i32), param(sine), param(cosine)];
        let report = run.launch("rotate", [2, 3, 1], [16, 4, 1], 0, &params);
        let at = |x: i64, y: i64| {
            let (x, y) = (x.clamp(0, width as i64 - 1) as usize, y.clamp(0, height as i64 - 1) as usize);
            f64::from(image[y * width + x])
        };
        for (i, found) in run.read::<f32>(to, width * height).into_iter().enumerate() {
            let (u, v) = ((i % width) as f64 - 10.0, (i / width) as f64 - 6.0);
            let (x, y) = (u * 0.8 - v * 0.6 + 10.0, u * 0.6 + v * 0.8 + 6.0);
            let (fx, fy) = (x - x.floor(), y - y.floor());
            let (x, y) = (x.floor() as i64, y.floor() as i64);
            let row = |y: i64| (1.0 - fx) * at(x, y) + fx * at(x + 1, y);
            let expected = (1.0 - fy) * row(y) + fy * row(y + 1);
            // Weights have eight fractional bits, values lie between -1 and 1.
            assert!((f64::from(found) - expected).abs() <= 4.0 / 256.0, "{}: {found} {expected}", run.name);
        }
        report
    });
}

#[test]
fn pipeline() {
    each("pipeline", Memory::Differs, |run| {
        let (blocks, tiles) = (2usize, 5usize);
        let mut random = Random(15);
        let input: Vec<f32> = (0..blocks * tiles * 256).map(|_| random.unit()).collect();
        let (from, to) = (run.buffer("in", &bytes(&input)), run.buffer("out", &vec![0; blocks * 256]));
        let params = [param(from), param(to), param(tiles as i32)];
        let report = run.launch("pipeline", [blocks as u32, 1, 1], [64, 1, 1], 0, &params);
        let expected = (0..blocks * 64).map(|i| {
            (0..tiles).fold(0.0f32, |sum, tile| {
                let v = &input[((i / 64 * tiles + tile) * 64 + 63 - i % 64) * 4..][..4];
                sum + (v[0] + v[1] + v[2] + v[3])
            })
        });
        assert_eq!(run.read::<f32>(to, blocks * 64), expected.collect::<Vec<f32>>(), "{}", run.name);
        report
    });
}
