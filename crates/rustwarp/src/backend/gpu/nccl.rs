//! Communication between GPUs, by NCCL.
//!
//! Communicators of ranks in other processes do not block: a call that other ranks have to join returns, and is polled
//! here, so that it ends when a rank is gone. For that NCCL starts a thread in each call. Those of ranks that are all
//! in this process block, which needs no thread: no rank can be gone.

use super::errors;
use crate::backend::allocation::Foreign;
use crate::backend::collective::{Collective, Message, Part, Reduction};
use crate::backend::streams::RawStream;
use crate::element::Dtype;
use crate::error::{Error, Result};
use crate::sync::lock;
use cuda_driver::nccl::{self, ncclComm_t, ncclConfig_t, ncclDataType_t, ncclRedOp_t, ncclResult_t, ncclUniqueId};
use cuda_driver::sys;
use std::ffi::c_void;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// How long communicators that do not block wait for work under way when they are dropped. Those that block wait in
/// `ncclCommFinalize` itself, without a bound: a group has awaited or aborted its work before.
const FAREWELL: Duration = Duration::from_secs(5);

/// What is attempted while nothing is.
const WATCHING: &str = "watching the links between GPUs";

/// NCCL's version, as in `2.28.9`.
///
/// # Errors
/// [`Error::Unsupported`] if it is not installed, with what to do.
pub(crate) fn version() -> Result<String> {
    let (major, minor, patch) = nccl::load().map_err(|error| Error::Unsupported(error.to_string()))?;
    Ok(format!("{major}.{minor}.{patch}"))
}

/// Makes what the ranks of a new set of communicators share.
///
/// # Errors
/// [`Error::Unsupported`] if NCCL is not installed, [`Error::Device`] if it fails.
pub(crate) fn new_id() -> Result<Vec<u8>> {
    version()?;
    let mut id = ncclUniqueId { internal: [0; 128] };
    // SAFETY: the argument points to room for the bytes.
    check(unsafe { nccl::ncclGetUniqueId(&mut id) }, "making an id")?;
    Ok(id.internal.to_vec())
}

/// The communicators of the ranks of this process, each for a GPU.
pub(crate) struct Communicators {
    /// Empty after they were aborted.
    handles: Mutex<Vec<Handle>>,
    /// Why they were aborted. It is set before, so that a wait that the abort ends is not taken for success.
    ended: OnceLock<String>,
    /// What keeps the contexts; it is dropped last.
    #[expect(dead_code, reason = "it is dropped with the communicators")]
    owner: Foreign,
}

struct Handle {
    raw: ncclComm_t,
    context: *mut c_void,
}

// SAFETY: handles of NCCL and of the driver, which may be used from any thread; a lock orders their uses.
unsafe impl Send for Handle {}

/// Returns the error that ends waiting for other ranks, if there is one.
pub(crate) type Interrupt<'i> = &'i dyn Fn() -> Result<()>;

impl Communicators {
    /// Connects `ranks` ranks, of which those of this process, from `first` on, use the contexts of these streams.
    ///
    /// # Errors
    /// [`Error::Device`] if NCCL fails, and the interrupt's error.
    ///
    /// # Safety
    /// The contexts exist as long as their owner.
    pub unsafe fn connect(
        ranks: usize,
        first: usize,
        (streams, owner): (&[RawStream], Foreign),
        id: &[u8],
        interrupt: Interrupt<'_>,
    ) -> Result<Self> {
        let attempt = "connecting the GPUs";
        let internal = id.try_into().map_err(|_| Error::Device(format!("{attempt}: an id of {} bytes", id.len())))?;
        let blocking = streams.len() == ranks;
        let mut handles: Vec<Handle> = Vec::new();
        let started = grouped(attempt, || {
            for (index, stream) in streams.iter().enumerate() {
                enter(stream.context)?;
                let (mut raw, mut config) = (std::ptr::null_mut(), ncclConfig_t::with_blocking(blocking));
                let (ranks, rank) = (ranks as i32, (first + index) as i32);
                // SAFETY: the arguments point to room for a handle and to a complete configuration.
                let result = unsafe {
                    nccl::ncclCommInitRankConfig(&mut raw, ranks, ncclUniqueId { internal }, rank, &mut config)
                };
                handles.push(Handle { raw, context: stream.context });
                check(result, attempt)?;
            }
            Ok(())
        });
        let made = Self { handles: Mutex::new(handles), ended: OnceLock::new(), owner };
        started?;
        made.settle(&mut lock(&made.handles), attempt, interrupt)?;
        Ok(made)
    }

