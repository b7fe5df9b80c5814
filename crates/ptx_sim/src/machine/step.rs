//! One warp at one instruction: what the instruction may read and change.

use super::block::Block;
use super::context::Context;
use super::position::{At, Who};
use super::warp::Warp;
use super::worker::Worker;
use crate::observe::{Observer, Scene, Variable};
use crate::program::Scope;
use crate::registers::Registers;
use crate::stop::{Diagnostic, Stop};

/// One warp at one instruction. The running warp has been taken out of its block, and the block out of the worker's
/// list, so that each can be modified independently.
pub struct Step<'s, 'w, O: Observer> {
    pub worker: &'s mut Worker<'w, O>,
    pub block: &'s mut Block<O::Block>,
    pub warp: &'s mut Warp,
    /// Lanes that execute the instruction.
    pub mask: u32,
    pub at: At,
}

impl<'w, O: Observer> Step<'_, 'w, O> {
    /// Returns the state that all workers share.
    #[inline(always)]
    pub fn context(&self) -> &'w Context<'w> {
        self.worker.context
    }

    /// Returns the registers of the frame, for instructions before which the loop has put them back.
    pub fn registers(&mut self) -> &mut Registers {
        &mut self.warp.frames[self.at.frame as usize].registers
    }

    /// Returns the step of some of its lanes.
    pub fn only(&mut self, mask: u32) -> Step<'_, 'w, O> {
        Step { worker: self.worker, block: self.block, warp: self.warp, mask, at: self.at }
    }

    /// Returns one of the lanes at this instruction.
    #[inline(always)]
    pub fn who(&self, lane: usize) -> Who {
        self.block.who(self.warp, lane, self.at.site)
    }

    /// Builds a stop for a fault of the program, attributed to one lane.
    #[cold]
    pub fn fault(&self, lane: usize, code: &'static str, title: impl Into<String>) -> Stop {
        self.context().fault(self.who(lane), Diagnostic::new(code, title))
    }

    /// Records a finding: see [`Worker::finding`].
    #[cold]
    pub fn finding(&mut self, lane: usize, code: &'static str, describe: impl FnOnce() -> Diagnostic) {
        self.worker.finding(self.who(lane), code, describe);
    }

    /// Reports a release by some of the lanes to the observers: see [`Observer::release`].
    pub fn release(&mut self, lanes: u32, variable: Variable, scope: Scope) {
        self.worker.observer.release(&mut self.block.observed, self.warp.index, lanes, variable, scope);
    }

    /// Reports an acquire by some of the lanes to the observers: see [`Observer::acquire`].
    pub fn acquire(&mut self, lanes: u32, variable: Variable, scope: Scope) {
        self.worker.observer.acquire(&mut self.block.observed, self.warp.index, lanes, variable, scope);
    }

    /// Returns the tracker of undefined values, and the scene of the instruction.
    #[inline(always)]
    pub fn shadow(&mut self) -> (&mut O::Shadow, Scene<'_>) {
        self.worker.shadow(self.block, self.warp, self.at.site)
    }
}
