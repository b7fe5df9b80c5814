//! Streams, and their capture.

use crate::code::Answer;
use crate::entry::{Handle, on, put};
use crate::{driver, exported};
use std::ffi::c_void;

exported! {
    cudaStreamCreate(stream: *mut Handle) { driver::cuStreamCreate(stream, 0) }

    cudaStreamCreateWithFlags(stream: *mut Handle, flags: u32) { driver::cuStreamCreate(stream, flags) }

    cudaStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: i32) {
        driver::cuStreamCreateWithPriority(stream, flags, priority)
    }

    cudaStreamDestroy(stream: Handle) { driver::cuStreamDestroy_v2(stream) }

    cudaStreamSynchronize(stream: Handle) or cudaStreamSynchronize_ptsz { driver::cuStreamSynchronize(on(stream)) }

    cudaStreamQuery(stream: Handle) or cudaStreamQuery_ptsz { driver::cuStreamQuery(on(stream)) }

    cudaStreamWaitEvent(stream: Handle, event: Handle, flags: u32) or cudaStreamWaitEvent_ptsz {
        driver::cuStreamWaitEvent(on(stream), event, flags)
    }

    cudaStreamAddCallback(
        stream: Handle, function: *const c_void, data: *mut c_void, flags: u32,
    ) or cudaStreamAddCallback_ptsz {
        driver::cuStreamAddCallback(on(stream), function, data, flags)
    }

    cudaStreamAttachMemAsync(
        stream: Handle, address: u64, bytes: usize, flags: u32,
    ) or cudaStreamAttachMemAsync_ptsz {
        driver::cuStreamAttachMemAsync(on(stream), address, bytes, flags)
    }

    cudaStreamGetFlags(stream: Handle, flags: *mut u32) or cudaStreamGetFlags_ptsz {
        driver::cuStreamGetFlags(on(stream), flags)
    }

    cudaStreamGetPriority(stream: Handle, priority: *mut i32) or cudaStreamGetPriority_ptsz {
        driver::cuStreamGetPriority(on(stream), priority)
    }

    cudaStreamGetId(stream: Handle, id: *mut u64) or cudaStreamGetId_ptsz { driver::cuStreamGetId(on(stream), id) }

    cudaStreamGetDevice(stream: Handle, device: *mut i32) or cudaStreamGetDevice_ptsz {
        driver::cuStreamGetDevice(on(stream), device)
    }

    cudaStreamBeginCapture(stream: Handle, mode: u32) or cudaStreamBeginCapture_ptsz {
        driver::cuStreamBeginCapture_v2(on(stream), mode)
    }

    cudaStreamEndCapture(stream: Handle, graph: *mut Handle) or cudaStreamEndCapture_ptsz {
        driver::cuStreamEndCapture(on(stream), graph)
    }

    cudaStreamIsCapturing(stream: Handle, status: *mut u32) or cudaStreamIsCapturing_ptsz {
        driver::cuStreamIsCapturing(on(stream), status)
    }

    cudaStreamGetCaptureInfo_v2(
        stream: Handle, status: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle,
        count: *mut usize,
    ) or cudaStreamGetCaptureInfo_v2_ptsz {
        driver::cuStreamGetCaptureInfo_v2(on(stream), status, id, graph, nodes, count)
    }

    cudaThreadExchangeStreamCaptureMode(mode: *mut u32) { driver::cuThreadExchangeStreamCaptureMode(mode) }
}

/// Writes what is known of a capture; the simulator's dependencies have no data.
///
/// # Errors
/// The driver's.
///
/// # Safety
/// The pointers must be null or valid for a write, but `status`, which must be valid.
pub unsafe fn capture_info(
    stream: Handle,
    status: *mut u32,
    id: *mut u64,
    graph: *mut Handle,
    nodes: *mut *const Handle,
    edges: *mut *const c_void,
    count: *mut usize,
) -> Answer {
    // SAFETY: by contract.
    unsafe {
        if !edges.is_null() {
            put(edges, std::ptr::null())?;
        }
        driver::cuStreamGetCaptureInfo_v2(on(stream), status, id, graph, nodes, count)
    }
}
