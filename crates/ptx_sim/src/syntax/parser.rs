//! Recursive-descent parser with one token of look-ahead, and the productions that all levels of the grammar share.

use crate::hash::Map;

use super::error::ParseError;
use super::lexer::{Kind, Lexer, Token};
use super::literal;
use super::tree::{Operand, Variable};

/// Parser state: the current token and the rest of the text.
pub struct Parser<'t> {
    pub text: &'t str,
    pub lexer: Lexer<'t>,
    pub token: Token<'t>,
    /// Byte offset where the token before the current one ended.
    pub previous_end: usize,
    /// Whether the operands are those of a call, where parentheses are around lists.
    pub in_call: bool,
    /// Sizes of the elements of the variables of module scope, so far.
    pub arrays: Map<&'t str, u64>,
}

impl<'t> Parser<'t> {
    /// Creates a parser whose current token is the first one of the text.
    ///
    /// # Errors
    /// The first token is malformed.
    pub fn new(text: &'t str) -> Result<Self, ParseError> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        Ok(Parser { text, lexer, token, previous_end: 0, in_call: false, arrays: Map::default() })
    }

    /// Returns the current token and moves to the next one.
    ///
    /// # Errors
    /// The next token is malformed.
    pub fn advance(&mut self) -> Result<Token<'t>, ParseError> {
        let taken = self.token;
        // The text of a string excludes its quotes.
        let quotes = if taken.kind == Kind::String { 2 } else { 0 };
        self.previous_end = taken.start + taken.text.len() + quotes;
        self.token = self.lexer.next()?;
        Ok(taken)
    }

    /// Returns the text between the previous token and the end of its line, which may be a comment.
    pub fn rest_of_line(&self) -> &'t str {
        self.text.get(self.previous_end..).unwrap_or_default().lines().next().unwrap_or_default()
    }

    /// Whether the current token is this punctuation.
    pub fn at(&self, punctuation: &str) -> bool {
        self.token.kind == Kind::Punctuation && self.token.text == punctuation
    }

    /// Consumes this punctuation if it is the current token; returns whether it was.
    ///
    /// # Errors
    /// The next token is malformed.
    pub fn eat(&mut self, punctuation: &str) -> Result<bool, ParseError> {
        let there = self.at(punctuation);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// Consumes this punctuation.
    ///
    /// # Errors
    /// The current token is another one, or the next token is malformed.
    pub fn expect(&mut self, punctuation: &str) -> Result<(), ParseError> {
        if self.eat(punctuation)? { Ok(()) } else { Err(self.error(format!("`{punctuation}`"))) }
    }

    /// Consumes a word and returns its text.
    ///
    /// # Errors
    /// The current token is not a word, or the next token is malformed.
    pub fn word(&mut self, expected: &str) -> Result<&'t str, ParseError> {
        if self.token.kind != Kind::Word {
            return Err(self.error(expected));
        }
        Ok(self.advance()?.text)
    }

    /// Consumes this word if it is the current token; returns whether it was.
    ///
    /// # Errors
    /// The next token is malformed.
    pub fn eat_word(&mut self, word: &str) -> Result<bool, ParseError> {
        let there = self.token.kind == Kind::Word && self.token.text == word;
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    /// Consumes an unsigned integer and returns it.
    ///
    /// # Errors
    /// The current token is not an unsigned integer, or the next token is malformed.
    pub fn unsigned(&mut self, expected: &str) -> Result<u64, ParseError> {
        match self.token.kind {
            Kind::Number => match literal::number(self.token.text) {
                Some(Operand::Integer(value)) => {
                    self.advance()?;
                    Ok(value)
                }
                _ => Err(self.error(expected)),
            },
            _ => Err(self.error(expected)),
        }
    }

    /// Consumes an unsigned integer that fits in 32 bits and returns it.
    ///
    /// # Errors
    /// As [`Parser::unsigned`]; also when the number needs more than 32 bits.
    pub fn unsigned32(&mut self, expected: &str) -> Result<u32, ParseError> {
        let at = self.token;
        let value = self.unsigned(expected)?;
        u32::try_from(value).map_err(|_| self.error_at(at, expected))
    }

    /// Consumes a number with any number of leading signs.
    ///
    /// # Errors
    /// The tokens are not a number.
    pub fn number(&mut self) -> Result<Operand<'t>, ParseError> {
        let mut negative = false;
        while self.at("-") || self.at("+") {
            negative ^= self.at("-");
            self.advance()?;
        }
        let inverted = self.eat("~")?;
        let value = match self.token.kind {
            Kind::Number => literal::number(self.token.text),
            _ => None,
        };
        let value = match (value, inverted) {
            (Some(Operand::Integer(value)), true) => Some(Operand::Integer(!value)),
            (_, true) => None,
            (value, false) => value,
        };
        let value = if negative { value.and_then(literal::negate) } else { value };
        let Some(value) = value else { return Err(self.error("a number")) };
        self.advance()?;
        Ok(value)
    }

    /// Consumes an offset: `+8`, `-8` or `+-8`. An absent offset is 0.
    ///
    /// # Errors
    /// The sign is not followed by an integer.
    pub fn offset(&mut self) -> Result<i64, ParseError> {
        if !self.at("+") && !self.at("-") {
            return Ok(0);
        }
        match self.constant()? {
            Operand::Integer(value) => Ok(value as i64),
            _ => Err(self.error("an integer offset")),
        }
    }

    /// Builds an error at the current token.
    pub fn error(&self, expected: impl Into<String>) -> ParseError {
        self.error_at(self.token, expected)
    }

    /// Builds an error at a token.
    pub fn error_at(&self, token: Token<'t>, expected: impl Into<String>) -> ParseError {
        let found = match token.kind {
            Kind::End => "the end of the text".to_string(),
            _ => format!("`{}`", token.text.chars().take(60).collect::<String>()),
        };
        ParseError::at(self.text, token.start, token.line, found, expected)
    }

    /// Parses a declarator, which follows a state space such as `.param`: `.align 4 .b8 name[16]` or `.u64 .ptr .global
    /// .align 1 name`.
    ///
    /// # Errors
    /// A syntax error, an array that is too large, or an alignment that is not a power of two.
    pub fn declarator(&mut self, space: &'t str) -> Result<Variable<'t>, ParseError> {
        let line = self.token.line;
        let (mut kind, mut element, mut lanes) = ("b32", 0u64, 1u8);
        let (mut align, mut pointer, mut managed) = (0u64, false, false);
        while self.token.kind == Kind::Word && self.token.text.starts_with('.') {
            let directive = self.advance()?;
            match directive.text {
                ".align" => {
                    let value = self.unsigned("an alignment")?;
                    // After `.ptr`, the alignment is that of the memory the pointer refers to.
                    if !pointer {
                        align = value;
                    }
                }
                ".ptr" => pointer = true,
                ".attribute" => managed |= self.attributes()?,
                ".global" | ".const" | ".shared" | ".local" | ".param" | ".generic" => {}
                ".v2" | ".v4" if element == 0 => lanes = vector_lanes(directive.text),
                other => {
                    kind = &other[1..];
                    element = match type_bytes(kind) {
                        Some(bytes) => bytes,
                        None => return Err(self.error_at(directive, "a type such as `.b32`")),
                    };
                }
            }
        }
        let at = self.token;
        let name = self.word("a name")?;
        if element == 0 {
            return Err(self.error("a type in front of the name"));
        }
        self.vector(at, kind, lanes)?;
        if kind == "pred" && space != "reg" {
            return Err(self.error_at(at, "a predicate in a register"));
        }
        if space == "param" && lanes > 1 {
            return Err(self.error_at(at, "a parameter of one element, or an array"));
        }
        let element = element * u64::from(lanes);
        let (mut size, mut unsized_array) = (element, false);
        while self.eat("[")? {
            if self.eat("]")? {
                (size, unsized_array) = (0, true);
                continue;
            }
            let at = self.token;
            let count = self.length()?;
            self.expect("]")?;
            size =
                size.checked_mul(count).filter(|&s| s < 1 << 40).ok_or_else(|| self.error_at(at, "a smaller array"))?;
        }
        if align == 0 {
            align = element;
        }
        if !align.is_power_of_two() || align > 1 << 20 {
            return Err(self.error("an alignment that is a power of two"));
        }
        let init = Vec::new();
        Ok(Variable { space, name, kind, lanes, element, size, align, unsized_array, pointer, managed, init, line })
    }

    /// Checks the type of a vector; ptxas has none of predicates, and none of more than 128 bits.
    ///
    /// # Errors
    /// There is no such vector.
    pub fn vector(&self, at: Token<'t>, kind: &str, lanes: u8) -> Result<(), ParseError> {
        let bytes = type_bytes(kind).unwrap_or(1) * u64::from(lanes);
        if lanes > 1 && (kind == "pred" || bytes > 16) {
            return Err(self.error_at(at, "a vector of at most 128 bits, not of predicates"));
        }
        Ok(())
    }

    /// Parses the length of an array.
    ///
    /// # Errors
    /// The tokens are not a constant integer.
    pub fn length(&mut self) -> Result<u64, ParseError> {
        let at = self.token;
        match self.constant()? {
            Operand::Integer(length) => Ok(length),
            _ => Err(self.error_at(at, "a number of elements")),
        }
    }

    /// Parses the list of an `.attribute` and returns whether it contains `.managed`. The other one, `.unified(…)`,
    /// names a variable for other programs.
    fn attributes(&mut self) -> Result<bool, ParseError> {
        let mut managed = false;
        self.expect("(")?;
        loop {
            let attribute = self.advance()?;
            match attribute.text {
                ".managed" => managed = true,
                ".unified" => {
                    self.expect("(")?;
                    self.unsigned("an identifier")?;
                    self.expect(",")?;
                    self.unsigned("an identifier")?;
                    self.expect(")")?;
                }
                _ => return Err(self.error_at(attribute, "`.managed` or `.unified`")),
            }
            if !self.eat(",")? {
                self.expect(")")?;
                return Ok(managed);
            }
        }
    }
}

/// Returns the number of elements that `.v2` or `.v4` stands for; 1 for any other word.
pub fn vector_lanes(word: &str) -> u8 {
    match word {
        ".v2" => 2,
        ".v4" => 4,
        _ => 1,
    }
}

/// Returns the size of a type in bytes, given its name without the dot; a predicate counts as one byte.
pub fn type_bytes(kind: &str) -> Option<u64> {
    Some(match kind {
        "pred" | "b8" | "u8" | "s8" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => 4,
        "b64" | "u64" | "s64" | "f64" | "texref" | "samplerref" | "surfref" => 8,
        "b128" => 16,
        _ => return None,
    })
}
