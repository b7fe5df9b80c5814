//! Copies of boxes by tensor maps: values inside and outside of the tensor in every swizzle, and planted defects.

use ptx_sim::tensor::{Element, TensorMap};
use ptx_sim::{Checks, Config, Launch, Machine, Program, Report, Stop};
use std::path::Path;

/// Size of the tensor of 16-bit elements, its pitch in bytes, and the height of the box.
const WIDTH: u64 = 100;
const HEIGHT: u64 = 20;
const PITCH: u64 = 208;
const ROWS: u32 = 16;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tensor").join(format!("{name}.ptx"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn map(address: u64, columns: u32, swizzle: u64) -> TensorMap {
    let (sizes, block) = ([WIDTH, HEIGHT], [columns, ROWS]);
    TensorMap::tiled(Element::U16, address, &sizes, &[PITCH], &block, &[1, 1], swizzle).expect("a valid map")
}

struct Tensor {
    machine: Machine,
    address: u64,
}

impl Tensor {
    /// A tensor whose elements are their offsets in bytes.
    fn new() -> Self {
        let mut machine = Machine::new(Config { workers: 1, checks: Checks::DEFECTS, ..Config::default() });
        let bytes: Vec<u8> = (0..HEIGHT * PITCH / 2).flat_map(|at| (2 * at as u16).to_le_bytes()).collect();
        let address = machine.alloc(bytes.len() as u64, "tensor").expect("room");
        machine.write(address, &bytes).expect("write");
        Self { machine, address }
    }

    fn launch(&mut self, text: &str, params: &[Vec<u8>]) -> Result<Report, Stop> {
        let program = Program::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let (block, dynamic_shared) = ([32, 1, 1], 8192);
        self.machine
            .launch(&program, &Launch { entry: "k", grid: [1; 3], block, dynamic_shared, params, ..Launch::default() })
    }

    /// Loads a box; returns the report and the bytes as they lie in shared memory.
    fn load(&mut self, text: &str, map: &[u8], bytes: u32, x: i32, y: i32) -> Result<(Report, Vec<u8>), Stop> {
        let out = self.machine.alloc(u64::from(bytes), "out").expect("room");
        let params = [
            out.to_le_bytes().to_vec(),
            map.to_vec(),
            x.to_le_bytes().to_vec(),
            y.to_le_bytes().to_vec(),
            bytes.to_le_bytes().to_vec(),
        ];
        let report = self.launch(text, &params)?;
        let mut found = vec![0; bytes as usize];
        self.machine.read(out, &mut found).expect("read");
        Ok((report, found))
    }

    fn codes(&mut self, text: &str, map: &[u8], bytes: u32) -> Vec<String> {
        match self.load(text, map, bytes, 0, 0) {
            Ok((report, _)) => report.findings.iter().map(|found| found.diagnostic.code.to_string()).collect(),
            Err(stop) => vec![stop.diagnostic().code.to_string()],
        }
    }
}

/// The distance of rows in shared memory.
fn pitch(columns: u32, swizzle: u64) -> u64 {
    swizzle.max(2 * u64::from(columns))
}

/// The offset in shared memory of a byte of a row: the row's number changes the place of its chunks of 16 bytes.
fn place(row: u64, byte: u64, columns: u32, swizzle: u64) -> usize {
    let at = row * pitch(columns, swizzle) + byte;
    let (line, chunks) = (at / 128, swizzle.max(16) / 16);
    (at ^ ((line % chunks) * 16)) as usize
}

#[test]
fn boxes_arrive_with_zeros_outside_of_the_tensor() {
    for (columns, swizzle) in [(64, 0), (24, 0), (16, 32), (32, 64), (64, 128)] {
        for (x, y) in [(0, 0), (8, 4), (60, 10), (-5, -3), (200, 0)] {
            let mut tensor = Tensor::new();
            let map = map(tensor.address, columns, swizzle).encode();
            let bytes = columns * 2 * ROWS;
            let (report, found) = tensor.load(&text("load"), &map, bytes, x, y).unwrap_or_else(|stop| panic!("{stop}"));
            assert!(report.findings.is_empty(), "{}", report.findings[0]);
            for row in 0..u64::from(ROWS) {
                for column in 0..u64::from(columns) {
                    let (down, across) = (y + row as i32, x + column as i32);
                    let inside = (0..HEIGHT as i32).contains(&down) && (0..WIDTH as i32).contains(&across);
                    let wanted = if inside { (down * PITCH as i32 + 2 * across) as u16 } else { 0 };
                    let at = place(row, 2 * column, columns, swizzle);
                    let got = u16::from_le_bytes([found[at], found[at + 1]]);
                    assert_eq!(
                        got, wanted,
                        "row {row}, column {column} of {columns}, swizzle {swizzle}, from {x}, {y}"
                    );
                }
            }
        }
    }
}

