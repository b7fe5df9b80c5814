//! `libcudart.so.13`: the runtime library of `cudart_sim` with what is CUDA 13's alone.

use cudart_sim::api::device::{self, Layout};
use cudart_sim::api::{pointer, start, stream, texture};
use cudart_sim::entry::{Handle, on, put};
use cudart_sim::{driver, exported};
use std::ffi::{c_char, c_void};

/// The version of the runtime.
const VERSION: i32 = 13_050;

/// `cudaMemLocation`: host, device or node, and its number.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Location {
    kind: u32,
    number: i32,
}

/// The driver's number of the host.
const HOST: i32 = -1;

impl Location {
    /// The driver's number of the device, or of the host.
    fn device(self) -> i32 {
        if self.kind == 1 { self.number } else { HOST }
    }
}

exported! {
    anywhere:
    cudaRuntimeGetVersion(version: *mut i32) { put(version, VERSION) }

    cudaGetDeviceProperties(place: *mut u8, number: i32) { device::properties(Layout::Thirteen, place, number) }

    cudaGetDriverEntryPoint(
        name: *const c_char, function: *mut *mut c_void, flags: u64, status: *mut u32,
    ) or cudaGetDriverEntryPoint_ptsz {
        start::find(name, function, VERSION as u32, flags, status)
    }
}

exported! {
    cudaPointerGetAttributes(place: *mut (pointer::Attributes, [u64; 8]), address: u64) {
        put(place, (pointer::attributes(address)?, [0; 8]))
    }

    cudaGetTextureObjectResourceDesc(place: *mut (texture::Described, [u64; 10]), texture: u64) {
        put(place, (texture::of_texture(texture)?, [0; 10]))
    }

    cudaGetSurfaceObjectResourceDesc(place: *mut (texture::Described, [u64; 10]), surface: u64) {
        put(place, (texture::of_surface(surface)?, [0; 10]))
    }

    cudaMemAdvise(address: u64, bytes: usize, advice: u32, location: Location) {
        driver::cuMemAdvise(address, bytes, advice, location.device())
    }

    cudaMemPrefetchAsync(
        address: u64, bytes: usize, location: Location, _flags: u32, stream: Handle,
    ) or cudaMemPrefetchAsync_ptsz {
        driver::cuMemPrefetchAsync(address, bytes, location.device(), on(stream))
    }

    cudaStreamGetCaptureInfo(
        stream: Handle, status: *mut u32, id: *mut u64, graph: *mut Handle, nodes: *mut *const Handle,
        edges: *mut *const c_void, count: *mut usize,
    ) or cudaStreamGetCaptureInfo_ptsz {
        stream::capture_info(stream, status, id, graph, nodes, edges, count)
    }

    cudaStreamUpdateCaptureDependencies(
        stream: Handle, nodes: *const Handle, _edges: *const c_void, count: usize, flags: u32,
    ) or cudaStreamUpdateCaptureDependencies_ptsz {
        driver::cuStreamUpdateCaptureDependencies(on(stream), nodes, count, flags)
    }

    cudaGraphAddDependencies(
        graph: Handle, from: *const Handle, to: *const Handle, _edges: *const c_void, count: usize,
    ) {
        driver::cuGraphAddDependencies(graph, from, to, count)
    }

    cudaGraphGetEdges(
        graph: Handle, from: *mut Handle, to: *mut Handle, _edges: *mut c_void, count: *mut usize,
    ) {
        driver::cuGraphGetEdges(graph, from, to, count)
    }

    cudaGraphNodeGetDependencies(
        node: Handle, nodes: *mut Handle, _edges: *mut c_void, count: *mut usize,
    ) {
        driver::cuGraphNodeGetDependencies(node, nodes, count)
    }
}
