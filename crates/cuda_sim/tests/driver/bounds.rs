//! Sizes and memory that no program should name: error codes, and no crash.

use super::*;

const INVALID_VALUE: u32 = 1;
/// Flag of a registration: kernels only read the memory.
const READ_ONLY: u32 = 8;

/// A page of memory with these rights.
fn page(rights: i32) -> u64 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, rights, flags, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    page as u64
}

#[test]
fn memory_that_cannot_be_written_is_not_registered() {
    start();
    let (constant, hidden) = (page(libc::PROT_READ), page(libc::PROT_NONE));
    assert_eq!(unsafe { cuMemHostRegister_v2(constant, 4096, 0) }, INVALID_VALUE);
    assert_eq!(unsafe { cuMemHostRegister_v2(hidden, 4096, 0) }, INVALID_VALUE);
    assert_eq!(unsafe { cuMemHostRegister_v2(constant, 4096, READ_ONLY) }, 801, "as the device's attribute says");
}

/// A registration names memory, once, with flags that exist; its end names a registration.
#[test]
fn registrations_that_are_wrong() {
    start();
    let (register, unregister) = (
        |address, bytes, flags| unsafe { cuMemHostRegister_v2(address, bytes, flags) },
        |address| unsafe { cuMemHostUnregister(address) },
    );
    let memory = page(libc::PROT_READ | libc::PROT_WRITE);
    assert_eq!((register(0, 4096, 0), register(memory, 0, 0)), (INVALID_VALUE, INVALID_VALUE));
    assert_eq!((register(memory, 4096, 16), register(memory, 4096, u32::MAX)), (INVALID_VALUE, INVALID_VALUE));
    assert_eq!(register(memory, 4096, 4), 801, "memory of another device");
    assert_eq!(register(memory, usize::MAX, 0), INVALID_VALUE);
    assert_eq!((unregister(memory), unregister(0)), (713, 713));
    ok(register(memory + 1024, 1024, 3));
    for (start, bytes) in [(1024, 1024), (0, 1025), (0, 4096), (1100, 8), (2047, 100), (1024, 8)] {
        assert_eq!(register(memory + start, bytes, 0), 712, "{bytes} bytes at {start}");
    }
    ok(register(memory, 1024, 0));
    ok(register(memory + 2048, 2048, 0));
    assert_eq!(unregister(memory + 1025), 713, "it is not the start");
    [0, 1024, 2048].into_iter().for_each(|start| ok(unregister(memory + start)));
    assert_eq!(unregister(memory), 713);
    let mut pinned = 0;
    ok(unsafe { cuMemHostAlloc(&mut pinned, 4096, 0) });
    assert_eq!((register(pinned, 4096, 0), unregister(pinned)), (712, 713));
    ok(unsafe { cuMemFreeHost(pinned) });
}

/// A copy names a part that an array has: its rows do not run on into the next.
#[test]
fn copies_outside_of_an_array() {
    start();
    let (mut array, host) = (0, [7_u32; 64]);
    ok(unsafe { cuArrayCreate_v2(&mut array, &ArrayDescriptor { width: 4, height: 4, format: 3, channels: 1 }) });
    let from = Plane { kind: 1, host: host.as_ptr() as u64, pitch: 32, ..Plane::default() };
    let copy = |[x, y, width, height]: [usize; 4]| {
        let to = Plane { kind: 3, array, x, y, ..Plane::default() };
        unsafe { cuMemcpy2D_v2(&Copy2D { from, to, width, height }) }
    };
    ok(copy([4, 1, 12, 3]));
    for outside in [[0, 0, 20, 1], [4, 0, 16, 1], [0, 1, 4, 4], [0, 4, 4, 1], [usize::MAX, 0, 4, 1]] {
        assert_eq!(copy(outside), INVALID_VALUE, "{outside:?}");
    }
    let huge = ArrayDescriptor { width: usize::MAX / 2, height: usize::MAX / 2, format: 3, channels: 4 };
    assert_eq!(unsafe { cuArrayCreate_v2(&mut array, &huge) }, 2);
}

/// Sizes of rows times their number that no integer has.
#[test]
fn pitches_without_bounds() {
    start();
    let (mut address, mut pitch) = (0, 0);
    assert_eq!(unsafe { cuMemAllocPitch_v2(&mut address, &mut pitch, usize::MAX, 2, 4) }, 2);
    assert_eq!(unsafe { cuMemAllocPitch_v2(&mut address, &mut pitch, 512, usize::MAX / 256, 4) }, 2);
    // Rows that are further apart than 4 GiB, in memory that the system gives when it is used.
    let far = (4 << 30) + 4096;
    let mut managed = 0;
    ok(unsafe { cuMemAllocManaged(&mut managed, far + 8, 1) });
    let data = words([5; 32]);
    let from = Plane { kind: 2, device: data, pitch: 8, ..Plane::default() };
    let to = Plane { kind: 4, device: managed, pitch: far, ..Plane::default() };
    ok(unsafe { cuMemcpy2D_v2(&Copy2D { from, to, width: 8, height: 2 }) });
    ok(unsafe { cuMemsetD2D8_v2(managed, far, 9, 4, 2) });
    ok(unsafe { cuCtxSynchronize() });
    let word = |at: u64| unsafe { (at as usize as *const u32).read() };
    assert_eq!([0, 4, far as u64, far as u64 + 4].map(|at| word(managed + at)), [0x0909_0909, 5, 0x0909_0909, 5]);
    ok(unsafe { cuMemFree_v2(managed) });
}

