//! The data of debug sections: bytes, words, labels and the names of symbols.

use super::lexer::{Kind, Lexer, Token};
use super::literal;
use super::tree::Operand;
use crate::hash::Map;

/// A debug section.
#[derive(Debug, Default)]
pub struct Section<'t> {
    /// Its data, with zeros where symbols are named.
    pub bytes: Vec<u8>,
    /// Byte offset of each label.
    pub labels: Map<&'t str, u64>,
    /// Words that hold the address of a symbol.
    pub references: Vec<Reference<'t>>,
}

/// A word that holds the address of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'t> {
    /// Byte offset in the section.
    pub at: usize,
    /// Size of the word in bytes.
    pub bytes: usize,
    /// The symbol: a label, a section, a function or a variable.
    pub symbol: &'t str,
    /// Added to the address.
    pub addend: u64,
}

impl<'t> Section<'t> {
    /// Parses the text between the braces of a section; `None` if it has another form than compilers give it.
    pub fn parse(text: &'t str) -> Option<Self> {
        let (mut section, mut words) = (Section::default(), Words { lexer: Lexer::new(text), ahead: None });
        while let Some(token) = words.next() {
            let bytes = match token.text {
                ".b8" => 1,
                ".b16" => 2,
                ".b32" => 4,
                ".b64" => 8,
                label if words.eat(":") => {
                    section.labels.insert(label, section.bytes.len() as u64);
                    continue;
                }
                _ => return None,
            };
            loop {
                section.item(&mut words, bytes)?;
                if !words.eat(",") {
                    break;
                }
            }
        }
        // The lexer ends, too, at what is not a token.
        words.lexer.next().is_ok_and(|token| token.kind == Kind::End).then_some(section)
    }

    /// Parses a number, or a symbol and what is added to its address.
    fn item(&mut self, words: &mut Words<'t>, bytes: usize) -> Option<()> {
        let negative = words.eat("-");
        let token = words.next()?;
        let value = match token.kind {
            Kind::Number => integer(token.text)?,
            Kind::Word if !negative => {
                let addend = if words.eat("+") { integer(words.next()?.text)? } else { 0 };
                if words.eat("-") {
                    return None;
                }
                self.references.push(Reference { at: self.bytes.len(), bytes, symbol: token.text, addend });
                0
            }
            _ => return None,
        };
        let value = if negative { value.wrapping_neg() } else { value };
        self.bytes.extend(value.to_le_bytes().iter().take(bytes));
        Some(())
    }

    /// Writes the addresses of the symbols, which `address` returns.
    pub fn resolve(&mut self, address: impl Fn(&str) -> u64) {
        for reference in &self.references {
            let value = address(reference.symbol).wrapping_add(reference.addend).to_le_bytes();
            if let Some(place) = self.bytes.get_mut(reference.at..reference.at + reference.bytes) {
                place.iter_mut().zip(value).for_each(|(place, byte)| *place = byte);
            }
        }
    }
}

fn integer(text: &str) -> Option<u64> {
    match literal::number(text)? {
        Operand::Integer(value) => Some(value),
        _ => None,
    }
}

/// The tokens of a section, with one token of look-ahead.
struct Words<'t> {
    lexer: Lexer<'t>,
    ahead: Option<Token<'t>>,
}

impl<'t> Words<'t> {
    fn next(&mut self) -> Option<Token<'t>> {
        self.ahead.take().or_else(|| self.lexer.next().ok()).filter(|token| token.kind != Kind::End)
    }

    /// Consumes this punctuation if it is the next token.
    fn eat(&mut self, punctuation: &str) -> bool {
        let next = self.next();
        let there = next.is_some_and(|token| token.kind == Kind::Punctuation && token.text == punctuation);
        if !there {
            self.ahead = next;
        }
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_become_bytes() {
        let text = "\n.b8 1,2 // two\n$L__here:\n.b16 0x304\n.b32 .debug_loc+7\n.b64 __local_depot0\n.b8 -1\n";
        let mut section = Section::parse(text).expect("a section");
        assert_eq!((section.labels.get("$L__here"), section.references.len()), (Some(&2), 2));
        section.resolve(|symbol| if symbol == ".debug_loc" { 0 } else { 0x0102_0304_0506 });
        assert_eq!(section.bytes, [1, 2, 4, 3, 7, 0, 0, 0, 6, 5, 4, 3, 2, 1, 0, 0, 255]);
        for odd in [".b8 x-y", ".b24 1", ".b8", ".b8 1.5", "label", ".b8 \"1\"", ".b8 1 /*", ".b8 1,,2", "\"a\"", "-"] {
            assert!(Section::parse(odd).is_none(), "{odd}");
        }
    }
}
