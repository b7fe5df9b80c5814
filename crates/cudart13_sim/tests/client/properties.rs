//! Properties of devices: the offsets are those that a C compiler computes from `driver_types.h` of CUDA 12.9 and 13.5.

use crate::runtime::both;

/// Offsets of maxThreadsPerBlock, major, multiProcessorCount, sharedMemPerBlockOptin, clusterLaunch; the size.
const OFFSETS: [(i32, [usize; 5], usize); 2] =
    [(12, [320, 360, 388, 696, 772], 1032), (13, [320, 360, 384, 672, 748], 1008)];

#[test]
fn properties_in_both_layouts() {
    for (runtime, (version, offsets, size)) in both().iter().zip(OFFSETS) {
        assert_eq!(runtime.version, version);
        let mut all = vec![0xab_u8; size + 8];
        let name = if version == 12 { "cudaGetDeviceProperties_v2" } else { "cudaGetDeviceProperties" };
        runtime.ok(runtime.call(name, [all.as_mut_ptr() as usize, 0, 0]));
        let word = |at: usize| i32::from_ne_bytes(all[at..][..4].try_into().expect("four bytes"));
        assert_eq!(offsets.map(word), [1024, 9, 132, 227 * 1024, 1]);
        assert!(all.starts_with(b"Simulated H200\0"));
        assert!(all[size - 1] == 0 && all[size..].iter().all(|byte| *byte == 0xab));
        assert_eq!(runtime.call(name, [all.as_mut_ptr() as usize, 5, 0]), 101);
        assert_eq!(runtime.call(name, [0, 0, 0]), 1);
    }
}
