//! Splits the text into tokens without copying: each token is a slice of the text.

use super::error::ParseError;

/// The class of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name, register, opcode or directive with its dots: `add.s32`, `%tid.x`, `.param`.
    Word,
    /// A literal that starts with a digit: `7`, `0x1FU`, `0f3F800000`, `1.5`.
    Number,
    /// A string literal; the token's text excludes the quotes.
    String,
    /// A single punctuation character.
    Punctuation,
    /// The end of the text.
    End,
}

/// One token: a slice of the text with its position.
#[derive(Clone, Copy, Debug)]
pub struct Token<'t> {
    /// Class of the token.
    pub kind: Kind,
    /// Text of the token.
    pub text: &'t str,
    /// Byte offset of the token in the whole text.
    pub start: usize,
    /// Line number, from 1.
    pub line: u32,
}

/// Tokenizer over a PTX text.
#[derive(Clone)]
pub struct Lexer<'t> {
    text: &'t str,
    position: usize,
    line: u32,
}

/// Marks every byte that may follow the first byte of a word.
const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%' | b'.') || b >= 0x80;
        byte += 1;
    }
    table
};

impl<'t> Lexer<'t> {
    /// Creates a lexer at the beginning of `text`.
    pub fn new(text: &'t str) -> Self {
        Lexer { text, position: 0, line: 1 }
    }

    /// Returns the next token. At the end of the text, every call returns `Kind::End`.
    ///
    /// # Errors
    /// A comment or a string that is never closed.
    pub fn next(&mut self) -> Result<Token<'t>, ParseError> {
        self.skip_blank()?;
        let bytes = self.text.as_bytes();
        let start = self.position;
        let line = self.line;
        let Some(&first) = bytes.get(start) else {
            return Ok(Token { kind: Kind::End, text: "", start, line });
        };
        let (kind, end) = match first {
            b'0'..=b'9' => (Kind::Number, number_end(bytes, start)),
            b'"' => return self.string(start),
            _ if WORD[first as usize] => (Kind::Word, word_end(bytes, start)),
            _ => (Kind::Punctuation, start + 1),
        };
        self.position = end;
        Ok(Token { kind, text: &self.text[start..end], start, line })
    }

    /// Skips to the `}` that ends a debug section, whose contents are bytes and labels.
    ///
    /// # Errors
    /// A comment or a string that is never closed, or the end of the text before the `}`.
    pub fn skip_to_brace(&mut self) -> Result<(), ParseError> {
        loop {
            let token = self.clone().next()?;
            match token.kind {
                Kind::End => return Ok(()),
                Kind::Punctuation if token.text == "}" => return Ok(()),
                _ => {
                    self.next()?;
                }
            }
        }
    }

    fn skip_blank(&mut self) -> Result<(), ParseError> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.position) {
                Some(b'\n') => {
                    self.line = self.line.saturating_add(1);
                    self.position += 1;
                }
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => self.position += 1,
                Some(b'/') if bytes.get(self.position + 1) == Some(&b'/') => {
                    let rest = &bytes[self.position..];
                    self.position += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                Some(b'/') if bytes.get(self.position + 1) == Some(&b'*') => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), ParseError> {
        let (start, line) = (self.position, self.line);
        let body = &self.text[start + 2..];
        let Some(length) = body.find("*/") else {
            return Err(ParseError::at(self.text, start, line, "a comment that is never closed", "`*/`"));
        };
        let lines = body.as_bytes()[..length].iter().filter(|&&b| b == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.position = start + 2 + length + 2;
        Ok(())
    }

    fn string(&mut self, start: usize) -> Result<Token<'t>, ParseError> {
        let line = self.line;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') if bytes.get(end + 1).is_some_and(|&b| b != b'\n') => end += 2,
                Some(b'\n') | None => {
                    return Err(ParseError::at(self.text, start, line, "a string that is never closed", "`\"`"));
                }
                Some(_) => end += 1,
            }
        }
        self.position = end + 1;
        Ok(Token { kind: Kind::String, text: &self.text[start + 1..end], start, line })
    }
}

fn word_end(bytes: &[u8], start: usize) -> usize {
    let mut end = start + 1;
    // A directive ends where the next one begins, as in `.reg.b16`; an opcode has its modifiers in it.
    let is_directive = bytes.get(start) == Some(&b'.');
    loop {
        match bytes.get(end) {
            Some(b'.') if is_directive => return end,
            Some(&b) if WORD[b as usize] => end += 1,
            // Two colons join the parts of an opcode, as in `ld.shared::cta`; one colon ends a label.
            Some(b':') if bytes.get(end + 1) == Some(&b':') => end += 2,
            _ => return end,
        }
    }
}

fn number_end(bytes: &[u8], start: usize) -> usize {
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let mut end = start;
    while at(end).is_ascii_digit() {
        end += 1;
    }
    // A decimal floating-point number has a point or an exponent right after its digits.
    if at(end) == b'.' && at(end + 1).is_ascii_digit() || at(end) == b'.' && !WORD[at(end + 1) as usize] {
        end += 1;
        while at(end).is_ascii_digit() {
            end += 1;
        }
    }
    if matches!(at(end), b'e' | b'E') {
        let sign = usize::from(matches!(at(end + 1), b'+' | b'-'));
        if at(end + 1 + sign).is_ascii_digit() {
            end += 1 + sign;
        }
    }
    while at(end).is_ascii_alphanumeric() || at(end) == b'_' {
        end += 1;
    }
    end
}
