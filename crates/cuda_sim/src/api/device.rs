//! Devices and their attributes.

use crate::code::{Answer, Code};
use crate::entry::{api, name, put, put_if, put_text};
use crate::model::{Device, Handle};
use crate::state::state;
use std::ffi::c_char;

/// Width of the memory bus in bits; with the clock it gives the profile's bandwidth.
const BUS_BITS: i32 = 6144;
/// First number that is no attribute of a device.
const ATTRIBUTES: u32 = 162;

/// The properties of old programs, `CUdevprop`.
#[repr(C)]
pub struct Properties {
    max_threads_per_block: i32,
    max_threads_dim: [i32; 3],
    max_grid_size: [i32; 3],
    shared_mem_per_block: i32,
    total_constant_memory: i32,
    warp_size: i32,
    mem_pitch: i32,
    regs_per_block: i32,
    clock_rate: i32,
    texture_align: i32,
}

api! {
    cuDeviceGet(device: *mut i32, ordinal: i32) {
        let number = state()?.device(ordinal)?.number;
        put(device, number as i32)
    }

    cuDeviceGetCount(count: *mut i32) { put(count, state()?.devices.len() as i32) }

    cuDeviceGetName(text: *mut c_char, room: i32, device: i32) {
        let label = format!("Simulated {}", state()?.device(device)?.profile.name);
        put_text(text, room, &label)
    }

    cuDeviceGetUuid(uuid: *mut [u8; 16], device: i32) { put_uuid(uuid, device) }

    cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: i32) { put_uuid(uuid, device) }

    cuDeviceGetLuid(_luid: *mut c_char, _mask: *mut u32, _device: i32) {
        Err(crate::log::unsupported("cuDeviceGetLuid"))
    }

    cuDeviceTotalMem_v2(bytes: *mut usize, device: i32) { put(bytes, state()?.device(device)?.memory as usize) }

    cuDeviceGetAttribute(value: *mut i32, attribute: u32, device: i32) {
        let mut state = state()?;
        put(value, attribute_of(state.device(device)?, attribute)?)
    }

    cuDeviceComputeCapability(major: *mut i32, minor: *mut i32, device: i32) {
        let mut state = state()?;
        let capability = state.device(device)?.profile.compute_capability;
        put(major, capability.0 as i32)?;
        put(minor, capability.1 as i32)
    }

    cuDeviceGetProperties(properties: *mut Properties, device: i32) {
        let mut state = state()?;
        let device = state.device(device)?;
        let of = |attribute| attribute_of(device, attribute).unwrap_or(0);
        put(properties, Properties {
            max_threads_per_block: of(1),
            max_threads_dim: [of(2), of(3), of(4)],
            max_grid_size: [of(5), of(6), of(7)],
            shared_mem_per_block: of(8),
            total_constant_memory: of(9),
            warp_size: of(10),
            mem_pitch: of(11),
            regs_per_block: of(12),
            clock_rate: of(13),
            texture_align: of(14),
        })
    }

    cuDeviceGetPCIBusId(text: *mut c_char, room: i32, device: i32) {
        let number = state()?.device(device)?.number;
        put_text(text, room, &bus_id(number))
    }

    cuDeviceGetByPCIBusId(device: *mut i32, text: *const c_char) {
        let wanted = name(text)?;
        let count = state()?.devices.len();
        let found = (0..count).find(|number| bus_id(*number).eq_ignore_ascii_case(&wanted));
        put(device, found.ok_or(Code::INVALID_DEVICE)? as i32)
    }

    cuDeviceGetTexture1DLinearMaxWidth(width: *mut usize, _format: u32, _channels: u32, device: i32) {
        state()?.device(device)?;
        put(width, 1 << 28)
    }

    cuDeviceGetExecAffinitySupport(value: *mut i32, _kind: u32, device: i32) {
        state()?.device(device)?;
        put(value, 0)
    }

    cuDeviceGetDefaultMemPool(pool: *mut Handle, device: i32) { put(pool, state()?.device(device)?.default_pool) }

    cuDeviceGetMemPool(pool: *mut Handle, device: i32) { put(pool, state()?.device(device)?.pool) }

    cuDeviceSetMemPool(device: i32, pool: Handle) {
        let mut state = state()?;
        if !state.pools.contains_key(&pool) {
            return Err(Code::INVALID_VALUE);
        }
        state.device(device)?.pool = pool;
        Ok(())
    }

    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let mut state = state()?;
        let device = state.current_device()?;
        put_if(free, device.memory.saturating_sub(device.used) as usize);
        put_if(total, device.memory as usize);
        Ok(())
    }
}

