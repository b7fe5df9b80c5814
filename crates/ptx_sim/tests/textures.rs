//! Textures and surfaces give the same bits as an H200. `golden/h200/textures.txt` names the configurations: the kind
//! of read, elements and channels, memory, filter, address mode, and the kinds of coordinates and values.
//! `textures.bin` holds the first channels of the results for the coordinates computed by `coordinates`.
//!
//! [`known`] lists the differences.

use ptx_sim::texture::{AddressMode, Channel, Filter, Format, Layout, Texture};
use ptx_sim::{Config, Launch, Machine, Program};
use std::path::Path;

/// Number of results of a configuration.
const POINTS: usize = 128;

/// A line of `textures.txt`.
struct Case<'l> {
    what: &'l str,
    bits: usize,
    /// Element kind: `u`, `i` or `f`.
    kind: char,
    channels: usize,
    memory: &'l str,
    linear: bool,
    mode: AddressMode,
    normalized: bool,
    unit: bool,
}

fn hash(i: u32) -> u32 {
    let mut h = i.wrapping_mul(2_654_435_761).wrapping_add(12345);
    h ^= h >> 15;
    h = h.wrapping_mul(2_246_822_519);
    h ^ h >> 13
}

/// Converts a number that is normal or exact in `f16`.
fn half(x: f32) -> u16 {
    if x == 0.0 {
        return 0;
    }
    let exponent = ((x.to_bits() >> 23 & 255) as i32 - 127).max(-14);
    let steps = (x.abs() * 2f32.powi(10 - exponent)).round_ties_even() as u16;
    let magnitude = ((exponent + 14) as u16) * 1024 + steps;
    if x < 0.0 { magnitude | 0x8000 } else { magnitude }
}

