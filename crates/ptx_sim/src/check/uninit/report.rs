//! Findings about undefined values: the effect of the value, and its origin.

use super::origin::{Birth, Origin};
use super::state::Uninit;
use crate::memory::address;
use crate::observe::{Scene, Setting};
use crate::program::Space;
use crate::stop::{Diagnostic, Place};

/// The effect that makes an undefined value a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The direction of a branch.
    Branch,
    /// Whether an instruction is executed.
    Guard,
    /// The address of a memory access.
    Address,
    /// The function that is called.
    Callee,
    /// The size of an allocation.
    Size,
    /// A barrier's number, count or predicate.
    Barrier,
    /// The mask of a `*.sync` instruction.
    Mask,
    /// A value stored to global memory.
    Store,
    /// The operand of an atomic.
    Operand,
    /// The old value in memory that an atomic reads.
    Atomic,
    /// A value that the kernel prints.
    Print,
}

impl Use {
    fn code(self) -> &'static str {
        match self {
            Self::Branch | Self::Guard | Self::Callee => "uninit-branch",
            Self::Address | Self::Size => "uninit-address",
            Self::Barrier | Self::Mask => "uninit-sync",
            Self::Store => "uninit-store",
            Self::Operand | Self::Atomic => "uninit-atomic",
            Self::Print => "uninit-print",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Branch => "this branch depends on",
            Self::Guard => "whether this instruction runs depends on",
            Self::Address => "this address depends on",
            Self::Callee => "which function is called depends on",
            Self::Size => "the size of this memory depends on",
            Self::Barrier => "this barrier depends on",
            Self::Mask => "the mask of this `*.sync` depends on",
            Self::Store => "the value stored to global memory depends on",
            Self::Operand => "this atomic's operand is",
            Self::Atomic => "this atomic modifies",
            Self::Print => "this prints",
        }
    }
}

impl Uninit {
    /// Reports an undefined value that has an effect.
    #[cold]
    pub(super) fn used(&mut self, scene: &mut Scene<'_>, lane: usize, what: Use, origin: u32) {
        let mut chain = Vec::new();
        let mut next = Some(origin);
        while let Some((origin, lane)) = next.and_then(|id| self.origins.get(id)).filter(|_| chain.len() < 4) {
            next = match &origin.birth {
                Birth::Memory { stored, earlier, .. } if stored >> lane & 1 != 0 => *earlier,
                _ => None,
            };
            chain.push((origin.clone(), lane));
        }
        let (setting, site) = (scene.setting, scene.site);
        scene.finding(lane, what.code(), || {
            let mut diagnostic = Diagnostic::new(what.code(), "");
            let last = chain.last();
            let discarded = last.is_some_and(|(origin, _)| matches!(origin.birth, Birth::Discard));
            // What was read; a `discard` made it undefined earlier.
            let read = chain.iter().rfind(|(origin, _)| !matches!(origin.birth, Birth::Discard));
            let source = read.map_or("an uninitialised value".to_owned(), |(origin, lane)| {
                describe(setting, origin, *lane, discarded)
            });
            diagnostic.title = format!("{} {source}", what.words());
            for (step, (origin, lane)) in chain.iter().enumerate() {
                let place = Place::of(setting.program, origin.site.function, origin.site.pc);
                let thread = setting.thread(origin.block, origin.warp, *lane);
                let words = match (&origin.birth, step + 1 + usize::from(discarded) >= chain.len()) {
                    _ if origin.site == site && step == 0 => continue,
                    (Birth::Register, _) => format!("the register was uninitialised when it was read, by {thread}:"),
                    (Birth::Discard, _) => format!("the bytes were discarded here, by {thread}:"),
                    (_, true) => format!("the value was loaded here, by {thread}:"),
                    (_, false) => format!("the value was loaded here, by {thread}, after it had been stored:"),
                };
                diagnostic.related.push((words, place));
            }
            diagnostic.help = last.and_then(|(origin, lane)| help(origin, *lane)).map(str::to_owned);
            diagnostic
        });
    }
}

/// Describes the memory or register that was read, and why it is undefined.
fn describe(setting: &Setting<'_>, origin: &Origin, lane: usize, discarded: bool) -> String {
    let Birth::Memory { space, addresses, bytes, stored, .. } = &origin.birth else {
        return "an uninitialised register".to_owned();
    };
    let address = addresses[lane];
    let at = match space {
        Space::Shared => setting.layout.describe(setting.program, address, setting.shared_bytes),
        Space::Frame => format!("at local address {address:#x}"),
        Space::Local => {
            let name = setting.program.functions.get(origin.site.function as usize);
            let name = name.map_or_else(String::new, |function| crate::stop::demangled(&function.name));
            format!("at local address {:#x} in `{name}`", address.saturating_sub(address::STACK_START))
        }
        _ => setting.memory.describe(address),
    };
    let space = match space {
        Space::Frame => "a parameter or result in local",
        space => address::name(*space),
    };
    match stored >> lane & 1 {
        _ if discarded => format!("{bytes} bytes of {space} memory {at}, which were discarded"),
        0 => format!("{bytes} bytes of {space} memory {at}, which are uninitialised"),
        _ => format!("{bytes} bytes of {space} memory {at}, where an undefined value was stored"),
    }
}

fn help(origin: &Origin, lane: usize) -> Option<&'static str> {
    Some(match &origin.birth {
        Birth::Register => "give the variable a value on every path that leads here",
        Birth::Discard => "discard only memory that is written again before it is read",
        Birth::Memory { stored, .. } if stored >> lane & 1 != 0 => return None,
        Birth::Memory { space: Space::Shared, .. } => {
            "shared memory is not initialised when a block starts: store to it and let all threads pass a barrier \
            before it is read"
        }
        Birth::Memory { space: Space::Local | Space::Frame, .. } => "give every element a value before it is read",
        Birth::Memory { .. } => {
            "an allocation is not initialised: copy to the memory or fill it from the host, or write it in an earlier \
            kernel"
        }
    })
}
