//! `ldmatrix` and `stmatrix` on matrices of 8-bit elements, and of elements of 6 and 4 bits that become bytes: each
//! element is where the PTX ISA's figures have it, and the passes over the banks are those of as many 8x8 matrices.

use ptx_sim::{Config, Launch, Machine, Program, Report};

/// Bytes between the rows in shared memory, whose order is reversed.
const ROW: usize = 64;
/// Number of rows for 32 lanes.
const ROWS: usize = 32;

/// Runs `instruction` with `%r1` to `%r4` as its registers and `[%r9]` as the address of the lane's row, on shared
/// memory with `bytes` and registers with `words`. Returns both, and the report.
fn run(instruction: &str, bytes: &[u8], words: &[[u32; 4]; 32]) -> (Vec<u8>, Vec<[u32; 4]>, Report) {
    let size = ROW * ROWS;
    let copy = |from: &str, to: &str| {
        (0..size / 4 / 32)
            .map(|i| {
                format!(
                    "ld.{from}.b32 %r5, [{}+{}]; st.{to}.b32 [{}+{}], %r5;\n",
                    place(from),
                    128 * i,
                    place(to),
                    128 * i
                )
            })
            .collect::<String>()
    };
    let text = format!(
        ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 memory, .param .u64 words) {{
        .reg .b32 %r<12>; .reg .b64 %rd<8>; .shared .align 128 .b8 sh[{size}];
        ld.param.u64 %rd1, [memory]; ld.param.u64 %rd2, [words]; mov.u32 %r7, %tid.x; mov.u32 %r6, sh;
        mul.wide.u32 %rd3, %r7, 4; add.u64 %rd3, %rd3, %rd1; mad.lo.u32 %r8, %r7, 4, %r6;
        mul.wide.u32 %rd4, %r7, 16; add.u64 %rd2, %rd2, %rd4;
        ld.global.v4.b32 {{%r1, %r2, %r3, %r4}}, [%rd2];
        sub.u32 %r9, {last}, %r7; mad.lo.u32 %r9, %r9, {ROW}, %r6;
        {}
        bar.sync 0;
        {instruction}
        bar.sync 0;
        {}
        st.global.v4.b32 [%rd2], {{%r1, %r2, %r3, %r4}}; ret; }}",
        copy("global", "shared"),
        copy("shared", "global"),
        last = ROWS - 1,
    );
    let program = Program::parse(&text).expect("PTX");
    let mut machine = Machine::new(Config { workers: 1, ..Config::default() });
    let (memory, registers) =
        (machine.alloc(size as u64, "memory").expect("room"), machine.alloc(512, "words").expect("room"));
    machine.write(memory, bytes).expect("write");
    let given: Vec<u8> = words.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    machine.write(registers, &given).expect("write");
    let params = [memory.to_le_bytes().to_vec(), registers.to_le_bytes().to_vec()];
    let launch = Launch { entry: "k", grid: [1; 3], block: [32, 1, 1], params: &params, ..Launch::default() };
    let report = machine.launch(&program, &launch).unwrap_or_else(|stop| panic!("{instruction}: {stop}"));
    let (mut after, mut found) = (vec![0; size], vec![0; 512]);
    machine.read(memory, &mut after).expect("read");
    machine.read(registers, &mut found).expect("read");
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| found[at + i]));
    let found = (0..32).map(|lane| std::array::from_fn(|r| word(16 * lane + 4 * r))).collect();
    (after, found, report)
}

fn place(space: &str) -> &str {
    if space == "global" { "%rd3" } else { "%r8" }
}

/// Byte at which the row of a lane starts.
fn start(lane: usize) -> usize {
    (ROWS - 1 - lane) * ROW
}

