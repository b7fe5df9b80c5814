//! PTX as a list of instructions with their Rust lines, for the lints. Reads the form that `llc` writes.

use std::collections::HashMap;

use crate::files;

/// The contents of a PTX text.
#[derive(Debug, Default)]
pub(super) struct Listing<'t> {
    /// Entries and device functions with a body, in order of appearance.
    pub functions: Vec<Code<'t>>,
    /// Names of declared functions without a body.
    pub declared: Vec<&'t str>,
    /// Names and sizes in bytes of static shared variables.
    pub shared: Vec<(&'t str, u64)>,
}

/// The code of a function.
#[derive(Debug, Default)]
pub(super) struct Code<'t> {
    pub name: &'t str,
    pub is_entry: bool,
    pub instructions: Vec<Instruction<'t>>,
    /// The instruction that each label precedes.
    pub labels: HashMap<&'t str, usize>,
    /// Lists of labels for indirect branches, by name.
    pub targets: HashMap<&'t str, Vec<&'t str>>,
    /// The first line of the function.
    pub place: Option<Place>,
}

/// An instruction.
#[derive(Debug, Default)]
pub(super) struct Instruction<'t> {
    /// Register of the predicate in front of it.
    pub guard: Option<&'t str>,
    /// Its full name: `st.shared.b32`.
    pub opcode: &'t str,
    /// Its operands: the text after the name.
    pub operands: &'t str,
    pub place: Option<Place>,
    /// Whether it is from `core::sync::atomic`, used directly.
    pub is_core_atomic: bool,
    /// Whether a dependency from a registry has the code.
    pub is_dependency: bool,
}

/// A line of the source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// File, as the line tables name it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl Instruction<'_> {
    /// Whether the name has this part: `shared` of `ld.shared::cta.b32`.
    pub fn has(&self, part: &str) -> bool {
        self.opcode
            .split('.')
            .any(|own| own == part || own.strip_prefix(part).is_some_and(|rest| rest.starts_with("::")))
    }

    /// The name up to the first point.
    pub fn base(&self) -> &str {
        self.opcode.split('.').next().unwrap_or_default()
    }

    /// Registers that it writes.
    pub fn written(&self) -> Vec<&str> {
        let first = match self.base() {
            "st" | "red" | "bra" | "brx" | "bar" | "barrier" | "ret" | "exit" | "trap" | "call" | "membar"
            | "fence" | "prefetch" | "prefetchu" | "cp" | "mbarrier" | "nanosleep" | "discard" | "stmatrix"
            | "griddepcontrol"
                if !self.has("red") || self.base() == "red" =>
            {
                ""
            }
            _ => first_operand(self.operands),
        };
        registers(first).collect()
    }

    /// Registers that it reads, without its guard.
    pub fn read(&self) -> impl Iterator<Item = &str> {
        let skipped = if self.written().is_empty() { 0 } else { first_operand(self.operands).len() };
        registers(&self.operands[skipped..])
    }

    /// The register in the brackets of an address.
    pub fn address(&self) -> Option<&str> {
        let (_, rest) = self.operands.split_once('[')?;
        registers(rest.split(']').next()?).next()
    }

    /// The function that a direct call names.
    pub fn callee(&self) -> Option<&str> {
        if self.base() != "call" {
            return None;
        }
        let rest = self.operands.trim_start();
        let rest = if rest.starts_with('(') { rest.split_once(')')?.1.trim_start_matches([',', ' ']) } else { rest };
        Some(rest.split([',', ' ', ';']).next().unwrap_or_default())
    }
}

/// The first of a list of operands, which may be a group in braces.
fn first_operand(operands: &str) -> &str {
    let mut depth = 0_u32;
    for (at, c) in operands.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return &operands[..at],
            _ => {}
        }
    }
    operands
}

/// The registers in a text. Names of special registers, such as `%tid.x`, are among them.
fn registers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '%' | '_' | '.' | '$')))
        .filter(|word| word.starts_with('%') && word.len() > 1)
}

/// Number of the file, line and column of a `.loc`.
type Position = (u32, u32, u32);

/// State while reading a text.
#[derive(Default)]
struct Reader<'t> {
    out: Listing<'t>,
    files: HashMap<u32, String>,
    /// The chain of the latest `.loc` with this file, line and column: the call that it was inlined into.
    inlined: HashMap<Position, Option<Position>>,
    current: Option<Position>,
    function: Option<Code<'t>>,
    in_body: bool,
    /// The label of an open list of branch targets.
    open_targets: Option<&'t str>,
}

