//! Texture and surface objects.

use crate::runtime::both;

type Create = unsafe extern "C" fn(*mut u64, *const [u64; 18], *const [u32; 18], usize) -> u32;

#[test]
fn an_object_over_linear_memory() {
    for runtime in both() {
        let (mut address, mut texture) = (0_u64, 0_u64);
        runtime.ok(runtime.call("cudaMalloc", [&raw mut address as usize, 64, 0]));
        // Linear memory of eight elements of two integers: `cudaResourceDesc`, of which CUDA 12 has 64 bytes.
        let mut resource = [0_u64; 18];
        resource[..6].copy_from_slice(&[2, address, 32 | 32 << 32, 0, 0, 64]);
        let mut sampling = [0_u32; 18];
        // Clamped on all axes.
        sampling[..3].fill(1);
        let create: Create = runtime.get("cudaCreateTextureObject");
        // SAFETY: the structures have the sizes of the header.
        unsafe { runtime.ok(create(&mut texture, &resource, &sampling, 0)) };
        let mut known = [0xab_u8; 144 + 8];
        runtime
            .ok(runtime.call("cudaGetTextureObjectResourceDesc", [known.as_mut_ptr() as usize, texture as usize, 0]));
        let size = if runtime.version == 12 { 64 } else { 144 };
        assert!(known[size..].iter().all(|byte| *byte == 0xab), "{}", runtime.version);
        let word = |at: usize| u64::from_ne_bytes(known[at..][..8].try_into().expect("eight bytes"));
        assert_eq!((known[0], word(8), word(16), word(40)), (2, address, 32 | 32 << 32, 64));
        let mut back = [7_u32; 18];
        runtime.ok(runtime.call("cudaGetTextureObjectTextureDesc", [back.as_mut_ptr() as usize, texture as usize, 0]));
        assert_eq!(back, sampling);
        runtime.ok(runtime.call("cudaDestroyTextureObject", [texture as usize, 0, 0]));
        assert_eq!(runtime.call("cudaDestroyTextureObject", [texture as usize, 0, 0]), 1);
        // Surfaces need an array.
        assert_eq!(
            runtime.call("cudaCreateSurfaceObject", [&raw mut texture as usize, resource.as_ptr() as usize, 0]),
            1
        );
        resource[0] = 1;
        // SAFETY: as above.
        assert_eq!(unsafe { create(&mut texture, &resource, &sampling, 0) }, 1, "a mipmapped array");
        runtime.ok(runtime.call("cudaFree", [address as usize, 0, 0]));
    }
}
