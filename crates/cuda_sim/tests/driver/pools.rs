//! Memory pools.

use super::*;

const INVALID_VALUE: u32 = 1;
const NOT_SUPPORTED: u32 = 801;
const THRESHOLD: u32 = 4;
const USED: u32 = 7;
const USED_HIGH: u32 = 8;

/// Creates a pool at a location of this type and number, and returns it with the result.
fn pool(kind: u32, id: u32) -> (u32, usize) {
    let (mut pool, mut properties) = (0, [0; 22]);
    properties[0] = 1;
    (properties[2], properties[3]) = (kind, id);
    (unsafe { cuMemPoolCreate(&mut pool, &properties) }, pool)
}

fn attribute(pool: usize, attribute: u32) -> u64 {
    let mut value = 0;
    ok(unsafe { cuMemPoolGetAttribute(pool, attribute, &mut value) });
    value
}

#[test]
fn attributes_of_a_pool() {
    start();
    assert_eq!((pool(0, 0).0, pool(1, 99).0, pool(2, 0).0), (INVALID_VALUE, INVALID_VALUE, NOT_SUPPORTED));
    let (code, pool) = pool(1, 0);
    ok(code);
    assert_eq!(attribute(pool, THRESHOLD), 0);
    ok(unsafe { cuMemPoolSetAttribute(pool, THRESHOLD, &u64::MAX) });
    assert_eq!(attribute(pool, THRESHOLD), u64::MAX);
    let (stream, mut addresses) = (stream(), [0; 2]);
    for address in &mut addresses {
        ok(unsafe { cuMemAllocFromPoolAsync(address, 128, pool, stream) });
    }
    ok(unsafe { cuMemFreeAsync(addresses[0], stream) });
    assert_eq!((attribute(pool, USED), attribute(pool, USED_HIGH)), (128, 256));
    ok(unsafe { cuMemPoolSetAttribute(pool, USED_HIGH, &0) });
    assert_eq!(attribute(pool, USED_HIGH), 128);
    assert_eq!(unsafe { cuMemPoolSetAttribute(pool, USED, &0) }, INVALID_VALUE);
}

/// Kernels of another device reach a pool's memory when the pool allows it, also what was allocated before.
#[test]
fn access_to_a_pool() {
    start();
    let (code, pool) = pool(1, 0);
    ok(code);
    let flags = |device| {
        let mut flags = 9;
        ok(unsafe { cuMemPoolGetAccess(&mut flags, pool, &[1, device]) });
        flags
    };
    assert_eq!((flags(0), flags(3)), (3, 0));
    assert_eq!(unsafe { cuMemPoolSetAccess(pool, &[2, 0, 3], 1) }, NOT_SUPPORTED);
    assert_eq!(unsafe { cuMemPoolSetAccess(pool, &[1, 0, 0], 1) }, INVALID_VALUE, "its own device");
    let mut addresses = [0; 2];
    ok(unsafe { cuMemAllocFromPoolAsync(&mut addresses[0], 128, pool, 0) });
    ok(unsafe { cuMemPoolSetAccess(pool, &[1, 3, 3], 1) });
    ok(unsafe { cuMemAllocFromPoolAsync(&mut addresses[1], 128, pool, 0) });
    ok(unsafe { cuCtxSynchronize() });
    assert_eq!(flags(3), 3);
    let mut there = 0;
    // No other test uses this device.
    ok(unsafe { cuCtxCreate_v2(&mut there, 0, 3) });
    let add = function(module(), "add");
    for address in addresses {
        ok(launch(add, 0, &[address, 1]));
    }
    ok(unsafe { cuCtxSynchronize() });
    ok(unsafe { cuMemPoolSetAccess(pool, &[1, 3, 0], 1) });
    ok(launch(add, 0, &[addresses[0], 1]));
    assert_eq!(unsafe { cuCtxSynchronize() }, 700);
}
