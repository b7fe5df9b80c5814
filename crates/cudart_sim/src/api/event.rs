//! Events.

use crate::entry::{Handle, on};
use crate::{driver, exported};

exported! {
    cudaEventCreate(event: *mut Handle) { driver::cuEventCreate(event, 0) }

    cudaEventCreateWithFlags(event: *mut Handle, flags: u32) { driver::cuEventCreate(event, flags) }

    cudaEventDestroy(event: Handle) { driver::cuEventDestroy_v2(event) }

    cudaEventRecord(event: Handle, stream: Handle) or cudaEventRecord_ptsz { driver::cuEventRecord(event, on(stream)) }

    cudaEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) or cudaEventRecordWithFlags_ptsz {
        driver::cuEventRecordWithFlags(event, on(stream), flags)
    }

    cudaEventQuery(event: Handle) { driver::cuEventQuery(event) }

    cudaEventSynchronize(event: Handle) { driver::cuEventSynchronize(event) }

    cudaEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) {
        driver::cuEventElapsedTime(milliseconds, start, end)
    }

    cudaEventElapsedTime_v2(milliseconds: *mut f32, start: Handle, end: Handle) {
        driver::cuEventElapsedTime(milliseconds, start, end)
    }
}
