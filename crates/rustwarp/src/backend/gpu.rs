//! The GPU backend, through `cust`. This is the only file that names `cust`.

use super::interface::{Backend, DeviceInfo, Module, Shape};
use super::observed::Observed;
use super::sampling::{AddressMode, Channel, Filter, Layout, Sampling};
use super::units::{extent_text, human};
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use crate::ptx::Header;
use cuda_std::launch::Call;
use cust::context::{Context, CurrentContext, ResourceLimit};
use cust::device::{Device, DeviceAttribute};
use cust::error::{CudaError, CudaResult};
use cust::event::{Event, EventFlags};
use cust::memory::DevicePointer;
use cust::stream::{Stream, StreamFlags};
use cust::sys;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CString, c_void};

/// Dynamic shared memory in bytes that every kernel may use; for more, the function needs an attribute.
const PLAIN_SHARED: u32 = 48 * 1024;

/// Stack size in bytes of a thread in modules with calls through pointers. The driver cannot compute their depth and
/// would use 1 KiB; printing a float with Rust's formatting takes about 2 KiB.
const DEEP_STACK: usize = 8 * 1024;

/// `CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN`, which `cust` lacks.
const MAX_SHARED_OPTIN: sys::CUdevice_attribute =
    sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;

/// One GPU with its context and one stream.
pub(super) struct Gpu {
    info: DeviceInfo,
    cuda: (u32, u32),
    // Fields are dropped in this order: objects of the context before the context.
    functions: RefCell<HashMap<(Module, String), sys::CUfunction>>,
    modules: RefCell<Vec<(cust::module::Module, String)>>,
    /// The memory of each texture, by its handle.
    textures: RefCell<HashMap<sys::CUtexObject, Texels>>,
    events: (Event, Event),
    stream: Stream,
    context: Context,
}

/// Memory of a texture.
enum Texels {
    /// Linear memory at this address.
    Linear(u64),
    /// A CUDA array, whose layout the GPU chooses.
    Array(sys::CUarray),
}

impl Gpu {
    /// Opens the GPU of this number.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if there is no such GPU or no driver; [`Error::Device`] if the driver fails.
    pub fn open(number: u32) -> Result<Self> {
        let driver = driver()?;
        let count = check(Device::num_devices(), || "counting the GPUs".into())?;
        if number >= count {
            return Err(Error::NoDevice(format!(
                "there is no GPU {number}: {}; `host devices` lists them",
                if count == 0 { "the driver finds none".into() } else { format!("the last is gpu:{}", count - 1) }
            )));
        }
        let attempt = || format!("opening gpu:{number}");
        let device = check(Device::get_device(number), attempt)?;
        let context = check(Context::new(device), attempt)?;
        let stream = check(Stream::new(StreamFlags::DEFAULT, None), attempt)?;
        let event = || check(Event::new(EventFlags::DEFAULT), attempt);
        Ok(Self {
            info: describe(number, device, &driver)?,
            cuda: driver.cuda,
            functions: RefCell::default(),
            modules: RefCell::default(),
            textures: RefCell::default(),
            events: (event()?, event()?),
            stream,
            context,
        })
    }

    /// Looks up an entry, and allows it as much dynamic shared memory as the launch needs.
    fn function(&self, module: Module, entry: &str, shared: u32) -> Result<sys::CUfunction> {
        let known = self.functions.borrow().get(&(module, entry.to_owned())).copied();
        let function = match known {
            Some(function) => function,
            None => {
                let modules = self.modules.borrow();
                let (loaded, name) = &modules[module.0];
                let function = match loaded.get_function(entry) {
                    Err(CudaError::NotFound) => {
                        return Err(Error::Argument(format!("{name} has no entry `{entry}`: see its .entry lines")));
                    }
                    other => check(other, || format!("looking up `{entry}` in {name}"))?.to_raw(),
                };
                self.functions.borrow_mut().insert((module, entry.to_owned()), function);
                function
            }
        };
        if shared > PLAIN_SHARED {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let value = i32::try_from(shared).unwrap_or(i32::MAX);
            // SAFETY: the function belongs to a module that this backend keeps loaded.
            let result = unsafe { sys::cuFuncSetAttribute(function, attribute, value) };
            if result != sys::CUresult::CUDA_SUCCESS {
                return Err(Error::Argument(format!(
                    "`{entry}` cannot have {shared} bytes of dynamic shared memory: {} allows {} per block, static \
                     included",
                    self.info.name, self.info.max_shared
                )));
            }
        }
        Ok(function)
    }

