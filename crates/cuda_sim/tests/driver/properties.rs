//! Properties of devices, addresses and functions.

use super::*;

const INVALID_CLUSTER: u32 = 912;
/// Attributes of functions: extents of the required cluster, and whether more than 8 blocks are allowed.
const CLUSTER: [u32; 3] = [11, 12, 13];
const NON_PORTABLE: u32 = 14;

/// The limits of surfaces and textures, and what the simulated memory is for NUMA.
#[test]
fn attributes_of_a_device() {
    start();
    let surfaces = [(55, 32_768), (56, 131_072), (57, 65_536), (58, 16_384), (59, 16_384), (60, 16_384)];
    let layers = [(61, 32_768), (62, 2048), (63, 32_768), (64, 32_768), (65, 2048), (66, 32_768), (68, 2046)];
    let others = [(127, 1), (129, 0), (130, 0), (131, -1), (134, -1)];
    for (attribute, expected) in surfaces.into_iter().chain(layers).chain(others) {
        let mut value = 99;
        ok(unsafe { cuDeviceGetAttribute(&mut value, attribute, 0) });
        assert_eq!(value, expected, "attribute {attribute}");
    }
}

#[test]
fn attributes_of_an_address() {
    start();
    let data = words([0; 32]);
    let long = |attribute| {
        let mut value = 99_u64;
        ok(unsafe { cuPointerGetAttribute((&raw mut value).cast(), attribute, data + 8) });
        value
    };
    // Size, start and number of the mapping, which are those of the allocation.
    assert_eq!((long(18), long(19), long(20)), (128, data, long(7)));
    let (mut byte, mut domain) = (9_u8, 9_i32);
    ok(unsafe { cuPointerGetAttribute((&raw mut byte).cast(), 21, data) });
    ok(unsafe { cuPointerGetAttribute((&raw mut domain).cast(), 22, data) });
    assert_eq!((byte, domain), (0, -1));
    let mut tokens = [0_u64; 2];
    assert_eq!(unsafe { cuPointerGetAttribute(tokens.as_mut_ptr().cast(), 5, data) }, 801);
    assert_eq!(unsafe { cuPointerGetAttribute(tokens.as_mut_ptr().cast(), 23, data) }, 1);
}

fn set_cluster(function: usize, extents: [i32; 3]) {
    for (attribute, extent) in CLUSTER.into_iter().zip(extents) {
        ok(unsafe { cuFuncSetAttribute(function, attribute, extent) });
    }
}

/// Launches blocks of 32 threads, in clusters of this shape if one is given.
fn launch_blocks(function: usize, blocks: u32, cluster: Option<[u32; 3]>, data: u64) -> u32 {
    let value = [data, 1];
    let pointers = value.each_ref().map(std::ptr::from_ref);
    let attribute = cluster_attribute(cluster.unwrap_or_default());
    let dimensions = [blocks, 1, 1, 32, 1, 1, 0];
    let config = Config { dimensions, stream: 0, attributes: &attribute, count: u32::from(cluster.is_some()) };
    unsafe { cuLaunchKernelEx(&config, function, pointers.as_ptr().cast(), std::ptr::null()) }
}

fn cluster_attribute(cluster: [u32; 3]) -> [u32; 18] {
    let mut attribute = [0; 18];
    attribute[0] = 4;
    attribute[2..5].copy_from_slice(&cluster);
    attribute
}

/// The cluster that a program sets on a function holds for its launches.
#[test]
fn a_cluster_that_a_function_requires() {
    start();
    let (total, data) = (function(module(), "total"), words([0; 32]));
    ok(launch_blocks(total, 3, None, data));
    set_cluster(total, [2, 1, 1]);
    ok(launch_blocks(total, 4, None, data));
    ok(launch_blocks(total, 4, Some([2, 1, 1]), data));
    assert_eq!(launch_blocks(total, 3, None, data), 1, "3 blocks are no clusters of 2");
    assert_eq!(launch_blocks(total, 4, Some([4, 1, 1]), data), INVALID_CLUSTER);
    ok(unsafe { cuFuncSetAttribute(total, CLUSTER[0], 0) });
    assert_eq!(launch_blocks(total, 4, None, data), 1, "all extents, or none");
    set_cluster(total, [0, 0, 0]);
    assert_eq!(launch_blocks(total, 16, Some([16, 1, 1]), data), INVALID_CLUSTER);
    ok(unsafe { cuFuncSetAttribute(total, NON_PORTABLE, 1) });
    ok(launch_blocks(total, 16, Some([16, 1, 1]), data));
    ok(unsafe { cuFuncSetAttribute(total, 10, 1) });
    assert_eq!(launch_blocks(total, 4, None, data), INVALID_CLUSTER, "a cluster must be given");
}

#[test]
fn clusters_that_are_resident() {
    start();
    let total = function(module(), "total");
    let clusters = |cluster: Option<[u32; 3]>| {
        let attribute = cluster_attribute(cluster.unwrap_or_default());
        let dimensions = [64, 1, 1, 32, 1, 1, 0];
        let config = Config { dimensions, stream: 0, attributes: &attribute, count: u32::from(cluster.is_some()) };
        let mut clusters = 0;
        (unsafe { cuOccupancyMaxActiveClusters(&mut clusters, total, &config) }, clusters)
    };
    let (code, of_two) = clusters(Some([2, 1, 1]));
    ok(code);
    assert!(of_two > 0);
    assert_eq!(clusters(Some([2, 2, 1])), (0, of_two / 2));
    assert_eq!(clusters(None).0, 1);
}

/// New parameters of a kernel's node leave its cluster as it is.
#[test]
fn a_node_keeps_its_cluster() {
    start();
    let (total, data, stream) = (function(module(), "total"), words([0; 32]), stream());
    let (mut graph, mut executable, mut node, mut count) = (0, 0, 0, 1);
    let value = [data, 1];
    let pointers = value.each_ref().map(std::ptr::from_ref);
    let attribute = cluster_attribute([2, 1, 1]);
    let mut dimensions = [4, 1, 1, 32, 1, 1, 0];
    ok(unsafe { cuStreamBeginCapture_v2(stream, 0) });
    let config = Config { dimensions, stream, attributes: &attribute, count: 1 };
    ok(unsafe { cuLaunchKernelEx(&config, total, pointers.as_ptr().cast(), std::ptr::null()) });
    ok(unsafe { cuStreamEndCapture(stream, &mut graph) });
    ok(unsafe { cuGraphGetNodes(graph, &mut node, &mut count) });
    ok(unsafe { cuGraphInstantiateWithFlags(&mut executable, graph, 0) });
    ok(unsafe { cuGraphLaunch(executable, stream) });
    dimensions[0] = 3;
    let (pointers, extra) = (pointers.as_ptr().cast(), std::ptr::null());
    let kernel = KernelNode { function: total, dimensions, pointers, extra, kernel: 0, context: 0 };
    ok(unsafe { cuGraphExecKernelNodeSetParams_v2(executable, node, &kernel) });
    assert_eq!(unsafe { cuGraphLaunch(executable, stream) }, 1, "3 blocks are no clusters of 2");
}
