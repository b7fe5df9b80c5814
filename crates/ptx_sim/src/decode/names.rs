//! The meaning of names inside a function: nested scopes of registers, variables and labels.

use crate::hash::Map;
use crate::program::{Rows, Space};
use crate::registers::Slot;
use crate::syntax::ParseError;
use crate::syntax::tree::Registers;

/// What the bits of a register or an operand are to ptxas, which takes only registers whose class agrees with that of
/// the instruction's types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Types that start with `b`, predicates, and instructions without a type or with types of several classes.
    Bits,
    /// Integers, signed or not.
    Integer,
    /// Floating-point numbers.
    Float,
}

impl Class {
    /// Returns the class of a type without its dot.
    pub fn of(kind: &str) -> Self {
        match kind.as_bytes() {
            [b'u' | b's', b'0'..=b'9', ..] => Self::Integer,
            [b'f', b'0'..=b'9', ..] | [b'b', b'f', ..] | [b't', b'f', ..] => Self::Float,
            _ => Self::Bits,
        }
    }

    /// Whether an instruction of this class takes a register of that class.
    pub fn takes(self, register: Self) -> bool {
        self == Self::Bits || register == Self::Bits || self == register
    }
}

/// A register; its width determines its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// What its bits are.
    pub class: Class,
    /// Width in bits: 1 for predicates, otherwise 8 to 128.
    pub bits: u8,
    /// Row in its file.
    pub slot: Slot,
}

/// Meaning of a name declared inside a function.
#[derive(Clone, Copy, Debug)]
pub enum Named {
    /// A register.
    Register(Register),
    /// A vector register: its first element, and their number.
    Vector(Register, u8),
    /// A part of the frame: `.local` variables, `.param` variables of calls, parameters of device functions.
    Frame {
        /// Offset in bytes.
        offset: u64,
        /// Size in bytes.
        size: u64,
        /// State space: `Local` or `Frame`.
        space: Space,
    },
    /// A parameter of an entry, by its offset in bytes.
    KernelParam(u64),
    /// A variable: index into `Program::variables`.
    Variable(u32),
}

/// A range of registers such as `%r<5>`: the first register, the number of registers, and the elements of each.
#[derive(Clone, Copy)]
struct Counted {
    first: Register,
    count: u32,
    lanes: u8,
}

#[derive(Default)]
struct Scope<'t> {
    names: Map<&'t str, Named>,
    counted: Map<&'t str, Counted>,
}

/// Limit on the registers of a kind in a function; a larger count is an error.
const MOST_ROWS: u32 = 1 << 20;

/// The open scopes at a statement.
#[derive(Default)]
pub struct Names<'t> {
    scopes: Vec<Scope<'t>>,
    /// Rows allocated so far.
    pub rows: Rows,
}

impl<'t> Names<'t> {
    /// Opens a scope, at `{`.
    pub fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    /// Closes a scope, at `}`.
    pub fn close(&mut self) {
        self.scopes.pop();
    }

