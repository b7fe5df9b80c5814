//! Splits Rust text into words and punctuation, without comments and without the contents of strings and characters.
//! This suffices to read `mod`, `use` and paths, which the rules need.

/// A word or punctuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// An identifier, a keyword, a number, `::`, or another punctuation character; `""` for a string or a character.
    pub text: &'t str,
    /// Line number, from 1.
    pub line: usize,
}

impl Token<'_> {
    /// Whether this is an identifier or a keyword.
    pub fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// Returns the tokens of a file.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut reader = Reader { text, at: 0, line: 1, last: "" };
    let mut tokens = Vec::new();
    while let Some(token) = reader.next() {
        tokens.push(token);
    }
    tokens
}

/// Returns the strings and characters of a file, with their quotation marks.
pub fn strings(text: &str) -> Vec<Token<'_>> {
    let mut reader = Reader { text, at: 0, line: 1, last: "" };
    let mut strings = Vec::new();
    while let Some(token) = reader.next() {
        if token.text.is_empty() {
            strings.push(Token { text: reader.last, ..token });
        }
    }
    strings
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    /// The last string or character.
    last: &'t str,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// Advances by `bytes` bytes and counts the lines among them.
    fn skip(&mut self, bytes: usize) -> &'t str {
        let part = &self.rest()[..bytes];
        self.line += part.matches('\n').count();
        self.at += bytes;
        part
    }

    fn next(&mut self) -> Option<Token<'t>> {
        loop {
            let rest = self.rest();
            let first = rest.chars().next()?;
            if first.is_whitespace() {
                self.skip(first.len_utf8());
            } else if rest.starts_with("//") {
                self.skip(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") {
                self.skip(block_comment(rest));
            } else {
                break;
            }
        }
        let (rest, line) = (self.rest(), self.line);
        let first = rest.chars().next()?;
        let text = if let Some(length) = string(rest).or_else(|| character(rest)) {
            self.last = self.skip(length);
            ""
        } else if rest.starts_with("r#") {
            self.skip(2);
            return self.next();
        } else if rest.starts_with("::") {
            self.skip(2)
        } else if first.is_alphanumeric() || first == '_' {
            self.skip(rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()))
        } else {
            self.skip(first.len_utf8())
        };
        Some(Token { text, line })
    }
}

/// Returns the length in bytes of the block comment at the start, including nested ones.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Returns the length in bytes of the string at the start, if there is one: plain, raw, byte or C string.
fn string(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|prefix| {
        let rest = text.strip_prefix(prefix);
        rest.is_some_and(|rest| {
            let hashes = if prefix.ends_with('r') { rest.trim_start_matches('#') } else { rest };
            hashes.starts_with('"')
        })
    })?;
    let rest = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        let end = format!("\"{}", &rest[..hashes]);
        let body = prefix.len() + hashes + 1;
        return Some(text[body..].find(&end).map_or(text.len(), |at| body + at + end.len()));
    }
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Some(prefix.len() + at + 1),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    Some(text.len())
}

/// Returns the length in bytes of the character at the start, if there is one: `'a'`, but not the lifetime `'a`.
fn character(text: &str) -> Option<usize> {
    let prefix = if text.starts_with("b'") { 1 } else { 0 };
    let body = text[prefix..].strip_prefix('\'')?;
    let mut chars = body.char_indices();
    let (_, first) = chars.next()?;
    if first == '\\' {
        chars.next();
        return body[2..].find('\'').map(|at| prefix + 1 + 2 + at + 1);
    }
    match chars.next() {
        Some((at, '\'')) => Some(prefix + 1 + at + 1),
        // A lifetime, whose name is not a word.
        _ => {
            let name = body.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(body.len());
            Some(prefix + 1 + name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_strings_and_characters_are_not_words() {
        assert_eq!(words("a /* b /* c */ d */ e // f\ng"), ["a", "e", "g"]);
        assert_eq!(
            words(r##"x("use a::b; \" mod", r#"mod " c"#, b"d", 'e', '\'', '\u{1f}', b'f') y"##),
            ["x", "(", "", ",", "", ",", "", ",", "", ",", "", ",", "", ",", "", ")", "y"]
        );
        assert_eq!(
            words("fn f<'a>(x: &'a str) -> r#type::B"),
            ["fn", "f", "<", "", ">", "(", "x", ":", "&", "", "str", ")", "-", ">", "type", "::", "B"]
        );
    }

    #[test]
    fn lines_are_counted_through_comments_and_strings() {
        let tokens = tokens("/* a\nb */ c\n\"d\ne\" f\n// g\nh");
        let places: Vec<_> = tokens.iter().map(|token| (token.text, token.line)).collect();
        assert_eq!(places, [("c", 2), ("", 3), ("f", 4), ("h", 6)]);
    }
}
