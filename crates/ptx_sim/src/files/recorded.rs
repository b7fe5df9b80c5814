//! A compiler's record of a source file, in the comment after its `.file` directive.

use std::sync::Arc;

/// A compiler's record of a source file, beside its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Recorded {
    /// MD5 of the text that was compiled.
    pub md5: Option<[u8; 16]>,
    /// Folder that a relative name starts from, on the machine of the compiler.
    pub root: Option<Arc<str>>,
}

impl Recorded {
    /// Parses the rest of the line after a `.file` directive: `// md5 <32 digits> in <folder>`, where both parts are
    /// optional. Any other text records nothing.
    pub(crate) fn parse(rest: &str) -> Self {
        let comment = rest.trim().strip_prefix("//").map_or("", str::trim);
        let (hash, rest) = match comment.strip_prefix("md5 ") {
            Some(hash) => hash.split_once(' ').unwrap_or((hash, "")),
            None => ("", comment),
        };
        let root = rest.strip_prefix("in ").map(|folder| unescape(folder.trim()).into());
        Self { md5: digits(hash), root }
    }
}

/// Reads 32 hexadecimal digits.
fn digits(text: &str) -> Option<[u8; 16]> {
    let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32 && !text.starts_with('+'))?;
    Some(number.to_be_bytes())
}

/// Replaces the escapes that assemblers use in strings: `\303` for a byte in octal digits, `\"` and `\\`.
pub(crate) fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let octal = bytes.get(at + 1..at + 4).filter(|digits| digits.iter().all(|digit| matches!(digit, b'0'..=b'7')));
        match (byte, octal, bytes.get(at + 1)) {
            (b'\\', Some(digits), _) if digits[0] < b'4' => {
                out.push(digits.iter().fold(0, |value, digit| value << 3 | (digit - b'0')));
                at += 4;
            }
            (b'\\', _, Some(&escaped @ (b'"' | b'\\'))) => {
                out.push(escaped);
                at += 2;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_gives_the_hash_and_the_folder() {
        let hash = "00112233445566778899aabbccddeeff";
        let both = Recorded::parse(&format!("\t// md5 {hash} in /home/m\\303\\274 ller"));
        assert_eq!(both.md5.map(u128::from_be_bytes), Some(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff));
        assert_eq!(both.root.as_deref(), Some("/home/mü ller"));
        assert_eq!(Recorded::parse(&format!("// md5 {hash}")), Recorded { md5: both.md5, root: None });
        assert_eq!(Recorded::parse("// in /a").root.as_deref(), Some("/a"));
        for other in ["", "// any text", "// md5 12", "// md5 +0112233445566778899aabbccddeeff", ", 1, 2"] {
            assert_eq!(Recorded::parse(other).md5, None, "{other}");
        }
    }

    #[test]
    fn escapes_are_bytes() {
        assert_eq!(unescape(r#"k/\303\274ber \042q\" \134x\\y"#), r#"k/über "q" \x\y"#);
        assert_eq!(unescape(r"C:\src\lib.rs \377 \9"), r"C:\src\lib.rs \377 \9", "not UTF-8");
        assert_eq!(unescape(r"a\"), r"a\");
    }
}
