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
//! let (grid, block) = ([1, 1, 1], [32, 1, 1]);
//! let launch = Launch { entry: "double_all", grid, block, params: &params, ..Launch::default() };
//! let report = machine.launch(&program, &launch)?;
//! let mut first = [0; 4];
//! machine.read(data, &mut first)?;
//! assert_eq!(u32::from_le_bytes(first), 0x0202_0202);
//! assert_eq!(report.counters.global_requests, 2);
//!
//! // With one thread too many, the launch stops with a report of the fault and its place.
//! let stop = machine.launch(&program, &Launch { block: [33, 1, 1], ..launch }).unwrap_err();
//! assert_eq!((stop.kind(), stop.code()), (ptx_sim::StopKind::Fault, "out-of-bounds"));
//! assert!(stop.to_string().contains("`data` (128 bytes)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Supported PTX
//!
//! The PTX that LLVM 22 and nvcc generate for kernels in Rust, C and C++: integer, floating-point, half-precision and
//! packed arithmetic with PTX's rounding, every state space, vector accesses, atomics, fences, barriers, warp-wide
//! `*.sync` instructions, device functions, indirect calls and recursion, `alloca`, and the functions `vprintf`,
//! `malloc`, `free` and `__assertfail`. Scalar and SIMD video instructions, and conversions to and from floats of 8, 6
//! and 4 bits, also with stochastic rounding (`cvt.rs`). [`isa::signatures`] lists the instructions that only compute.
//!
//! Asynchronous copies (`cp.async` and linear `cp.async.bulk`), mbarriers, and clusters with distributed shared memory.
//! A copy takes effect when it is waited for, which is the latest moment that PTX allows.
//!
//! Instructions on matrices (`mma`, `mma.sp`, `wmma`, `movmatrix`, and `ldmatrix` and `stmatrix`, also of elements of
//! 8, 6 and 4 bits), textures and surfaces ([`Machine::texture`]). [`Report::fidelity`] reports which instructions of a
//! run have the same bits as a GPU and which only stay within an error bound.
//!
//! Tensor maps of boxes, whose fields a kernel may replace (`tensormap.replace`). Other tensor maps (im2col,
//! interleaving, elements of 4 and 6 bits, swizzles of other chunks than 16 bytes), `tcgen05`, cube maps, mipmaps,
//! texture references, and launches from a kernel are not supported. An unsupported instruction is kept and stops the
//! run, with [`StopKind::Unsupported`], only when it is executed: a module may contain any number of them in kernels
//! that are not launched. Bulk copies and `wgmma` are ordered only by what waits for them; accesses to their shared
//! memory that are not ordered so are reported in every schedule.
//!
//! An instruction that needs a later `.target` than the module's is not supported either, because ptxas refuses it.
//! With several workers, `atom.b128` is atomic towards other atomics of 16 bytes, but not towards loads and stores of
//! them.
//!
//! # What every run checks
//!
//! Every run checks that each access lies in a live allocation (or variable, frame, or the block's shared memory), is
//! aligned, and is allowed in its state space; that the threads of a block that have not exited reach the same
//! barriers, as PTX counts them since sm_70 (`if (tid % 2 == 0) __syncthreads();` at a kernel's end ends normally,
//! because the other threads exit: [`Checks::exited_lanes`] reports it on request); that the masks of `*.sync`
//! instructions name lanes that arrive, and shuffles read from lanes that participate; that asynchronous copies are
//! waited for before their bytes are used, and mbarriers are
//! used correctly. It also detects traps, failed
//! assertions, unbounded recursion, and blocks none of whose threads can make progress. A violation ends the launch
//! with a [`Stop`] or, where PTX merely leaves a value undefined, becomes a [`Finding`] in the [`Report`]. With
//! [`Config::keep_going`], so does a faulty access to memory, which then has no effect.
//!
//! [`Checks::race`] adds data races on shared and global memory by PTX's memory model, between blocks and within warps.
//! It takes into account the order created by barriers, `bar.warp.sync`, fences, flags, locks and tickets, the scopes
//! of atomics and fences, and the sizes of atomics; `shfl` and `vote` order no memory in PTX. The checker also reports
//! writes to memory that the launch reads by `ld.global.nc`, ordered or not, and bulk copies from shared memory whose
//! last write no `fence.proxy.async` follows. A checked launch of 2^14 threads and more uses all workers if its blocks
//! cannot tell in which order they run: they use no results of atomics, strong loads (volatile, acquire), bulk copies,
//! mbarriers, textures, float atomics, clocks, or `activemask` beside atomics, and have no seed or cluster; and if
//! device memory holds at most an eighth of [`Config::host_bytes`], since what the launch overwrites is kept. If
//! something is found, the launch is taken back and runs again on one worker, as all other checked launches do, so
//! reports are the same with any number of workers.
//! [`Checks::atomics`] selects how atomics without an ordering are interpreted, [`Checks::same_value_writes`] whether
//! equal values race, [`Checks::volatile`] whether volatile accesses do. As with every dynamic checker, the findings
//! depend on this run's inputs; its other limits are listed in `src/check/race/mod.rs`.
//!
//! [`Checks::uninit`] adds uninitialised values in global, shared and local memory and in registers, where they affect
//! a branch, an address, a barrier, an atomic, printed output or global memory. Reading or copying them is not a
//! finding, so padding and unused parts of vectors are not reported. The checker does not track bits of a byte that are
//! written one by one, factors that `wgmma` reads from shared memory, nor values that [`Machine::read`] copies to the
//! host.
//!
//! [`Checks::descriptors`] adds descriptors of `wgmma` that do not fit the matrices in shared memory: groups of eight
//! rows that overlap, another swizzle than that of the tensor copy, and strides that lead past rows which were copied
//! and that nothing reads. [`Checks::overflow`], on request, reports signed integer arithmetic that wraps; the types in
//! PTX do not always reflect those of the source. [`Checks::partial_stores`], on request, reports stores of warps that
//! leave most of each 32-byte sector unwritten. [`check::CHECKERS`] lists all checkers.
//!
//! # Meaning of the counters
//!
//! [`Counters`] count PTX instructions, not the machine code (SASS) that a driver compiles from them: compare them
//! between variants of a kernel, not with a profiler's instruction counts. *Sectors* are the distinct aligned 32-byte
//! pieces of global memory that one warp instruction accesses. *Wavefronts* are the passes over the 32 banks of 4 bytes
//! that one warp instruction on shared memory takes; lanes that access the same word share a pass. *Bank conflicts* are
//! the wavefronts beyond the minimum for the amount of data. The counters involve no cache and no model of time;
//! [`explain`] estimates times.
//!
//! # Order of execution
//!
//! Blocks start in order. Warps of a block take turns; lanes of a warp run in lock step until they diverge, and
//! reconverge where the two sides of the branch do. Every lane that can run eventually does, so locks within a warp and
//! waiting for earlier blocks work as on a GPU with independent thread scheduling. With [`Config::workers`] = 1 the
//! order is the same in every run. With more workers, it depends on the host wherever blocks communicate through global
//! memory; a launch in which they do runs on one worker while it is checked for races.
//!
//! # Limits
//!
//! Any text results in a program or an error, and any launch with [`Config::fuel`] in a report or a stop, because a
//! program's use of host resources is limited. [`Config::host_bytes`] limits the memory for registers, stacks and
//! shared memory; kernels can allocate at most 1 GiB in 65 536 allocations, beyond which they get null; a launch can
//! print at most 64 MiB.
//!
//! Threads that only poll for a change that never happens are recognised by a repeated state, and stopped as a
//! livelock. An endless loop that stores to global memory, counts its iterations or reads a clock cannot be
//! distinguished from a slow one: it ends only at [`Config::fuel`] or [`Config::timeout`]. `%clock` and
//! `%globaltimer` count the warp instructions of one worker, not time.
//! Stores are visible to other threads at once, and in order on an x86-64 host, so a missing fence does not
//! affect a program's results; only [`Checks::race`] detects it. (Memory is accessed by relaxed atomics of the host.
//! With several workers on a host that reorders stores, such as 64-bit Arm, a program that passes data by flag and
//! fence needs `workers: 1`.)
//!
//! # Further reading
//!
//! The module [`stop`] describes reports, [`count`] the counters, [`explain`] the time estimate, and [`program`] the
//! decoded form of PTX.

// Tests inside the crate share code with those outside.
#[cfg(test)]
extern crate self as ptx_sim;

mod accesses;
pub mod check;
pub mod count;
mod decode;
mod diagnostics;
pub mod explain;
pub mod fidelity;
pub mod files;
pub mod harness;
mod hash;
pub mod isa;
mod lanes;
mod level;
mod machine;
mod memory;
mod observe;
pub mod occupancy;
pub mod profile;
pub mod program;
pub mod registers;
mod session;
pub mod stop;
mod syntax;
pub mod tensor;
pub mod texture;
pub mod trace;

pub use accesses::{Accesses, Effect, Sites};
pub use check::Checks;
pub use check::race::{Atomics, SameValue, Volatile};
pub use count::{Counters, InstructionCounters};
pub use diagnostics::Style;
pub use fidelity::Fidelity;
pub use harness::{Failure, test, test_text};
pub use level::Level;
pub use machine::Launch;
pub use profile::Profile;
pub use program::Program;
pub use session::{Config, Leak, Machine, Report};
pub use stop::{Finding, Stop, StopKind};
pub use syntax::ParseError;
pub use tensor::TensorMap;
pub use trace::Trace;
