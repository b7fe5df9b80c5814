//! What the linker and the compiler's options add to PTX text.

/// What stands for the device runtime's library, `libcudadevrt.a`.
const RUNTIME: &str = include_str!("runtime.ptx");

/// Functions of the device runtime start so.
const OF_RUNTIME: &str = "cudaCG";

/// Adds the functions of the device runtime to a text that refers to one of them.
pub fn with_runtime(mut text: String) -> String {
    if text.contains(OF_RUNTIME) {
        text.push_str(RUNTIME);
    }
    text
}

/// Directives with which a kernel sets its registers itself: the compiler's option then has no effect on it.
const OWN_LIMITS: [&str; 2] = [".maxnreg", ".minnctapersm"];

/// Limits the registers of each kernel, as the compiler's option does.
pub fn limit_registers(text: &str, limit: u32) -> String {
    let mut limited = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = find_code(rest, ".entry") {
        let Some(length) = find_code(&rest[start..], "{") else { break };
        let (header, body) = rest.split_at(start + length);
        limited.push_str(header);
        if !OWN_LIMITS.iter().any(|own| find_code(&header[start..], own).is_some()) {
            limited.push_str(&format!(".maxnreg {limit}\n"));
        }
        rest = body;
    }
    limited + rest
}

/// Returns where `wanted` stands outside of comments and strings.
fn find_code(text: &str, wanted: &str) -> Option<usize> {
    let skipped = |rest: &str, start: &str, end: &str| {
        let body = rest.strip_prefix(start)?;
        Some(start.len() + body.find(end).map_or(body.len(), |length| length + end.len()))
    };
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(wanted) {
            return Some(at);
        }
        let comment = skipped(rest, "//", "\n").or_else(|| skipped(rest, "/*", "*/"));
        let character = || rest.chars().next().map_or(1, char::len_utf8);
        at += comment.or_else(|| skipped(rest, "\"", "\"")).unwrap_or_else(character);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::limit_registers;

    #[test]
    fn kernels_without_a_limit_of_their_own_get_one() {
        let text = "// .entry {\n.file 1 \"a{.entry\"\n.entry a(.param .u64 p) /* { */\n{ ret; }\n\
            .entry b .maxnreg 8 { ret; } .func c() { ret; } .entry d { ret; }";
        let expected = "// .entry {\n.file 1 \"a{.entry\"\n.entry a(.param .u64 p) /* { */\n.maxnreg 24\n{ ret; }\n\
            .entry b .maxnreg 8 { ret; } .func c() { ret; } .entry d .maxnreg 24\n{ ret; }";
        assert_eq!(limit_registers(text, 24), expected);
        assert_eq!(limit_registers(".version 8.0\n", 24), ".version 8.0\n");
    }
}
