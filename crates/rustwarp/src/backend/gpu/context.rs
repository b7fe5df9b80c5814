//! A GPU's context, and the driver's calls in it.
//!
//! Most calls of the driver act on the context that is current on the calling thread, which belongs to another GPU if
//! that was used last. So a [`Card`] keeps everything private, and all such calls are methods of [`Current`], which
//! only [`Card::select`] returns, after it has made the context current. A caller takes a new one for each step and
//! keeps none, since other code may select another GPU in between.

use super::errors::{check, check_raw, code, explain_load};
use crate::backend::interface::{DeviceId, DeviceInfo, Module, Shape};
use crate::backend::units::human;
use crate::error::{Error, Result};
use crate::ptx::Header;
use cuda_std::launch::Call;
use cust::context::{Context, CurrentContext, ResourceLimit};
use cust::device::Device;
use cust::error::CudaError;
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

/// Memory of a texture.
pub(super) enum Texels {
    /// Linear memory at this address.
    Linear(u64),
    /// A CUDA array, whose layout the GPU chooses.
    Array(sys::CUarray),
}

/// The context of one GPU with one stream, and the objects that live in it.
pub(super) struct Card {
    info: DeviceInfo,
    id: DeviceId,
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

impl Card {
    /// Creates the context of a GPU with these properties, on a driver of this CUDA version.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn open(device: Device, info: DeviceInfo, cuda: (u32, u32)) -> Result<Self> {
        let attempt = || format!("opening {}", info.device);
        // The context becomes current with its creation; no other code runs before the end of this function.
        let context = check(Context::new(device), attempt)?;
        let stream = check(Stream::new(StreamFlags::DEFAULT, None), attempt)?;
        let event = || check(Event::new(EventFlags::DEFAULT), attempt);
        let events = (event()?, event()?);
        Ok(Self {
            info,
            id: DeviceId::next(),
            cuda,
            functions: RefCell::default(),
            modules: RefCell::default(),
            textures: RefCell::default(),
            events,
            stream,
            context,
        })
    }

    /// The GPU's properties.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Makes the context current on this thread.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn select(&self) -> Result<Current<'_>> {
        check(CurrentContext::set_current(&self.context), || format!("using {}", self.info.device))?;
        Ok(Current { card: self })
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        // The objects are released in their context. If that cannot be selected, the driver's errors are ignored, as
        // are those of the releases.
        let _ = self.select();
    }
}

/// A [`Card`] whose context is current on this thread.
pub(super) struct Current<'c> {
    card: &'c Card,
}

