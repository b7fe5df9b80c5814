//! Runs PTX on the CPU, finds its bugs and explains its cost.
//!
//! A [`Program`] is parsed from PTX text, a [`Machine`] holds device memory and launches kernels on it:
//!
//! ```
//! use ptx_sim::{Config, Launch, Machine, Program};
//!
//! let program = Program::parse(
//!     ".version 7.8
//!     .target sm_75
//!     .address_size 64
//!     .visible .entry double_all(.param .u64 data)
//!     {
//!         .reg .b32 %r<4>; .reg .b64 %rd<4>;
//!         ld.param.u64 %rd1, [data];
//!         mov.u32 %r1, %tid.x;
//!         mul.wide.u32 %rd2, %r1, 4;
//!         add.s64 %rd3, %rd1, %rd2;
//!         ld.global.u32 %r2, [%rd3];
//!         add.u32 %r3, %r2, %r2;
//!         st.global.u32 [%rd3], %r3;
//!         ret;
//!     }",
//! )?;
//! let mut machine = Machine::new(Config::default());
//! let data = machine.alloc(4 * 32, "data")?;
//! machine.fill(data, 1, 4 * 32)?;
//! let params = [data.to_le_bytes().to_vec()];
//! let launch = Launch { entry: "double_all", grid: [1, 1, 1], block: [32, 1, 1], params: &params, ..Launch::default() };
//! let report = machine.launch(&program, &launch)?;
//! let mut first = [0; 4];
//! machine.read(data, &mut first)?;
//! assert_eq!(u32::from_le_bytes(first), 0x0202_0202);
//! assert_eq!(report.counters.global_requests, 2);
//!
//! // One thread too many: the launch stops, and says whose fault it was and where.
//! let stop = machine.launch(&program, &Launch { block: [33, 1, 1], ..launch }).unwrap_err();
//! assert_eq!((stop.kind(), stop.code()), (ptx_sim::StopKind::Fault, "out-of-bounds"));
//! assert!(stop.to_string().contains("`data` (128 bytes)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it runs
//!
//! PTX as LLVM 22 and nvcc write it for kernels in Rust, C and C++: integer, floating-point, half-precision and packed
//! arithmetic with PTX's rounding, every state space, vector accesses, atomics, fences, barriers, warp-wide `*.sync`
//! instructions, device functions, indirect calls and recursion, `alloca`, and the functions `vprintf`, `malloc`,
//! `free` and `__assertfail`. [`isa::signatures`] lists the instructions that only compute.
//!
//! Asynchronous copies (`cp.async` and linear `cp.async.bulk`), mbarriers, and clusters with distributed shared memory
//! run too. A copy takes effect when it is waited for, the latest moment that PTX allows.
//!
//! Instructions on matrices (`mma`, `wmma`, `ldmatrix`, `stmatrix`, `movmatrix`), textures and surfaces
//! ([`Machine::texture`]). [`Report::fidelity`] tells which instructions of a run gave a GPU's bits and which only keep
//! within a bound.
//!
//! Not supported: tensor maps, `wgmma` and `tcgen05`, cube maps, mipmaps, texture references, and launches from a
//! kernel. An instruction that is not supported is kept and stops the run, with [`StopKind::Unsupported`], only when it
//! is executed: a module may have any number of them in kernels that you don't launch.
//!
//! # What every run checks
//!
//! That each access lies in a live allocation (or variable, frame, or the block's shared memory), is aligned, and is
//! allowed in its state space; that the threads of a block reach the same barriers; that the masks of `*.sync`
//! instructions name lanes that come, and shuffles read from lanes that take part; that asynchronous copies are waited
//! for before their bytes are used, and mbarriers are used as they may be; traps, assertions, runaway recursion; and
//! blocks none of whose threads can go on. A violation ends the launch with a [`Stop`], or, where PTX merely leaves a
//! value undefined, becomes a [`Finding`] in the [`Report`].
//!
//! [`Checks::race`] adds data races on shared and global memory, by PTX's memory model: between blocks and within warps
//! too, with the order that barriers, `*.sync` instructions, fences, flags, locks and tickets give, and with scopes. A
//! launch that is checked for races runs on one worker. It adds writes of memory that the launch reads by
//! `ld.global.nc`, which no order makes right, and bulk copies from shared memory that was written without a
//! `fence.proxy.async` since. What plain atomics mean is [`Checks::atomics`], and whether equal values race
//! [`Checks::same_value_writes`]. As every dynamic checker, it speaks of this run's inputs alone; the rest of what it
//! misses is listed in `src/check/race/mod.rs`.
//!
//! [`Checks::uninit`] adds values that nobody has written, in global, shared and local memory and in registers, where
//! they decide a branch, an address, a barrier, an atomic, or what is printed or global memory holds. Reading or
//! copying them is no finding: padding and unused parts of vectors are not reported. It misses that bits of a byte may
//! be written one by one, and what [`Machine::read`] takes to the host. [`Checks::overflow`], on request, reports
//! signed integer arithmetic that wraps; PTX does not know what was signed in the source.
//!
//! # What the counters mean
//!
//! [`Counters`] count PTX instructions, never those of the machine code (SASS) that a driver makes of them: compare
//! them between variants of a kernel, not with a profiler's instruction counts. *Sectors* are the different aligned
//! 32-byte pieces of global memory that one warp instruction touches. *Wavefronts* are the passes that shared memory
//! with 32 banks of 4 bytes needs for one warp instruction; lanes that want the same word share a pass. *Bank
//! conflicts* are the wavefronts beyond those that the amount of data needs at least. There is no cache and no model of
//! time.
//!
//! # Order of execution
//!
//! Blocks start in order. Warps of a block take turns; lanes of a warp run in lock step until they diverge, and meet
//! again where the branch's two sides do. Every lane that can run gets its turn in the end, so that locks within a warp
//! and waiting for earlier blocks work as on a GPU with independent thread scheduling. With [`Config::workers`] = 1 the
//! order is the same every time. With more, it depends on the host wherever blocks talk to each other through global
//! memory.
//!
//! # Limits
//!
//! Any text gives a program or an error, and any launch with [`Config::fuel`] a report or a stop: what a program asks
//! of the host is limited. [`Config::host_bytes`] is the room for registers, stacks and shared memory; kernels allocate
//! at most 1 GiB in 65 536 pieces and get null beyond; a launch prints at most 64 MiB.
//!
//! Threads that only poll for what never comes are recognised by a state that comes back, and stopped as a livelock. An
//! endless loop that stores to memory or reads a clock looks like one that is only slow: it ends when [`Config::fuel`]
//! is used up, and without that never. `%clock` and `%globaltimer` count the warp instructions of one worker, not time.
//! Other threads see a store at once, and on an x86-64 host stores in order: that a fence is missing does not show in
//! what a program computes, only to [`Checks::race`]. (Memory is
//! accessed by relaxed atomics of the host. With several workers on a host that reorders stores, such as 64-bit Arm, a
//! program that hands data over by flag and fence needs `workers: 1`.)
//!
//! # Where to read on
//!
//! [`stop`] for what a report consists of, [`count`] for the counters, [`program`] for what the parser makes of PTX.

// Tests inside the crate share code with those outside.
#[cfg(test)]
extern crate self as ptx_sim;

mod check;
pub mod count;
mod decode;
mod diagnostics;
pub mod explain;
pub mod fidelity;
pub mod harness;
pub mod isa;
mod level;
mod machine;
mod observe;
pub mod occupancy;
pub mod profile;
pub mod program;
pub mod registers;
pub mod stop;
mod syntax;
pub mod texture;
pub mod trace;

pub use count::{Counters, InstructionCounters};
pub use diagnostics::Style;
pub use fidelity::Fidelity;
pub use harness::{Failure, test, test_text};
pub use level::Level;
pub use machine::{Atomics, Checks, Config, Launch, Leak, Machine, Report, SameValue};
pub use profile::Profile;
pub use program::Program;
pub use stop::{Finding, Stop, StopKind};
pub use syntax::ParseError;
pub use trace::Trace;
