//! The lint of f64 arithmetic on f32 values.

use std::collections::HashMap;

use super::kinds::{Found, Lint};
use crate::check::{
    flow::Flow,
    listing::{Code, Instruction},
};

/// Reports arithmetic in f64 whose inputs are f32 values and constants, and whose result becomes an f32. That of a
/// dependency is its authors' choice, such as that of `libm::sinf`.
pub(super) fn f64_of_f32(code: &Code<'_>, flow: &Flow, found: &mut Found<'_>) {
    let mut writers: HashMap<&str, Vec<&Instruction<'_>>> = HashMap::new();
    for one in &code.instructions {
        for register in one.written() {
            writers.entry(register).or_default().push(one);
        }
    }
    let back = |one: &Instruction<'_>| one.base() == "cvt" && one.opcode.ends_with(".f32.f64");
    for (_, one) in flow.warm(code).filter(|(_, one)| back(one)) {
        let mut slice = Slice { writers: &writers, seen: HashMap::new(), converted: false, arithmetic: None };
        let closed = one.read().all(|register| slice.follow(register));
        if let Some(last) = slice.arithmetic.filter(|last| closed && slice.converted && !last.is_dependency) {
            let place = last.place.as_ref().or(one.place.as_ref());
            found.add(Lint::F64Arithmetic, place, "arithmetic in f64 on f32 values");
        }
    }
}

/// What a value is computed from.
struct Slice<'a, 't> {
    writers: &'a HashMap<&'a str, Vec<&'a Instruction<'t>>>,
    /// The registers that were met, and whether all their inputs have been followed.
    seen: HashMap<String, bool>,
    /// Whether an f32 is among the inputs.
    converted: bool,
    /// The last arithmetic operation on the way to the result.
    arithmetic: Option<&'a Instruction<'t>>,
}

impl Slice<'_, '_> {
    /// Follows a register to its inputs; returns whether all are f32 values and constants.
    fn follow(&mut self, register: &str) -> bool {
        // A register among its own inputs is a sum over a loop: to hold it in f64 is a choice.
        if let Some(followed) = self.seen.get(register) {
            return *followed;
        }
        self.seen.insert(register.to_owned(), false);
        let Some(writers) = self.writers.get(register) else { return false };
        let closed = writers.iter().all(|one| match one.base() {
            "cvt" if one.opcode.ends_with("f64.f32") => {
                self.converted = true;
                true
            }
            "add" | "sub" | "mul" | "fma" | "div" | "sqrt" | "rcp" | "neg" | "abs" | "min" | "max"
                if one.opcode.ends_with(".f64") =>
            {
                self.arithmetic.get_or_insert(one);
                one.read().all(|input| self.follow(input))
            }
            "mov" => one.read().all(|input| self.follow(input)),
            _ => false,
        });
        self.seen.insert(register.to_owned(), closed);
        closed
    }
}
