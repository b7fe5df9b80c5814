//! Marks inline assembly that lanes execute together as convergent: it must not be moved into or out of a branch, or
//! duplicated.
//!
//! rustc marks functions but not `asm!`: without the attribute LLVM sinks a `shfl.sync` into the branch that uses its
//! result, and copies a `bar.sync` into both arms of an `if`. Arithmetic in `asm!` stays unmarked, so that LLVM can
//! optimise it.

use crate::link::syntax;

/// Opcodes whose lanes are independent. All others are assumed to be convergent.
const LANE_OWN: [&str; 48] = [
    "abs", "add", "addc", "and", "atom", "bfe", "bfi", "bfind", "brev", "clz", "cnot", "copysign", "cos", "cvt",
    "cvta", "div", "dp2a", "dp4a", "ex2", "fma", "fns", "ld", "ldu", "lg2", "lop3", "mad", "madc", "max", "min", "mov",
    "mul", "mul24", "neg", "not", "or", "popc", "prmt", "rcp", "red", "rsqrt", "sad", "selp", "set", "setp", "shf",
    "shl", "shr", "sin",
];
const LANE_OWN_MORE: [&str; 9] = ["slct", "sqrt", "st", "sub", "subc", "tanh", "testp", "xor", "prefetch"];

/// Attribute groups (`#4`) of function definitions.
pub(super) fn function_groups(module: &str) -> Vec<&str> {
    module.lines().filter(|line| line.starts_with("define ")).filter_map(|line| Some(group(line)?.1)).collect()
}

/// Marks one line: an asm call, a definition without attributes, or an attribute group of definitions.
pub(super) fn mark(line: &str, groups: &[&str]) -> String {
    if line.starts_with("attributes #") {
        return add_attribute(line, groups, "convergent");
    }
    if line.starts_with("define ") && group(line).is_none() {
        let (head, tail) = line.split_at(attributes_start(line).unwrap_or(line.len()));
        return format!("{head} convergent{tail}");
    }
    match asm_call(line) {
        Some((template, end)) if !lanes_are_independent(template) => {
            let (head, tail) = line.split_at(end);
            format!("{head} convergent{tail}")
        }
        _ => line.to_owned(),
    }
}

/// Adds `attribute` to `attributes #3 = { … }` if `groups` has #3 and the attribute is absent.
pub(super) fn add_attribute(line: &str, groups: &[&str], attribute: &str) -> String {
    let name = line.strip_prefix("attributes ").and_then(|rest| rest.split(' ').next());
    let is_there = line.split([' ', '{', '}']).any(|word| word == attribute);
    match (name, line.find('{')) {
        (Some(name), Some(brace)) if groups.contains(&name) && !is_there => {
            format!("{} {attribute}{}", &line[..=brace], &line[brace + 1..])
        }
        _ => line.to_owned(),
    }
}

/// Index in a definition at which its attributes start, with a space before each.
pub(super) fn attributes_start(line: &str) -> Option<usize> {
    let rest = &line[parameters_end(line)?..];
    Some(line.len() - rest.trim_start_matches(" local_unnamed_addr").trim_start_matches(" unnamed_addr").len())
}

/// Index after the parameter list of a definition.
fn parameters_end(line: &str) -> Option<usize> {
    let name = line.find('@')?;
    syntax::bracket_end(line, syntax::name_end(line, name))
}

/// Index and name of a definition's attribute group.
fn group(line: &str) -> Option<(usize, &str)> {
    let start = parameters_end(line)?;
    let hash = start + line[start..].find(" #")? + 1;
    let length = line[hash + 1..].find(|c: char| !c.is_ascii_digit())?;
    Some((hash, &line[hash..hash + 1 + length]))
}

/// Index after the attributes of a marked definition, where more can be added.
pub(super) fn group_end(line: &str) -> Option<usize> {
    const MARK: &str = " convergent";
    group(line).map(|(at, name)| at + name.len()).or_else(|| Some(line.find(MARK)? + MARK.len()))
}