impl<'t> Listing<'t> {
    pub fn of(ptx: &'t str) -> Self {
        // `.file` stands behind the code that refers to it.
        let mut reader = Reader { files: ptx.lines().filter_map(files::directive).collect(), ..Reader::default() };
        for line in ptx.lines() {
            reader.line(line);
        }
        reader.out
    }

    pub fn function(&self, name: &str) -> Option<&Code<'t>> {
        self.functions.iter().find(|function| function.name == name)
    }
}

impl<'t> Reader<'t> {
    fn line(&mut self, line: &'t str) {
        let code = line.split("//").next().unwrap_or_default().trim();
        if code.is_empty() {
            return;
        }
        if !self.in_body {
            self.outside(line, code);
        } else if line.starts_with('}') {
            self.in_body = false;
            self.out.functions.extend(self.function.take());
        } else if let Some(place) = code.strip_prefix(".loc") {
            self.place(place);
        } else {
            self.inside(code);
        }
    }

    fn outside(&mut self, line: &'t str, code: &'t str) {
        let is_extern = code.contains(".extern");
        if code.contains(".entry ") || code.contains(".func ") {
            let name = super::report::name(code);
            if is_extern || code.ends_with(';') {
                self.out.declared.push(name);
            } else {
                self.function = Some(Code { name, is_entry: code.contains(".entry "), ..Code::default() });
                self.inlined.clear();
                self.current = None;
            }
        } else if line.starts_with('{') {
            self.in_body = self.function.is_some();
        } else if line.starts_with(')') && code.ends_with(';') {
            // The end of a declaration.
            self.out.declared.extend(self.function.take().map(|function| function.name));
        } else if code.contains(".shared ") && !is_extern {
            self.shared(code);
        }
    }

    /// Reads `.shared .align 4 .b8 NAME[1024];`.
    fn shared(&mut self, code: &'t str) {
        let Some((head, size)) = code.split_once('[') else { return };
        let name = head.split_whitespace().next_back().unwrap_or_default();
        let width: u64 = head
            .split_whitespace()
            .filter_map(|word| {
                word.strip_prefix('.')?.trim_start_matches(|c: char| c.is_ascii_lowercase()).parse().ok()
            })
            .next_back()
            .unwrap_or(8);
        let count: u64 = size.split(']').next().and_then(|digits| digits.parse().ok()).unwrap_or(0);
        self.out.shared.push((name, count * width / 8));
    }

    fn place(&mut self, text: &'t str) {
        let numbers = |text: &str| {
            let mut words = text.split_whitespace().map(|word| word.trim_end_matches(',').parse().ok());
            Some((words.next()??, words.next()??, words.next()??))
        };
        let Some(key) = numbers(text) else { return };
        let outer = text.split_once("inlined_at ").and_then(|(_, outer)| numbers(outer));
        self.inlined.insert(key, outer);
        self.current = Some(key).filter(|(_, line, _)| *line != 0);
        if let Some(place) = self.user_place()
            && let Some(function) = &mut self.function
        {
            function.place.get_or_insert(place);
        }
    }

    /// The innermost line outside library code.
    fn user_place(&self) -> Option<Place> {
        let mut next = self.current;
        let mut place = None;
        for _ in 0..256 {
            let Some((file, line, column)) = next else { break };
            let file = self.files.get(&file)?;
            if place.is_none() || !is_library(file) {
                place = Some(Place { file: file.clone(), line, column });
            }
            if !is_library(file) {
                break;
            }
            next = self.inlined.get(&next?).copied().flatten();
        }
        place
    }

    /// The files of the current code, and of the calls that it is inlined at, from the innermost outwards.
    fn sources(&self) -> impl Iterator<Item = &str> {
        let places = std::iter::successors(self.current, |place| self.inlined.get(place).copied().flatten());
        places.take(256).filter_map(|(file, ..)| self.files.get(&file)).map(String::as_str)
    }

    /// Whether the code is from `core::sync::atomic`, and not used by `cuda_std`, which adds ordering and scope.
    fn is_core_atomic(&self) -> bool {
        let mut names = self.sources();
        names.next().is_some_and(|file| file.ends_with("core/src/sync/atomic.rs"))
            && !names.any(|file| file.contains("cuda_std/src/"))
    }