    /// Creates a CUDA array with these texels.
    ///
    /// It calls the driver's own functions: `cust`'s `ArrayObject` treats half floats as f32 and copies up to two
    /// dimensions only, and its texture objects are private.
    fn array(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<sys::CUarray> {
        let Layout::Array([width, height, depth]) = sampling.layout else {
            return Err(Error::Argument(format!("the texture `{name}` has no array")));
        };
        let [width, height, depth] = [width, height, depth].map(|n| n as usize);
        let descriptor = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: format(sampling.channel),
            NumChannels: sampling.channels,
            Flags: 0,
        };
        let mut array = std::ptr::null_mut();
        // SAFETY: the first argument points to room for a handle, the second to a complete description.
        match unsafe { sys::cuArray3DCreate_v2(&mut array, &descriptor) } {
            sys::CUresult::CUDA_ERROR_INVALID_VALUE => {
                return Err(Error::Argument(format!(
                    "the texture `{name}` of {} texels is larger than {} allows: use less data",
                    extent_text(sampling.extent()),
                    self.info.name
                )));
            }
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => {
                return Err(Error::Argument(format!(
                    "the texture `{name}` needs {}, more than {} has free: use less data",
                    human(texels.len() as u64),
                    self.info.device
                )));
            }
            other => check_raw(other, || format!("making an array for the texture `{name}`"))?,
        }
        let row = width * sampling.texel() as usize;
        let copy = sys::CUDA_MEMCPY3D {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: texels.as_ptr().cast(),
            srcDevice: 0,
            srcArray: std::ptr::null_mut(),
            reserved0: std::ptr::null_mut(),
            srcPitch: row,
            srcHeight: height.max(1),
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_ARRAY,
            dstHost: std::ptr::null_mut(),
            dstDevice: 0,
            dstArray: array,
            reserved1: std::ptr::null_mut(),
            dstPitch: 0,
            dstHeight: 0,
            WidthInBytes: row,
            Height: height.max(1),
            Depth: depth.max(1),
        };
        // SAFETY: `Texture::new` has checked that the number of bytes is that of the array, and the array has this
        // extent.
        let copied = check_raw(unsafe { sys::cuMemcpy3D_v2(&copy) }, || format!("filling the texture `{name}`"));
        if copied.is_err() {
            // SAFETY: the array was created above, and its handle is not stored anywhere.
            unsafe { sys::cuArrayDestroy(array) };
        }
        copied.map(|()| array)
    }

    /// Releases the memory of a texture.
    fn free_texels(&self, texels: Texels) {
        match texels {
            Texels::Linear(address) => self.free(address),
            Texels::Array(array) => {
                // SAFETY: `array` created it, and the caller does not use it again. An error here was reported by an
                // earlier launch.
                unsafe { sys::cuArrayDestroy(array) };
            }
        }
    }
}

impl Backend for Gpu {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn free_memory(&self) -> Result<u64> {
        let (free, _) = check(cust::memory::mem_get_info(), || "querying free memory".into())?;
        Ok(free as u64)
    }

    fn load(&self, image: &[u8], name: &str) -> Result<Module> {
        check(CurrentContext::set_current(&self.context), || "selecting the GPU".into())?;
        let loaded = if image.starts_with(b"\x7fELF") {
            cust::module::Module::from_cubin(image, &[])
        } else {
            let text = std::str::from_utf8(image).ok().filter(|text| !text.contains('\0'));
            let text = text.ok_or_else(|| Error::BadPtx(format!("{name} is neither PTX text nor a cubin")))?;
            let header = Header::read(text, name)?;
            if let Some(reason) = self.info.sm.and_then(|sm| header.target.why_not(sm)) {
                return Err(Error::NoPtx(format!("{name} cannot run on {}: {reason}", self.info.name)));
            }
            if text.contains(".callprototype") {
                let limit = CurrentContext::set_resource_limit(ResourceLimit::StackSize, DEEP_STACK);
                check(limit, || "enlarging the threads' stack".into())?;
            }
            cust::module::Module::from_ptx(text, &[])
        };
        match loaded {
            Ok(module) => {
                let mut modules = self.modules.borrow_mut();
                modules.push((module, name.to_owned()));
                Ok(Module(modules.len() - 1))
            }
            Err(error) => Err(explain_load(error, image, name, self.cuda)),
        }
    }

