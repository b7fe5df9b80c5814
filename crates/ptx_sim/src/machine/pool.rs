//! Memory of ended frames and blocks, kept for reuse.

use super::budget::{Budget, register_bytes};
use super::frame::{Frame, Held};
use super::warp::Warp;
use crate::program::Program;
use crate::registers::Registers;

/// Register files by function, and warps.
pub struct Pool {
    registers: Vec<Vec<Held>>,
    #[expect(clippy::vec_box, reason = "blocks keep them in boxes")]
    warps: Vec<Box<Warp>>,
}

impl Pool {
    /// Creates an empty pool for the functions of a program.
    pub fn new(program: &Program) -> Self {
        Self { registers: program.functions.iter().map(|_| Vec::new()).collect(), warps: Vec::new() }
    }

    /// Returns registers for a function with undefined contents, and whether they are new, so that even their constants
    /// have to be filled in. New registers have a shadow if undefined values are `tracked`.
    pub fn registers(&mut self, program: &Program, budget: &Budget, function: u32, tracked: bool) -> (Held, bool) {
        if let Some(registers) = self.registers[function as usize].pop() {
            return (registers, false);
        }
        let rows = program.functions[function as usize].rows;
        budget.take(register_bytes(rows));
        let registers = Registers {
            w32: vec![[0; 32]; rows.w32 as usize],
            w64: vec![[0; 32]; rows.w64 as usize],
            pred: vec![0; rows.pred as usize],
            shadow: tracked.then(Box::default),
        };
        (registers.into(), true)
    }

    /// Returns the number of register files that are kept for frames of a function.
    pub fn count(&self, function: u32) -> usize {
        self.registers[function as usize].len()
    }

    /// Keeps the registers of an ended frame.
    pub fn keep_registers(&mut self, frame: &mut Frame) {
        self.registers[frame.function as usize].push(std::mem::take(&mut frame.registers));
    }

    /// Returns a warp of an ended block, or a new one.
    pub fn warp(&mut self) -> Box<Warp> {
        self.warps.pop().unwrap_or_default()
    }

    /// Iterates over the kept warps in the order in which they will be reused.
    pub fn warps(&self) -> impl Iterator<Item = &Warp> {
        self.warps.iter().rev().map(|warp| &**warp)
    }

    /// Keeps the warps of an ended block.
    pub fn keep_warps(&mut self, warps: impl Iterator<Item = Box<Warp>>) {
        self.warps.extend(warps);
    }
}
