//! Detection of data races on shared and global memory.
//!
//! Two accesses to the same byte race when different threads make them, at least one writes, no happens-before order
//! relates them, and they are not both strong (atomic, volatile, relaxed and above) with scopes that include each
//! other's thread. The order is that of PTX's memory model. It comes from program order; from block barriers, including
//! named barriers and `bar.arrive`; from `*.sync` instructions among the lanes in their mask; from releases
//! (`st.release`, `atom.release`, or a fence and then a strong write) that are acquired (`ld.acquire`, `atom.acquire`,
//! or a strong read and then a fence) through the same word of memory, if the scope of each side includes the other;
//! and from the start and the end of the kernel. An atomic also orders the strong writes that it observed, directly or
//! through other atomics, before what its thread does next ("causality order"): the block that draws the last ticket
//! may reset the counter by an ordinary store. Lock-step execution of a warp creates no order here, nor do guarantees
//! that a particular GPU gives beyond PTX.
//!
//! A bulk copy or `wgmma` accesses shared memory after it was issued and before what waits for its mbarrier, its group
//! or its product; nothing else orders it. While it is in flight, the machine reports accesses that conflict with it.
//!
//! Reading order: [`entry`], [`tree`], [`view`] (vector clocks), [`clock`] (how synchronisation changes them),
//! [`variables`] (synchronisation through memory), [`records`], [`tables`], [`marks`], [`shadow`] (storage for earlier
//! accesses), [`pieces`], [`fast_paths`], [`conflicts`] (the check), [`non_coherent`] (`ld.global.nc`), [`proxies`]
//! (`fence.proxy.async`), [`agents`] and [`asynchronous`] (bulk copies and `wgmma`), [`facts`] (how LLVM compiles
//! atomics), [`occurrence`], [`report`].
//!
//! Sources: FastTrack (Flanagan and Freund, PLDI 2009) for epochs, HiRace (arXiv 2401.04701) for the contents of a
//! shadow cell on a GPU, ScoRD (ISCA 2020) for scopes, Eraser (SOSP 1997) for interned sets.
//!
//! # Limits
//!
//! * Races that this run does not exhibit: a pair of accesses is judged by the inputs, and by the order in which this
//!   run's schedule happened to execute its synchronisation.
//! * Of the unordered accesses to a word since its last ordinary write, only the first four are kept (from different
//!   blocks, where possible).
//! * The lane of an earlier access, when several lanes of the warp made it or it was not the latest access: then it
//!   suffices that the access is ordered for any one of these lanes. Of two accesses by lanes of one warp with a
//!   partial synchronisation of the warp between them, the earlier one is kept without its lane.
//! * An atomic whose result is used is taken to observe every strong write to the word before it, also where a strong
//!   store that it did not read lies between.
//! * Lanes that acquire or release in one instruction share the effect of each of them. A compare-and-swap that fails
//!   counts as one that succeeds. A word keeps its releases when a later relaxed atomic continues the release sequence.
//! * `shfl`, `vote` and similar instructions are assumed to order memory accesses among their lanes, which PTX does not
//!   guarantee.
//! * Strong accesses of different sizes to one word count as compatible.
//! * Two lanes of one store that write the same value to the same word are not a race: PTX defines that one of them
//!   takes effect. Two lanes of one `discard` of the same line are not a race either: its values are indeterminate
//!   whichever comes last.
//! * Accesses by the host, `vprintf`, `free` and other proxies are not checked, except for bulk copies that read shared
//!   memory written without a proxy fence.
//! * The ends of bulk copies in global memory; more than 224 mbarriers and threads with bulk groups in one block share
//!   their completions. A copy that completes releases what its thread did before the completion, not only before
//!   the issue.
//! * `ld.global.nc` of memory written by a bulk copy is not reported.
//!
//! Under [`Atomics::Source`], atomics without an ordering are assumed to release and to acquire.

mod agents;
mod asynchronous;
mod clock;
mod conflicts;
mod entry;
mod facts;
mod fast_paths;
mod marks;
mod non_coherent;
mod now;
mod observer;
mod occurrence;
mod options;
mod pieces;
mod proxies;
mod records;
mod releases;
mod report;
mod sets;
mod shadow;
mod span;
mod state;
mod tables;
mod tree;
mod variables;
mod view;
mod words;

pub use options::{Atomics, Options, SameValue, Volatile};
pub(crate) use report::SAME_VALUE;
pub(crate) use state::Race;