impl<'l> Case<'l> {
    fn new(line: &'l str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, element, channels, memory, filter, mode, coordinates, values] = words[..] else {
            panic!("{line}");
        };
        Self {
            what,
            bits: element[1..].parse().expect("bits"),
            kind: element.chars().next().expect("a letter"),
            channels: channels.parse().expect("channels"),
            memory,
            linear: filter == "linear",
            mode: match mode {
                "wrap" => AddressMode::Wrap,
                "clamp" => AddressMode::Clamp,
                "mirror" => AddressMode::Mirror,
                _ => AddressMode::Border,
            },
            normalized: coordinates == "normalized",
            unit: values == "unit",
        }
    }

    fn extent(&self) -> [u32; 3] {
        match self.what {
            "1d" | "fetch" => [16, 1, 1],
            "3d" => [8, 6, 4],
            "a1d" => [16, 1, 3],
            "a2d" => [16, 8, 3],
            _ => [16, 8, 1],
        }
    }

    fn elements(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for i in 0..self.extent().iter().product::<u32>() * 4 {
            if i as usize % 4 >= self.channels {
                continue;
            }
            let h = hash(i);
            let float = (h >> 8 & 0xffff) as f32 / 65536.0 * 4.0 - 2.0;
            match (self.kind, self.bits) {
                ('f', 32) => bytes.extend(float.to_le_bytes()),
                ('f', _) => bytes.extend(half(float).to_le_bytes()),
                (_, bits) => bytes.extend(&h.to_le_bytes()[..bits / 8]),
            }
        }
        bytes
    }

    /// Returns x, y, z, and a layer or, for gathers, a channel.
    fn coordinates(&self) -> Vec<[f32; 4]> {
        let size = self.extent().map(|size| size as f32);
        // The layer is not scaled, because it is not an axis.
        let depth = if self.what.starts_with('a') { 1.0 } else { size[2] };
        let along = |i: usize, axis: usize, size: f32| {
            let r = hash((i * 3 + axis + 777) as u32);
            let u = (r >> 8) as f32 / 16_777_216.0;
            let mut x = match i % 4 {
                0 => ((r % (size as u32 * 16 + 64)) as i32 - 32) as f32 / 16.0,
                _ => u * (size * 1.5) - size * 0.25,
            };
            if i < 16 {
                #[rustfmt::skip]
                let special = [0.0, 0.5, 1.0, 0.75, 0.25, size, size - 0.5, -0.5, -1e-6, 1e-6, 1e9, -1e9, f32::INFINITY,
                    f32::NEG_INFINITY, f32::NAN, size - 1e-5];
                x = if axis == 0 { special[i] } else { u * size };
            }
            if self.normalized && !(axis == 0 && (10..16).contains(&i)) { x / size } else { x }
        };
        let layer = |i: usize| match self.what {
            "gather" => (i % 4) as f32,
            _ => (hash(i as u32 + 99) % 5) as f32 - 1.0,
        };
        (0..POINTS).map(|i| [along(i, 0, size[0]), along(i, 1, size[1]), along(i, 2, depth), layer(i)]).collect()
    }

    /// Returns the type of the results.
    fn result(&self) -> &'static str {
        match (self.kind, self.unit) {
            ('f', _) | (_, true) => "f32",
            ('i', _) => "s32",
            _ => "u32",
        }
    }

    fn program(&self) -> String {
        let (values, result) = ("{%r8, %r9, %r10, %r11}", self.result());
        let gather = |channel: char, predicate: usize| {
            format!("@%p{predicate} tld4.{channel}.2d.v4.{result}.f32 {values}, [%rd1, {{%f1, %f2}}];\n")
        };
        let surface = |outside: &str| match self.channels {
            1 => format!("suld.b.2d.b32.{outside} {{%r8}}, [%rd1, {{%r5, %r6}}];"),
            _ => format!("suld.b.2d.v4.b32.{outside} {values}, [%rd1, {{%r5, %r6}}];"),
        };
        let read = match self.what {
            "1d" => format!("tex.1d.v4.{result}.f32 {values}, [%rd1, {{%f1}}];"),
            "2d" => format!("tex.2d.v4.{result}.f32 {values}, [%rd1, {{%f1, %f2}}];"),
            "3d" => format!("tex.3d.v4.{result}.f32 {values}, [%rd1, {{%f1, %f2, %f3, %f3}}];"),
            "a1d" => format!("tex.a1d.v4.{result}.f32 {values}, [%rd1, {{%r7, %f1}}];"),
            "a2d" => format!("tex.a2d.v4.{result}.f32 {values}, [%rd1, {{%r7, %f1, %f2, %f2}}];"),
            "fetch" => format!("tex.1d.v4.{result}.s32 {values}, [%rd1, {{%r5}}];"),
            "integers" => format!("tex.2d.v4.{result}.s32 {values}, [%rd1, {{%r5, %r6}}];"),
            "level" => {
                format!("mov.f32 %f5, 0f00000000;\ntex.level.2d.v4.{result}.f32 {values}, [%rd1, {{%f1, %f2}}], %f5;")
            }
            "gather" => (0..4)
                .map(|i| format!("setp.eq.s32 %p{i}, %r7, {i};\n") + &gather(['r', 'g', 'b', 'a'][i], i))
                .collect(),
            "surface-zero" => surface("zero"),
            "surface-clamp" => surface("clamp"),
            what => panic!("{what}"),
        };
        let step = self.bits / 8 * self.channels;
        let scale =
            if self.what.starts_with("surface") { format!("mul.lo.s32 %r5, %r5, {step};") } else { String::new() };
        format!(
            ".version 7.8\n.target sm_90\n.address_size 64\n\
             .visible .entry k(.param .u64 t, .param .u64 c, .param .u64 o)\n{{\n\
             .reg .pred %p<4>;\n.reg .f32 %f<6>;\n.reg .b32 %r<12>;\n.reg .b64 %rd<5>;\n\
             ld.param.u64 %rd1, [t];\nld.param.u64 %rd2, [c];\nld.param.u64 %rd3, [o];\n\
             mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd4, %r1, 16;\nadd.u64 %rd2, %rd2, %rd4;\nadd.u64 %rd3, %rd3, %rd4;\n\
             ld.global.v4.f32 {{%f1, %f2, %f3, %f4}}, [%rd2];\n\
             cvt.rzi.s32.f32 %r5, %f1;\ncvt.rzi.s32.f32 %r6, %f2;\ncvt.rzi.s32.f32 %r7, %f4;\n{scale}\n{read}\n\
             st.global.v4.b32 [%rd3], {values};\nret;\n}}\n"
        )
    }

    /// Computes the results in the simulator.
    fn run(&self) -> Vec<[u32; 4]> {
        let mut machine = Machine::new(Config { workers: 1, ..Config::default() });
        let mut store = |bytes: &[u8]| {
            let address = machine.alloc(bytes.len() as u64, "data").expect("room");
            machine.write(address, bytes).expect("write");
            address
        };
        let extent = self.extent().map(u64::from);
        let row = extent[0] * (self.channels * self.bits / 8) as u64;
        let address = store(&self.elements());
        let coordinates: Vec<u8> =
            self.coordinates().iter().flatten().flat_map(|coordinate| coordinate.to_le_bytes()).collect();
        let coordinates = store(&coordinates);
        let results = store(&[0; 16 * POINTS]);
        let layout = match self.memory {
            "array" => Layout::Array { address, extent, layered: self.what.starts_with('a') },
            "linear" => Layout::Linear { address, elements: extent[0] },
            _ => Layout::Pitched { address, width: extent[0], height: extent[1], pitch: row },
        };
        let channel = match (self.kind, self.bits) {
            ('u', 8) => Channel::U8,
            ('u', 16) => Channel::U16,
            ('u', _) => Channel::U32,
            ('i', 8) => Channel::I8,
            ('i', 16) => Channel::I16,
            ('i', _) => Channel::I32,
            (_, 16) => Channel::F16,
            _ => Channel::F32,
        };
        let texture = Texture {
            filter: if self.linear { Filter::Linear } else { Filter::Point },
            address: [self.mode; 3],
            normalized_coordinates: self.normalized,
            normalized_reads: self.unit,
            border: [0.25, 0.5, 0.75, 1.0],
            ..Texture::new(layout, Format { channel, channels: self.channels as u32 })
        };
        let handle = machine.texture(&texture).expect("a texture");
        let params = [handle, coordinates, results].map(|value| value.to_le_bytes().to_vec());
        let launch =
            Launch { entry: "k", grid: [1; 3], block: [POINTS as u32, 1, 1], params: &params, ..Launch::default() };
        let program = Program::parse(&self.program()).expect("PTX");
        machine.launch(&program, &launch).unwrap_or_else(|stop| panic!("{stop}"));
        let mut bytes = vec![0; 16 * POINTS];
        machine.read(results, &mut bytes).expect("read");
        let word = |bytes: &[u8]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        bytes.chunks(16).map(|result| std::array::from_fn(|i| word(&result[4 * i..]))).collect()
    }
}

