//! Wide, volatile and cache-hinted loads and stores.

use cuda_std::launch::Scalar;
use cuda_std::memory::*;
use cuda_std::prelude::*;

/// Copies 16 bytes per thread.
#[kernel]
pub unsafe fn memory_vector_f32(input: *const f32, out: *mut f32) {
    let i = thread::global_index();
    // SAFETY: both arrays are aligned to 16 bytes and have four values per thread.
    unsafe { F32x4::load(input.cast::<F32x4>().add(i)).store(out.cast::<F32x4>().add(i)) };
}

/// Copies 16 bytes per thread.
#[kernel]
pub unsafe fn memory_vector_f64(input: *const f64, out: *mut f64) {
    let i = thread::global_index();
    // SAFETY: both arrays are aligned to 16 bytes and have two values per thread.
    unsafe { F64x2::load(input.cast::<F64x2>().add(i)).store(out.cast::<F64x2>().add(i)) };
}

/// Copies 16 bytes per thread.
#[kernel]
pub unsafe fn memory_vector_u8(input: *const u8, out: *mut u8) {
    let i = thread::global_index();
    // SAFETY: both arrays are aligned to 16 bytes and have sixteen values per thread.
    unsafe { Vector::<u8, 16>::load(input.cast::<Vector<u8, 16>>().add(i)).store(out.cast::<Vector<u8, 16>>().add(i)) };
}

/// The sum of each thread's share of `input`; the first thread also adds the values outside the vectors.
#[kernel]
pub unsafe fn memory_split(input: &[u32], out: *mut u32) {
    let (head, vectors, tail) = U32x4::split(input);
    let mut sum = 0;
    let mut i = thread::global_index();
    while i < vectors.len() {
        // SAFETY: `i` is below the number of vectors.
        let Vector([a, b, c, d]) = unsafe { Vector::load(vectors.as_ptr().add(i)) };
        sum += a + b + c + d;
        i += thread::grid_stride();
    }
    if thread::first() {
        sum += head.iter().sum::<u32>() + tail.iter().sum::<u32>();
    }
    // SAFETY: `out` has one value per thread.
    unsafe { *out.add(thread::global_index()) = sum };
}

/// The result of `parts` for `input`, then the words between its first and last boundary, by one thread.
#[kernel(allow(local_memory))]
pub unsafe fn memory_split_words(input: &[u8], out: *mut u32) {
    let (head, vectors) = Vector::<u8, 16>::parts(input.as_ptr(), input.len());
    let (front, words, _) = U32x4::split_words(input);
    // SAFETY: `out` has two values for the parts, one for the bytes before the first boundary, and four for each
    // vector.
    unsafe {
        *out = head as u32;
        *out.add(1) = vectors as u32;
        *out.add(2) = front.iter().map(|&byte| u32::from(byte)).sum();
        let mut i = 0;
        while i < words.len() {
            let Vector([a, b, c, d]) = Vector::load(words.as_ptr().add(i));
            for (k, word) in [a, b, c, d].into_iter().enumerate() {
                *out.add(3 + 4 * i + k) = word;
            }
            i += 1;
        }
    }
}

/// Copies seven elements per thread, each by another kind of load or store.
#[kernel(for T in [u32, i32, f32, u64, i64, f64])]
pub unsafe fn memory_hints<T: Cached + Scalar>(input: *const T, out: *mut T) {
    let first = thread::global_index() * 7;
    // SAFETY: both arrays have seven values per thread.
    unsafe {
        let (from, to) = (input.add(first), out.add(first));
        *to = load_as(Load::ReadOnly, from);
        *to.add(1) = load_as(Load::CacheGlobal, from.add(1));
        *to.add(2) = load_as(Load::Streaming, from.add(2));
        *to.add(3) = load_as(Load::LastUse, from.add(3));
        store_as(Store::CacheGlobal, to.add(4), *from.add(4));
        store_as(Store::Streaming, to.add(5), *from.add(5));
        store_as(Store::WriteThrough, to.add(6), *from.add(6));
    }
}

/// Copies vectors by every kind of load and store, with one thread.
#[kernel]
pub unsafe fn memory_vector_hints(input: *const f32, out: *mut f32, input2: *const u64, out2: *mut u64) {
    // SAFETY: both arrays have four vectors of each kind, aligned to 16 bytes.
    unsafe {
        let (from, to) = (input.cast::<F32x4>(), out.cast::<F32x4>());
        load_as(Load::ReadOnly, from).store(to);
        store_as(Store::Streaming, to.add(1), load_as(Load::CacheGlobal, from.add(1)));
        store_as(Store::WriteThrough, to.add(2), load_as(Load::Streaming, from.add(2)));
        store_as(Store::CacheGlobal, to.add(3), load_as(Load::LastUse, from.add(3)));
        let (from, to) = (input2.cast::<U64x2>(), out2.cast::<U64x2>());
        load_as(Load::ReadOnly, from).store(to);
        store_as(Store::Streaming, to.add(1), load_as(Load::CacheGlobal, from.add(1)));
        store_as(Store::WriteThrough, to.add(2), load_as(Load::Streaming, from.add(2)));
        store_as(Store::CacheGlobal, to.add(3), load_as(Load::LastUse, from.add(3)));
    }
}