/// The address on a bus of its own.
fn bus_id(number: usize) -> String {
    format!("0000:{:02x}:00.0", number + 1)
}

/// A number that is the same in every run, so that caches of compiled code are found again.
unsafe fn put_uuid(place: *mut [u8; 16], device: i32) -> Answer {
    let number = state()?.device(device)?.number;
    let mut uuid = *b"rustwarp-sim-\0\0\0";
    uuid[15] = number as u8;
    // SAFETY: the caller's pointer.
    unsafe { put(place, uuid) }
}

/// Returns an attribute. What the simulator does not have is 0, also where the profile's GPU has it: virtual memory
/// management, handles for other processes.
fn attribute_of(device: &Device, attribute: u32) -> Answer<i32> {
    let profile = &device.profile;
    let clock = |mhz: f64| (mhz * 1e3) as i32;
    let large = |bytes: u64| i32::try_from(bytes).unwrap_or(i32::MAX);
    Ok(match attribute {
        1 => profile.threads_per_block as i32,
        2 | 3 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65_535,
        8 => large(profile.shared_per_block.min(48 << 10)),
        9 => 65_536,
        10 => 32,
        11 => i32::MAX,
        12 => profile.registers_per_block as i32,
        13 => clock(f64::from(profile.clock_mhz)),
        14 | 30 => 512,
        15 | 19 | 31 | 32 | 41 => 1,
        16 => profile.multiprocessors as i32,
        // Textures: extents of one, two and three dimensions, with layers, to gather, of cubes, and of linear memory.
        21 | 22 => 131_072,
        23 => 65_536,
        24..=26 => 16_384,
        27 | 28 | 42 | 45 | 46 | 52 | 53 => 32_768,
        29 | 43 => 2048,
        47 | 48 => 8192,
        49 => 32_768,
        54 => 2046,
        69 => 1 << 28,
        70 => 131_072,
        71 => 65_000,
        72 => 2_097_120,
        73 | 74 | 77 => 32_768,
        // Surfaces, likewise.
        55 | 61 | 63 | 64 | 66 | 67 => 32_768,
        56 => 131_072,
        57 => 65_536,
        58..=60 => 16_384,
        62 | 65 => 2048,
        68 => 2046,
        33 => device.number as i32 + 1,
        36 => clock(profile.memory_gbps * 1e3 * 8.0 / 2.0 / f64::from(BUS_BITS)),
        37 => BUS_BITS,
        38 => large(profile.l2_bytes),
        39 => profile.threads_per_multiprocessor as i32,
        40 => 3,
        51 => 32,
        75 => profile.compute_capability.0 as i32,
        76 => profile.compute_capability.1 as i32,
        // Stream priorities, L1 for globals and locals, managed memory, preemption, host pointers of registered memory,
        // cooperative launches, host registration, memory pools.
        78..=80 | 83 | 89 | 90 | 91 | 95 | 99 | 115 => 1,
        81 => large(profile.shared_per_multiprocessor),
        82 => profile.registers_per_multiprocessor as i32,
        87 if profile.fp64_gflops > 0.0 => (profile.fp32_gflops / profile.fp64_gflops).round() as i32,
        97 => large(profile.shared_per_block),
        106 => profile.blocks_per_multiprocessor as i32,
        111 => large(profile.shared_reserved),
        120 => i32::from(profile.cluster_blocks > 1),
        126 => 1,
        // Tensor maps.
        127 => i32::from(profile.compute_capability.0 >= 9),
        // The memory is no NUMA node, and neither is that of the host.
        131 | 134 => -1,
        attribute if (1..ATTRIBUTES).contains(&attribute) => 0,
        _ => return Err(Code::INVALID_VALUE),
    })
}
