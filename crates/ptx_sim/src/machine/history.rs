//! Whose an allocation is, and who freed it: what reports tell of memory beside its name and size.

use super::allocations::Allocation;
use super::grid::Context;
use crate::observe::Site;
use crate::stop::{Diagnostic, Finding, Place, Thread, block_order};
use std::collections::BTreeMap;

/// Who allocated memory, and so who may free it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user of the machine.
    Host,
    /// A module: its variables.
    Program,
    /// A thread that called `malloc`.
    Kernel(Event),
}

impl Owner {
    /// May `free` be called, by this thread or else by the host?
    pub fn may_free(self, by: Option<Event>) -> bool {
        match self {
            Owner::Host => by.is_none(),
            Owner::Program => false,
            Owner::Kernel(_) => by.is_some(),
        }
    }
}

/// A thread's call of `malloc` or `free`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of the program among those that the machine has seen: memory outlives it.
    pub program: usize,
    /// Number of the launch.
    pub launch: u64,
    pub site: Site,
    pub thread: Thread,
}

/// Adds where and by whom memory was allocated and freed.
#[cold]
pub fn tell(context: &Context<'_>, allocation: &Allocation, diagnostic: &mut Diagnostic) {
    if let Owner::Kernel(event) = allocation.owner {
        tell_event(context, "allocated", event, diagnostic);
    }
    match allocation.freed {
        Some(event) => tell_event(context, "freed", event, diagnostic),
        None if allocation.storage.is_none() => {
            diagnostic.notes.push(format!("the host freed `{}` before this launch", allocation.name));
        }
        None => {}
    }
}

fn tell_event(context: &Context<'_>, what: &str, event: Event, diagnostic: &mut Diagnostic) {
    let Event { program, launch, site, thread } = event;
    let when = if launch == context.memory.launch { "" } else { ", in an earlier launch" };
    if program == context.module {
        let place = Place::of(context.program, site.function, site.pc);
        diagnostic.related.push((format!("{what} here, by {thread}{when}:"), place));
    } else {
        diagnostic.notes.push(format!("{what} by {thread} of another program{when}"));
    }
}

/// What threads of this launch allocated and nobody freed, by the instruction that allocated it.
pub fn leaks(context: &Context<'_>) -> Vec<Finding> {
    struct Leaked {
        count: u64,
        bytes: u64,
        first: Thread,
    }
    let order = |thread: Thread| (block_order(thread.block), block_order(thread.thread));
    let mut by_site: BTreeMap<Site, Leaked> = BTreeMap::new();
    context.memory.each_live(|allocation| {
        let Owner::Kernel(event) = allocation.owner else { return };
        if event.launch != context.memory.launch {
            return;
        }
        let none = Leaked { count: 0, bytes: 0, first: event.thread };
        let leaked = by_site.entry(event.site).or_insert(none);
        leaked.count += 1;
        leaked.bytes = leaked.bytes.saturating_add(allocation.size);
        if order(event.thread) < order(leaked.first) {
            leaked.first = event.thread;
        }
    });
    let finding = |(site, leaked): (Site, Leaked)| {
        let Leaked { count, bytes, first } = leaked;
        let title = match count {
            1 => format!("{bytes} bytes from `malloc` are never freed"),
            _ => format!("{bytes} bytes from `malloc`, in {count} allocations, are never freed"),
        };
        let diagnostic = Diagnostic {
            place: Some(Place::of(context.program, site.function, site.pc)),
            thread: Some(first),
            help: Some(
                "`free` what `malloc` gave before the launch ends, or turn this check off when a later launch does it"
                    .to_owned(),
            ),
            ..Diagnostic::new("leak", title)
        };
        Finding { diagnostic, count }
    };
    by_site.into_iter().map(finding).collect()
}