/// As an H200 does: rows that are shorter than the swizzle is wide are as far apart as the swizzle is wide, the bytes
/// between them are not written, and only those of the box are announced.
#[test]
fn short_rows_of_a_swizzle_lie_apart() {
    for (columns, swizzle) in [(8, 128), (16, 128), (24, 128), (48, 128), (8, 64), (16, 64), (8, 32)] {
        let mut tensor = Tensor::new();
        let map = map(tensor.address, columns, swizzle).encode();
        let (announced, bytes) = (columns * 2 * ROWS, pitch(columns, swizzle) as u32 * ROWS);
        let load = text("load").replace("[%bar], %n;", &format!("[%bar], {announced};"));
        let (report, found) = tensor.load(&load, &map, bytes, 8, 4).unwrap_or_else(|stop| panic!("{stop}"));
        let codes: Vec<_> = report.findings.iter().map(|found| found.diagnostic.code).collect();
        assert_eq!(codes, ["uninit-store"], "the bytes between the rows, which nothing has written");
        let mut wanted = vec![0; bytes as usize];
        for row in 0..u64::from(ROWS) {
            for column in 0..u64::from(columns) {
                let value = ((4 + row) * PITCH + 2 * (8 + column)) as u16;
                wanted[place(row, 2 * column, columns, swizzle)..][..2].copy_from_slice(&value.to_le_bytes());
            }
        }
        assert_eq!(found, wanted, "{columns} columns, swizzle {swizzle}");
    }
}

#[test]
fn boxes_are_stored_inside_of_the_tensor_only() {
    for (columns, swizzle) in [(64, 0), (64, 128), (32, 64), (24, 128), (8, 64)] {
        let (x, y) = (60u32, 10u32);
        let mut tensor = Tensor::new();
        let map = map(tensor.address, columns, swizzle).encode();
        let bytes = pitch(columns, swizzle) as u32 * ROWS;
        let params = [map.to_vec(), x.to_le_bytes().to_vec(), y.to_le_bytes().to_vec(), bytes.to_le_bytes().to_vec()];
        let report = tensor.launch(&text("store"), &params).unwrap_or_else(|stop| panic!("{stop}"));
        assert!(report.findings.is_empty(), "{}", report.findings[0]);
        let mut found = vec![0; (HEIGHT * PITCH) as usize];
        tensor.machine.read(tensor.address, &mut found).expect("read");
        for at in 0..HEIGHT * PITCH / 2 {
            let (row, column) = (2 * at / PITCH, 2 * at % PITCH / 2);
            let inside = row >= y.into() && column >= x.into() && column < WIDTH && column < u64::from(x + columns);
            let wanted = if inside {
                let place = place(row - u64::from(y), 2 * (column - u64::from(x)), columns, swizzle);
                // Words hold their offsets.
                if place.is_multiple_of(4) { place as u16 } else { 0 }
            } else {
                2 * at as u16
            };
            let got = u16::from_le_bytes([found[2 * at as usize], found[2 * at as usize + 1]]);
            assert_eq!(got, wanted, "row {row}, column {column}");
        }
    }
}

#[test]
fn planted_defects() {
    let mut tensor = Tensor::new();
    let good = map(tensor.address, 64, 128).encode();
    let bytes = 64 * 2 * ROWS;
    let load = text("load");
    assert_eq!(tensor.codes(&load, &good, bytes), Vec::<String>::new());
    // Bytes that no map has; a map of other dimensions; a map of memory that was freed.
    let mut other = good;
    other[9] ^= 1;
    assert_eq!(tensor.codes(&load, &other, bytes), ["tensor-map"]);
    let line = TensorMap::tiled(Element::U16, tensor.address, &[64], &[], &[64], &[], 0).expect("a map");
    assert_eq!(tensor.codes(&load, &line.encode(), bytes), ["tensor-map"]);
    // Fewer bytes are announced than arrive, and a phase that never ends.
    assert_eq!(tensor.codes(&load, &good, bytes - 128), ["deadlock"]);
    let wrong = load.replace("[%bar], 0, 1000", "[%bar], 1, 1000");
    assert_eq!(tensor.codes(&wrong, &good, bytes)[0], "async-not-waited");
    let misplaced = load.replace("mov.u32 %s, tile;", "mov.u32 %s, tile; add.u32 %s, %s, 64;");
    assert_eq!(tensor.codes(&misplaced, &good, bytes), ["misaligned"]);
    tensor.machine.free(tensor.address).expect("free");
    assert_eq!(tensor.codes(&load, &good, bytes), ["use-after-free"]);
    let mut tensor = Tensor::new();
    let map = map(tensor.address, 64, 128).encode();
    let store = text("store").replace("fence.proxy.async.shared::cta;", "");
    let params = [map.to_vec(), vec![0; 4], vec![0; 4], bytes.to_le_bytes().to_vec()];
    let report = tensor.launch(&store, &params).unwrap_or_else(|stop| panic!("{stop}"));
    let codes: Vec<_> = report.findings.iter().map(|found| found.diagnostic.code).collect();
    assert_eq!(codes, ["async-proxy"]);
}
