//! Launches.

use super::function::cluster;
use crate::code::{Answer, Code};
use crate::entry::{api, get};
use crate::host_memory;
use crate::model::{Handle, Launch, Operation};
use crate::state::{State, state};

/// Markers in the list `extra`: its end, the buffer of parameters, and the size of the buffer.
const END: usize = 0;
const BUFFER: usize = 1;
const SIZE: usize = 2;

/// Attributes of a launch that the simulator knows: whether all blocks are resident, and the shape of the clusters.
const COOPERATIVE: u32 = 2;
const CLUSTER: u32 = 4;
/// Greatest number of attributes.
const MOST_ATTRIBUTES: u32 = 64;

/// The shape of a launch, `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub stream: Handle,
    pub attributes: *const Attribute,
    pub count: u32,
}

/// An attribute of a launch, `CUlaunchAttribute`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Attribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

/// What a launch takes beside its shape.
#[derive(Clone, Copy)]
pub(super) struct Parameters {
    pub pointers: *const *const u8,
    pub extra: *const usize,
}

api! {
    cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: Handle, pointers: *const *const u8, extra: *const usize,
    ) or cuLaunchKernel_ptsz {
        let shape = Shape::plain([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared);
        enqueue(function, shape, stream, Parameters { pointers, extra })
    }

    cuLaunchCooperativeKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32, shared: u32,
        stream: Handle, pointers: *const *const u8,
    ) or cuLaunchCooperativeKernel_ptsz {
        let shape = Shape::plain([grid_x, grid_y, grid_z], [block_x, block_y, block_z], shared);
        let shape = Shape { cooperative: true, ..shape };
        enqueue(function, shape, stream, Parameters { pointers, extra: std::ptr::null() })
    }

    cuLaunchKernelEx(
        config: *const Config, function: Handle, pointers: *const *const u8, extra: *const usize,
    ) or cuLaunchKernelEx_ptsz {
        let config = get(config)?;
        enqueue(function, Shape::of(&config)?, config.stream, Parameters { pointers, extra })
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    pub cluster: Option<[u32; 3]>,
    cooperative: bool,
}

impl Shape {
    pub fn plain(grid: [u32; 3], block: [u32; 3], shared: u32) -> Self {
        Self { grid, block, shared, cluster: None, cooperative: false }
    }

    /// Reads the shape with its attributes.
    ///
    /// # Safety
    /// The attributes must be readable.
    pub unsafe fn of(config: &Config) -> Answer<Self> {
        let mut shape = Self::plain(config.grid, config.block, config.shared);
        for at in 0..config.count.min(MOST_ATTRIBUTES) as usize {
            // SAFETY: by contract.
            let attribute = unsafe { get(config.attributes.wrapping_add(at)) }?;
            match attribute.id {
                COOPERATIVE => shape.cooperative = attribute.value[0] != 0,
                CLUSTER => {
                    let [x, y, z, ..] = attribute.value;
                    shape.cluster = (x > 0).then_some([x, y.max(1), z.max(1)]);
                }
                // The others concern speed, or the order of launches, which is strict here.
                _ => {}
            }
        }
        Ok(shape)
    }
}

unsafe fn enqueue(function: Handle, shape: Shape, stream: Handle, parameters: Parameters) -> Answer {
    let mut state = state()?;
    let stream = state.stream(stream)?;
    // SAFETY: the caller's parameters.
    let launch = unsafe { prepare(&mut state, function, shape, parameters) }?;
    let module = state.functions.get(&function).and_then(|function| state.modules.get(&function.module));
    let (home, of_stream) = (module.map_or(0, |module| module.context), state.streams.get(&stream));
    // A library's kernel has no context of its own.
    if home != 0 && of_stream.is_some_and(|stream| stream.context != home) {
        state.report.note("a kernel is launched in a stream of another context than that of its module");
        return Err(Code::INVALID_HANDLE);
    }
    state.enqueue(stream, Operation::Launch(launch))
}

/// Copies the parameters of a launch.
///
/// # Errors
/// `INVALID_HANDLE` if there is no such function; `INVALID_VALUE` for missing parameters, or more dynamic shared memory
/// than the function allows.
///
/// # Safety
/// The lists must be what the driver's documentation requires.
pub(super) unsafe fn prepare(
    state: &mut State,
    function: Handle,
    shape: Shape,
    parameters: Parameters,
) -> Answer<Launch> {
    let known = state.functions.get(&function).ok_or(Code::INVALID_HANDLE)?;
    if i64::from(shape.shared) > i64::from(known.max_dynamic_shared) {
        let (name, most) = (&known.name, known.max_dynamic_shared);
        state.report.note(&format!(
            "`{name}` is launched with {} bytes of dynamic shared memory, and {most} are allowed: set \
             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
            shape.shared
        ));
        return Err(Code::INVALID_VALUE);
    }
    let cluster = cluster(state, known, shape.cluster)?;
    let module = state.modules.get(&known.module).ok_or(Code::INVALID_HANDLE)?;
    let entry = module.program.function(&known.name).ok_or(Code::INVALID_HANDLE)?;
    let sizes: Vec<(u64, u64)> = entry.params.iter().map(|param| (param.offset, param.size)).collect();
    let mut params = Vec::with_capacity(sizes.len());
    if parameters.pointers.is_null() && !parameters.extra.is_null() {
        // SAFETY: by contract.
        let (buffer, size) = unsafe { packed(parameters.extra) }?;
        for (offset, bytes) in sizes {
            if offset + bytes > size {
                return Err(Code::INVALID_VALUE);
            }
            params.push(read(buffer + offset, bytes)?);
        }
    } else {
        for (at, (_, bytes)) in sizes.into_iter().enumerate() {
            // SAFETY: by contract, there is a pointer for each parameter.
            let pointer = unsafe { get(parameters.pointers.wrapping_add(at)) }?;
            params.push(read(pointer as u64, bytes)?);
        }
    }
    let Shape { grid, block, shared, cooperative, .. } = shape;
    Ok(Launch { function, grid, block, shared, params, cluster, cooperative })
}

fn read(address: u64, bytes: u64) -> Answer<Vec<u8>> {
    let mut value = vec![0; bytes as usize];
    host_memory::read(address, &mut value)?;
    Ok(value)
}

/// Reads the list `extra`: address and size in bytes of the buffer.
unsafe fn packed(mut list: *const usize) -> Answer<(u64, u64)> {
    let (mut buffer, mut size) = (None, None);
    loop {
        // SAFETY: the caller's list ends with 0.
        let (marker, value) = unsafe { (get(list)?, list.wrapping_add(1)) };
        match marker {
            END => break,
            // SAFETY: as above.
            BUFFER => buffer = Some(unsafe { get(value) }? as u64),
            // SAFETY: as above; the value is a pointer to the size.
            SIZE => size = Some(unsafe { get(get(value)? as *const usize) }? as u64),
            _ => return Err(Code::INVALID_VALUE),
        }
        list = list.wrapping_add(2);
    }
    buffer.zip(size).ok_or(Code::INVALID_VALUE)
}
