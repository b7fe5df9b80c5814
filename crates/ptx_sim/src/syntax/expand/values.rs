//! Parameters and results of functions in registers, which become variables in memory: the caller stores arguments and
//! loads results, the callee loads parameters and stores results.

use super::{ADDED, Expansion, Place, name};
use crate::syntax::ParseError;
use crate::syntax::parser::type_bytes;
use crate::syntax::tree::{Function, Module, Name, Operand, Registers, Statement, Variable};

/// Names of the variables of results, as [`ADDED`] has those of parameters.
const RESULTS: [&str; 16] = [
    "result 0",
    "result 1",
    "result 2",
    "result 3",
    "result 4",
    "result 5",
    "result 6",
    "result 7",
    "result 8",
    "result 9",
    "result 10",
    "result 11",
    "result 12",
    "result 13",
    "result 14",
    "result 15",
];

/// Name of the register that holds a predicate as 0 or 1 while it is stored or loaded.
const FLAG: &str = "flag in memory";

/// Type of a parameter or result.
#[derive(Clone, Copy)]
struct Type<'t> {
    kind: &'t str,
    lanes: u8,
}

impl<'t> Type<'t> {
    fn of(variable: &Variable<'t>) -> Self {
        Self { kind: variable.kind, lanes: variable.lanes }
    }

    fn is_flag(self) -> bool {
        self.kind == "pred"
    }

    /// The type in memory, which has no predicates.
    fn stored(self) -> Self {
        if self.is_flag() { Self { kind: "b32", ..self } } else { self }
    }

    /// Declares the variable that holds it.
    fn variable(self, memory: &'t str, line: u32) -> Variable<'t> {
        let Self { kind, lanes } = self.stored();
        let bytes = type_bytes(kind).unwrap_or(4) * u64::from(lanes);
        Variable::scalar("param", memory, kind, bytes, line)
    }
}

/// Types of a function's results and parameters.
pub struct Signature<'t> {
    name: &'t str,
    results: Vec<Type<'t>>,
    params: Vec<Type<'t>>,
}

impl<'t> Signature<'t> {
    pub fn of(function: &Function<'t>) -> Self {
        let types = |list: &[Variable<'t>]| list.iter().map(Type::of).collect();
        Self { name: function.name, results: types(&function.returns), params: types(&function.params) }
    }

    fn has_flags(&self) -> bool {
        self.results.iter().chain(&self.params).any(|value| value.is_flag())
    }
}

/// Whether ptxas takes predicates as parameters and results. It follows an ABI that has none, unless it compiles a
/// whole program in which a function has several results; it then takes no functions that are only declared, or
/// recursive, of which the latter are accepted here.
pub fn flags_are_passed(module: &Module<'_>) -> bool {
    module.functions.iter().any(|function| function.returns.len() > 1 && function.body.is_some())
}

/// A parameter or result that its function has in a register: the name of the memory, the register, and its type.
pub struct Moved<'t> {
    memory: &'t str,
    register: &'t str,
    of: Type<'t>,
}

/// Gives the parameters of a function that are in registers names in memory, and returns them.
pub fn params_in_memory<'t>(function: &mut Function<'t>) -> Vec<Moved<'t>> {
    in_memory(&mut function.params, &ADDED)
}

/// Gives the results of a function that are in registers names in memory, and returns them.
pub fn results_in_memory<'t>(function: &mut Function<'t>) -> Vec<Moved<'t>> {
    in_memory(&mut function.returns, &RESULTS)
}

