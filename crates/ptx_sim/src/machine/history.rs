//! Owners of allocations and the threads that freed them, for reports.

use super::context::Context;
use crate::memory::{Allocation, Event, Owner};
use crate::stop::{Diagnostic, Place};

/// Adds to a report where and by which thread memory was allocated and freed.
#[cold]
pub fn describe(context: &Context<'_>, allocation: &Allocation, diagnostic: &mut Diagnostic) {
    if let Owner::Kernel(event) = allocation.owner {
        describe_event(context, "allocated", event, diagnostic);
    }
    match allocation.freed {
        Some(event) => describe_event(context, "freed", event, diagnostic),
        None if allocation.storage.is_none() => {
            diagnostic.notes.push(format!("the host freed `{}` before this launch", allocation.name));
        }
        None => {}
    }
}

fn describe_event(context: &Context<'_>, what: &str, event: Event, diagnostic: &mut Diagnostic) {
    let Event { program, launch, site, thread } = event;
    let when = if launch == context.memory.launch { "" } else { ", in an earlier launch" };
    if program == context.module {
        let place = Place::of(context.program, site.function, site.pc);
        diagnostic.related.push((format!("{what} here, by {thread}{when}:"), place));
    } else {
        diagnostic.notes.push(format!("{what} by {thread} of another program{when}"));
    }
}