    fn alloc(&self, bytes: u64, _align: u64, name: &str) -> Result<u64> {
        // The driver aligns allocations to 256 bytes. It rejects a size of zero, but an empty buffer needs an address.
        // SAFETY: the memory is uninitialised, and only kernels and copies of plain bytes access it.
        let pointer = unsafe { cust::memory::cuda_malloc::<u8>(bytes.max(1) as usize) };
        match pointer {
            Err(CudaError::OutOfMemory) => Err(Error::Argument(format!(
                "`{name}` needs {}, more than {} has free: use less data",
                human(bytes),
                self.info.device
            ))),
            other => Ok(check(other, || format!("allocating {} for `{name}`", human(bytes)))?.as_raw()),
        }
    }

    fn free(&self, address: u64) {
        // SAFETY: `alloc` returned this address, and the caller does not use it again. An error here was left by an
        // earlier launch, which has reported it.
        let _ = unsafe { cust::memory::cuda_free(DevicePointer::<u8>::from_raw(address)) };
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: source and length are those of a live slice; for an address outside device memory the driver returns
        // an error.
        let result = unsafe { sys::cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len()) };
        check_raw(result, || format!("copying {} to the GPU", human(bytes.len() as u64)))
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.synchronize()?;
        // SAFETY: destination and length are those of a live slice that is borrowed mutably.
        let result = unsafe { sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, bytes.len()) };
        check_raw(result, || format!("copying {} from the GPU", human(bytes.len() as u64)))
    }

    fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()> {
        // SAFETY: the call accesses device memory only.
        let result = unsafe { sys::cuMemsetD8Async(address, byte, bytes as usize, self.stream.as_inner()) };
        check_raw(result, || format!("filling {}", human(bytes)))
    }

    fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        // SAFETY: the call accesses device memory only.
        let result = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, self.stream.as_inner()) };
        check_raw(result, || format!("copying {} on the GPU", human(bytes)))
    }

    fn texture(&self, sampling: &Sampling, texels: &[u8], name: &str) -> Result<u64> {
        let (memory, resource) = match sampling.layout {
            Layout::Linear(_) => {
                let address = self.alloc(texels.len() as u64, 256, name)?;
                if let Err(error) = self.write(address, texels) {
                    self.free(address);
                    return Err(error);
                }
                let linear = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
                    devPtr: address,
                    format: format(sampling.channel),
                    numChannels: sampling.channels,
                    sizeInBytes: texels.len(),
                };
                let res = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1 { linear };
                (Texels::Linear(address), (sys::CUresourcetype::CU_RESOURCE_TYPE_LINEAR, res))
            }
            Layout::Array(_) => {
                let array = self.array(sampling, texels, name)?;
                let handle = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1 { hArray: array };
                let res = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1 { array: handle };
                (Texels::Array(array), (sys::CUresourcetype::CU_RESOURCE_TYPE_ARRAY, res))
            }
        };
        let resource = sys::CUDA_RESOURCE_DESC { resType: resource.0, res: resource.1, flags: 0 };
        let mut handle = 0;
        // SAFETY: the first argument points to room for a handle, the others to complete descriptions of memory that
        // lives as long as the texture.
        let result =
            unsafe { sys::cuTexObjectCreate(&mut handle, &resource, &description(sampling), std::ptr::null()) };
        if let Err(error) = check_raw(result, || format!("making the texture `{name}`")) {
            self.free_texels(memory);
            return Err(error);
        }
        self.textures.borrow_mut().insert(handle, memory);
        Ok(handle)
    }

    fn free_texture(&self, handle: u64) {
        let Some(texels) = self.textures.borrow_mut().remove(&handle) else { return };
        // A kernel may still read the texture. An error here was left by an earlier launch, which has reported it.
        let _ = self.synchronize();
        // SAFETY: `texture` created it, no kernel reads it any more, and the caller does not use it again.
        unsafe { sys::cuTexObjectDestroy(handle) };
        self.free_texels(texels);
    }

    unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()> {
        let function = self.function(module, &call.entry, shape.shared)?;
        let mut params: Vec<*mut c_void> = call.params.iter().map(|bytes| bytes.as_ptr().cast_mut().cast()).collect();
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        // SAFETY: the function is loaded; by contract `params` points to as many values as the entry has parameters,
        // and its contract holds for them. The driver copies the values before it returns.
        let result = unsafe {
            sys::cuLaunchKernel(
                function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shape.shared,
                self.stream.as_inner(),
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        match result {
            sys::CUresult::CUDA_ERROR_INVALID_VALUE => Err(Error::Argument(format!(
                "the GPU refuses to launch `{}` with {shape}: at most {} threads per block and {} bytes of shared \
                 memory",
                call.entry, self.info.max_block, self.info.max_shared
            ))),
            sys::CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => Err(Error::Argument(format!(
                "`{}` needs too many registers for {shape}: use a smaller block",
                call.entry
            ))),
            other => check_raw(other, || format!("launching `{}` with {shape}", call.entry)),
        }
    }

    fn synchronize(&self) -> Result<()> {
        check(self.stream.synchronize(), || "running the kernel".into())
    }

    fn time(&self, run: &mut dyn FnMut() -> Result<()>) -> Result<Option<f64>> {
        let (start, stop) = &self.events;
        let attempt = || "timing the kernel".into();
        check(start.record(&self.stream), attempt)?;
        run()?;
        check(stop.record(&self.stream), attempt)?;
        check(stop.synchronize(), || "running the kernel".into())?;
        Ok(Some(f64::from(check(stop.elapsed_time_f32(start), attempt)?)))
    }

    fn observed(&self) -> Option<Observed> {
        None
    }
}

/// The driver's constant for a channel's type.
fn format(channel: Channel) -> sys::CUarray_format {
    match channel {
        Channel::U8 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8,
        Channel::I8 => sys::CUarray_format::CU_AD_FORMAT_SIGNED_INT8,
        Channel::U16 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT16,
        Channel::I16 => sys::CUarray_format::CU_AD_FORMAT_SIGNED_INT16,
        Channel::U32 => sys::CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
        Channel::I32 => sys::CUarray_format::CU_AD_FORMAT_SIGNED_INT32,
        Channel::F16 => sys::CUarray_format::CU_AD_FORMAT_HALF,
        Channel::F32 => sys::CUarray_format::CU_AD_FORMAT_FLOAT,
    }
}

/// The driver's description of how a texture is read.
fn description(sampling: &Sampling) -> sys::CUDA_TEXTURE_DESC {
    // Without this flag the driver converts integers of 8 and 16 bits to floats from 0 to 1. Floats must not have it.
    let integers = !matches!(sampling.channel, Channel::F16 | Channel::F32) && !sampling.normalised_reads;
    let flag = |on, flag| if on { flag } else { 0 };
    sys::CUDA_TEXTURE_DESC {
        addressMode: sampling.address.map(|mode| match mode {
            AddressMode::Wrap => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_WRAP,
            AddressMode::Clamp => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_CLAMP,
            AddressMode::Mirror => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_MIRROR,
            AddressMode::Border => sys::CUaddress_mode::CU_TR_ADDRESS_MODE_BORDER,
        }),
        filterMode: match sampling.filter {
            Filter::Point => sys::CUfilter_mode::CU_TR_FILTER_MODE_POINT,
            Filter::Linear => sys::CUfilter_mode::CU_TR_FILTER_MODE_LINEAR,
        },
        flags: flag(integers, sys::CU_TRSF_READ_AS_INTEGER)
            | flag(sampling.normalised_coordinates, sys::CU_TRSF_NORMALIZED_COORDINATES),
        maxAnisotropy: 0,
        mipmapFilterMode: sys::CUfilter_mode::CU_TR_FILTER_MODE_POINT,
        mipmapLevelBias: 0.0,
        minMipmapLevelClamp: 0.0,
        maxMipmapLevelClamp: 0.0,
        borderColor: [0.0; 4],
        reserved: [0; 12],
    }
}

/// Describes every GPU.
pub(super) fn list() -> Result<Vec<DeviceInfo>> {
    let driver = driver()?;
    let count = check(Device::num_devices(), || "counting the GPUs".into())?;
    (0..count)
        .map(|number| {
            describe(number, check(Device::get_device(number), || format!("querying gpu:{number}"))?, &driver)
        })
        .collect()
}

fn driver() -> Result<cuda_driver::DriverInfo> {
    cuda_driver::load().map_err(|error| Error::NoDevice(error.to_string()))
}

fn describe(number: u32, device: Device, driver: &cuda_driver::DriverInfo) -> Result<DeviceInfo> {
    let attempt = || format!("querying gpu:{number}");
    let get = |attribute| check(device.get_attribute(attribute), attempt).map(i32::unsigned_abs);
    let mut max_shared = 0;
    // SAFETY: the first argument points to room for an int, and the driver returned the device.
    let result = unsafe { sys::cuDeviceGetAttribute(&mut max_shared, MAX_SHARED_OPTIN, device.as_raw()) };
    check_raw(result, attempt)?;
    // There are two transfers per clock; a newer driver that does not report the clock gives 0.
    let kilohertz = u64::from(get(DeviceAttribute::MemoryClockRate).unwrap_or(0));
    let bits = u64::from(get(DeviceAttribute::GlobalMemoryBusWidth).unwrap_or(0));
    let peak = (2 * kilohertz * 1000 * bits / 8) as f64 / 1e9;
    let clock = get(DeviceAttribute::ClockRate).unwrap_or(0);
    Ok(DeviceInfo {
        device: format!("gpu:{number}"),
        name: check(device.name(), attempt)?,
        sm: Some(get(DeviceAttribute::ComputeCapabilityMajor)? * 10 + get(DeviceAttribute::ComputeCapabilityMinor)?),
        memory: check(device.total_memory(), attempt)? as u64,
        multiprocessors: get(DeviceAttribute::MultiprocessorCount)?,
        max_block: get(DeviceAttribute::MaxThreadsPerBlock)?,
        max_shared: max_shared.unsigned_abs(),
        l2: u64::from(get(DeviceAttribute::L2CacheSize)?),
        peak_gbps: (peak > 0.0).then_some(peak),
        clock_mhz: (clock > 0).then(|| f64::from(clock) / 1e3),
        driver: Some(format!("CUDA {}.{} ({})", driver.cuda.0, driver.cuda.1, driver.library)),
    })
}

/// Converts an error of `cust` to one that names the attempted operation.
fn check<T>(result: CudaResult<T>, attempt: impl Fn() -> String) -> Result<T> {
    result.map_err(|error| {
        // `cust` maps codes that it lacks to a single one; `cuda_driver` keeps the driver's own.
        let code = match error as u32 {
            999 => cuda_driver::last_error(),
            code => code,
        };
        explain(code, &attempt())
    })
}

fn check_raw(result: sys::CUresult, attempt: impl Fn() -> String) -> Result<()> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        sys::CUresult::CUDA_ERROR_UNKNOWN => Err(explain(cuda_driver::last_error(), &attempt())),
        other => Err(explain(other as u32, &attempt())),
    }
}