/// A kernel that accesses registered memory after the program has unmapped it faults; the program does not.
#[test]
fn registered_memory_that_is_unmapped() {
    start();
    let (add, memory) = (function(module(), "add"), page(libc::PROT_READ | libc::PROT_WRITE));
    ok(unsafe { cuMemHostRegister_v2(memory, 4096, 0) });
    ok(launch(add, 0, &[memory, 1]));
    ok(unsafe { cuCtxSynchronize() });
    assert_eq!(unsafe { libc::munmap(memory as *mut libc::c_void, 4096) }, 0);
    ok(launch(add, 0, &[memory, 1]));
    assert_eq!(unsafe { cuCtxSynchronize() }, 700);
    let entry = reported(|entry| entry["code"] == "host-unmapped").expect("it is in the report");
    assert!(entry["title"].as_str().is_some_and(|title| title.contains("cuMemHostRegister")), "{entry}");
}

#[test]
fn fills_without_bounds() {
    start();
    let data = words([3; 32]);
    ok(unsafe { cuMemsetD2D8_v2(data, 0, 1, 0, usize::MAX) });
    assert_eq!(unsafe { cuMemsetD2D8_v2(data, 0, 1, 1, usize::MAX) }, INVALID_VALUE, "rows overlap");
    assert_eq!(unsafe { cuMemsetD2D8_v2(data, usize::MAX / 2, 1, 1, 4) }, INVALID_VALUE);
    assert_eq!(unsafe { cuMemsetD32_v2(data, 1, usize::MAX / 2) }, INVALID_VALUE);
    assert_eq!(read(data), [3; 32]);
}

#[test]
fn copies_without_bounds() {
    start();
    let data = words([3; 32]);
    let host = [0_u32; 32];
    let from = Plane { kind: 1, host: host.as_ptr() as u64, pitch: 8, ..Plane::default() };
    let to = Plane { kind: 2, device: data, pitch: 8, ..Plane::default() };
    ok(unsafe { cuMemcpy2D_v2(&Copy2D { from, to, width: 0, height: usize::MAX }) });
    for copy in [
        Copy2D { from, to, width: 8, height: usize::MAX },
        Copy2D { from, to: Plane { pitch: usize::MAX / 2, ..to }, width: 8, height: 4 },
        Copy2D { from: Plane { y: usize::MAX / 4, ..from }, to, width: 8, height: 1 },
        Copy2D { from: Plane { x: usize::MAX, ..from }, to, width: 8, height: 1 },
    ] {
        assert_eq!(unsafe { cuMemcpy2D_v2(&copy) }, INVALID_VALUE);
    }
    assert_eq!(unsafe { cuMemcpyDtoH_v2(host.as_ptr() as u64, data, usize::MAX) }, INVALID_VALUE);
    assert_eq!(read(data), [3; 32]);
}

/// More bytes than there is memory.
#[test]
fn code_without_bounds() {
    start();
    let (mut linker, null, none) = (0, std::ptr::null(), std::ptr::null());
    ok(unsafe { cuLinkCreate_v2(0, null, none, &mut linker) });
    for bytes in [usize::MAX, usize::MAX / 2, 1 << 46] {
        let code = unsafe { cuLinkAddData_v2(linker, 1, PTX.as_ptr(), bytes, c"part".as_ptr(), 0, null, none) };
        assert_eq!(code, 2, "{bytes:#x}");
    }
    ok(unsafe { cuLinkDestroy(linker) });
}

/// Nodes in an order that their dependencies reverse.
#[test]
fn a_long_chain_of_nodes() {
    start();
    let (mut graph, mut executable) = (0, 0);
    ok(unsafe { cuGraphCreate(&mut graph, 0) });
    let nodes: Vec<usize> = (0..30_000)
        .map(|_| {
            let mut node = 0;
            ok(unsafe { cuGraphAddEmptyNode(&mut node, graph, std::ptr::null(), 0) });
            node
        })
        .collect();
    ok(unsafe { cuGraphAddDependencies(graph, nodes[1..].as_ptr(), nodes.as_ptr(), nodes.len() - 1) });
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
    ok(unsafe { cuGraphAddDependencies(graph, nodes.as_ptr(), nodes[nodes.len() - 1..].as_ptr(), 1) });
    assert_eq!(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) }, INVALID_VALUE, "a cycle");
}