/// Arbitrary bytes of which neighbours differ.
fn contents() -> Vec<u8> {
    (0..(ROW * ROWS) as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect()
}

/// Returns the elements of the row of a lane, of `bits` bits, read one bit at a time.
fn elements(bytes: &[u8], lane: usize, bits: usize) -> [u8; 16] {
    let bit = |i: usize| bytes[start(lane) + i / 8] >> (i % 8) & 1;
    std::array::from_fn(|element| (0..bits).map(|i| bit(bits * element + i) << i).sum())
}

#[test]
fn columns_of_16x16_matrices() {
    let bytes = contents();
    for (format, bits) in [("b8", 8), ("b8x16.b6x16_p32", 6), ("b8x16.b4x16_p64", 4)] {
        for (count, registers) in [(1, "{%r1, %r2}"), (2, "{%r1, %r2, %r3, %r4}")] {
            let instruction =
                format!("ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.{format} {registers}, [%r9];");
            let (_, found, _) = run(&instruction, &bytes, &[[0; 4]; 32]);
            let mut expected = vec![[[0u8; 4]; 4]; 32];
            for matrix in 0..count {
                // Row `i` of the transposed matrix is a column in memory. Four lanes have it, with four elements each.
                for i in 0..16 {
                    for j in 0..16 {
                        let (lane, register) = (4 * (i % 8) + j / 4, 2 * matrix + i / 8);
                        expected[lane][register][j % 4] = elements(&bytes, 16 * matrix + j, bits)[i];
                    }
                }
            }
            let expected: Vec<[u32; 4]> = expected.iter().map(|lane| lane.map(u32::from_le_bytes)).collect();
            assert_eq!(found, expected, "{instruction}");
        }
    }
}

#[test]
fn rows_of_8x16_matrices() {
    let bytes = contents();
    for (format, bits) in [("b6x16_p32", 6), ("b4x16_p64", 4)] {
        for (count, registers) in [(1, "{%r1}"), (2, "{%r1, %r2}"), (4, "{%r1, %r2, %r3, %r4}")] {
            let instruction = format!("ldmatrix.sync.aligned.m8n16.x{count}.shared.b8x16.{format} {registers}, [%r9];");
            let (_, found, _) = run(&instruction, &bytes, &[[0; 4]; 32]);
            for (lane, words) in found.iter().enumerate() {
                for (matrix, word) in words.iter().enumerate() {
                    let row = elements(&bytes, 8 * matrix + lane / 4, bits);
                    let expected: [u8; 4] = std::array::from_fn(|i| row[lane % 4 * 4 + i]);
                    let expected = if matrix < count { u32::from_le_bytes(expected) } else { 0 };
                    assert_eq!(*word, expected, "{instruction} lane {lane}, register {matrix}");
                }
            }
        }
    }
}

#[test]
fn columns_of_16x8_matrices_are_stored() {
    let bytes = contents();
    let words: [[u32; 4]; 32] = std::array::from_fn(|lane| {
        std::array::from_fn(|r| (lane as u32 * 4 + r as u32).wrapping_mul(0x9e37_79b9) ^ 0x0102_0304)
    });
    for (count, registers) in [(1, "{%r1}"), (2, "{%r1, %r2}"), (4, "{%r1, %r2, %r3, %r4}")] {
        let instruction = format!("stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%r9], {registers};");
        let (after, _, _) = run(&instruction, &bytes, &words);
        let mut expected = bytes.clone();
        for matrix in 0..count {
            for row in 0..16 {
                for column in 0..8 {
                    // The fragment of a sum of `mma`: two neighbours of a row, and two of the row eight below.
                    let held = words[4 * (row % 8) + column / 2][matrix].to_le_bytes();
                    expected[start(8 * matrix + column) + row] = held[row / 8 * 2 + column % 2];
                }
            }
        }
        assert_eq!(after, expected, "{instruction}");
    }
}

/// The passes over the banks follow from the addresses alone, as for matrices of 16-bit elements.
#[test]
fn passes_are_those_of_the_same_rows() {
    let bytes = contents();
    let passes = |instruction: &str| {
        let report = run(instruction, &bytes, &[[0; 4]; 32]).2;
        let counters = report.counters;
        (counters.shared_load_wavefronts, counters.shared_wavefronts, counters.bank_conflicts)
    };
    let two = passes("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r9];");
    let four = passes("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r9];");
    assert!(two.2 > 0 && four.2 > two.2, "rows 64 bytes apart conflict: {two:?} {four:?}");
    assert_eq!(passes("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r9];"), two);
    assert_eq!(passes("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8 {%r1, %r2, %r3, %r4}, [%r9];"), four);
    assert_eq!(passes("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 {%r1, %r2, %r3, %r4}, [%r9];"), four);
    let stored = passes("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r9], {%r1, %r2, %r3, %r4};");
    assert_eq!(passes("stmatrix.sync.aligned.m16n8.x4.trans.shared.b8 [%r9], {%r1, %r2, %r3, %r4};"), stored);
}