/// Copies a warp's values of one size through shared memory by three groups of asynchronous copies; every third value
/// of the second is replaced by 0, and of the third by that of the first.
#[kernel(for WORDS in [1, 2, 4])]
pub unsafe fn memory_copy_async<const WORDS: usize>(input: *const u32, out: *mut u32) {
    let (tile, i) = (shared::dynamic_shared_mem::<[u32; WORDS]>(), thread::thread_idx_x() as usize);
    let (input, out) = (input.cast::<[u32; WORDS]>(), out.cast::<[u32; WORDS]>());
    let there = i % 3 != 2;
    // SAFETY: the launch has 32 threads, and for each two values of the shared memory and three of both buffers,
    // aligned to their size; each value is copied by one thread, and read by another after the wait and the barrier.
    unsafe {
        let to = SharedAddress::of(tile).add((i * 4 * WORDS) as u32);
        copy_async(to, input.add(i));
        copy_async_commit();
        copy_async_or_zero(to.add(32 * 4 * WORDS as u32), input.add(32 + i), there);
        copy_async_commit();
        copy_async_wait::<1>();
        thread::sync_threads();
        out.add(i).write(tile.add(31 - i).read());
        copy_async_wait::<0>();
        thread::sync_threads();
        out.add(32 + i).write(tile.add(32 + 31 - i).read());
        copy_async_if(to, input.add(64 + i), there);
        copy_async_commit();
        copy_async_wait::<0>();
        thread::sync_threads();
        out.add(64 + i).write(tile.add(31 - i).read());
    }
}

/// Passes four matrices of 8x8 elements of 16 bits through shared memory, in rows of 16 bytes: loads them as they are,
/// then transposed.
#[kernel]
pub unsafe fn memory_matrices(input: *const [u64; 2], out: *mut [u32; 4]) {
    let lane = thread::thread_idx_x() as usize;
    // SAFETY: the launch has 32 threads, with 16 bytes of shared memory and of the input for each, and 32 of the
    // output; a row is written by one lane, and loaded after the barrier.
    unsafe {
        let row = SharedAddress::of(shared::dynamic_shared_mem::<[u64; 2]>()).add(lane as u32 * 16);
        row.store(input.add(lane).read());
        warp::sync_warp(warp::ALL);
        assert_eq!(row.load::<[u64; 2]>(), input.add(lane).read());
        out.add(lane).write(row.load_matrices());
        out.add(32 + lane).write(row.load_matrices_transposed());
    }
}

