//! Detection of accesses to shared memory that an asynchronous copy in flight writes or reads.

use super::block::peers;
use super::in_flight::Transfer;
use super::part::{Part, Shape};
use super::position::Who;
use super::step::Step;
use crate::observe::{AccessKind, Observer};
use crate::stop::{Diagnostic, Place};

/// Checks an access to a block's own shared memory while copies are in flight there.
#[cold]
pub fn check<O: Observer>(step: &mut Step<'_, '_, O>, part: Part<'_>, shape: Shape) {
    let (Part { addresses, mask, .. }, Shape { kind, bytes, .. }) = (part, shape);
    let Step { worker, block, .. } = step;
    let changes = kind != AccessKind::Load;
    let Some((lane, written)) = block.in_flight.first_marked(addresses, mask, bytes, changes) else { return };
    let (start, end) = (addresses[lane], addresses[lane] + u64::from(bytes));
    let all = peers(&worker.resident, block.cluster).map(|peer| &peer.in_flight).chain([&block.in_flight]);
    let mut transfers = all.flat_map(|in_flight| in_flight.queues.iter().flatten());
    let overlaps = |transfer: &&Transfer| {
        let range = transfer.range(block.ticket, written);
        range.is_some_and(|(first, bytes)| first < end && start < first + u64::from(bytes))
    };
    let copy = transfers.find(overlaps).map(Who::from);
    drop(transfers);
    let product = if written { None } else { block.groups.reader(start, end) };
    let Some(issued) = copy.or(product) else { return };
    let context = worker.context;
    let what = match kind {
        AccessKind::Load => "read",
        _ => "written",
    };
    let place = context.layout.describe(context.program, start, context.shared_bytes);
    let reader = if copy.is_some() { "an asynchronous copy" } else { "an asynchronous product" };
    let (code, title) = match written {
        true => (
            "async-not-waited",
            format!("shared memory is {what} before an asynchronous copy to it was waited for, {place}"),
        ),
        false => {
            ("async-source-overwritten", format!("shared memory is written while {reader} may still read it, {place}"))
        }
    };
    step.finding(lane, code, || {
        let mut diagnostic = Diagnostic::new(code, title);
        let thread = context.thread(context.block_id(issued.block), issued.warp, issued.lane);
        let place = Place::of(context.program, issued.site.function, issued.site.pc);
        let (what, help) = match copy {
            Some(_) => (
                "copy",
                "wait in the issuing thread (`cp.async.wait_group`, `cp.async.bulk.wait_group`) followed by a barrier, \
                 or wait in every thread on the copy's mbarrier, before this access",
            ),
            None => (
                "product",
                "wait in the warpgroup (`wgmma.wait_group`), and order this access after it by a barrier or mbarrier",
            ),
        };
        diagnostic.related.push((format!("the {what}, issued by {thread}:"), place));
        diagnostic.help = Some(help.to_owned());
        diagnostic
    });
}
