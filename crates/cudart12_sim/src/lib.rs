//! `libcudart.so.12`: the runtime library of `cudart_sim` with what is CUDA 12's alone.

use cudart_sim::api::device::{self, Layout};
use cudart_sim::api::{pointer, start, stream, texture};
use cudart_sim::entry::{Handle, on, put};
use cudart_sim::{driver, exported};
use std::ffi::{c_char, c_void};

/// The version of the runtime.
const VERSION: i32 = 12_090;

exported! {
    anywhere:
    cudaRuntimeGetVersion(version: *mut i32) { put(version, VERSION) }

    cudaGetDeviceProperties(place: *mut u8, number: i32) { device::properties(Layout::Eleven, place, number) }

    cudaGetDeviceProperties_v2(place: *mut u8, number: i32) { device::properties(Layout::Twelve, place, number) }

    cudaGetDriverEntryPoint(
        name: *const c_char, function: *mut *mut c_void, flags: u64, status: *mut u32,
    ) or cudaGetDriverEntryPoint_ptsz {
        start::find(name, function, VERSION as u32, flags, status)
    }
}

exported! {
    cudaPointerGetAttributes(place: *mut pointer::Attributes, address: u64) {
        put(place, pointer::attributes(address)?)
    }

    cudaGetTextureObjectResourceDesc(place: *mut texture::Described, texture: u64) {
        put(place, texture::of_texture(texture)?)
    }

    cudaGetSurfaceObjectResourceDesc(place: *mut texture::Described, surface: u64) {
        put(place, texture::of_surface(surface)?)
    }

    cudaMemAdvise(address: u64, bytes: usize, advice: u32, device: i32) {
        driver::cuMemAdvise(address, bytes, advice, device)
    }

    cudaMemPrefetchAsync(address: u64, bytes: usize, device: i32, stream: Handle) or cudaMemPrefetchAsync_ptsz {
        driver::cuMemPrefetchAsync(address, bytes, device, on(stream))
    }

    cudaStreamGetCaptureInfo(stream: Handle, status: *mut u32, id: *mut u64) or cudaStreamGetCaptureInfo_ptsz {
        let none = std::ptr::null_mut();
        stream::capture_info(stream, status, id, none, std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut())
    }

    cudaStreamGetCaptureInfo_v3(
        stream: Handle, status: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle,
        edges: *mut *const c_void, count: *mut usize,
    ) or cudaStreamGetCaptureInfo_v3_ptsz {
        stream::capture_info(stream, status, id, graph, nodes, edges, count)
    }

    cudaStreamUpdateCaptureDependencies(
        stream: Handle, nodes: *const Handle, count: usize, flags: u32,
    ) or cudaStreamUpdateCaptureDependencies_ptsz {
        driver::cuStreamUpdateCaptureDependencies(on(stream), nodes, count, flags)
    }

    cudaGraphAddDependencies(graph: Handle, from: *const Handle, to: *const Handle, count: usize) {
        driver::cuGraphAddDependencies(graph, from, to, count)
    }

    cudaGraphGetEdges(graph: Handle, from: *mut Handle, to: *mut Handle, count: *mut usize) {
        driver::cuGraphGetEdges(graph, from, to, count)
    }

    cudaGraphNodeGetDependencies(node: Handle, nodes: *mut Handle, count: *mut usize) {
        driver::cuGraphNodeGetDependencies(node, nodes, count)
    }
}
