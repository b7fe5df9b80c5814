//! `discard`: makes the values of bytes in global memory indeterminate. PTX ISA, "Data Movement".

use super::access::check;
use super::part::{Part, Shape, addresses};
use super::step::Step;
use crate::observe::{AccessKind, Lanes, Observer, Shadow};
use crate::program::{Address, Order, Scope, Space};
use crate::stop::Stop;

/// Checks and reports a weak write of indeterminate values. Memory keeps its bytes, which is one
/// of the outcomes that PTX permits; the checker of undefined values marks them.
///
/// # Errors
/// A stop if an address is misaligned, out of bounds, or not in global memory.
pub fn execute<O: Observer>(step: &mut Step<'_, '_, O>, address: &Address, bytes: u32) -> Result<(), Stop> {
    let addresses = &addresses(step.registers(), address);
    let (space, mask) = (Space::Global, step.mask);
    let shape = Shape { kind: AccessKind::Discard, order: Order::Weak, scope: Scope::Sys, bytes, matrix_rows: false };
    let spread = check(step, Part { space, addresses, mask }, shape, None)?;
    if O::Shadow::ON {
        let (shadow, mut scene) = step.shadow();
        shadow.discard(&mut scene, Lanes { space, addresses, mask, spread }, bytes);
    }
    Ok(())
}
