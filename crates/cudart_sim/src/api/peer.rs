//! Access of one device to another's memory.

use crate::{context, driver, exported};

exported! {
    cudaDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) { driver::cuDeviceCanAccessPeer(can, device, peer) }

    cudaDeviceEnablePeerAccess(peer: i32, flags: u32) {
        driver::cuCtxEnablePeerAccess(context::primary(peer)?, flags)
    }

    cudaDeviceDisablePeerAccess(peer: i32) { driver::cuCtxDisablePeerAccess(context::primary(peer)?) }

    cudaDeviceGetP2PAttribute(value: *mut i32, attribute: u32, from: i32, to: i32) {
        driver::cuDeviceGetP2PAttribute(value, attribute, from, to)
    }
}
