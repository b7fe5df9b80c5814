//! Tensor maps that a program makes, and kernels that copy by them.

use super::*;

const INVALID_VALUE: u32 = 1;
const NOT_SUPPORTED: u32 = 801;

/// Columns and rows of the matrix of 16-bit elements, and its pitch in bytes.
const SIZES: [u64; 2] = [100, 12];
const PITCH: u64 = 208;

/// The arguments of `cuTensorMapEncodeTiled` for boxes of 64x8 elements in a swizzle of 128 bytes.
#[derive(Clone, Copy)]
struct Tiled {
    element: u32,
    rank: u32,
    address: u64,
    stride: u64,
    block: [u32; 2],
    steps: [u32; 2],
    /// Interleaving, swizzle, promotion, and what is outside.
    layout: [u32; 4],
}

fn bf16(address: u64) -> Tiled {
    Tiled { element: 9, rank: 2, address, stride: PITCH, block: [64, 8], steps: [1; 2], layout: [0, 3, 2, 0] }
}

fn encode(map: *mut Map, how: &Tiled) -> u32 {
    let Tiled { element, rank, address, ref stride, ref block, ref steps, layout: [i, s, p, f] } = *how;
    let (block, steps) = (block.as_ptr(), steps.as_ptr());
    unsafe { cuTensorMapEncodeTiled(map, element, rank, address, SIZES.as_ptr(), stride, block, steps, i, s, p, f) }
}

/// A matrix whose elements are their numbers.
fn matrix() -> u64 {
    let elements: Vec<u16> = (0..(PITCH / 2 * SIZES[1]) as u16).collect();
    let mut address = 0;
    ok(unsafe { cuMemAlloc_v2(&mut address, size_of_val(&elements[..])) });
    ok(unsafe { cuMemcpyHtoD_v2(address, elements.as_ptr() as u64, size_of_val(&elements[..])) });
    address
}

/// The box at this column and row, as it lies in shared memory.
fn load(map: &Map, column: i32, row: i32) -> Vec<u16> {
    let (mut module, text) = (0, CString::new(include_str!("box.ptx")).expect("text"));
    ok(unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) });
    let function = function(module, "load");
    let mut out = 0_u64;
    ok(unsafe { cuMemAlloc_v2(&mut out, 1024) });
    let parameters =
        [(&raw const out).cast::<u64>(), (&raw const *map).cast(), (&raw const column).cast(), (&raw const row).cast()];
    ok(unsafe { cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, parameters.as_ptr().cast(), std::ptr::null()) });
    let mut found = vec![0_u16; 512];
    ok(unsafe { cuMemcpyDtoH_v2(found.as_mut_ptr() as u64, out, 1024) });
    ok(unsafe { cuMemFree_v2(out) });
    found
}

/// What a box holds: elements of the matrix from `first` on, and `outside` beyond it.
fn check(found: &[u16], first: u64, column: i32, row: i32, outside: u16) {
    for y in 0..8 {
        for x in 0..64 {
            let (matrix_row, matrix_column) = (i64::from(row) + y, i64::from(column) + x);
            let inside = (0..SIZES[1] as i64).contains(&matrix_row) && (0..SIZES[0] as i64).contains(&matrix_column);
            let number = first as i64 + matrix_row * (PITCH / 2) as i64 + matrix_column;
            let place = (y * 64 + ((x / 8) ^ y) * 8 + x % 8) as usize;
            assert_eq!(
                found[place],
                if inside { number as u16 } else { outside },
                "row {row} + {y}, column {column} + {x}"
            );
        }
    }
}

#[test]
fn a_kernel_copies_boxes_by_a_map_that_the_program_made() {
    start();
    let (address, mut map) = (matrix(), Map([0; 16]));
    ok(encode(&mut map, &bf16(address)));
    for (column, row) in [(0, 0), (8, 4), (60, 7), (-5, -3), (200, 0)] {
        check(&load(&map, column, row), 0, column, row, 0);
    }
    let mut nan = Map([0; 16]);
    ok(encode(&mut nan, &Tiled { layout: [0, 3, 0, 1], ..bf16(address) }));
    check(&load(&nan, 60, 7), 0, 60, 7, 0x7fff);
    // The same boxes of a matrix that begins one row further down.
    ok(unsafe { cuTensorMapReplaceAddress(&mut map, address + PITCH) });
    check(&load(&map, 0, 1), PITCH / 2, 0, 1, 0);
}

#[test]
fn arguments_that_the_driver_refuses_are_refused() {
    start();
    let (address, mut map) = (matrix(), Map([0; 16]));
    let good = bf16(address);
    for (wrong, code) in [
        (Tiled { element: 16, ..good }, INVALID_VALUE),
        (Tiled { element: 14, ..good }, NOT_SUPPORTED),
        (Tiled { rank: 0, ..good }, INVALID_VALUE),
        (Tiled { rank: 6, ..good }, INVALID_VALUE),
        (Tiled { address: address + 8, ..good }, INVALID_VALUE),
        (Tiled { stride: 200, ..good }, INVALID_VALUE),
        (Tiled { block: [64, 257], ..good }, INVALID_VALUE),
        (Tiled { block: [72, 8], ..good }, INVALID_VALUE),
        (Tiled { steps: [1, 9], ..good }, INVALID_VALUE),
        (Tiled { layout: [1, 0, 0, 0], ..good }, NOT_SUPPORTED),
        (Tiled { layout: [0, 4, 0, 0], ..good }, NOT_SUPPORTED),
        (Tiled { layout: [0, 7, 0, 0], ..good }, INVALID_VALUE),
        (Tiled { layout: [0, 3, 4, 0], ..good }, INVALID_VALUE),
        (Tiled { layout: [0, 3, 0, 2], ..good }, INVALID_VALUE),
        (Tiled { element: 0, block: [64, 8], layout: [0, 3, 0, 1], ..good }, INVALID_VALUE),
    ] {
        assert_eq!(encode(&mut map, &wrong), code);
    }
    let mut two = [Map([0; 16]); 2];
    let unaligned = unsafe { (&raw mut two).byte_add(8) };
    assert_eq!(encode(unaligned.cast(), &good), INVALID_VALUE);
    assert_eq!(encode(std::ptr::null_mut(), &good), INVALID_VALUE);
    let no_sizes = unsafe {
        let (stride, block, steps) = (&good.stride, good.block.as_ptr(), good.steps.as_ptr());
        cuTensorMapEncodeTiled(&mut map, 9, 2, address, std::ptr::null(), stride, block, steps, 0, 3, 0, 0)
    };
    assert_eq!(no_sizes, INVALID_VALUE);
    assert_eq!(map.0, [0; 16], "a refused call writes nothing");
    assert_eq!(unsafe { cuTensorMapReplaceAddress(&mut map, address) }, INVALID_VALUE, "not a map");
}
