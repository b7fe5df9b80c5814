//! Memory: device, host, arrays, and addresses that are wrong.

use super::*;

const INVALID_VALUE: u32 = 1;

#[test]
fn sizes_and_addresses_that_are_wrong() {
    start();
    let mut address = 0;
    assert_eq!(unsafe { cuMemAlloc_v2(&mut address, 0) }, INVALID_VALUE);
    assert_eq!(unsafe { cuMemAlloc_v2(std::ptr::null_mut(), 4) }, INVALID_VALUE);
    assert_eq!(unsafe { cuMemAlloc_v2(&mut address, usize::MAX / 2) }, 2);
    ok(unsafe { cuMemFree_v2(0) });
    let data = words([7; 32]);
    let mut bytes = [0_u8; 256];
    // Past the end, from memory that does not exist, and to it.
    assert_eq!(unsafe { cuMemcpyDtoH_v2(bytes.as_mut_ptr() as u64, data, 129) }, INVALID_VALUE);
    assert_eq!(unsafe { cuMemcpyHtoD_v2(data, 64, 16) }, INVALID_VALUE);
    assert_eq!(unsafe { cuMemcpyDtoH_v2(u64::MAX - 100, data, 16) }, INVALID_VALUE);
    assert_eq!(unsafe { cuMemcpyDtoH_v2(bytes.as_mut_ptr() as u64, 0x1234, 16) }, INVALID_VALUE);
    ok(unsafe { cuMemcpyDtoH_v2(0, 0, 0) });
    assert_eq!(unsafe { cuMemFree_v2(data + 4) }, INVALID_VALUE);
    ok(unsafe { cuMemFree_v2(data) });
    assert_eq!(unsafe { cuMemFree_v2(data) }, INVALID_VALUE);
    assert_eq!(unsafe { cuMemcpyDtoH_v2(bytes.as_mut_ptr() as u64, data, 4) }, INVALID_VALUE);
}

/// Kernels and the host see the same bytes at the same address.
#[test]
fn memory_of_the_host() {
    start();
    let add = function(module(), "add");
    let (mut managed, mut pinned) = (0, 0);
    ok(unsafe { cuMemAllocManaged(&mut managed, 128, 1) });
    ok(unsafe { cuMemHostAlloc(&mut pinned, 128, 2) });
    // An address that is a multiple of 4 only.
    let mut own = [0_u32; 34];
    let registered = own.as_mut_ptr() as u64 + if (own.as_ptr() as usize).is_multiple_of(8) { 4 } else { 0 };
    ok(unsafe { cuMemHostRegister_v2(registered, 128, 0) });
    assert_eq!(unsafe { cuMemHostRegister_v2(registered, 128, 0) }, 712);
    for (address, kind, is_managed) in [(managed, 2, 1), (pinned, 1, 0), (registered, 1, 0)] {
        let host = address as *mut [u32; 32];
        unsafe { host.write([3; 32]) };
        ok(launch(add, 0, &[address, 4]));
        ok(unsafe { cuCtxSynchronize() });
        assert_eq!(unsafe { host.read() }, [7; 32]);
        let (mut found, mut managed) = (0_i32, 9_u8);
        ok(unsafe { cuPointerGetAttribute((&raw mut found).cast(), 2, address + 8) });
        ok(unsafe { cuPointerGetAttribute((&raw mut managed).cast(), 8, address + 8) });
        assert_eq!((found, managed), (kind, is_managed));
    }
    ok(unsafe { cuMemHostUnregister(registered) });
    ok(launch(add, 0, &[registered, 4]));
    assert_eq!(unsafe { cuCtxSynchronize() }, 700, "no kernel reaches memory that is not registered");
    start();
    ok(unsafe { cuMemFreeHost(pinned) });
    assert_eq!(unsafe { cuMemFreeHost(pinned) }, INVALID_VALUE);
    ok(unsafe { cuMemFree_v2(managed) });
}