/// Returns the known differences: the number of [`POINTS`] that may differ, and the largest difference. The reasons are
/// in the documentation of `isa/texture.rs`.
fn known(case: &Case<'_>) -> (usize, f32) {
    match case.what {
        "fetch" if case.memory == "array" => (POINTS, f32::INFINITY),
        // Elements are between -2 and 2, and a few weights are off by 1/256.
        "3d" if case.linear => (POINTS * 3 / 5, 0.05),
        "3d" if case.normalized => (1, 4.0),
        "2d" if case.linear && (case.kind, case.bits) == ('i', 8) => (POINTS / 4, 1.01 / 32767.0),
        _ => (0, 0.0),
    }
}

#[test]
fn textures_as_on_an_h200() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/h200");
    let cases = std::fs::read_to_string(folder.join("textures.txt")).expect("cases");
    let data = std::fs::read(folder.join("textures.bin")).expect("readings");
    let mut readings = data.chunks(4).map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    for line in cases.lines() {
        let case = Case::new(line);
        let ((most, limit), mut wrong) = (known(&case), 0);
        for (found, at) in case.run().into_iter().zip(case.coordinates()) {
            let words = if case.what == "gather" { 4 } else { case.channels };
            let expected: Vec<u32> = readings.by_ref().take(words).chain([0; 4]).take(4).collect();
            let off = |(a, b): (&u32, &u32)| (f32::from_bits(*a) - f32::from_bits(*b)).abs() > limit;
            let far = found != expected[..] && (limit == 0.0 || found.iter().zip(&expected).any(off));
            assert!(!far, "{line} at {at:?}: {found:x?} instead of {expected:x?}");
            wrong += usize::from(found != expected[..]);
        }
        assert!(wrong <= most, "{line}: {wrong} results are not an H200's");
    }
    assert_eq!(readings.count(), 0);
}
