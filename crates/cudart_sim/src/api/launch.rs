//! Launches.

use crate::code::{Answer, Code};
use crate::driver::{self, Config, Pointers};
use crate::entry::{Handle, get, on, put};
use crate::{context, exported, registry};
use std::cell::Cell;
use std::ffi::c_void;

/// `dim3`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

impl From<Dim3> for [u32; 3] {
    fn from(Dim3 { x, y, z }: Dim3) -> Self {
        [x, y, z]
    }
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Handle,
    attributes: *const c_void,
    count: u32,
}

impl LaunchConfig {
    /// The same for the driver.
    pub fn for_driver(self) -> Answer<Config> {
        let Self { grid, block, shared, stream, attributes, count } = self;
        let shared = u32::try_from(shared).map_err(|_| Code::INVALID_VALUE)?;
        Ok(Config { grid: grid.into(), block: block.into(), shared, stream: on(stream), attributes, count })
    }
}

/// What `<<<…>>>` configures: grid, block, bytes of shared memory, stream.
type Configured = (Dim3, Dim3, usize, Handle);

const MOST: usize = 16;
const EMPTY: Configured = (Dim3 { x: 0, y: 0, z: 0 }, Dim3 { x: 0, y: 0, z: 0 }, 0, 0);

thread_local! {
    /// Launches that are configured and not made: several, if an argument of one makes another. Neither has a
    /// destructor: see `entry`.
    static CONFIGURED: Cell<[Configured; MOST]> = const { Cell::new([EMPTY; MOST]) };
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

exported! {
    anywhere:
    __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: Handle) {
        let (count, mut all) = (COUNT.get(), CONFIGURED.get());
        let Some(place) = all.get_mut(count) else { return Err(Code::INVALID_CONFIGURATION) };
        *place = (grid, block, shared, stream);
        CONFIGURED.set(all);
        COUNT.set(count + 1);
        Ok(())
    }

    __cudaPopCallConfiguration(grid: *mut Dim3, block: *mut Dim3, shared: *mut usize, stream: *mut Handle) {
        let Some(count) = COUNT.get().checked_sub(1) else { return Err(Code::MISSING_CONFIGURATION) };
        COUNT.set(count);
        let configured = CONFIGURED.get()[count];
        put(grid, configured.0)?;
        put(block, configured.1)?;
        put(shared, configured.2)?;
        put(stream, configured.3)
    }
}

exported! {
    cudaLaunchKernel(
        host: Handle, grid: Dim3, block: Dim3, pointers: Pointers, shared: usize, stream: Handle,
    ) or cudaLaunchKernel_ptsz {
        launch(registry::kernel(host)?, LaunchConfig { grid, block, shared, stream, ..plain() }, pointers)
    }

    __cudaLaunchKernel(
        kernel: Handle, grid: Dim3, block: Dim3, pointers: Pointers, shared: usize, stream: Handle,
    ) or __cudaLaunchKernel_ptsz {
        if kernel == 0 {
            // The host's code asked for it once, by `__cudaGetKernel`, whose error it ignores.
            return Err(Code(crate::entry::last_error(false))).map_err(|code| code.or(Code(0), Code::INVALID_FUNCTION));
        }
        launch(kernel, LaunchConfig { grid, block, shared, stream, ..plain() }, pointers)
    }

    cudaLaunchKernelExC(config: *const LaunchConfig, host: Handle, pointers: Pointers) or cudaLaunchKernelExC_ptsz {
        launch(registry::kernel(host)?, get(config)?, pointers)
    }

    cudaLaunchCooperativeKernel(
        host: Handle, grid: Dim3, block: Dim3, pointers: Pointers, shared: usize, stream: Handle,
    ) or cudaLaunchCooperativeKernel_ptsz {
        let kernel = registry::kernel(host)?;
        let shared = u32::try_from(shared).map_err(|_| Code::INVALID_VALUE)?;
        let ([x, y, z], [a, b, c]) = (<[u32; 3]>::from(grid), <[u32; 3]>::from(block));
        driver::cuLaunchCooperativeKernel(kernel, x, y, z, a, b, c, shared, on(stream), pointers)
            .map_err(|code| misconfigured(code, grid.into(), block.into()))
    }

    cudaLaunchHostFunc(stream: Handle, function: *const c_void, data: *mut c_void) or cudaLaunchHostFunc_ptsz {
        driver::cuLaunchHostFunc(on(stream), function, data)
    }
}

/// A launch of nothing, without attributes.
fn plain() -> LaunchConfig {
    let (grid, block, shared, stream) = EMPTY;
    LaunchConfig { grid, block, shared, stream, attributes: std::ptr::null(), count: 0 }
}

/// Launches a kernel of the driver, which takes it for a function.
unsafe fn launch(kernel: Handle, config: LaunchConfig, pointers: Pointers) -> Answer {
    let config = config.for_driver()?;
    let Config { grid: [x, y, z], block: [a, b, c], shared, stream, count, .. } = config;
    // SAFETY: the caller's parameters.
    let result = unsafe {
        if count == 0 {
            driver::cuLaunchKernel(kernel, x, y, z, a, b, c, shared, stream, pointers, std::ptr::null())
        } else {
            driver::cuLaunchKernelEx(&config, kernel, pointers, std::ptr::null())
        }
    };
    result.map_err(|code| misconfigured(code, config.grid, config.block))
}

/// The runtime's error for a grid or block that no device takes, which is any wrong value to the driver.
fn misconfigured(code: Code, grid: [u32; 3], block: [u32; 3]) -> Code {
    /// The device attributes: threads of a block, then axes of the block and of the grid.
    const MOST_THREADS: u32 = 1;
    const MOST_ON_AXIS: std::ops::RangeInclusive<u32> = 2..=7;
    let most = |attribute: u32| {
        let mut value = 0;
        // SAFETY: the pointer is valid.
        let known =
            context::device().and_then(|device| unsafe { driver::cuDeviceGetAttribute(&mut value, attribute, device) });
        if known.is_ok() { u64::from(value.unsigned_abs()) } else { u64::MAX }
    };
    let sizes = [block, grid].concat();
    let fits = |(size, attribute): (&u32, u32)| *size > 0 && u64::from(*size) <= most(attribute);
    let threads = block.iter().map(|size| u64::from(*size)).product::<u64>();
    let fitting = threads <= most(MOST_THREADS) && sizes.iter().zip(MOST_ON_AXIS).all(fits);
    if fitting { code } else { code.or(Code::INVALID_VALUE, Code::INVALID_CONFIGURATION) }
}