fn explain(code: u32, attempt: &str) -> Error {
    let name = cuda_driver::error_name(code);
    let fault = match code {
        700 => "the kernel accessed memory outside its buffers",
        716 => "the kernel made a misaligned access",
        710 => "an assertion in the kernel failed",
        714 | 715 | 717 | 718 => "the kernel executed something invalid",
        719 => "the kernel trapped (a panic, or an access outside its memory)",
        702 => "the kernel ran longer than the driver allows",
        2 => return Error::Device(format!("{attempt}: the GPU is out of memory ({name})")),
        _ => return Error::Device(format!("{attempt}: the driver returned {name} (error {code})")),
    };
    let text = format!("{attempt}: {fault} ({name})");
    let help = Some("run it again on the simulator to get the source line".to_owned());
    Error::Fault(Box::new(Diagnostic { help, ..Diagnostic::new("fault", name.to_string(), fault, text) }))
}

/// Explains why the driver rejects a module, with the first line of its compiler's log.
fn explain_load(error: CudaError, image: &[u8], name: &str, cuda: (u32, u32)) -> Error {
    // The code is read before `jit_log` makes the driver fail again.
    let code = match error as u32 {
        999 => cuda_driver::last_error(),
        code => code,
    };
    let log = jit_log(image);
    let line = log.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let says = if line.is_empty() { String::new() } else { format!(" Its message: {line}") };
    let header = std::str::from_utf8(image).ok().and_then(|text| Header::read(text, name).ok());
    match (code, header) {
        // 222 is CUDA_ERROR_UNSUPPORTED_PTX_VERSION, which `cust` lacks.
        (218 | 222, Some(header)) if code == 222 || line.contains(".version") => Error::NoPtx(format!(
            "{name} is PTX ISA {}.{}, which this driver (CUDA {}.{}) does not support: update the driver, or build for \
             an older \
             PTX ISA.{says}",
            header.version.0, header.version.1, cuda.0, cuda.1
        )),
        (218, _) => Error::BadPtx(format!("the driver's compiler rejects {name}.{says}")),
        (200 | 209, _) => {
            Error::NoPtx(format!("{name} contains no code for this GPU: build it for its architecture.{says}"))
        }
        (code, _) => explain(code, &format!("loading {name}")),
    }
}

/// The log of the driver's PTX compiler. `cust` does not request it, so the module is loaded a second time.
fn jit_log(image: &[u8]) -> String {
    let Ok(text) = CString::new(image) else { return String::new() };
    let mut log = vec![0_u8; 8192];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
    let mut module = std::ptr::null_mut();
    // SAFETY: the image is zero-terminated, and each option has its value: a buffer that outlives the call, and its
    // size.
    unsafe {
        let result =
            sys::cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr());
        if result == sys::CUresult::CUDA_SUCCESS {
            sys::cuModuleUnload(module);
        }
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).into_owned()
}