    /// Declares a name in the innermost scope.
    pub fn declare(&mut self, name: &'t str, named: Named) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name, named);
        }
    }

    /// Declares the registers of a `.reg` directive.
    ///
    /// # Errors
    /// A [`ParseError`] for an unknown type, or too many registers.
    pub fn registers(&mut self, registers: &Registers<'t>) -> Result<(), ParseError> {
        let bits = match registers.kind {
            "pred" => 1,
            kind => match crate::syntax::type_bytes(kind) {
                Some(bytes) => bytes as u8 * 8,
                None => {
                    let found = format!("register type `.{kind}`");
                    return Err(ParseError::on_line(registers.line, found, "a type such as `.b32` or `.pred`"));
                }
            },
        };
        let count = registers.count.unwrap_or(1);
        let file = match bits {
            1 => &mut self.rows.pred,
            8..=32 => &mut self.rows.w32,
            _ => &mut self.rows.w64,
        };
        let rows_each = u32::from(registers.lanes) * if bits == 128 { 2 } else { 1 };
        let slot = *file;
        let end = count.checked_mul(rows_each).and_then(|rows| slot.checked_add(rows)).filter(|&end| end <= MOST_ROWS);
        let Some(end) = end else {
            let expected = format!("at most {MOST_ROWS} registers of a kind in a function");
            return Err(ParseError::on_line(registers.line, format!("{count} registers"), expected));
        };
        *file = end;
        let first = Register { class: Class::of(registers.kind), bits, slot };
        let Some(scope) = self.scopes.last_mut() else { return Ok(()) };
        if registers.count.is_some() {
            scope.counted.insert(registers.name, Counted { first, count, lanes: registers.lanes });
        } else if registers.lanes > 1 {
            scope.names.insert(registers.name, Named::Vector(first, registers.lanes));
        } else {
            scope.names.insert(registers.name, Named::Register(first));
        }
        Ok(())
    }

    /// Returns the meaning of a name in the innermost scope that declares it.
    pub fn find(&self, name: &str) -> Option<Named> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        for scope in self.scopes.iter().rev() {
            if let Some(named) = scope.names.get(name) {
                return Some(*named);
            }
            // No valid number has more digits.
            if scope.counted.is_empty() || name.len() - prefix.len() > 12 {
                continue;
            }
            // `%r12` is number 12 of `%r`; a prefix may itself end in digits.
            let mut split = prefix.len();
            while split < name.len() {
                if let Some(found) = scope.counted.get(&name[..split]).and_then(|c| c.get(&name[split..])) {
                    return Some(found);
                }
                split += 1;
            }
        }
        // An element of a vector register.
        let (vector, element) = name.rsplit_once('.').filter(|(vector, _)| !vector.contains('.'))?;
        let number = match element {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => return None,
        };
        self.element(vector, number).map(Named::Register)
    }

    /// Returns an element of a vector register.
    pub fn element(&self, vector: &str, number: u8) -> Option<Register> {
        match self.find(vector) {
            Some(Named::Vector(first, lanes)) if number < lanes => Some(first.number(number.into())),
            _ => None,
        }
    }
}

impl Register {
    /// Returns the register that follows at this distance in a range or a vector.
    fn number(self, distance: u32) -> Register {
        let rows_each = if self.bits == 128 { 2 } else { 1 };
        Register { slot: self.slot + distance * rows_each, ..self }
    }
}

impl Counted {
    fn get(&self, digits: &str) -> Option<Named> {
        let canonical = digits == "0" || !digits.starts_with('0');
        let number: u32 = digits.parse().ok().filter(|&n| canonical && n < self.count)?;
        let first = self.first.number(number * u32::from(self.lanes));
        Some(if self.lanes > 1 { Named::Vector(first, self.lanes) } else { Named::Register(first) })
    }
}

/// Positions of labels: indices into the code, by the scope that contains them.
#[derive(Default)]
pub struct Labels<'t> {
    places: Map<(u32, &'t str), u32>,
    parents: Vec<u32>,
}

impl<'t> Labels<'t> {
    /// Adds a scope inside another one; the outermost is its own parent.
    pub fn scope(&mut self, parent: u32) -> u32 {
        self.parents.push(parent);
        self.parents.len() as u32 - 1
    }

    /// Adds a label; returns false if the scope already has it.
    pub fn add(&mut self, scope: u32, name: &'t str, index: u32) -> bool {
        self.places.insert((scope, name), index).is_none()
    }

    /// Looks up a label from inside a scope.
    pub fn find(&self, mut scope: u32, name: &'t str) -> Option<u32> {
        loop {
            if let Some(&index) = self.places.get(&(scope, name)) {
                return Some(index);
            }
            let parent = *self.parents.get(scope as usize)?;
            if parent == scope {
                return None;
            }
            scope = parent;
        }
    }
}