    fn inside(&mut self, code: &'t str) {
        // LLVM declares a variable that only one function uses in that function.
        if code.starts_with(".shared ") {
            return self.shared(code);
        }
        let place = self.user_place();
        let is_core_atomic = self.is_core_atomic();
        let is_dependency = self.sources().take_while(|file| is_library(file)).any(|file| file.contains(REGISTRY));
        let Some(function) = &mut self.function else { return };
        if let Some(name) = self.open_targets {
            function.targets.entry(name).or_default().extend(code.trim_end_matches(';').split(',').filter_map(label));
            if code.ends_with(';') {
                self.open_targets = None;
            }
            return;
        }
        for statement in code.split(';') {
            let mut text = statement.trim_start_matches(['{', '}', ' ', '\t']).trim_end();
            while let Some((name, rest)) = text.split_once(':').filter(|(name, rest)| is_label(name, rest)) {
                function.labels.insert(name, function.instructions.len());
                text = rest.trim_start();
                if let Some(list) = text.strip_prefix(".branchtargets") {
                    function.targets.entry(name).or_default().extend(list.split(',').filter_map(label));
                    if !code.ends_with(';') {
                        self.open_targets = Some(name);
                    }
                    text = "";
                }
            }
            let mut guard = None;
            if let Some(rest) = text.strip_prefix('@') {
                let (register, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                guard = Some(register.trim_start_matches('!'));
                text = rest.trim_start();
            }
            if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
                continue;
            }
            let (opcode, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
            let operands = operands.trim();
            let place = place.clone();
            function.instructions.push(Instruction { guard, opcode, operands, place, is_core_atomic, is_dependency });
        }
    }
}

fn label(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// Whether a colon after `name` makes it a label: opcodes such as `ld.shared::cta` have two.
fn is_label(name: &str, rest: &str) -> bool {
    !name.is_empty() && !rest.starts_with(':') && !name.contains(char::is_whitespace)
}

/// Part of the name of every file of a dependency that cargo has from a registry.
const REGISTRY: &str = "/registry/src/";

/// Whether a file is library code, whose lines a user can't change.
fn is_library(file: &str) -> bool {
    ["/rust/library/", "/library/core/", "/rustc/", REGISTRY, "cuda_std/src/"].iter().any(|part| file.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_registers_and_the_lines_of_the_user() {
        let ptx = "\
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0
)
;
.shared .align 16 .b8 TILE[1024];
.visible .entry k(
	.param .u64 k_param_0
)                                       // @k
{
	// demoted variable
	.shared .align 4 .b8 OWN[16];
	.loc	1 9 1                           // src/lib.rs:9:1
	ld.shared::cta.b32 	%r1, [%rd3+4];
$L__tmp2:
	.loc	1 20 5	// src/lib.rs:20:5
	.loc	2 30 7, function_name $L__info_string0, inlined_at 1 20 5	// core
	@!%p1 atom.global.add.u32 	%r2, [%rd1], 1;
	{ .reg .u64 shared; cvta.to.shared.u64 shared, %rd157; cvt.u32.u64 %r20, shared; }
	st.v2.b32 	[%rd9], {%r1, %r2};
	call.uni (retval0), vprintf, (param0, param1);
	$L_brx_0: .branchtargets
		$L__BB9_2,
		$L__BB9_3;
	brx.idx 	%r3, $L_brx_0;
$L__BB9_2:
	ret;
}
	.file	1 \"src/lib.rs\"	// md5 0
	.file	2 \"/rust/library/core/src/sync/atomic.rs\"
";
        let listing = Listing::of(ptx);
        assert_eq!(
            (listing.declared.as_slice(), listing.shared.as_slice()),
            (&["vprintf"][..], &[("TILE", 1024), ("OWN", 16)][..])
        );
        let k = listing.function("k").expect("the entry");
        assert!(k.is_entry);
        let place = |line, column| Some(Place { file: "src/lib.rs".to_owned(), line, column });
        assert_eq!(k.place, place(9, 1));
        let [load, atomic, _, convert, store, call, branch, _] = k.instructions.as_slice() else {
            panic!("{:#?}", k.instructions)
        };
        assert!(load.has("shared") && load.base() == "ld");
        assert_eq!((load.written(), load.read().collect::<Vec<_>>()), (vec!["%r1"], vec!["%rd3"]));
        assert_eq!((atomic.guard, atomic.is_core_atomic, atomic.place.clone()), (Some("%p1"), true, place(20, 5)));
        assert_eq!(convert.opcode, "cvt.u32.u64");
        assert_eq!((store.written().len(), store.read().collect::<Vec<_>>()), (0, vec!["%rd9", "%r1", "%r2"]));
        assert_eq!((store.address(), call.callee()), (Some("%rd9"), Some("vprintf")));
        assert_eq!(branch.opcode, "brx.idx");
        assert_eq!(k.targets["$L_brx_0"], ["$L__BB9_2", "$L__BB9_3"]);
        assert_eq!(k.labels["$L__BB9_2"], 7);
    }
}
