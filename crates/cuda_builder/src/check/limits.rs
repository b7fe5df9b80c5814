//! What a driver refuses and rustc does not see: calls of functions that nothing defines, too much static shared
//! memory, a module without a kernel.

use std::collections::BTreeSet;

use super::listing::{Code, Listing, Place};

/// Functions that the driver defines.
const PROVIDED: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Bytes of static shared memory that one entry may use, for every architecture.
const STATIC_SHARED: u64 = 48 << 10;

/// Returns a sentence for the first rule that the PTX breaks.
pub(crate) fn broken(ptx: &str) -> Option<String> {
    let listing = Listing::of(ptx);
    let entries = || listing.functions.iter().filter(|function| function.is_entry);
    entries().find_map(|entry| undefined(&listing, entry).or_else(|| shared(&listing, entry)))
}

/// Whether the PTX has a kernel.
pub(crate) fn has_entry(ptx: &str) -> bool {
    ptx.lines().any(|line| line.starts_with(".visible .entry ") || line.starts_with(".entry "))
}

/// The functions that an entry may call, itself included. The address of a function may be taken anywhere, so a
/// function that is named in the code counts.
fn reached<'l, 't>(listing: &'l Listing<'t>, entry: &'l Code<'t>) -> Vec<&'l Code<'t>> {
    let mut found = vec![entry];
    let mut at = 0;
    while let Some(code) = found.get(at).copied() {
        at += 1;
        for word in code.instructions.iter().flat_map(|one| words(one.operands)) {
            if let Some(next) = listing.function(word)
                && !found.iter().any(|known| known.name == next.name)
            {
                found.push(next);
            }
        }
    }
    found
}

fn undefined(listing: &Listing<'_>, entry: &Code<'_>) -> Option<String> {
    for code in reached(listing, entry) {
        for instruction in &code.instructions {
            let Some(callee) = instruction.callee().filter(|name| listing.declared.contains(name)) else { continue };
            if listing.function(callee).is_none() && !PROVIDED.contains(&callee) {
                return Some(format!(
                    "`{}` calls `{callee}`, which is declared `extern` and defined nowhere{}: define it in Rust; a \
                     device has no other libraries",
                    entry.name,
                    at(instruction.place.as_ref())
                ));
            }
        }
    }
    None
}

fn shared(listing: &Listing<'_>, entry: &Code<'_>) -> Option<String> {
    let used: BTreeSet<&str> = reached(listing, entry)
        .into_iter()
        .flat_map(|code| &code.instructions)
        .flat_map(|one| words(one.operands))
        .collect();
    let variables: Vec<_> = listing.shared.iter().filter(|(name, _)| used.contains(name)).collect();
    let total: u64 = variables.iter().map(|(_, size)| size).sum();
    if total <= STATIC_SHARED {
        return None;
    }
    let (largest, size) = variables.iter().max_by_key(|(_, size)| *size)?;
    Some(format!(
        "`{}` has {total} bytes of static shared memory{}, of which `{largest}` has {size}; at most {STATIC_SHARED} \
         are possible: make the arrays smaller, or use dynamic shared memory, whose size is given at the launch",
        entry.name,
        at(entry.place.as_ref())
    ))
}

fn words(operands: &str) -> impl Iterator<Item = &str> {
    operands
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$' | '%' | '.')))
        .filter(|word| !word.is_empty())
}

fn at(place: Option<&Place>) -> String {
    place.map_or_else(String::new, |place| format!(" ({}:{}:{})", place.file, place.line, place.column))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(size: u32, callee: &str) -> String {
        format!(
            ".extern .func missing\n(\n\t.param .b64 a\n)\n;\n.extern .func vprintf\n(\n)\n;\n\
             .shared .align 4 .b8 A[{size}];\n\
             .shared .align 4 .b32 B[10];\n.shared .align 4 .b8 OTHER[40000];\n\
             .func helper(\n)\n{{\n\t.loc\t1 3 7\n\tcall.uni {callee}, (a);\n\tmov.b64 %rd1, B;\n\tret;\n}}\n\
             .visible .entry k(\n)\n{{\n\t.loc\t1 9 1\n\tmov.b64 \t%rd1, A;\n\tcall.uni helper, (a);\n\tret;\n}}\n\
             .visible .entry other(\n)\n{{\n\tmov.b64 %rd1, OTHER;\n\tret;\n}}\n\t.file\t1 \"src/lib.rs\"\n"
        )
    }

    #[test]
    fn an_extern_without_a_definition_is_named_with_its_line() {
        let text = broken(&module(16, "missing")).expect("nothing defines it");
        assert!(
            text.starts_with("`k` calls `missing`, which is declared `extern` and defined nowhere (src/lib.rs:3:7)"),
            "{text}"
        );
        assert_eq!(broken(&module(16, "vprintf")), None, "the driver defines it");
        assert_eq!(broken(&module(16, "helper")), None);
    }

    #[test]
    fn the_shared_memory_of_one_entry_is_limited() {
        assert_eq!(broken(&module(49_152 - 40, "vprintf")), None, "that of another entry does not count");
        let text = broken(&module(49_152 - 36, "vprintf")).expect("too much");
        assert!(
            text.starts_with("`k` has 49156 bytes of static shared memory (src/lib.rs:9:1), of which `A` has 49116"),
            "{text}"
        );
    }

    #[test]
    fn a_module_of_device_functions_has_no_entry() {
        assert!(has_entry(&module(1, "vprintf")));
        assert!(!has_entry(".version 7.8\n.visible .func helper(\n)\n{\n}\n"));
    }
}
