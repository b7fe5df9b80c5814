//! Functions of modules, which are the kernels of libraries, too.

use crate::code::{Answer, Code};
use crate::entry::{api, put, put_if};
use crate::model::{Function, Handle};
use crate::state::{State, state};
use std::ffi::c_char;

/// Attributes of a function.
const MAX_THREADS: u32 = 0;
const SHARED: u32 = 1;
const CONSTANT: u32 = 2;
const LOCAL: u32 = 3;
const REGISTERS: u32 = 4;
const PTX_VERSION: u32 = 5;
const BINARY_VERSION: u32 = 6;
const MAX_DYNAMIC_SHARED: u32 = 8;
const CARVEOUT: u32 = 9;
const CLUSTER_MUST_BE_SET: u32 = 10;
const CLUSTER: std::ops::RangeInclusive<u32> = 11..=13;
const NON_PORTABLE: u32 = 14;
const LAST: u32 = 17;

/// Blocks of a cluster that every device has.
const PORTABLE: u32 = 8;

api! {
    cuFuncGetAttribute(value: *mut i32, attribute: u32, function: Handle) {
        put(value, attribute_of(&*state()?, function, attribute)?)
    }

    cuKernelGetAttribute(value: *mut i32, attribute: u32, kernel: Handle, device: i32) {
        let mut state = state()?;
        state.device(device)?;
        put(value, attribute_of(&state, kernel, attribute)?)
    }

    cuFuncSetAttribute(function: Handle, attribute: u32, value: i32) { set(&mut *state()?, function, attribute, value) }

    cuKernelSetAttribute(attribute: u32, value: i32, kernel: Handle, device: i32) {
        let mut state = state()?;
        state.device(device)?;
        set(&mut state, kernel, attribute, value)
    }

    cuFuncSetCacheConfig(function: Handle, _config: u32) { known(function) }

    cuKernelSetCacheConfig(kernel: Handle, _config: u32, _device: i32) { known(kernel) }

    cuFuncSetSharedMemConfig(function: Handle, _config: u32) { known(function) }

    cuFuncGetModule(module: *mut Handle, function: Handle) {
        put(module, state()?.functions.get(&function).ok_or(Code::INVALID_HANDLE)?.module)
    }

    cuFuncGetName(text: *mut *const c_char, function: Handle) {
        put(text, state()?.functions.get(&function).ok_or(Code::INVALID_HANDLE)?.c_name.as_ptr())
    }

    cuKernelGetName(text: *mut *const c_char, kernel: Handle) {
        put(text, state()?.functions.get(&kernel).ok_or(Code::INVALID_HANDLE)?.c_name.as_ptr())
    }

    cuFuncGetParamInfo(function: Handle, index: usize, offset: *mut usize, bytes: *mut usize) {
        put_parameter(function, index, offset, bytes)
    }

    cuKernelGetParamInfo(kernel: Handle, index: usize, offset: *mut usize, bytes: *mut usize) {
        put_parameter(kernel, index, offset, bytes)
    }

    cuFuncIsLoaded(loaded: *mut u32, function: Handle) { known(function)?; put(loaded, 1) }

    cuFuncLoad(function: Handle) { known(function) }
}

fn known(function: Handle) -> Answer {
    if state()?.functions.contains_key(&function) { Ok(()) } else { Err(Code::INVALID_HANDLE) }
}

fn attribute_of(state: &State, function: Handle, attribute: u32) -> Answer<i32> {
    let function = state.functions.get(&function).ok_or(Code::INVALID_HANDLE)?;
    let facts = function.facts;
    let bytes = |bytes: u64| i32::try_from(bytes).unwrap_or(i32::MAX);
    Ok(match attribute {
        MAX_THREADS => facts.max_threads as i32,
        SHARED => bytes(facts.static_shared),
        CONSTANT => bytes(facts.constant),
        LOCAL => bytes(facts.local),
        REGISTERS => facts.registers as i32,
        // Libraries choose their settings by these: they are those of the PTX that runs, not the device's.
        PTX_VERSION | BINARY_VERSION => facts.architecture,
        MAX_DYNAMIC_SHARED => function.max_dynamic_shared,
        CARVEOUT => function.set.get(&CARVEOUT).copied().unwrap_or(-1),
        CLUSTER_MUST_BE_SET => {
            let set = function.set.get(&attribute).copied();
            set.unwrap_or_else(|| i32::from(facts.cluster.is_some()))
        }
        attribute if CLUSTER.contains(&attribute) => {
            let axis = (attribute - CLUSTER.start()) as usize;
            let set = function.set.get(&attribute).copied();
            set.unwrap_or_else(|| facts.cluster.map_or(0, |cluster| cluster[axis] as i32))
        }
        attribute if attribute <= LAST => function.set.get(&attribute).copied().unwrap_or(0),
        _ => return Err(Code::INVALID_VALUE),
    })
}

