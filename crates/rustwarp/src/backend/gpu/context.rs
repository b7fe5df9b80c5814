//! A GPU's context, and the driver's calls in it.
//!
//! Most calls of the driver act on the context that is current on the calling thread, which belongs to another GPU if
//! that was used last. So a [`Card`] keeps everything private, and all such calls are methods of [`Current`], which
//! only [`Card::select`] returns, after it has made the context current. A caller takes a new one for each step and
//! keeps none, since other code may select another GPU in between.

use super::captured::Captured;
use super::errors::check;
use super::event::Event;
use super::module::Loaded;
use super::pool::Pool;
use super::queue::{Queue, RawQueue};
use crate::backend::allocation::Foreign;
use crate::backend::identity::{DeviceId, Module};
use crate::backend::info::DeviceInfo;
use crate::backend::shape::Shape;
use crate::error::{Error, Result};
use crate::ptx::Header;
use crate::sync::lock;
use cuda_driver::sys;
use cuda_std::launch::Call;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard};

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

// SAFETY: an address or a handle of the driver, which may be used from any thread.
unsafe impl Send for Texels {}

/// The context of one GPU, and the objects that live in it. Its streams share it.
pub(super) struct Card {
    info: DeviceInfo,
    id: DeviceId,
    cuda: (u32, u32),
    // Fields are dropped in this order: objects of the context before the context.
    functions: Mutex<HashMap<(Module, String), Function>>,
    modules: Mutex<Vec<Loaded>>,
    /// The memory of each texture, by its handle.
    textures: Mutex<HashMap<sys::CUtexObject, Texels>>,
    /// The graphs, by their numbers.
    pub(super) graphs: Mutex<HashMap<u64, Captured>>,
    /// Source of memory that is allocated and freed in stream order; `None` if the driver has no pools.
    pub(super) pool: Option<Pool>,
    /// Stream of the work that is not recorded while another stream is captured.
    pub(super) side: RawQueue,
    context: Owner,
}

/// A kernel of a loaded module.
#[derive(Clone, Copy)]
struct Function(sys::CUfunction);

// SAFETY: a handle of the driver, which may be used from any thread.
unsafe impl Send for Function {}

/// The context, and who releases it.
enum Owner {
    /// The primary context of this device, which this library holds.
    Primary(sys::CUcontext, sys::CUdevice),
    /// Another library's context, with its owner.
    Adopted(sys::CUcontext, #[expect(dead_code, reason = "it is dropped with the context")] Foreign),
}

// SAFETY: a handle of the driver, which may be used from any thread.
unsafe impl Send for Owner {}
// SAFETY: as for `Send`; the driver synchronises its calls.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Self::Primary(_, device) = self {
            // SAFETY: the context was retained once, and nothing uses it any more.
            unsafe { sys::cuDevicePrimaryCtxRelease_v2(*device) };
        }
    }
}

impl Card {
    /// Opens the primary context of a GPU with these properties, on a driver of this CUDA version.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn open(device: sys::CUdevice, info: DeviceInfo, cuda: (u32, u32)) -> Result<Self> {
        let attempt = || format!("opening {}", info.device);
        let mut context = std::ptr::null_mut();
        // SAFETY: the first argument points to room for a handle, and the driver returned the device.
        check(unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, device) }, attempt)?;
        let owner = Owner::Primary(context, device);
        // SAFETY: the context exists. No other code runs on this thread before the end of this function.
        check(unsafe { sys::cuCtxSetCurrent(context) }, attempt)?;
        Self::within(owner, device, info, cuda)
    }

    /// Uses a context of the caller, which becomes current.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    ///
    /// # Safety
    /// The context belongs to this device, and exists as long as its owner.
    pub unsafe fn adopt(
        (context, owner): (sys::CUcontext, Foreign),
        device: sys::CUdevice,
        info: DeviceInfo,
        cuda: (u32, u32),
    ) -> Result<Self> {
        // SAFETY: by contract the context exists.
        check(unsafe { sys::cuCtxSetCurrent(context) }, || format!("using {}", info.device))?;
        Self::within(Owner::Adopted(context, owner), device, info, cuda)
    }

    fn within(context: Owner, device: sys::CUdevice, info: DeviceInfo, cuda: (u32, u32)) -> Result<Self> {
        let attempt = || format!("opening {}", info.device);
        let side = RawQueue::new(attempt)?;
        let pool = Pool::new(device, attempt)?;
        Ok(Self {
            info,
            id: DeviceId::next(),
            cuda,
            functions: Mutex::default(),
            modules: Mutex::default(),
            textures: Mutex::default(),
            graphs: Mutex::default(),
            pool,
            side,
            context,
        })
    }

    /// The GPU's properties.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Identifies the card among open devices.
    pub fn id(&self) -> DeviceId {
        self.id
    }

    /// The driver's handle of the context.
    pub fn context(&self) -> sys::CUcontext {
        match &self.context {
            Owner::Primary(context, _) | Owner::Adopted(context, _) => *context,
        }
    }

    /// Makes the context current on this thread, for calls that concern this stream.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn select<'c>(&'c self, queue: &'c Queue) -> Result<Current<'c>> {
        self.enter()?;
        Ok(Current { card: self, queue })
    }

    /// Makes the context current on this thread.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn enter(&self) -> Result<()> {
        // SAFETY: the context exists as long as the card.
        let result = unsafe { sys::cuCtxSetCurrent(self.context()) };
        check(result, || format!("using {}", self.info.device))
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        // The objects are released in their context, after everything launched has ended. If that cannot be selected,
        // the driver's errors are ignored, as are those of the releases.
        if self.enter().is_ok() {
            // SAFETY: a context is current.
            let _ = unsafe { sys::cuCtxSynchronize() };
        }
    }
}

