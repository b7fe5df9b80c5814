//! `lop3` with a predicate, which tests whether the result is zero.

/// Returns the comparison with zero for the predicate of a `lop3` that has one.
pub fn comparison(opcode: &str) -> Option<&'static str> {
    if !opcode.starts_with("lop3.") {
        return None;
    }
    match &opcode.split('.').collect::<Vec<_>>()[1..] {
        ["or", "b32"] | ["b32", "or"] => Some("setp.ne.or.b32"),
        ["and", "b32"] | ["b32", "and"] => Some("setp.ne.and.b32"),
        _ => None,
    }
}