impl Current<'_> {
    /// The GPU's properties.
    pub fn info(&self) -> &DeviceInfo {
        &self.card.info
    }

    /// The memory of each texture, by its handle.
    pub fn textures(&self) -> &RefCell<HashMap<sys::CUtexObject, Texels>> {
        &self.card.textures
    }

    /// Number of bytes that can be allocated now.
    pub fn free_memory(&self) -> Result<u64> {
        let (free, _) = check(cust::memory::mem_get_info(), || "querying free memory".into())?;
        Ok(free as u64)
    }

    /// Loads PTX text or a cubin.
    pub fn load(&self, image: &[u8], name: &str) -> Result<Module> {
        let info = &self.card.info;
        let loaded = if image.starts_with(b"\x7fELF") {
            cust::module::Module::from_cubin(image, &[])
        } else {
            let text = std::str::from_utf8(image).ok().filter(|text| !text.contains('\0'));
            let text = text.ok_or_else(|| Error::BadPtx(format!("{name} is neither PTX text nor a cubin")))?;
            let header = Header::read(text, name)?;
            if let Some(reason) = info.sm.and_then(|sm| header.target.why_not(sm)) {
                return Err(Error::NoPtx(format!("{name} cannot run on {}: {reason}", info.name)));
            }
            if text.contains(".callprototype") {
                let limit = CurrentContext::set_resource_limit(ResourceLimit::StackSize, DEEP_STACK);
                check(limit, || "enlarging the threads' stack".into())?;
            }
            cust::module::Module::from_ptx(text, &[])
        };
        match loaded {
            Ok(module) => {
                let mut modules = self.card.modules.borrow_mut();
                modules.push((module, name.to_owned()));
                Ok(Module::new(self.card.id, modules.len() - 1))
            }
            Err(error) => {
                // The code is read before `jit_log` makes the driver fail again.
                let code = code(error);
                Err(explain_load(code, &self.jit_log(image), image, name, self.card.cuda))
            }
        }
    }

    /// Allocates uninitialised memory.
    pub fn alloc(&self, bytes: u64, name: &str) -> Result<u64> {
        // The driver aligns allocations to 256 bytes. It rejects a size of zero, but an empty buffer needs an address.
        // SAFETY: the memory is uninitialised, and only kernels and copies of plain bytes access it.
        let pointer = unsafe { cust::memory::cuda_malloc::<u8>(bytes.max(1) as usize) };
        match pointer {
            Err(CudaError::OutOfMemory) => Err(Error::OutOfMemory(format!(
                "`{name}` needs {}, more than {} has free: use less data",
                human(bytes),
                self.card.info.device
            ))),
            other => Ok(check(other, || format!("allocating {} for `{name}`", human(bytes)))?.as_raw()),
        }
    }

    /// Releases memory after everything launched has ended.
    ///
    /// # Safety
    /// That of [`Backend::free`](crate::backend::Backend::free).
    pub unsafe fn free(&self, address: u64) {
        // A kernel may still use the memory, and the driver's documentation does not promise that `cuMemFree` waits. An
        // error here was left by an earlier launch, which has reported it.
        let _ = self.synchronize();
        // SAFETY: by contract `alloc` returned this address and the caller does not use it again, and no kernel uses it
        // any more. For an error, see above.
        let _ = unsafe { cust::memory::cuda_free(DevicePointer::<u8>::from_raw(address)) };
    }

    /// Copies to the GPU.
    ///
    /// # Safety
    /// That of [`Backend::write`](crate::backend::Backend::write).
    pub unsafe fn write(&self, address: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: source and length are those of a live slice; by contract the destination is device memory.
        let result = unsafe { sys::cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len()) };
        check_raw(result, || format!("copying {} to the GPU", human(bytes.len() as u64)))
    }

    /// Copies from the GPU, after everything launched before has ended.
    ///
    /// # Safety
    /// That of [`Backend::read`](crate::backend::Backend::read).
    pub unsafe fn read(&self, address: u64, bytes: &mut [u8]) -> Result<()> {
        self.synchronize()?;
        // SAFETY: destination and length are those of a live slice that is borrowed mutably; by contract the source is
        // device memory.
        let result = unsafe { sys::cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), address, bytes.len()) };
        check_raw(result, || format!("copying {} from the GPU", human(bytes.len() as u64)))
    }

    /// Sets every byte, in stream order.
    ///
    /// # Safety
    /// That of [`Backend::fill`](crate::backend::Backend::fill).
    pub unsafe fn fill(&self, address: u64, byte: u8, bytes: u64) -> Result<()> {
        // SAFETY: by contract the call accesses allocated device memory only.
        let result = unsafe { sys::cuMemsetD8Async(address, byte, bytes as usize, self.card.stream.as_inner()) };
        check_raw(result, || format!("filling {}", human(bytes)))
    }

    /// Copies within device memory, in stream order.
    ///
    /// # Safety
    /// That of [`Backend::copy`](crate::backend::Backend::copy).
    pub unsafe fn copy(&self, to: u64, from: u64, bytes: u64) -> Result<()> {
        // SAFETY: by contract the call accesses allocated device memory only.
        let result = unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes as usize, self.card.stream.as_inner()) };
        check_raw(result, || format!("copying {} on the GPU", human(bytes)))
    }

    /// Looks up an entry, and allows it as much dynamic shared memory as the launch needs.
    fn function(&self, module: Module, entry: &str, shared: u32) -> Result<sys::CUfunction> {
        let known = self.card.functions.borrow().get(&(module, entry.to_owned())).copied();
        let function = match known {
            Some(function) => function,
            None => {
                let modules = self.card.modules.borrow();
                let (loaded, name) = &modules[module.index_on(self.card.id, &self.card.info)?];
                let function = match loaded.get_function(entry) {
                    Err(CudaError::NotFound) => {
                        return Err(Error::Argument(format!("{name} has no entry `{entry}`: see its .entry lines")));
                    }
                    other => check(other, || format!("looking up `{entry}` in {name}"))?.to_raw(),
                };
                self.card.functions.borrow_mut().insert((module, entry.to_owned()), function);
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
                    self.card.info.name, self.card.info.max_shared
                )));
            }
        }
        Ok(function)
    }

    /// Starts a kernel: see [`Backend::launch`](crate::backend::Backend::launch).
    ///
    /// # Safety
    /// That of [`Backend::launch`](crate::backend::Backend::launch).
    pub unsafe fn launch(&self, module: Module, call: &Call<'_>, shape: Shape) -> Result<()> {
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
                self.card.stream.as_inner(),
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        match result {
            sys::CUresult::CUDA_ERROR_INVALID_VALUE => Err(Error::Argument(format!(
                "the GPU refuses to launch `{}` with {shape}: at most {} threads per block and {} bytes of shared \
                 memory",
                call.entry, self.card.info.max_block, self.card.info.max_shared
            ))),
            sys::CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => Err(Error::Argument(format!(
                "`{}` needs too many registers for {shape}: use a smaller block",
                call.entry
            ))),
            other => check_raw(other, || format!("launching `{}` with {shape}", call.entry)),
        }
    }

    /// Waits until everything launched has ended.
    pub fn synchronize(&self) -> Result<()> {
        check(self.card.stream.synchronize(), || "running the kernel".into())
    }

    /// Records the start of a measurement, in stream order.
    pub fn record_start(&self) -> Result<()> {
        check(self.card.events.0.record(&self.card.stream), || "timing the kernel".into())
    }

    /// Records the end of a measurement, waits for it, and returns the milliseconds since the start.
    pub fn record_stop(&self) -> Result<f64> {
        let (start, stop) = &self.card.events;
        let attempt = || "timing the kernel".into();
        check(stop.record(&self.card.stream), attempt)?;
        check(stop.synchronize(), || "running the kernel".into())?;
        Ok(f64::from(check(stop.elapsed_time_f32(start), attempt)?))
    }

    /// The log of the driver's PTX compiler. `cust` does not request it, so the module is loaded a second time.
    fn jit_log(&self, image: &[u8]) -> String {
        let Ok(text) = CString::new(image) else { return String::new() };
        let mut log = vec![0_u8; 8192];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
        let mut module = std::ptr::null_mut();
        // SAFETY: the image is zero-terminated, and each option has its value: a buffer that outlives the call, and its
        // size.
        unsafe {
            let result = sys::cuModuleLoadDataEx(
                &mut module,
                text.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            );
            if result == sys::CUresult::CUDA_SUCCESS {
                sys::cuModuleUnload(module);
            }
        }
        let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
        String::from_utf8_lossy(&log[..end]).into_owned()
    }
}