fn in_memory<'t>(list: &mut [Variable<'t>], names: &[&'static str]) -> Vec<Moved<'t>> {
    let mut moved = Vec::new();
    for (variable, memory) in list.iter_mut().zip(names).filter(|(variable, _)| variable.space == "reg") {
        let (register, of) = (variable.name, Type::of(variable));
        *variable = of.variable(memory, variable.line);
        moved.push(Moved { memory, register, of });
    }
    moved
}

impl<'b, 't> Expansion<'b, 't> {
    /// Declares the registers of the parameters and results, and loads the parameters.
    pub fn enter(&mut self, ins: &[Moved<'t>], outs: &[Moved<'t>], place: Place<'t>) {
        if ins.iter().chain(outs).any(|moved| moved.of.is_flag()) {
            self.register(FLAG, "b32", place.line);
        }
        for Moved { register, of: Type { kind, lanes }, .. } in ins.iter().chain(outs) {
            let registers = Registers { kind, name: register, lanes: *lanes, count: None, line: place.line };
            self.scopes.declare(&registers);
            self.body.statements.push(Statement::Registers(registers));
        }
        for Moved { memory, register, of } in ins {
            self.load(*of, name(register), memory, place);
        }
    }

    /// Stores the results.
    pub fn leave(&mut self, outs: &[Moved<'t>], place: Place<'t>) {
        for Moved { memory, register, of } in outs {
            self.store(*of, name(register), memory, place);
        }
    }

    /// Returns the signature of a call if it passes a register or a constant, or returns to a register.
    pub fn passed(&self, operands: &[Operand<'t>]) -> Option<&'b Signature<'t>> {
        let callee = operands.iter().find_map(|operand| match operand {
            Operand::Name(name) => Some(name.text),
            _ => None,
        })?;
        let signature = self.signatures.get(callee)?;
        let direct = |operand: &Operand<'t>| match operand {
            Operand::List(span) => self.body.get(span).iter().any(|value| self.is_value(value)),
            _ => false,
        };
        (signature.has_flags() || operands.iter().any(direct)).then_some(signature)
    }

    /// Whether an argument is a value: no variable of the space `.param`.
    fn is_value(&self, operand: &Operand<'t>) -> bool {
        match operand {
            Operand::Name(name) => !self.scopes.is_variable(name.text),
            _ => true,
        }
    }

    /// Stores the arguments that are values to variables, which take their places in the lists; returns the results to
    /// load.
    ///
    /// # Errors
    /// A [`ParseError`] if something else is passed as a predicate, or predicates are not passed in this module.
    pub fn pass(
        &mut self,
        signature: &Signature<'t>,
        operands: &mut [Operand<'t>],
        place: Place<'t>,
    ) -> Result<Vec<Loaded<'t>>, ParseError> {
        if signature.has_flags() {
            if !self.flags_are_passed {
                let found = format!("a call of `{}`, which passes a predicate", signature.name);
                let expected = "a module with a function of several results: ptxas passes no predicates in others";
                return Err(ParseError::on_line(place.line, found, expected));
            }
            self.register(FLAG, "b32", place.line);
        }
        let mut loads = Vec::new();
        let mut callee_seen = false;
        for operand in operands {
            let span = match operand {
                Operand::List(span) => span.clone(),
                Operand::Name(_) => {
                    callee_seen = true;
                    continue;
                }
                _ => continue,
            };
            let (types, names) = if callee_seen { (&signature.params, &ADDED) } else { (&signature.results, &RESULTS) };
            let mut list = self.body.get(&span).to_vec();
            for ((value, of), memory) in list.iter_mut().zip(types).zip(names) {
                let is_dropped = !callee_seen && matches!(value, Operand::Name(Name { text: "_", .. }));
                if of.is_flag() && !is_dropped && !self.is_flag(value) {
                    let found = format!("a value of another type for a predicate of `{}`", signature.name);
                    return Err(ParseError::on_line(place.line, found, "a predicate register"));
                }
                if !self.is_value(value) {
                    continue;
                }
                let value = std::mem::replace(value, name(memory));
                self.body.statements.push(Statement::Variable(of.variable(memory, place.line)));
                if callee_seen {
                    self.store(*of, value, memory, place);
                } else if !is_dropped {
                    loads.push(Loaded { of: *of, to: value, memory });
                }
            }
            *operand = Operand::List(self.span(list));
        }
        // The guard of the call also guards the loads, so that it is loaded last.
        loads.sort_by_key(|loaded| match (&loaded.to, place.guard) {
            (Operand::Name(name), Some((guard, _))) => name.text == guard,
            _ => false,
        });
        Ok(loads)
    }

    fn is_flag(&self, operand: &Operand<'t>) -> bool {
        match operand {
            Operand::Name(Name { text, negated: false, offset: 0 }) => self.scopes.type_of(text) == Some("pred"),
            _ => false,
        }
    }

    /// Loads the results of a call.
    pub fn receive(&mut self, loads: Vec<Loaded<'t>>, place: Place<'t>) {
        for Loaded { of, to, memory } in loads {
            self.load(of, to, memory, place);
        }
    }

    fn load(&mut self, of: Type<'t>, mut to: Operand<'t>, memory: &'t str, place: Place<'t>) {
        self.elements(&mut to);
        let from = Operand::Address(Some(memory), 0);
        if of.is_flag() {
            self.push(place, "ld.param.b32", [name(FLAG), from]);
            self.push(place, "setp.ne.b32", [to, name(FLAG), Operand::Integer(0)]);
        } else {
            self.push(place, accesses(of).0, [to, from]);
        }
    }

    fn store(&mut self, of: Type<'t>, mut value: Operand<'t>, memory: &'t str, place: Place<'t>) {
        self.elements(&mut value);
        let to = Operand::Address(Some(memory), 0);
        if of.is_flag() {
            self.push(place, "selp.b32", [name(FLAG), Operand::Integer(1), Operand::Integer(0), value]);
            self.push(place, "st.param.b32", [to, name(FLAG)]);
        } else {
            self.push(place, accesses(of).1, [to, value]);
        }
    }
}

/// A result that is loaded after a call.
pub struct Loaded<'t> {
    of: Type<'t>,
    to: Operand<'t>,
    memory: &'t str,
}

/// The load and the store of a type.
fn accesses(Type { kind, lanes }: Type<'_>) -> (&'static str, &'static str) {
    match (kind, lanes, type_bytes(kind)) {
        ("u16", 1, _) => ("ld.param.u16", "st.param.u16"),
        ("s16", 1, _) => ("ld.param.s16", "st.param.s16"),
        ("u32", 1, _) => ("ld.param.u32", "st.param.u32"),
        ("s32", 1, _) => ("ld.param.s32", "st.param.s32"),
        ("u64", 1, _) => ("ld.param.u64", "st.param.u64"),
        ("s64", 1, _) => ("ld.param.s64", "st.param.s64"),
        ("f32", 1, _) => ("ld.param.f32", "st.param.f32"),
        ("f64", 1, _) => ("ld.param.f64", "st.param.f64"),
        (_, 1, Some(1)) => ("ld.param.b8", "st.param.b8"),
        (_, 1, Some(2)) => ("ld.param.b16", "st.param.b16"),
        (_, 1, Some(8)) => ("ld.param.b64", "st.param.b64"),
        (_, 1, Some(16)) => ("ld.param.b128", "st.param.b128"),
        (_, 2, Some(1)) => ("ld.param.v2.b8", "st.param.v2.b8"),
        (_, 2, Some(2)) => ("ld.param.v2.b16", "st.param.v2.b16"),
        (_, 2, Some(8)) => ("ld.param.v2.b64", "st.param.v2.b64"),
        (_, 2, _) => ("ld.param.v2.b32", "st.param.v2.b32"),
        (_, 4, Some(1)) => ("ld.param.v4.b8", "st.param.v4.b8"),
        (_, 4, Some(2)) => ("ld.param.v4.b16", "st.param.v4.b16"),
        (_, 4, _) => ("ld.param.v4.b32", "st.param.v4.b32"),
        _ => ("ld.param.b32", "st.param.b32"),
    }
}
