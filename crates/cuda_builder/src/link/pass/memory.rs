//! Moves statics that are marked as shared or constant memory to that address space; their uses get a generic address.
//!
//! The mark is the section that `#[address_space(…)]` gives the static: `.shared`, `.shared.dynamic`, `.constant`.

use std::collections::HashMap;

use crate::link::syntax;

/// The module after its statics were moved.
pub(super) struct Placed {
    pub module: String,
    /// Symbols in constant memory, which the host may write by name.
    pub keep: Vec<String>,
}

/// A marked static.
struct Marked<'a> {
    name: &'a str,
    space: Space,
    /// Its type: `[4 x i8]`.
    kind: &'a str,
    /// Its initial value: `undef`.
    initialiser: &'a str,
    /// Its attributes: `, align 4, !dbg !7`.
    rest: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Space {
    Shared,
    DynamicShared,
    Constant,
}

impl Space {
    fn of_section(name: &str) -> Option<Self> {
        Some(match name {
            ".shared" => Self::Shared,
            ".shared.dynamic" => Self::DynamicShared,
            ".constant" => Self::Constant,
            _ => return None,
        })
    }

    /// Number of the address space in NVPTX.
    fn number(self) -> u32 {
        match self {
            Self::Shared | Self::DynamicShared => 3,
            Self::Constant => 4,
        }
    }
}

