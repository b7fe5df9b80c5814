//! Accesses between the variables of a frame that lie apart.

use super::faults::BadAccess;
use super::step::Step;
use super::warp::Warp;
use crate::lanes::{self, Spread};
use crate::observe::Observer;
use crate::program::{Apart, Program};
use crate::registers::LANES;
use crate::stop::{Diagnostic, Stop};

/// Returns the first lane whose bytes lie between the variables of a frame, at least in part: of the frame itself, or
/// of a caller's, to whose variables it may have pointers.
#[cold]
pub fn first_between<O: Observer>(
    step: &Step<'_, '_, O>,
    addresses: &[u64; LANES],
    mask: u32,
    spread: &Spread,
    bytes: u64,
) -> Option<usize> {
    let program = step.context().program;
    let between = |address: u64| {
        let (apart, base, _) = frame_at(program, step.warp, step.at.frame, address)?;
        apart.misses(address - base, bytes).then_some(())
    };
    let lanes = match spread.low == spread.high {
        true => mask * u32::from(between(spread.low).is_some()),
        false => lanes::select(mask, |lane| between(addresses[lane]).is_some()),
    };
    (lanes != 0).then(|| lanes::first(lanes))
}

/// Builds the stop for such an access.
#[cold]
pub fn stop<O: Observer>(step: &Step<'_, '_, O>, bad: BadAccess) -> Stop {
    let context = step.context();
    let Some((apart, base, function)) = frame_at(context.program, step.warp, step.at.frame, bad.address) else {
        return context.bad_range(bad, "the thread's stack", step.warp.frames[step.at.frame as usize].top);
    };
    let title = format!("{} is out of bounds: {}", bad.words(), apart.describe(bad.address - base));
    let mut diagnostic = Diagnostic::new("out-of-bounds", title);
    diagnostic.notes.push(format!("the address is in the frame of `{}`", crate::stop::demangled(function)));
    context.fault(bad.who, diagnostic)
}

/// Returns the variables, the start and the function's name of the frame that contains an address: the one with this
/// number or one that led to it.
fn frame_at<'p>(program: &'p Program, warp: &Warp, frame: u32, address: u64) -> Option<(&'p Apart, u64, &'p str)> {
    let mut frame = warp.frames.get(frame as usize)?;
    while address < frame.base {
        frame = warp.frames.get(frame.caller?.0 as usize)?;
    }
    let function = program.functions.get(frame.function as usize)?;
    Some((&function.apart, frame.base, &function.name))
}
