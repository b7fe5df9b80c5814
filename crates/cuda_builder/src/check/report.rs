//! The contents of a PTX text as data for tests: entries, parameters, opcodes.

use std::collections::BTreeMap;

/// Entries and device functions, in order of appearance. The code of a device function is not counted with the entries
/// that call it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PtxReport {
    /// PTX ISA version, as `.version` gives it: `7.8`.
    pub version: String,
    /// Architecture, as `.target` gives it: `sm_90`.
    pub target: String,
    /// Entries: `.visible .entry …`.
    pub entries: Vec<Function>,
    /// Device functions with a body: `.func …`.
    pub functions: Vec<Function>,
}

/// An entry or a device function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Function {
    /// Name in the PTX.
    pub name: String,
    /// Bytes of each parameter, in order.
    pub parameters: Vec<u32>,
    /// Number of occurrences of each opcode, by its full name: `st.shared.b32`.
    pub opcodes: BTreeMap<String, u32>,
}

impl PtxReport {
    /// Parses a PTX text in the form that `llc` writes.
    pub fn of(ptx: &str) -> Self {
        let mut report = Self::default();
        let mut current: Option<(Function, bool)> = None;
        let mut in_body = false;
        for line in ptx.lines() {
            let code = line.split("//").next().unwrap_or_default().trim();
            let first = code.split_whitespace().next().unwrap_or_default();
            if let Some(version) = code.strip_prefix(".version ") {
                report.version = version.to_owned();
            } else if let Some(target) = code.strip_prefix(".target ") {
                report.target = target.to_owned();
            } else if line.starts_with('.')
                && (code.contains(".entry ") || code.contains(".func "))
                && !code.contains(".extern")
            {
                current =
                    Some((Function { name: name(code).to_owned(), ..Function::default() }, code.contains(".entry ")));
            } else if line.starts_with('{') {
                in_body = true;
            } else if line.starts_with('}') {
                in_body = false;
                match current.take() {
                    Some((function, true)) => report.entries.push(function),
                    Some((function, false)) => report.functions.push(function),
                    None => {}
                }
            } else if line.starts_with(')') && code.ends_with(';') {
                // A declaration has no body.
                current = None;
            } else if let Some((function, _)) = &mut current {
                if in_body {
                    function.count(code);
                } else if first == ".param" {
                    function.parameters.push(parameter_size(code));
                }
            }
        }
        report
    }

    /// The entry with this name.
    pub fn entry(&self, name: &str) -> Option<&Function> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

impl Function {
    fn count(&mut self, code: &str) {
        let mut words = code.split_whitespace();
        let mut word = words.next().unwrap_or_default();
        if word.starts_with('@') {
            word = words.next().unwrap_or_default();
        }
        let opcode = word.trim_end_matches(';');
        if opcode.starts_with(|c: char| c.is_ascii_lowercase()) && !opcode.ends_with(':') {
            *self.opcodes.entry(opcode.to_owned()).or_default() += 1;
        }
    }

    /// Number of instructions whose opcode starts with `prefix`, by whole parts: `ld` counts `ld.global`, but not
    /// `ldu`.
    pub fn total(&self, prefix: &str) -> u32 {
        let is_match =
            |opcode: &str| opcode.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.opcodes.iter().filter(|(opcode, _)| is_match(opcode)).map(|(_, count)| count).sum()
    }

    /// Number of barriers of the block. Each barrier of the source must occur once, or threads wait at different
    /// copies.
    pub fn barriers(&self) -> u32 {
        ["bar", "barrier"].iter().map(|opcode| self.total(opcode)).sum()
    }

    /// Number of accesses through generic addresses, whose address space the compiler lost.
    pub fn generic_accesses(&self) -> u32 {
        const SPACES: [&str; 6] = ["global", "shared", "local", "const", "param", "tex"];
        let is_generic = |opcode: &str| {
            let mut parts = opcode.split('.');
            matches!(parts.next(), Some("ld" | "ldu" | "st" | "atom" | "red"))
                && !parts
                    .any(|part| SPACES.iter().any(|space| part == *space || part.starts_with(&format!("{space}::"))))
        };
        self.opcodes.iter().filter(|(opcode, _)| is_generic(opcode)).map(|(_, count)| count).sum()
    }

    /// Number of accesses of local memory: arrays that are indexed at run time, and spilled values.
    pub fn local_accesses(&self) -> u32 {
        self.total("ld.local") + self.total("st.local")
    }

    /// Number of accesses of shared memory.
    pub fn shared_accesses(&self) -> u32 {
        ["ld.shared", "st.shared", "atom.shared", "red.shared"].iter().map(|opcode| self.total(opcode)).sum()
    }
}

/// The name in `.visible .entry sum(` or `.visible .func (.param .b32 r) f(`.
pub(super) fn name(code: &str) -> &str {
    let after =
        code.split_once(".entry ").or_else(|| code.split_once(".func ")).map_or(code, |(_, rest)| rest).trim_start();
    let after = if after.starts_with('(') { after.split_once(')').map_or(after, |(_, rest)| rest) } else { after };
    after.trim_start().split(['(', ' ', '\t']).next().unwrap_or_default()
}

/// Bytes of a parameter: 16 for `.param .align 8 .b8 x[16]`, 8 for `.param .u64 .ptr .align 1 x`.
fn parameter_size(code: &str) -> u32 {
    let mut bits = 0;
    for word in code.split_whitespace() {
        let digits = word.strip_prefix('.').map(|word| word.trim_start_matches(|c: char| c.is_ascii_lowercase()));
        if let Some(number) = digits.filter(|_| bits == 0).and_then(|digits| digits.parse::<u32>().ok()) {
            bits = number;
        }
    }
    let array = code.split_once('[').and_then(|(_, rest)| rest.split(']').next()?.parse::<u32>().ok());
    bits / 8 * array.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.8
.target sm_75
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.visible .entry sum(
	.param .u64 .ptr .align 1 sum_param_0,
	.param .u32 sum_param_1,
	.param .align 4 .b8 sum_param_2[12]
)                                       // @sum
{
	.reg .b32 	%r<4>;
	.loc	1 3 0
	ld.param.b64 	%rd1, [sum_param_0];
	@%p1 bra 	$L__BB0_2;
	bar.sync 	0;
$L__BB0_2:
	st.shared.b32 	[%rd3], %r1;
	@%p1 st.b32 	[%rd4], %r1;
	ld.shared::cta.b32 	%r1, [%rd3];
	ret;
}
.func  (.param .b32 func_retval0) helper(
	.param .b32 helper_param_0
)
{
	st.local.b32 	[%rd4], %r1;
	ret;
}
";

    #[test]
    fn entries_parameters_and_opcodes() {
        let report = PtxReport::of(PTX);
        assert_eq!((report.version.as_str(), report.target.as_str()), ("7.8", "sm_75"));
        assert_eq!(report.entries.len(), 1);
        let sum = report.entry("sum").expect("listed");
        assert_eq!(sum.parameters, [8, 4, 12]);
        assert_eq!((sum.barriers(), sum.generic_accesses(), sum.local_accesses()), (1, 1, 0));
        assert_eq!(sum.total("ret"), 1);
        assert_eq!(sum.shared_accesses(), 1);
        assert_eq!(report.functions.iter().map(|function| function.name.as_str()).collect::<Vec<_>>(), ["helper"]);
        assert_eq!(report.functions[0].local_accesses(), 1);
    }
}