/// Template of an asm call, and the index after its arguments.
fn asm_call(line: &str) -> Option<(&str, usize)> {
    let asm = line.find(" asm ").filter(|_| line.contains("call "))?;
    let quote = asm + line[asm..].find('"')?;
    let template_end = syntax::string_end(line, quote);
    let constraints = template_end + line[template_end..].find('"')?;
    let constraints_end = syntax::string_end(line, constraints);
    let open = constraints_end + line[constraints_end..].find('(')?;
    Some((&line[quote + 1..template_end - 1], syntax::bracket_end(line, open)?))
}

/// Whether every statement of the template is known to have independent lanes.
fn lanes_are_independent(template: &str) -> bool {
    let template = template.replace("\\0A", ";").replace("\\09", " ");
    template.split(';').map(opcode).all(|opcode| {
        opcode.is_empty() || opcode.starts_with('.') || LANE_OWN.contains(&opcode) || LANE_OWN_MORE.contains(&opcode)
    })
}

/// Opcode of a statement: `mad` for `@p mad.lo.u32 …`; empty or a directive for `//` comments and `.reg .pred p`.
fn opcode(statement: &str) -> &str {
    let mut words = statement.trim_matches(|c: char| c.is_whitespace() || c == '{' || c == '}').split_whitespace();
    let mut word = words.next().unwrap_or_default();
    if word.starts_with('@') {
        word = words.next().unwrap_or_default();
    }
    if word.starts_with("//") {
        return "";
    }
    if word.starts_with('.') { word } else { word.split('.').next().unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_becomes_convergent_wherever_its_attributes_are() {
        let call = concat!(
            r#"  %16 = call float asm "shfl.sync.down.b32 ${0}, ${1}, ${2}, 31, 0xffffffff;", "=&r,r,r""#,
            "(float %14, i32 %15)"
        );
        for tail in [" #6, !dbg !104, !srcloc !105", ", !srcloc !105", " #6", ""] {
            assert_eq!(mark(&format!("{call}{tail}"), &[]), format!("{call} convergent{tail}"));
        }
    }

    #[test]
    fn barriers_votes_and_unknown_opcodes_are_convergent() {
        for template in [
            "bar.sync 0;",
            "{ .reg .pred p; setp.ne.b32 p, $1, 0; vote.sync.any.pred p, p, -1; }",
            "wgmma.fence;",
            "@p bra L;",
        ] {
            let line = format!(r#"  call void asm sideeffect "{template}", "~{{memory}}"()"#);
            assert!(mark(&line, &[]).ends_with(" convergent"), "{template}");
        }
    }

    #[test]
    fn arithmetic_stays_free() {
        for template in [
            "ex2.approx.ftz.f32 $0, $1;",
            "{\\0A\\09.reg .pred p;\\0A\\09@p add.u32 $0, $1, $2;\\0A}",
            "ld.global.v4.f32 {$0,$1,$2,$3}, [$4];",
        ] {
            let line = format!(r#"  %1 = call float asm "{template}", "=r,r"(float %0) #2"#);
            assert_eq!(mark(&line, &[]), line, "{template}");
        }
    }

    #[test]
    fn an_argument_with_brackets_does_not_end_the_call() {
        let line = r#"  call void asm sideeffect "bar.sync $0;", "r"(i32 ptrtoint (ptr @x to i32)) #1"#;
        assert_eq!(
            mark(line, &[]),
            r#"  call void asm sideeffect "bar.sync $0;", "r"(i32 ptrtoint (ptr @x to i32)) convergent #1"#
        );
    }

    #[test]
    fn functions_are_convergent_by_their_group_or_on_their_own() {
        let module = "define void @f(ptr captures(none) %0) unnamed_addr #2 !dbg !1 {\ndeclare void @g() #3\n";
        let groups = function_groups(module);
        assert_eq!(groups, ["#2"]);
        assert_eq!(mark("attributes #2 = { nounwind }", &groups), "attributes #2 = { convergent nounwind }");
        assert_eq!(mark("attributes #2 = { convergent nounwind }", &groups), "attributes #2 = { convergent nounwind }");
        assert_eq!(mark("attributes #3 = { nounwind }", &groups), "attributes #3 = { nounwind }");
        assert_eq!(mark("define void @f() unnamed_addr {", &[]), "define void @f() unnamed_addr convergent {");
    }
}