/// A copy between addresses of any kind, which the driver tells apart.
#[test]
fn copies_by_address() {
    start();
    let (from, to) = (words([5; 32]), words([0; 32]));
    let mut host = [0_u32; 32];
    ok(unsafe { cuMemcpy(to, from, 128) });
    ok(unsafe { cuMemcpy(host.as_mut_ptr() as u64, to, 128) });
    assert_eq!(host, [5; 32]);
    host = [6; 32];
    ok(unsafe { cuMemcpy(from, host.as_ptr() as u64, 128) });
    assert_eq!(read(from), [6; 32]);
}

#[test]
fn rows_of_arrays_and_of_pitched_memory() {
    start();
    let mut array = 0;
    ok(unsafe { cuArrayCreate_v2(&mut array, &ArrayDescriptor { width: 5, height: 3, format: 3, channels: 1 }) });
    let source: Vec<u32> = (0..24).collect();
    // Three rows of five words, of rows of eight.
    let from = Plane { kind: 1, host: source.as_ptr() as u64, pitch: 32, ..Plane::default() };
    let to = Plane { kind: 3, array, ..Plane::default() };
    ok(unsafe { cuMemcpy2D_v2(&Copy2D { from, to, width: 20, height: 3 }) });
    // Two words of the last two rows, to memory with rows of 16 bytes.
    let device = words([99; 32]);
    let from = Plane { x: 8, y: 1, kind: 3, array, ..Plane::default() };
    let to = Plane { kind: 2, device, pitch: 16, ..Plane::default() };
    ok(unsafe { cuMemcpy2D_v2(&Copy2D { from, to, width: 8, height: 2 }) });
    assert_eq!(read(device)[..8], [10, 11, 99, 99, 18, 19, 99, 99]);
    let narrow = Copy2D { from: Plane { x: 0, y: 0, ..from }, to: Plane { pitch: 4, ..to }, width: 8, height: 2 };
    assert_eq!(unsafe { cuMemcpy2D_v2(&narrow) }, INVALID_VALUE);
    ok(unsafe { cuArrayDestroy(array) });
    assert_eq!(unsafe { cuArrayDestroy(array) }, 400);
}

/// A kernel of one device reaches another's memory only after its context has asked for it.
#[test]
fn memory_of_another_device() {
    let first = start();
    let data = words([1; 32]);
    let mut second = 0;
    ok(unsafe { cuCtxCreate_v2(&mut second, 0, 1) });
    let module_there = module();
    let add = function(module_there, "add");
    ok(unsafe { cuCtxEnablePeerAccess(first, 0) });
    assert_eq!(unsafe { cuCtxEnablePeerAccess(first, 0) }, 704);
    ok(launch(add, 0, &[data, 1]));
    // Memory that is allocated later is shared, too.
    ok(unsafe { cuCtxSetCurrent(first) });
    let later = words([5; 32]);
    ok(unsafe { cuCtxSetCurrent(second) });
    ok(launch(add, 0, &[later, 2]));
    assert_eq!((read(data), read(later)), ([2; 32], [7; 32]));
    let mut third = 0;
    ok(unsafe { cuCtxCreate_v2(&mut third, 0, 0) });
    let here = function(module(), "add");
    ok(unsafe { cuCtxSetCurrent(second) });
    let there = words([0; 32]);
    ok(unsafe { cuCtxSetCurrent(third) });
    ok(launch(here, 0, &[there, 1]));
    assert_eq!(unsafe { cuCtxSynchronize() }, 700, "device 0 has not asked for device 1's memory");
}

#[test]
fn memory_in_stream_order() {
    start();
    let (stream, add) = (stream(), function(module(), "add"));
    let mut address = 0;
    ok(unsafe { cuMemAllocAsync(&mut address, 128, stream) });
    ok(unsafe { cuMemsetD32Async(address, 0x0102_0304, 32, stream) });
    ok(launch(add, stream, &[address, 1]));
    assert_eq!(read(address), [0x0102_0305; 32]);
    ok(unsafe { cuMemFreeAsync(address, stream) });
    assert_eq!(unsafe { cuMemFreeAsync(address, stream) }, INVALID_VALUE);
    ok(unsafe { cuStreamDestroy_v2(stream) });
    assert_eq!(unsafe { cuStreamQuery(stream) }, 400);
}
