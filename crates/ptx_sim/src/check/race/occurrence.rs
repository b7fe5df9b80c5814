//! What is known about a race: the pair of instructions, the occurrence that the finding shows, and advice.

use super::clock::Who;
use super::view::Reach;
use crate::observe::Site;
use crate::program::{Op, Program};
use crate::stop::Thread;

/// Order and kinds of the two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Hazard {
    ReadAfterWrite,
    WriteAfterRead,
    WriteAfterWrite,
}

/// Identity of a finding: occurrences with the same key are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub earlier: Site,
    pub later: Site,
    pub hazard: Hazard,
    /// Whether the accesses would be ordered if their scopes were wider.
    pub scopes: bool,
    pub shared: bool,
    /// Whether the write violates an `ld.global.nc`.
    pub violates_nc: bool,
}

/// Smallest group of threads that contains both accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Apart {
    Warp,
    Block,
    Grid,
}

/// The missing synchronisation, as far as it can be determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Order,
    /// The flag was read without acquire semantics.
    Acquire,
    /// The lane that released is not the one that made the access.
    WarpSync,
    /// The scopes of a release and an acquire, or of the two accesses, are too narrow.
    Scopes(Reach, Reach),
    /// Both are strong, but access elements of these sizes in bytes.
    OneSize(u8, u8),
}

/// The occurrence that the finding shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Example {
    pub apart: Apart,
    pub earlier: (u32, u32, Who),
    pub later: Thread,
    pub address: u64,
    pub missing: Missing,
    /// Values that two ordinary stores wrote, and their size in bytes.
    pub values: Option<(u32, u32, u32)>,
    pub strong: (bool, bool),
    /// Whether the same execution of an instruction made the earlier access.
    pub same_instruction: bool,
    /// What made the accesses, if not threads.
    pub by: [Option<Asynchronous>; 2],
}

/// What accesses memory on behalf of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asynchronous {
    Copy,
    Product,
}

#[derive(Clone, Debug)]
pub(super) struct Occurrences {
    pub example: Example,
    pub count: u64,
    /// Addresses of the first byte of any occurrence, and of the byte after the last.
    pub bytes: [u64; 2],
    /// Whether every occurrence was two stores of one value.
    pub same_value: bool,
}

impl Occurrences {
    /// Extends the range of bytes that race.
    pub fn widen(&mut self, [first, end]: [u64; 2]) {
        self.bytes = [self.bytes[0].min(first), self.bytes[1].max(end)];
    }
}

/// The thread that issued an asynchronous access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issuer {
    /// Ticket of its block.
    pub block: u32,
    pub warp: u32,
    pub lane: u8,
    pub kind: Asynchronous,
}

/// Whether an instruction is a `wgmma`.
pub(super) fn is_product(program: &Program, site: Site) -> bool {
    let code = program.functions.get(site.function as usize).map(|function| &function.code);
    code.and_then(|code| code.get(site.pc as usize)).is_some_and(|inst| matches!(inst.op, Op::Warpgroup(_)))
}

/// Returns the words that name what made an access, if not a thread.
pub(super) fn made_by(by: Option<Asynchronous>) -> &'static str {
    match by {
        Some(Asynchronous::Copy) => " of a copy",
        Some(Asynchronous::Product) => " of a product",
        None => "",
    }
}

/// Returns the advice for a race.
pub(super) fn help(key: Key, example: &Example) -> String {
    if key.violates_nc {
        return "`.nc` requires that no thread writes the memory during the launch, ordered or not: use an ordinary \
            load (CUDA C++ without `__ldg` and `const … __restrict__`, Rust through a raw pointer and no `&[T]`), or \
            write in another launch"
            .to_owned();
    }
    let between = match key.hazard {
        Hazard::ReadAfterWrite => "the write from the read",
        Hazard::WriteAfterRead => "the read from the write",
        Hazard::WriteAfterWrite => "the two writes",
    };
    match (example.missing, example.apart) {
        (Missing::Order, _) if example.by[0] == Some(Asynchronous::Copy) => {
            "a copy completes for the threads that wait for the mbarrier that it signals, or for its bulk group, and \
            for those that a barrier orders after them: wait before the memory is used"
                .to_owned()
        }
        (Missing::Order, _) if example.by[0] == Some(Asynchronous::Product) => {
            "a product completes for the warps that execute `wgmma.wait_group`: release the memory only after that"
                .to_owned()
        }
        (Missing::Order, _) if example.by[1].is_some() => format!(
            "order {between}: let the threads that used the memory arrive at an mbarrier or a barrier that the \
            issuing thread waits for first"
        ),
        (Missing::Scopes(..), Apart::Grid) => {
            "threads of different blocks need `.gpu` (or `.sys`) on both sides: `.cta` covers only the thread's own \
            block"
                .to_owned()
        }
        (Missing::OneSize(..), _) => {
            "PTX relates atomic and other strong accesses only if they access the same bytes: use one size for the word"
                .to_owned()
        }
        (Missing::Scopes(..), _) => "use a scope that includes both threads".to_owned(),
        (Missing::Acquire, _) => {
            "the flag was read without acquire semantics: read it with `ld.acquire`, or put a fence after the \
            read"
                .to_owned()
        }
        (Missing::WarpSync, _) => {
            "another lane of that warp released, which orders only its own accesses: put `bar.warp.sync` before the \
            release"
                .to_owned()
        }
        (Missing::Order, Apart::Warp) if example.same_instruction => {
            "give each lane its own address, let one lane store, or use an atomic".to_owned()
        }
        (Missing::Order, Apart::Warp) => {
            format!("separate {between} by `bar.warp.sync`: lanes of a warp are not guaranteed to run in lock step")
        }
        (Missing::Order, Apart::Block) => format!("separate {between} by a barrier that all threads reach"),
        (Missing::Order, Apart::Grid) => format!(
            "block barriers do not synchronise different blocks: order {between} by a flag that one side releases and \
            the other acquires at `.gpu` scope, make both accesses atomic, or start a second kernel"
        ),
    }
}