    /// Starts a collective of `count` elements: those that a rank gives, or gets from
    /// [`Collective::ReduceScatter`]. There is a part for each rank of this process, in order.
    ///
    /// # Errors
    /// [`Error::Device`] if NCCL fails, [`Error::Group`] if it was aborted, and the interrupt's error.
    ///
    /// # Safety
    /// The memory has room for what the ranks give and get, until the streams have done the work.
    pub unsafe fn collective(
        &self,
        what: Collective,
        dtype: Dtype,
        count: usize,
        parts: &[Part],
        interrupt: Interrupt<'_>,
    ) -> Result<()> {
        let attempt = "communicating between GPUs";
        // Elements of any type are moved as bytes.
        let (dtype, count) = match what {
            Collective::AllGather | Collective::Broadcast(_) => (ncclDataType_t::UINT8, count * dtype.size()),
            Collective::AllReduce(_) | Collective::ReduceScatter(_) => (of_dtype(dtype)?, count),
        };
        self.run(attempt, interrupt, |handles| {
            for (handle, part) in handles.iter().zip(parts) {
                enter(handle.context)?;
                let (from, to, comm) = (part.from as *const c_void, part.to as *mut c_void, handle.raw);
                let stream = part.stream.stream.cast();
                // SAFETY: the communicator exists, and the caller upholds the contract on the memory.
                let result = unsafe {
                    match what {
                        Collective::AllGather => nccl::ncclAllGather(from, to, count, dtype, comm, stream),
                        Collective::AllReduce(op) => {
                            nccl::ncclAllReduce(from, to, count, dtype, of_reduction(op), comm, stream)
                        }
                        Collective::ReduceScatter(op) => {
                            nccl::ncclReduceScatter(from, to, count, dtype, of_reduction(op), comm, stream)
                        }
                        Collective::Broadcast(root) => {
                            nccl::ncclBroadcast(from, to, count, dtype, root as i32, comm, stream)
                        }
                    }
                };
                check(result, attempt)?;
            }
            Ok(())
        })
    }

    /// Starts transfers between pairs of ranks, all at once.
    ///
    /// # Errors
    /// Those of [`Communicators::collective`].
    ///
    /// # Safety
    /// That of [`Communicators::collective`].
    pub unsafe fn transfer(&self, messages: &[Message], interrupt: Interrupt<'_>) -> Result<()> {
        let attempt = "transferring between GPUs";
        self.run(attempt, interrupt, |handles| {
            for message in messages {
                let handle = &handles[message.member];
                enter(handle.context)?;
                let (count, peer, stream) = (message.bytes as usize, message.peer as i32, message.stream.stream.cast());
                let bytes = ncclDataType_t::UINT8;
                // SAFETY: as in `collective`.
                let result = unsafe {
                    if message.sends {
                        nccl::ncclSend(message.address as *const c_void, count, bytes, peer, handle.raw, stream)
                    } else {
                        nccl::ncclRecv(message.address as *mut c_void, count, bytes, peer, handle.raw, stream)
                    }
                };
                check(result, attempt)?;
            }
            Ok(())
        })
    }

    /// Checks that communication was not aborted: results of collectives that were under way then are undefined.
    ///
    /// # Errors
    /// [`Error::Group`] with the reason.
    pub fn ended(&self) -> Result<()> {
        self.ended.get().map_or(Ok(()), |reason| Err(Error::Group(reason.clone())))
    }

    /// Reports why communication was aborted, or an error that NCCL has found since the last call, of a link or of a
    /// network. While another call is under way, nothing is asked: that call reports the error, unless it blocks in
    /// the host.
    ///
    /// # Errors
    /// [`Error::Group`] after an abort, [`Error::Device`] with NCCL's text.
    pub fn check(&self) -> Result<()> {
        self.ended()?;
        let Ok(handles) = self.handles.try_lock() else { return Ok(()) };
        handles.iter().try_for_each(|handle| {
            let mut state = ncclResult_t::SUCCESS;
            // SAFETY: the communicator exists, and the second argument points to room for a result.
            check(unsafe { nccl::ncclCommGetAsyncError(handle.raw, &mut state) }, WATCHING)?;
            check(state, WATCHING)
        })
    }

    /// Ends all communication because of an error: kernels that wait for another rank end, and their results are
    /// undefined. A call under way is awaited first: NCCL frees what it aborts, which the call uses.
    pub fn abort(&self, error: &Error) {
        self.end(error);
        abort(&mut lock(&self.handles));
    }

    /// Communicators of no GPU.
    #[cfg(test)]
    pub fn of_none() -> Self {
        Self { handles: Mutex::default(), ended: OnceLock::new(), owner: Box::new(()) }
    }

    /// Records why communication is aborted. A later reason follows from the first one.
    fn end(&self, error: &Error) {
        let _ = self.ended.set(error.to_string());
    }

    fn run(&self, attempt: &str, interrupt: Interrupt<'_>, start: impl FnOnce(&[Handle]) -> Result<()>) -> Result<()> {
        interrupt()?;
        let mut handles = lock(&self.handles);
        self.ended()?;
        if let Err(error) = grouped(attempt, || start(&handles)) {
            // Some of the GPUs may have started, and would wait for the others.
            self.end(&error);
            abort(&mut handles);
            return Err(error);
        }
        self.settle(&mut handles, attempt, interrupt)
    }