/// Copies each value plus 1 by volatile accesses.
#[kernel]
pub unsafe fn memory_volatile(input: *const u32, out: *mut u32) {
    let i = thread::global_index();
    // SAFETY: both arrays have one value per thread.
    unsafe { store_volatile(out.add(i), load_volatile(input.add(i)) + 1) };
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, ptr, slice};
    use std::vec::Vec;

    let floats: Vec<f32> = (0..256).map(|i| i as f32 * 1.25).collect();
    let doubles: Vec<f64> = (0..128).map(|i| i as f64 / 3.0).collect();
    let small: Vec<u8> = (0..1024u32).map(|i| (i % 251) as u8).collect();
    let words: Vec<u32> = (0..70).map(|i| i * i).collect();
    let plus_one: Vec<u32> = words.iter().map(|w| w + 1).collect();
    let longs: Vec<u64> = (0..8).map(|i| i << 40 | i).collect();
    let mut cases = std::vec![
        Case::new("memory_vector_f32", 2, 32)
            .input(&floats)
            .output(&floats)
            .calls(|b| memory_vector_f32(ptr(b[0]), out(b[1]))),
        Case::new("memory_vector_f64", 2, 32)
            .input(&doubles)
            .output(&doubles)
            .calls(|b| memory_vector_f64(ptr(b[0]), out(b[1]))),
        Case::new("memory_vector_u8", 2, 32)
            .input(&small)
            .output(&small)
            .calls(|b| memory_vector_u8(ptr(b[0]), out(b[1]))),
        Case::new("memory_vector_hints", 1, 1)
            .input(&floats[..16])
            .output(&floats[..16])
            .input(&longs)
            .output(&longs)
            .calls(|b| memory_vector_hints(ptr(b[0]), out(b[1]), ptr(b[2]), out(b[3]))),
        Case::new("memory_volatile", 1, 70)
            .input(&words)
            .output(&plus_one)
            .calls(|b| memory_volatile(ptr(b[0]), out(b[1]))),
    ];
    for width in [1, 2, 4] {
        let words: Vec<u32> = (0..96 * width as u32).map(|i| i * i + 1).collect();
        let copied = |i: usize| {
            let (group, value, word) = (i / (32 * width), i / width % 32, i % width);
            let from = 31 - value;
            match group {
                1 if from % 3 == 2 => 0,
                2 if from % 3 == 2 => words[from * width + word],
                _ => words[(group * 32 + from) * width + word],
            }
        };
        let expected: Vec<u32> = (0..96 * width).map(copied).collect();
        cases.push(
            Case::new(&std::format!("memory_copy_async of {width} words"), 1, 32)
                .shared(64 * 4 * width as u32)
                .input(&words)
                .output(&expected)
                .calls(move |b| match width {
                    1 => memory_copy_async::<1>(ptr(b[0]), out(b[1])),
                    2 => memory_copy_async::<2>(ptr(b[0]), out(b[1])),
                    _ => memory_copy_async::<4>(ptr(b[0]), out(b[1])),
                }),
        );
    }
    let halves: Vec<u16> = (0..256).map(|i| i * 251).collect();
    // Element `column` of row `row` of a matrix.
    let element = |matrix: usize, row: usize, column: usize| u32::from(halves[matrix * 64 + row * 8 + column]);
    let mut expected = Vec::new();
    for transposed in [false, true] {
        for lane in 0..32 {
            expected.extend((0..4).map(|matrix| {
                let [low, high] = [0, 1].map(|i| match transposed {
                    false => element(matrix, lane / 4, lane % 4 * 2 + i),
                    true => element(matrix, lane % 4 * 2 + i, lane / 4),
                });
                low | high << 16
            }));
        }
    }
    cases.push(
        Case::new("memory_matrices", 1, 32)
            .shared(512)
            .input(&halves)
            .output(&expected)
            .calls(|b| memory_matrices(ptr(b[0]), out(b[1]))),
    );
    // Starts off the 16-byte boundary, and lengths that leave a tail.
    for (skip, len) in [(0usize, 0usize), (0, 70), (1, 69), (3, 2), (2, 61), (4, 64)] {
        let mut sums = [0u32; 64];
        let head = (4 - skip % 4) % 4;
        let shared = &words[skip..skip + len];
        let (front, rest) = shared.split_at(head.min(len));
        let (vectors, tail) = rest.as_chunks::<4>();
        for (i, vector) in vectors.iter().enumerate() {
            sums[i % 64] += vector.iter().sum::<u32>();
        }
        sums[0] += front.iter().chain(tail).sum::<u32>();
        let name = std::format!("memory_split of {len} from {skip}");
        cases.push(
            Case::new(&name, 2, 32)
                .input(&words)
                .output(&sums)
                .calls(move |b| memory_split(slice(b[0], 70).skip(skip).first(len), out(b[1]))),
        );
    }
    for (skip, len) in [(0usize, 64usize), (5, 59), (1, 15), (16, 48), (3, 7)] {
        let shared = &small[skip..skip + len];
        let (front, rest) = shared.split_at(((16 - skip % 16) % 16).min(len));
        let (vectors, _) = rest.as_chunks::<16>();
        let sum = front.iter().map(|&byte| u32::from(byte)).sum();
        let mut expected = std::vec![front.len() as u32, vectors.len() as u32, sum];
        let words = vectors.iter().flat_map(|vector| vector.as_chunks::<4>().0);
        expected.extend(words.map(|word| u32::from_le_bytes(*word)));
        let name = std::format!("memory_split_words of {len} from {skip}");
        cases.push(
            Case::new(&name, 1, 1)
                .input(&small[..64])
                .output(&expected)
                .calls(move |b| memory_split_words(slice(b[0], 64).skip(skip).first(len), out(b[1]))),
        );
    }
    macro_rules! hints {
        ($($t:ident)*) => { $(
            let values: Vec<$t> = (0..7 * 40).map(|i| i as $t * 3 as $t).collect();
            cases.push(
                Case::new(std::concat!("memory_hints of ", stringify!($t)), 1, 40)
                    .input(&values)
                    .output(&values)
                    .calls(|b| memory_hints::<$t>(ptr(b[0]), out(b[1]))),
            );
        )* };
    }
    hints!(u32 i32 f32 u64 i64 f64);
    cases
}
