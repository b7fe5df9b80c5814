//! Strings, names and brackets in LLVM's textual syntax.

/// End of the string that starts with a quote at `start`: the index after its closing quote. LLVM writes an inner quote
/// as `\22`.
pub(in crate::link) fn string_end(text: &str, start: usize) -> usize {
    text[start + 1..].find('"').map_or(text.len(), |length| start + 1 + length + 1)
}

/// The text of a string, in which LLVM writes a quote, a backslash and every byte beyond ASCII as `\C3`.
pub(in crate::link) fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|_| byte == b'\\');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) => {
                out.push(escaped);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

/// A text as the content of a string of LLVM.
pub(in crate::link) fn escape(text: &str) -> String {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    text.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("\\{byte:02X}") })
        .collect()
}

/// End of the `@name` or `@"name"` that starts at `start`.
pub(in crate::link) fn name_end(text: &str, start: usize) -> usize {
    let after = start + 1;
    if text[after..].starts_with('"') {
        return string_end(text, after);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '$' | '.' | '_');
    text[after..].find(|c| !is_name(c)).map_or(text.len(), |length| after + length)
}

/// Index after the bracket that closes the one at `start`; brackets in strings don't count.
pub(in crate::link) fn bracket_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, start);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = string_end(text, at);
                continue;
            }
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Replaces every `@name` outside strings and comments for which `replace` returns `Some`.
pub(in crate::link) fn replace_names(line: &str, mut replace: impl FnMut(&str) -> Option<String>) -> String {
    let bytes = line.as_bytes();
    let mut out = String::with_capacity(line.len());
    let (mut at, mut copied) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = string_end(line, at),
            b';' => break,
            b'@' => {
                let end = name_end(line, at);
                if let Some(text) = replace(&line[at..end]) {
                    out.push_str(&line[copied..at]);
                    out.push_str(&text);
                    copied = end;
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    out.push_str(&line[copied..]);
    out
}

/// The symbol that `@name` or `@"name"` stands for.
pub(in crate::link) fn symbol(name: &str) -> &str {
    name.trim_start_matches('@').trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_strings_and_comments_are_left_alone() {
        let line = r#"call void @f(ptr @a, ptr @"odd name", ptr @a.b) #1, !x !"@a" ; @a"#;
        let mut seen = Vec::new();
        let out = replace_names(line, |name| {
            seen.push(name.to_owned());
            (name == "@a").then(|| "NEW".to_owned())
        });
        assert_eq!(seen, ["@f", "@a", "@\"odd name\"", "@a.b"]);
        assert_eq!(out, r#"call void @f(ptr NEW, ptr @"odd name", ptr @a.b) #1, !x !"@a" ; @a"#);
    }

    #[test]
    fn strings_keep_every_character() {
        for (text, written) in [("a/lib.rs", "a/lib.rs"), ("ü/\"q\"\\x", r"\C3\BC/\22q\22\5Cx")] {
            assert_eq!(escape(text), written);
            assert_eq!(unescape(written), text);
        }
        assert_eq!(unescape(r"\FF \zz"), r"\FF \zz", "not UTF-8");
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        let text = r#"(i32 1, "})", [2 x i8] zeroinitializer) rest"#;
        assert_eq!(bracket_end(text, 0).map(|end| &text[end..]), Some(" rest"));
        assert_eq!(bracket_end("(a", 0), None);
    }
}