    /// Waits until the host's part of a call has ended on all communicators; aborts them after an error.
    fn settle(&self, handles: &mut Vec<Handle>, attempt: &str, interrupt: Interrupt<'_>) -> Result<()> {
        let result = handles.iter().try_for_each(|handle| {
            let begin = Instant::now();
            loop {
                let mut state = ncclResult_t::SUCCESS;
                // SAFETY: the communicator exists, and the second argument points to room for a result.
                check(unsafe { nccl::ncclCommGetAsyncError(handle.raw, &mut state) }, attempt)?;
                if state != ncclResult_t::IN_PROGRESS {
                    return check(state, attempt);
                }
                interrupt()?;
                // Most calls take microseconds; the first ones connect the GPUs.
                if begin.elapsed() > Duration::from_millis(1) {
                    std::thread::sleep(Duration::from_micros(50));
                } else {
                    std::hint::spin_loop();
                }
            }
        });
        if let Err(error) = &result {
            self.end(error);
            abort(handles);
        }
        result
    }
}

impl Drop for Communicators {
    fn drop(&mut self) {
        let handles = std::mem::take(&mut *lock(&self.handles));
        let begin = Instant::now();
        // Communicators that do not block all begin to end before one is awaited; those that block are awaited in turn.
        for handle in &handles {
            if enter(handle.context).is_ok() {
                // SAFETY: the communicator exists.
                unsafe { nccl::ncclCommFinalize(handle.raw) };
            }
        }
        let ended = |handle: &Handle| loop {
            let mut state = ncclResult_t::SUCCESS;
            // SAFETY: as in `settle`.
            let result = unsafe { nccl::ncclCommGetAsyncError(handle.raw, &mut state) };
            match (result, state) {
                (ncclResult_t::SUCCESS, ncclResult_t::SUCCESS) => return true,
                (ncclResult_t::SUCCESS, ncclResult_t::IN_PROGRESS) if begin.elapsed() < FAREWELL => {
                    std::thread::sleep(Duration::from_micros(100));
                }
                _ => return false,
            }
        };
        let ended: Vec<bool> = handles.iter().map(ended).collect();
        for (handle, ended) in handles.iter().zip(ended) {
            if enter(handle.context).is_err() {
                continue;
            }
            // SAFETY: the communicator exists, and is not used again.
            unsafe { if ended { nccl::ncclCommDestroy(handle.raw) } else { nccl::ncclCommAbort(handle.raw) } };
        }
    }
}

fn abort(handles: &mut Vec<Handle>) {
    for handle in handles.drain(..) {
        // Without its context the communicator is not released.
        if enter(handle.context).is_ok() {
            // SAFETY: the communicator exists, and is not used again.
            unsafe { nccl::ncclCommAbort(handle.raw) };
        }
    }
}

/// Makes calls that NCCL starts at once, as those of several GPUs of a thread must be.
fn grouped(attempt: &str, calls: impl FnOnce() -> Result<()>) -> Result<()> {
    // SAFETY: the functions have no arguments, and each start has its end.
    check(unsafe { nccl::ncclGroupStart() }, attempt)?;
    let made = calls();
    // SAFETY: as above.
    let ended = check(unsafe { nccl::ncclGroupEnd() }, attempt);
    made.and(ended)
}

fn enter(context: *mut c_void) -> Result<()> {
    // SAFETY: by contract the context exists.
    errors::check(unsafe { sys::cuCtxSetCurrent(context.cast()) }, || "using a GPU of a group".to_owned())
}

fn check(result: ncclResult_t, attempt: &str) -> Result<()> {
    if matches!(result, ncclResult_t::SUCCESS | ncclResult_t::IN_PROGRESS) {
        return Ok(());
    }
    let more = nccl::last_error();
    let more = if more.is_empty() { String::new() } else { format!(" ({more})") };
    Err(Error::Device(format!(
        "{attempt}: NCCL reports `{}`{more}; NCCL_DEBUG=INFO makes it say more",
        nccl::error_text(result)
    )))
}

fn of_dtype(dtype: Dtype) -> Result<ncclDataType_t> {
    Ok(match dtype {
        Dtype::F32 => ncclDataType_t::FLOAT32,
        Dtype::F64 => ncclDataType_t::FLOAT64,
        Dtype::I32 => ncclDataType_t::INT32,
        Dtype::U32 => ncclDataType_t::UINT32,
        Dtype::I64 => ncclDataType_t::INT64,
        Dtype::U64 => ncclDataType_t::UINT64,
        Dtype::U8 => ncclDataType_t::UINT8,
        other => return Err(Error::Argument(format!("groups of devices do not combine {other}"))),
    })
}

fn of_reduction(reduction: Reduction) -> ncclRedOp_t {
    match reduction {
        Reduction::Sum => ncclRedOp_t::SUM,
        Reduction::Max => ncclRedOp_t::MAX,
        Reduction::Min => ncclRedOp_t::MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_ends_communication_with_its_error() {
        let communicators = Communicators::of_none();
        assert!(communicators.check().is_ok());
        // Without NCCL its own error comes first.
        let failed = communicators.run("a call", &|| Ok(()), |_| Err(Error::Device("a link".to_owned())));
        let text = failed.expect_err("a failure").to_string();
        let next = communicators.run("the next call", &|| Ok(()), |_| Ok(()));
        for later in [communicators.check(), communicators.ended(), next] {
            assert!(matches!(&later, Err(Error::Group(reason)) if *reason == text), "{later:?}");
        }
    }
}
