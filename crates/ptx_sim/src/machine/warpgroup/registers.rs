//! Checks of accesses to the registers of asynchronous products.

use crate::machine::step::Step;
use crate::machine::warp::Warp;
use crate::observe::Observer;
use crate::program::{Factor, Op, Product, Warpgroup};
use crate::registers::Slot;
use crate::stop::{Diagnostic, Place};

/// `wgmma.fence`: earlier accesses precede later products.
pub fn fence(warp: &mut Warp) {
    warp.accessed.clear();
    warp.fenced = true;
}

/// Called before an instruction that accesses accumulators or fragments of a product other than by a product: row of
/// `w32`, and whether it is written.
#[cold]
pub fn touch<O: Observer>(step: &mut Step<'_, '_, O>, rows: &[(Slot, bool)]) {
    let (index, frame) = (step.warp.index as usize, step.at.frame);
    step.warp.accessed.extend(rows.iter().map(|(slot, _)| (frame, *slot)));
    let program = step.context().program;
    let conflicts = |product: &Product| {
        rows.iter().any(|(slot, written)| product.d.contains(slot) || (*written && product.fragments().contains(slot)))
    };
    let early = step.block.groups.owed(index).filter(|owed| owed.frame == frame).find(|owed| {
        let code = &program.functions[owed.site.function as usize].code;
        matches!(code.get(owed.site.pc as usize).map(|inst| &inst.op),
            Some(Op::Warpgroup(Warpgroup::Multiply(product))) if conflicts(product))
    });
    let Some(owed) = early else { return };
    step.block.groups.of(index).report(owed.number);
    let written = rows.iter().any(|(_, written)| *written);
    let lane = crate::lanes::first(step.mask);
    step.finding(lane, "wgmma-not-waited", || {
        let what = if written { "written" } else { "read" };
        let title = format!("a register of an asynchronous `wgmma` is {what} before the product was waited for");
        let mut diagnostic = Diagnostic::new("wgmma-not-waited", title);
        diagnostic.related.push(("the product:".to_owned(), Place::of(program, owed.site.function, owed.site.pc)));
        diagnostic.help = Some(
            "execute `wgmma.commit_group` after the product, and `wgmma.wait_group` before this access".to_owned(),
        );
        diagnostic
    });
}

/// Checks that a fence separates a product from earlier accesses to its registers.
pub fn check_fenced<O: Observer>(step: &mut Step<'_, '_, O>, product: &Product) {
    let frame = step.at.frame;
    let fragments = match &product.a {
        Factor::Registers(slots) => slots.as_slice(),
        Factor::Shared(_) => &[],
    };
    let accessed = |slot: &&Slot| step.warp.accessed.contains(&(frame, **slot));
    let late = product.d.iter().chain(fragments).any(|slot| accessed(&slot));
    if step.warp.fenced && !late {
        return;
    }
    step.finding(0, "wgmma-not-fenced", || {
        let title = match late {
            true => "`wgmma` accesses registers that were accessed since the last `wgmma.fence`",
            false => "no `wgmma.fence` precedes the first `wgmma` of the kernel",
        };
        let mut diagnostic = Diagnostic::new("wgmma-not-fenced", title);
        diagnostic.help = Some("execute `wgmma.fence` between the last access and the first product".to_owned());
        diagnostic
    });
}
