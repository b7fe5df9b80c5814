//! The names that are declared at a statement.

use crate::hash::{Map, Set};
use crate::syntax::tree::Registers;

/// The names that a scope declares.
#[derive(Default)]
struct Scope<'t> {
    /// Vector registers, and the number of their elements.
    vectors: Map<&'t str, u8>,
    vector_ranges: Map<&'t str, u8>,
    /// Types of registers.
    registers: Map<&'t str, &'t str>,
    /// Types of ranges of registers, by the name without the number.
    ranges: Map<&'t str, &'t str>,
    memory: Set<&'t str>,
}

/// The open scopes, the innermost last.
#[derive(Default)]
pub struct Scopes<'t>(Vec<Scope<'t>>);

impl<'t> Scopes<'t> {
    /// Opens a scope, at `{`.
    pub fn open(&mut self) {
        self.0.push(Scope::default());
    }

    /// Closes a scope, at `}`.
    pub fn close(&mut self) {
        self.0.pop();
    }

    /// Declares a variable in memory.
    pub fn variable(&mut self, name: &'t str) {
        if let Some(scope) = self.0.last_mut() {
            scope.memory.insert(name);
        }
    }

    /// Whether a name is that of a variable in memory.
    pub fn is_variable(&self, name: &str) -> bool {
        self.0.iter().any(|scope| scope.memory.contains(name))
    }

    /// Declares registers.
    pub fn declare(&mut self, registers: &Registers<'t>) {
        let Some(scope) = self.0.last_mut() else { return };
        if registers.lanes > 1 {
            let vectors = if registers.count.is_some() { &mut scope.vector_ranges } else { &mut scope.vectors };
            vectors.insert(registers.name, registers.lanes);
        } else if registers.count.is_some() {
            scope.ranges.insert(registers.name, registers.kind);
        } else {
            scope.registers.insert(registers.name, registers.kind);
        }
    }

    /// Returns the type of a register.
    pub fn type_of(&self, name: &str) -> Option<&'t str> {
        self.0.iter().rev().find_map(|scope| {
            let range = || prefixes(name).find_map(|prefix| scope.ranges.get(prefix));
            scope.registers.get(name).or_else(range).copied()
        })
    }

    /// Returns the number of elements of a vector register.
    pub fn lanes(&self, name: &str) -> Option<u8> {
        self.0.iter().rev().find_map(|scope| {
            let range = || prefixes(name).find_map(|prefix| scope.vector_ranges.get(prefix));
            scope.vectors.get(name).or_else(range).copied()
        })
    }
}

/// Returns the names of which a name may be a numbered register.
fn prefixes(name: &str) -> impl Iterator<Item = &str> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (1..=digits.min(10)).map(|n| &name[..name.len() - n])
}
