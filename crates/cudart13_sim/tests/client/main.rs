//! A program that uses the runtime library as nvcc's host code does, without nvcc: with both libraries, on the
//! simulated driver.

mod graphs;
mod launches;
mod memory;
mod properties;
mod runtime;
mod textures;

use runtime::both;

#[test]
fn every_function_is_exported() {
    let names = include_str!("../../../cudart_sim/src/api/functions.txt").lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for line in names {
        let (name, versions) = line.split_once(' ').expect("a name and versions");
        for runtime in both().iter().filter(|runtime| versions.contains(&runtime.version.to_string())) {
            let _: *const () = runtime.get(name);
            count += 1;
        }
    }
    assert!(count > 800, "{count}");
}

#[test]
fn a_missing_function_says_so() {
    for runtime in both() {
        assert_eq!(runtime.call("cudaImportExternalMemory", [0; 3]), 801);
        assert_eq!(runtime.call("cudaGetLastError", [0; 3]), 801);
    }
}

#[test]
fn versions_and_errors() {
    for runtime in both() {
        let mut version = 0_i32;
        runtime.ok(runtime.call("cudaRuntimeGetVersion", [&raw mut version as usize, 0, 0]));
        assert_eq!(version / 1000, runtime.version);
        runtime.ok(runtime.call("cudaDriverGetVersion", [&raw mut version as usize, 0, 0]));
        assert!(version >= 13_000, "{version}");
        assert_eq!(runtime.name(700), "cudaErrorIllegalAddress");
        assert_eq!(runtime.name(12_345), "unrecognized error code");
        // The last error is the thread's, and reading it resets it.
        assert_eq!(runtime.call("cudaSetDevice", [99, 0, 0]), 101);
        assert_eq!(
            std::thread::scope(|scope| scope.spawn(|| runtime.call("cudaGetLastError", [0; 3])).join()).ok(),
            Some(0)
        );
        assert_eq!(runtime.call("cudaPeekAtLastError", [0; 3]), 101);
        assert_eq!(runtime.call("cudaGetLastError", [0; 3]), 101);
        assert_eq!(runtime.call("cudaGetLastError", [0; 3]), 0);
    }
}