/// Moves the marked statics.
pub(super) fn place(module: &str) -> Result<Placed, String> {
    let mut spaces = HashMap::new();
    for line in module.lines().filter(|line| line.starts_with('@') && line.contains("section \".")) {
        if let Some(marked) = parse(line)? {
            spaces.insert(marked.name, marked.space);
        }
    }
    if spaces.is_empty() {
        return Ok(Placed { module: module.to_owned(), keep: Vec::new() });
    }
    let mut keep = Vec::new();
    let mut out = String::with_capacity(module.len() + module.len() / 8);
    for line in module.lines() {
        match own_name(line) {
            Some(name) if spaces.contains_key(name) => {
                if let Some(marked) = parse(line)? {
                    refuse_shared_value(&marked)?;
                    if marked.space == Space::Constant {
                        keep.push(syntax::symbol(name).to_owned());
                    }
                    out.push_str(&define(&marked, &spaces));
                }
            }
            Some(name) => {
                refuse_shared_address(name, line, &spaces)?;
                let (own, value) = line.split_at(name.len());
                out.push_str(own);
                out.push_str(&use_generic(value, &spaces));
            }
            None if line.contains('@') => out.push_str(&use_generic(line, &spaces)),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    Ok(Placed { module: out, keep })
}

/// Name of the global that this line defines.
fn own_name(line: &str) -> Option<&str> {
    line.starts_with('@').then(|| &line[..syntax::name_end(line, 0)])
}

/// Parses a definition; `None` if it is not marked.
fn parse(line: &str) -> Result<Option<Marked<'_>>, String> {
    let Some(section_at) = line.rfind(", section \"") else { return Ok(None) };
    let quote = section_at + ", section ".len();
    let section_end = syntax::string_end(line, quote);
    let Some(space) = Space::of_section(&line[quote + 1..section_end - 1]) else { return Ok(None) };
    let name = &line[..syntax::name_end(line, 0)];
    let unreadable = || format!("the static {} has a form that this pass can't read: {line}", readable(name));

    let head = &line[name.len()..section_at];
    let keyword = [" global ", " constant "]
        .iter()
        .filter_map(|word| Some(head.find(word)? + word.len()))
        .min()
        .ok_or_else(unreadable)?;
    let value = &head[keyword..];
    let kind_end = match value.as_bytes().first() {
        Some(b'[' | b'{' | b'<') => syntax::bracket_end(value, 0),
        _ => value.find(' '),
    };
    let kind_end = kind_end.ok_or_else(unreadable)?;
    let rest = attributes(&line[section_end..]);
    Ok(Some(Marked { name, space, kind: &value[..kind_end], initialiser: value[kind_end..].trim(), rest }))
}

/// The attributes after the section that are kept: alignment and debug information, but no comdat.
fn attributes(text: &str) -> String {
    text.split(", ")
        .filter(|part| part.starts_with("align ") || part.starts_with("!dbg "))
        .map(|part| format!(", {part}"))
        .collect()
}

/// The definition of the static in its address space.
fn define(marked: &Marked<'_>, spaces: &HashMap<&str, Space>) -> String {
    let Marked { name, kind, rest, space, initialiser } = marked;
    let number = space.number();
    match space {
        // Shared memory has no initial value.
        Space::Shared => format!("{name} = internal addrspace({number}) global {kind} undef{rest}"),
        // The launch sets the size. The widest access needs an alignment of 16 bytes.
        Space::DynamicShared => format!("{name} = external addrspace({number}) global [0 x i8], align 16"),
        // The host may write it before the launch: the optimiser must not rely on the initialiser.
        Space::Constant => {
            let value = use_generic(initialiser, spaces);
            format!("{name} = addrspace({number}) externally_initialized global {kind} {value}{rest}")
        }
    }
}

/// Replaces every use of a marked static by its generic address. An operand's text is a value in every instruction
/// (`phi ptr [ @x, %a ]` and `icmp eq ptr %p, @x` name no type beside it), so the name alone is replaced.
fn use_generic(line: &str, spaces: &HashMap<&str, Space>) -> String {
    syntax::replace_names(line, |name| {
        let space = spaces.get(name)?.number();
        Some(format!("addrspacecast (ptr addrspace({space}) {name} to ptr)"))
    })
}

/// Rejects an initial value in shared memory, which starts with arbitrary content: the value would be lost silently.
fn refuse_shared_value(marked: &Marked<'_>) -> Result<(), String> {
    if marked.space != Space::Shared || matches!(marked.initialiser, "undef" | "poison") {
        return Ok(());
    }
    Err(format!(
        "the static {} is in shared memory and has an initial value, which a GPU can't give it: make it \
         `[MaybeUninit<T>; N]`, start it with `[const {{ MaybeUninit::uninit() }}; N]`, and write it in the \
         kernel before the first barrier",
        readable(marked.name)
    ))
}

/// Rejects a static that is initialised with the address of shared memory, which is no constant.
fn refuse_shared_address(holder: &str, line: &str, spaces: &HashMap<&str, Space>) -> Result<(), String> {
    if holder.starts_with("@llvm.") {
        return Ok(());
    }
    let mut found = None;
    syntax::replace_names(&line[holder.len()..], |name| {
        if matches!(spaces.get(name), Some(Space::Shared | Space::DynamicShared)) {
            found = Some(readable(name));
        }
        None
    });
    match found {
        None => Ok(()),
        Some(shared) => Err(format!(
            "the static {} starts with the address of {shared}, which is shared memory: every block has its own, \
             so that address is no constant; take the address inside the kernel",
            readable(holder)
        )),
    }
}

/// The last part of a mangled name: `CACHE` for `_RNvCs6K_7kernels5CACHE`, where 5 is its length.
fn readable(name: &str) -> String {
    let symbol = syntax::symbol(name);
    let is_last_part = |start: &usize| {
        let (before, part) = symbol.split_at(*start);
        let digits = before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        // In `15CACHE` the digit 1 may belong to the preceding part.
        (1..=digits).any(|count| before[before.len() - count..].parse() == Ok(part.len()))
    };
    let mangled = symbol.starts_with("_R") && symbol.is_ascii();
    let part = (2..symbol.len()).rev().filter(|_| mangled).find(is_last_part).map_or(symbol, |start| &symbol[start..]);
    format!("`{part}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: &str = r#"@_RN7kernels5CACHE = internal global [1024 x i8] undef, section ".shared", align 4"#;

    fn placed(uses: &str) -> String {
        place(&format!("{CACHE}\n{uses}\n")).expect("the pass accepts this").module
    }

    #[test]
    fn a_shared_static_moves_and_loses_its_initialiser() {
        let module = placed("");
        assert_eq!(module.trim(), "@_RN7kernels5CACHE = internal addrspace(3) global [1024 x i8] undef, align 4");
        let struct_type =
            r#"@X = internal unnamed_addr global <{ [4 x i8], [4 x i8] }> undef, section ".shared", align 8, !dbg !3"#;
        let module = place(struct_type).expect("accepted").module;
        assert_eq!(module.trim(), "@X = internal addrspace(3) global <{ [4 x i8], [4 x i8] }> undef, align 8, !dbg !3");
    }

    #[test]
    fn a_shared_static_with_a_value_is_refused_by_name() {
        for value in ["zeroinitializer", r#"c"\00\00\80?""#] {
            let line = format!(r#"@_RN7kernels5CACHE = internal global [4 x i8] {value}, section ".shared", align 4"#);
            let message = place(&line).err().unwrap_or_default();
            assert!(message.contains("`CACHE`") && message.contains("MaybeUninit"), "{message}");
        }
    }

    #[test]
    fn every_form_of_use_becomes_generic() {
        let cast = "addrspacecast (ptr addrspace(3) @_RN7kernels5CACHE to ptr)";
        for form in [
            "  %1 = load float, ptr X, align 4",
            "  store ptr X, ptr %p, align 8",
            "  store float %v, ptr getelementptr inbounds (i8, ptr X, i64 4), align 4",
            "  %2 = phi ptr [ X, %a ], [ %1, %b ]",
            "  %3 = icmp eq ptr %1, X",
            "  %4 = select i1 %c, ptr X, ptr null",
            "  call void @f(ptr noundef X, i64 ptrtoint (ptr X to i64))",
            "  %5 = insertvalue { ptr, i64 } poison, ptr X, 0",
            "  ret ptr X",
            "    #dbg_value(ptr X, !5, !DIExpression(), !6)",
        ] {
            let (before, after) = (form.replace('X', "@_RN7kernels5CACHE"), form.replace('X', cast));
            assert_eq!(placed(&before).lines().nth(1), Some(after.as_str()));
        }
    }

    #[test]
    fn longer_names_strings_and_comments_are_left_alone() {
        for line in [
            "  %1 = load float, ptr @_RN7kernels5CACHE2, align 4",
            "  %1 = load float, ptr @_RN7kernels5CACHE.llvm.1, align 4",
            r#"@text = private constant [19 x i8] c"@_RN7kernels5CACHE \00""#,
            r#"!4 = !{!"ptr @_RN7kernels5CACHE"}"#,
            "  br label %a ; ptr @_RN7kernels5CACHE",
        ] {
            assert_eq!(placed(line).lines().nth(1), Some(line));
        }
    }

    #[test]
    fn dynamic_shared_memory_is_external_and_aligned() {
        let module =
            place(r#"@smem = external global [0 x i8], section ".shared.dynamic", align 1"#).expect("accepted").module;
        assert_eq!(module.trim(), "@smem = external addrspace(3) global [0 x i8], align 16");
        let module = place(r#"@smem = internal global [0 x i8] undef, section ".shared.dynamic", align 16"#)
            .expect("accepted")
            .module;
        assert_eq!(module.trim(), "@smem = external addrspace(3) global [0 x i8], align 16");
    }

    #[test]
    fn constant_memory_keeps_its_value_and_its_name() {
        let placed =
            place(r#"@MASK = internal constant [2 x i8] c"\01\02", section ".constant", align 4"#).expect("accepted");
        assert_eq!(
            placed.module.trim(),
            r#"@MASK = addrspace(4) externally_initialized global [2 x i8] c"\01\02", align 4"#
        );
        assert_eq!(placed.keep, ["MASK"]);
    }

    #[test]
    fn a_static_with_a_shared_address_is_refused_by_name() {
        let message =
            place(&format!("{CACHE}\n@_RN7kernels5TABLE = global ptr @_RN7kernels5CACHE\n")).err().unwrap_or_default();
        assert!(message.contains("`TABLE`") && message.contains("`CACHE`"), "{message}");
    }

    #[test]
    fn mangled_names_are_shortened() {
        assert_eq!(readable("@_RNvNtCs6K_7kernels6reduce6CACHE2"), "`CACHE2`");
        assert_eq!(readable("@_RNvCs6K_7kernels5CACHE"), "`CACHE`");
        assert_eq!(readable("@MASK"), "`MASK`");
    }

    #[test]
    fn a_module_without_marks_is_unchanged() {
        let module = "@X = internal global [4 x i8] undef, align 4\n";
        assert_eq!(place(module).expect("accepted").module, module);
    }
}
