//! Both kernels that transpose elements of one and two bytes, whatever the library would choose, on the simulator with
//! every checker on; and what the library chooses.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::operator::Pod;
use kernels_gpu::transpose::{BLOCK, TILE, narrow, small};
use rustwarp::Device;
use rustwarp::backend::{Buffer, Choice, Shape};
use rustwarp::transpose::Plan;
use tests::checked::device as sim;
use tests::matrix::{Bench, bench};

type Kernel<T> = for<'a> fn(Slice<'a, T>, u32, u32, PtrMut<'a, T>) -> Call<'a>;

/// Transposes matrices that start at the first element of a buffer and later ones.
fn transposes<T: Pod + PartialEq>(kernel: Kernel<T>, side: u32, element: impl Fn(usize) -> T) {
    let Bench { device, module } = bench(Choice::Sim, "transpose");
    let shapes = [[1, 1], [1, 33], [257, 1], [31, 32], [64, 64], [65, 127], [128, 192], [67, 130], [130, 257]];
    for ([rows, columns], start) in shapes.into_iter().flat_map(|shape| [0, 1, 2, 5].map(|start| (shape, start))) {
        let n = (rows * columns) as usize;
        let values: Vec<T> = (0..n + start).map(&element).collect();
        let input = Buffer::from_slice(&*device, &values, "matrix").expect("memory");
        let output = Buffer::<T>::uninit(&*device, n, "output").expect("memory");
        let call = kernel(input.slice(n + start).skip(start), rows, columns, output.ptr());
        let tiles = rows.div_ceil(side) * columns.div_ceil(side);
        // SAFETY: matrices of this size, the kernel's block, and one for each tile.
        unsafe { device.launch(module, &call, Shape::linear(tiles, BLOCK)) }.expect("a launch");
        let at = |i: usize| values[start + i % rows as usize * columns as usize + i / rows as usize];
        let result = output.read(n).expect("the result");
        assert!(result.iter().enumerate().all(|(i, x)| *x == at(i)), "{rows}x{columns} from {start}");
    }
    assert!(device.observed().expect("a simulator").findings.is_empty());
}

#[test]
fn by_words() {
    transposes::<u8>(narrow::transpose_narrow::<u8>, narrow::side(1), |i| (i * 7 % 251) as u8);
    transposes::<u16>(narrow::transpose_narrow::<u16>, narrow::side(2), |i| (i * 7 % 65_521) as u16);
}

#[test]
fn by_elements() {
    transposes::<u8>(small::transpose_small::<u8>, TILE, |i| (i * 7 % 251) as u8);
    transposes::<u16>(small::transpose_small::<u16>, TILE, |i| (i * 7 % 65_521) as u16);
}

/// On 16 multiprocessors: 16 tiles of whole words, and of others 64 for bytes and 256 for elements of two.
#[test]
fn matrices_of_many_tiles_are_transposed_by_words() {
    let device = sim();
    assert_eq!(device.info().multiprocessors, 16);
    let bytes = |shape| entry::<u8>(&device, shape);
    assert_eq!(bytes([512, 512]), "transpose_narrow_u8");
    assert_eq!(bytes([512, 384]), "transpose_small_u8");
    assert_eq!(bytes([1023, 1021]), "transpose_narrow_u8");
    assert_eq!(bytes([895, 1021]), "transpose_small_u8");
    let halves = |shape| entry::<u16>(&device, shape);
    assert_eq!(halves([256, 256]), "transpose_narrow_u16");
    assert_eq!(halves([192, 256]), "transpose_small_u16");
    assert_eq!(halves([1023, 1021]), "transpose_narrow_u16");
    assert_eq!(halves([959, 1021]), "transpose_small_u16");
}

/// Name of the kernel that the library launches for a matrix of this shape.
fn entry<T: Pod>(device: &Device, shape: [usize; 2]) -> String {
    let memory = || device.zeros::<T>(shape[0] * shape[1]).expect("memory");
    let (plan, input, output) = (Plan::<T>::new(device, shape).expect("a plan"), memory(), memory());
    plan.prepare(&input, &output).expect("a launch").call().entry.to_string()
}
