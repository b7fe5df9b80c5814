//! Programs that call the driver as clients do.

#![expect(
    clippy::undocumented_unsafe_blocks,
    reason = "every call of the driver is unsafe; where a pointer is not valid, that is the test"
)]

mod abi;
mod bounds;
mod captures;
mod contexts;
mod deferred;
mod faults;
mod graph_races;
mod graphs;
mod host;
mod managed;
mod memory;
mod modules;
mod pools;
mod process;
mod properties;
mod races;
mod retained;
mod streams;
mod tensor;

use abi::*;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Kernels of the tests: `add(data, value)` adds to each of 32 words, `count()` increments a variable of the module,
/// `wild(data)` writes past the end, `racy(data)` lets two warps write one word,
/// `total(sum)` adds 1 to a word atomically in each thread, `say()` prints a line.
const PTX: &str = include_str!("kernels.ptx");

/// Where the driver appends findings.
fn report() -> String {
    format!("{}/report-{}.jsonl", env!("CARGO_TARGET_TMPDIR"), std::process::id())
}

/// The first entry of the report for which `is_it` holds.
fn reported(is_it: impl Fn(&serde_json::Value) -> bool) -> Option<serde_json::Value> {
    let text = std::fs::read_to_string(report()).unwrap_or_default();
    let entries = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    entries.into_iter().find(is_it)
}

/// Starts the driver with four devices and the checkers of races, and makes a context of its own current.
fn start() -> usize {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        // SAFETY: every test calls this first, and nothing else reads the environment.
        unsafe {
            std::env::set_var("RUSTWARP_SIM_DEVICES", "4");
            std::env::set_var("RUSTWARP_SIM_CHECKS", "race,streams,host");
            std::env::set_var("RUSTWARP_SIM_REPORT", report());
        }
        ok(unsafe { cuInit(0) });
    });
    let mut context = 0;
    ok(unsafe { cuCtxCreate_v2(&mut context, 0, 0) });
    context
}

#[track_caller]
fn ok(code: u32) {
    assert_eq!(code, 0, "{:?}", cuda_sim::describe(code));
}

/// Loads the kernels.
fn module() -> usize {
    let (mut module, text) = (0, CString::new(PTX).expect("text"));
    ok(unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) });
    module
}

fn function(module: usize, name: &str) -> usize {
    let (mut function, name) = (0, CString::new(name).expect("name"));
    ok(unsafe { cuModuleGetFunction(&mut function, module, name.as_ptr()) });
    function
}

/// Launches 32 threads with these parameters.
fn launch(function: usize, stream: usize, parameters: &[u64]) -> u32 {
    let pointers: Vec<*const u64> = parameters.iter().map(std::ptr::from_ref).collect();
    unsafe { cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, pointers.as_ptr().cast(), std::ptr::null()) }
}

/// Device memory of 32 words with these values.
fn words(values: [u32; 32]) -> u64 {
    let mut address = 0;
    ok(unsafe { cuMemAlloc_v2(&mut address, 128) });
    ok(unsafe { cuMemcpyHtoD_v2(address, values.as_ptr() as u64, 128) });
    address
}

fn read(address: u64) -> [u32; 32] {
    let mut values = [0; 32];
    ok(unsafe { cuMemcpyDtoH_v2(values.as_mut_ptr() as u64, address, 128) });
    values
}

fn stream() -> usize {
    let mut stream = 0;
    ok(unsafe { cuStreamCreate(&mut stream, 1) });
    stream
}

fn event() -> usize {
    let mut event = 0;
    ok(unsafe { cuEventCreate(&mut event, 0) });
    event
}

/// A gate that a function of the host waits at until the test opens it.
#[derive(Default)]
struct Gate(Mutex<bool>, std::sync::Condvar);

impl Gate {
    fn open(&self) {
        *self.lock() = true;
        self.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) {
        drop(self.1.wait_while(self.lock(), |open| !*open).unwrap_or_else(PoisonError::into_inner));
    }

    /// Enqueues a function that waits for the gate.
    fn close(&'static self, stream: usize) {
        extern "C" fn pass(gate: usize) {
            // SAFETY: the gate is static.
            let gate = unsafe { &*(gate as *const Gate) };
            gate.wait();
        }
        ok(unsafe { cuLaunchHostFunc(stream, pass as *const () as usize, std::ptr::from_ref(self) as usize) });
    }
}
