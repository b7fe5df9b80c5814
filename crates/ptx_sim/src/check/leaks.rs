//! Memory that a kernel allocates and that no thread frees before the launch ends.

use crate::memory::{Memory, Owner};
use crate::program::{Program, Site};
use crate::stop::{Diagnostic, Finding, Place, Thread, block_order};
use std::collections::BTreeMap;

/// Allocations of the last launch that no thread has freed, by the instruction that allocated them.
pub fn findings(program: &Program, memory: &Memory) -> Vec<Finding> {
    struct Leaked {
        count: u64,
        bytes: u64,
        first: Thread,
    }
    let order = |thread: Thread| (block_order(thread.block), block_order(thread.thread));
    let mut by_site: BTreeMap<Site, Leaked> = BTreeMap::new();
    memory.each_live(|allocation| {
        let Owner::Kernel(event) = allocation.owner else { return };
        if event.launch != memory.launch {
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
            place: Some(Place::of(program, site.function, site.pc)),
            thread: Some(first),
            help: Some(
                "free the allocation before the launch ends, or turn this check off if a later launch frees it"
                    .to_owned(),
            ),
            ..Diagnostic::new("leak", title)
        };
        Finding::new(diagnostic, count)
    };
    by_site.into_iter().map(finding).collect()
}
