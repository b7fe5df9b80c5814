//! Detection of data races on shared and global memory.
//!
//! Two accesses to the same byte race when different threads make them, at least one writes, no happens-before order
//! relates them, and they are not both strong (atomic, volatile, relaxed and above) accesses of the same bytes with
//! scopes that include each other's thread. The order is that of PTX's memory model. It comes from program order; from
//! block barriers, including named barriers and `bar.arrive`; from `bar.warp.sync` among the lanes in its mask; from
//! releases (`st.release`, `atom.release`, or a fence and then a strong write) that are acquired (`ld.acquire`,
//! `atom.acquire`, or a strong read and then a fence) through the same word of memory, if the scope of each side
//! includes the other; and from the start and the end of the kernel. An atomic also orders the strong writes that it
//! observed, directly or through other atomics, before what its thread does next ("causality order"): the block that
//! draws the last ticket may reset the counter by an ordinary store. Lock-step execution of a warp creates no order
//! here, nor do `shfl`, `vote` and other instructions for which lanes wait, nor guarantees that a particular GPU gives
//! beyond PTX: the reasons are in `docs/decisions/races.md`. Each lane of an instruction acquires and releases for
//! itself.
//!
//! A bulk copy or `wgmma` accesses shared memory after it was issued and before what waits for its mbarrier, its group
//! or its product; nothing else orders it. While it is in flight, the machine reports accesses that conflict with it.
//!
//! Reading order: [`entry`], [`tree`], [`view`] (vector clocks), [`clock`] (how synchronisation changes them),
//! [`releases`], [`variables`] (synchronisation through memory), [`records`], [`sets`], [`tables`], [`marks`],
//! [`shadow`] (storage for earlier accesses), [`pieces`], [`fast_paths`], [`conflicts`] (the check), [`non_coherent`]
//! (`ld.global.nc`), [`proxies`] (`fence.proxy.async`), [`agents`] and [`asynchronous`] (bulk copies and `wgmma`),
//! [`facts`] (how LLVM compiles atomics), [`occurrence`], [`report`], [`workers`] (launches on several workers).
//!
//! Sources: FastTrack (Flanagan and Freund, PLDI 2009) for epochs, HiRace (arXiv 2401.04701) for the contents of a
//! shadow cell on a GPU, ScoRD (ISCA 2020) for scopes, Eraser (SOSP 1997) for interned sets.
//!
//! # Limits
//!
//! * Races that this run does not exhibit: a pair of accesses is judged by the inputs, and by the order in which this
//!   run's schedule happened to execute its synchronisation.
//! * Of the unordered reads of a word since its last ordinary write, the first 32 are kept (from different blocks,
//!   where possible), and of the atomics and other strong writes the first four. In a program without fences, acquires,
//!   releases, counted barriers and asynchronous copies, the first four accesses are kept, which are enough there, and
//!   so they are in a page of 4 KiB with more than a thousand unordered accesses.
//! * The lane of an earlier access, when several lanes of the warp made it or it was not the latest access: then it
//!   suffices that the access is ordered for any one of these lanes. Of two accesses by lanes of one warp with a
//!   partial synchronisation of the warp between them, the earlier one is kept without its lane.
//! * An atomic whose result is used is taken to observe every strong write to the word before it, also where a strong
//!   store that it did not read lies between.
//! * A compare-and-swap that fails counts as one that succeeds. A word keeps its releases when a later relaxed atomic
//!   continues the release sequence. Of the lanes of one warp that have released to a word one after the other, four
//!   times are kept; of more, the latest stands for all.
//! * Of lanes that execute one atomic at one word, each after the first acquires what all of them release.
//! * Strong accesses of less than four bytes count as accesses of their word, because compilers emulate atomics of one
//!   and two bytes by those of the word.
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
#[cfg(test)]
mod corpus;
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
mod workers;

pub use options::{Atomics, Options, SameValue, Volatile};
pub(crate) use report::SAME_VALUE;
pub(crate) use state::Race;
pub(crate) use workers::Attempt;
