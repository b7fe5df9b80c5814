//! Constant expressions, with the operators of C. PTX ISA, "Constant Expressions".

use super::error::ParseError;
use super::lexer::Kind;
use super::literal;
use super::parser::Parser;
use super::tree::Operand;

/// Limit on the nesting of an expression, because each level is a call of the parser.
const MOST_NESTED: usize = 64;

/// A 64-bit integer, of which operators know the sign: a decimal literal is signed if it fits.
#[derive(Clone, Copy)]
struct Integer {
    bits: u64,
    signed: bool,
}

/// The binary operators, those that bind least first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl<'t> Parser<'t> {
    /// Parses a constant: a floating-point number, or an expression of integers.
    ///
    /// # Errors
    /// The tokens are not a constant, or it divides by zero.
    pub fn constant(&mut self) -> Result<Operand<'t>, ParseError> {
        // The sign of a floating-point number is part of the number.
        let mut ahead = self.lexer.clone();
        let mut token = self.token;
        while token.kind == Kind::Punctuation && matches!(token.text, "-" | "+") {
            token = ahead.next()?;
        }
        let is_float = |text| !matches!(literal::number(text), Some(Operand::Integer(_)));
        if token.kind == Kind::Number && is_float(token.text) {
            return self.number();
        }
        Ok(Operand::Integer(self.choice(0)?.bits))
    }

    /// Parses `a ? b : c`.
    fn choice(&mut self, depth: usize) -> Result<Integer, ParseError> {
        if depth > MOST_NESTED {
            return Err(self.error(format!("at most {MOST_NESTED} operations inside each other")));
        }
        let condition = self.binary(0, depth)?;
        if !self.eat("?")? {
            return Ok(condition);
        }
        let yes = self.choice(depth + 1)?;
        self.expect(":")?;
        let no = self.choice(depth + 1)?;
        let chosen = if condition.bits != 0 { yes } else { no };
        Ok(Integer { signed: yes.signed && no.signed, ..chosen })
    }

    fn binary(&mut self, level: usize, depth: usize) -> Result<Integer, ParseError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary(depth) };
        let mut left = self.binary(level + 1, depth)?;
        while let Some(operator) = self.operator(operators)? {
            let at = self.token;
            let right = self.binary(level + 1, depth)?;
            left = apply(operator, left, right).ok_or_else(|| self.error_at(at, "a divisor other than zero"))?;
        }
        Ok(left)
    }

    /// Consumes one of these operators if it comes next; a longer operator that starts with it is another one.
    fn operator(&mut self, operators: &[&'static str]) -> Result<Option<&'static str>, ParseError> {
        if self.token.kind != Kind::Punctuation {
            return Ok(None);
        }
        let rest = &self.text[self.token.start..];
        let all = LEVELS.iter().copied().flatten().filter(|operator| rest.starts_with(**operator));
        let Some(found) = all.max_by_key(|operator| operator.len()).filter(|found| operators.contains(found)) else {
            return Ok(None);
        };
        for _ in 0..found.len() {
            self.advance()?;
        }
        Ok(Some(found))
    }

    fn unary(&mut self, depth: usize) -> Result<Integer, ParseError> {
        if depth > MOST_NESTED {
            return Err(self.error(format!("at most {MOST_NESTED} operations inside each other")));
        }
        match (self.token.kind, self.token.text) {
            (Kind::Word, "WARP_SZ") => {
                self.advance()?;
                Ok(Integer { bits: 32, signed: true })
            }
            (Kind::Number, text) => match literal::number(text) {
                Some(Operand::Integer(bits)) => {
                    self.advance()?;
                    let signed = !text.ends_with(['u', 'U']) && bits <= i64::MAX as u64;
                    Ok(Integer { bits, signed })
                }
                _ => Err(self.error("an integer")),
            },
            (Kind::Punctuation, operator @ ("-" | "+" | "~" | "!")) => {
                self.advance()?;
                let Integer { bits, signed } = self.unary(depth + 1)?;
                Ok(match operator {
                    "-" => Integer { bits: bits.wrapping_neg(), signed },
                    "~" => Integer { bits: !bits, signed },
                    "!" => truth(bits == 0),
                    _ => Integer { bits, signed },
                })
            }
            (Kind::Punctuation, "(") => {
                self.advance()?;
                if self.token.kind == Kind::Word && matches!(self.token.text, ".s64" | ".u64") {
                    let signed = self.advance()?.text == ".s64";
                    self.expect(")")?;
                    return Ok(Integer { signed, ..self.unary(depth + 1)? });
                }
                let inside = self.choice(depth + 1)?;
                self.expect(")")?;
                Ok(inside)
            }
            _ => Err(self.error("a number")),
        }
    }
}

fn truth(value: bool) -> Integer {
    Integer { bits: u64::from(value), signed: true }
}

/// Returns the result of a binary operator; `None` for a division by zero.
fn apply(operator: &str, a: Integer, b: Integer) -> Option<Integer> {
    let signed = a.signed && b.signed;
    let (x, y) = (a.bits, b.bits);
    let (sx, sy) = (x as i64, y as i64);
    let less = |x: u64, y: u64| if signed { (x as i64) < (y as i64) } else { x < y };
    let bits = match operator {
        "||" => return Some(truth(x != 0 || y != 0)),
        "&&" => return Some(truth(x != 0 && y != 0)),
        "==" => return Some(truth(x == y)),
        "!=" => return Some(truth(x != y)),
        "<" => return Some(truth(less(x, y))),
        ">" => return Some(truth(less(y, x))),
        "<=" => return Some(truth(!less(y, x))),
        ">=" => return Some(truth(!less(x, y))),
        "|" => x | y,
        "^" => x ^ y,
        "&" => x & y,
        // The result of a shift has the type of its left operand.
        "<<" => return Some(Integer { bits: x.checked_shl(u32::try_from(y).unwrap_or(64)).unwrap_or(0), ..a }),
        ">>" => {
            let count = u32::try_from(y).unwrap_or(64);
            let bits = if a.signed { (sx >> count.min(63)) as u64 } else { x.checked_shr(count).unwrap_or(0) };
            return Some(Integer { bits, ..a });
        }
        "+" => x.wrapping_add(y),
        "-" => x.wrapping_sub(y),
        "*" => x.wrapping_mul(y),
        _ if y == 0 => return None,
        "/" if signed => sx.wrapping_div(sy) as u64,
        "/" => x / y,
        _ if signed => sx.wrapping_rem(sy) as u64,
        _ => x % y,
    };
    Some(Integer { bits, signed })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<u64> {
        let mut parser = Parser::new(text).ok()?;
        match parser.constant() {
            Ok(Operand::Integer(bits)) if parser.token.kind == Kind::End => Some(bits),
            _ => None,
        }
    }

    #[test]
    fn operators_bind_as_in_c() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("1 << 3 | 1", 9),
            ("10 - 4 - 3", 3),
            ("-7 / 2", -3i64 as u64),
            ("-7 >> 1", -4i64 as u64),
            ("-1 > 1", 0),
            ("-1 > 1U", 1),
            ("(.u64)-1 > 1", 1),
            ("!0 && ~0", 1),
            ("1 == 2 ? 3 : 4", 4),
            ("4 * WARP_SZ", 128),
            ("0xFFFFFFFFFFFFFFFF / 2", 0x7fff_ffff_ffff_ffff),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
        assert_eq!(value("1 / 0"), None);
        assert_eq!(value("1 +"), None);
        assert_eq!(value(&"(".repeat(1000)), None);
    }
}