fn set(state: &mut State, function: Handle, attribute: u32, value: i32) -> Answer {
    let most = i32::try_from(state.settings.profile.shared_per_block).unwrap_or(i32::MAX);
    let function = state.functions.get_mut(&function).ok_or(Code::INVALID_HANDLE)?;
    match attribute {
        MAX_DYNAMIC_SHARED => {
            let fixed = i32::try_from(function.facts.static_shared).unwrap_or(i32::MAX);
            if value < 0 || value > most.saturating_sub(fixed) {
                return Err(Code::INVALID_VALUE);
            }
            function.max_dynamic_shared = value;
        }
        attribute if CLUSTER.contains(&attribute) => {
            // What the code says cannot be changed.
            if function.facts.cluster.is_some() {
                return Err(Code::NOT_PERMITTED);
            }
            if value < 0 {
                return Err(Code::INVALID_VALUE);
            }
            function.set.insert(attribute, value);
        }
        CARVEOUT if !(-1..=100).contains(&value) => return Err(Code::INVALID_VALUE),
        attribute if attribute > MAX_DYNAMIC_SHARED && attribute <= LAST => {
            function.set.insert(attribute, value);
        }
        _ => return Err(Code::INVALID_VALUE),
    }
    Ok(())
}

unsafe fn put_parameter(function: Handle, index: usize, offset: *mut usize, bytes: *mut usize) -> Answer {
    let state = state()?;
    let function = state.functions.get(&function).ok_or(Code::INVALID_HANDLE)?;
    let module = state.modules.get(&function.module).ok_or(Code::INVALID_HANDLE)?;
    let entry = module.program.function(&function.name).ok_or(Code::INVALID_HANDLE)?;
    let param = entry.params.get(index).ok_or(Code::INVALID_VALUE)?;
    // SAFETY: the caller's pointers.
    unsafe {
        put(offset, param.offset as usize)?;
        put_if(bytes, param.size as usize);
    }
    Ok(())
}

/// Returns the shape of the clusters of a launch, or of a question about one, that asks for this shape.
///
/// # Errors
/// `INVALID_CLUSTER_SIZE` if the function requires another shape, or some shape, or does not allow so many blocks;
/// `INVALID_VALUE` if only some of the required extents were set.
pub(super) fn cluster(state: &State, function: &Function, wanted: Option<[u32; 3]>) -> Answer<Option<[u32; 3]>> {
    let set = CLUSTER.map(|attribute| function.set.get(&attribute).map_or(0, |extent| extent.unsigned_abs()));
    let set: Vec<u32> = set.collect();
    let required = match set[..] {
        [0, 0, 0] => function.facts.cluster,
        [x, y, z] if x > 0 && y > 0 && z > 0 => Some([x, y, z]),
        _ => return Err(Code::INVALID_VALUE),
    };
    if required.is_some() && wanted.is_some() && wanted != required {
        return Err(Code::INVALID_CLUSTER_SIZE);
    }
    let is_set = |attribute| function.set.get(&attribute).is_some_and(|value| *value != 0);
    let Some(cluster) = wanted.or(required) else {
        return if is_set(CLUSTER_MUST_BE_SET) { Err(Code::INVALID_CLUSTER_SIZE) } else { Ok(None) };
    };
    let blocks = cluster.into_iter().try_fold(1, u32::checked_mul);
    if blocks.is_none_or(|blocks| blocks > most_blocks(state, function)) {
        return Err(Code::INVALID_CLUSTER_SIZE);
    }
    Ok(Some(cluster))
}

/// Greatest number of blocks of a cluster that a function may have.
pub(super) fn most_blocks(state: &State, function: &Function) -> u32 {
    let most = state.settings.profile.cluster_blocks;
    let is_allowed = function.set.get(&NON_PORTABLE).is_some_and(|value| *value != 0);
    if is_allowed { most } else { most.min(PORTABLE) }
}