/// A [`Card`] whose context is current on this thread, and one of its streams.
pub(super) struct Current<'c> {
    pub(super) card: &'c Card,
    pub(super) queue: &'c Queue,
}

impl Current<'_> {
    /// The GPU's properties.
    pub fn info(&self) -> &DeviceInfo {
        &self.card.info
    }

    /// The memory of each texture, by its handle.
    pub fn textures(&self) -> MutexGuard<'_, HashMap<sys::CUtexObject, Texels>> {
        lock(&self.card.textures)
    }

    /// Loads PTX text or a cubin.
    pub fn load(&self, image: &[u8], name: &str) -> Result<Module> {
        let info = &self.card.info;
        if !image.starts_with(b"\x7fELF") {
            let text = std::str::from_utf8(image).ok().filter(|text| !text.contains('\0'));
            let text = text.ok_or_else(|| Error::BadPtx(format!("{name} is neither PTX text nor a cubin")))?;
            let header = Header::read(text, name)?;
            if let Some(reason) = info.sm.and_then(|sm| header.target.why_not(sm)) {
                return Err(Error::NoPtx(format!("{name} cannot run on {}: {reason}", info.name)));
            }
            if text.contains(".callprototype") {
                deepen_the_stack()?;
            }
        }
        let loaded = Loaded::new(image, name, self.card.cuda)?;
        let mut modules = lock(&self.card.modules);
        modules.push(loaded);
        Ok(Module::new(self.card.id, modules.len() - 1))
    }

    /// Looks up an entry, and allows it as much dynamic shared memory as the launch needs.
    pub(super) fn function(&self, module: Module, call: &Call<'_>, shared: u32) -> Result<sys::CUfunction> {
        let entry = &*call.entry;
        let known = lock(&self.card.functions).get(&(module, entry.to_owned())).copied();
        let function = match known {
            Some(Function(function)) => function,
            None => {
                let modules = lock(&self.card.modules);
                let loaded = &modules[module.index_on(self.card.id, &self.card.info)?];
                let function = loaded.function(entry)?;
                loaded.require_params(function, call)?;
                lock(&self.card.functions).insert((module, entry.to_owned()), Function(function));
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
        shape.require_dimensions(call)?;
        let function = self.function(module, call, shape.shared)?;
        let mut params: Vec<*mut c_void> = call.params.iter().map(|bytes| bytes.as_ptr().cast_mut().cast()).collect();
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let (params, stream, shared) = (params.as_mut_ptr(), self.queue.raw(), shape.shared);
        // SAFETY: the function is loaded; by contract `params` points to as many values as the entry has parameters,
        // and its contract holds for them. The driver copies the values before it returns.
        let result = unsafe {
            if shape.cooperative {
                sys::cuLaunchCooperativeKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params)
            } else {
                let extra = std::ptr::null_mut();
                sys::cuLaunchKernel(function, gx, gy, gz, bx, by, bz, shared, stream, params, extra)
            }
        };
        self.launched(result, call, shape)?;
        self.queue.note_kernel(shape.cooperative)
    }

    /// The result of launching or replacing a kernel in this library's words.
    pub(super) fn launched(&self, result: sys::CUresult, call: &Call<'_>, shape: Shape) -> Result<()> {
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
            sys::CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => Err(Error::Argument(format!(
                "the blocks of `{}` wait for each other, and {} has no room for all of {shape}: launch fewer blocks, \
                 or let the process have the whole GPU, if it shares it with others",
                call.entry, self.card.info.name
            ))),
            other => check(other, || format!("launching `{}` with {shape}", call.entry)),
        }
    }

    /// Measures the milliseconds between two events around `run`.
    pub fn time(&self, run: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
        let attempt = || "timing the kernel".into();
        self.queue.refuse_in_capture("measuring times")?;
        let [start, stop] = [Event::new(true, attempt)?, Event::new(true, attempt)?];
        start.record(self.queue.raw(), attempt)?;
        run()?;
        // `run` may have used another GPU.
        self.card.enter()?;
        stop.record(self.queue.raw(), attempt)?;
        stop.synchronize(|| "running the kernel".into())?;
        stop.since(&start, attempt)
    }
}

/// Enlarges the stack of the context's threads to [`DEEP_STACK`]. Another library that uses the context may need more.
fn deepen_the_stack() -> Result<()> {
    let (limit, attempt) = (sys::CUlimit::CU_LIMIT_STACK_SIZE, || "enlarging the threads' stack".into());
    let mut size = 0;
    // SAFETY: a context is current, and the first argument points to room for the size.
    check(unsafe { sys::cuCtxGetLimit(&mut size, limit) }, attempt)?;
    if size >= DEEP_STACK {
        return Ok(());
    }
    // SAFETY: a context is current.
    check(unsafe { sys::cuCtxSetLimit(limit, DEEP_STACK) }, attempt)
}
