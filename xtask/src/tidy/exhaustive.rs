//! Public types that may grow say so, since a new variant or field of one that does not say it breaks its users.

use std::collections::BTreeMap;

use super::known::unneeded;
use super::syntax::{Token, tokens};
use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str =
    "in the published crates, a public enum or a struct of public fields is `#[non_exhaustive]` or in a list";

/// The folders of the published crates for programs; `kernels-gpu` has kernels, whose constants may change.
const CRATES: [&str; 4] =
    ["crates/cuda_std/src/", "crates/cuda_builder/src/", "crates/ptx_sim/src/", "crates/rustwarp/src/"];

/// The reason for a struct of settings: the attribute forbids `Config { seed: 1, ..Config::default() }`, and code of
/// this form compiles as before when a field is added.
const GROWS: &str = "callers write `..default()`, which the attribute forbids and which a new field does not break";

/// Types that stay as they are: the file and their names, or a folder and `*`; and the reason.
const KNOWN: &[(&str, &[&str], &str)] = &[
    ("crates/cuda_builder/src/artifact.rs", &["Artifact"], "tools that embed PTX of other builds construct it"),
    ("crates/cuda_builder/src/toolchain/discover.rs", &["Search"], "callers construct it to search other folders"),
    ("crates/cuda_std/src/memory/cached.rs", &["Load", "Store"], "PTX's cache operators, all of them"),
    ("crates/cuda_std/src/memory/vector.rs", &["Vector"], "an array with an alignment"),
    ("crates/cuda_std/src/ptr.rs", &["AddressSpace"], "PTX's state spaces, which upstream's users match"),
    ("crates/cuda_std/src/thread/index.rs", &["UVec2", "UVec3"], "coordinates"),
    ("crates/rustwarp/src/epilogue.rs", &["Epilogue"], GROWS),
    ("crates/rustwarp/src/group/blocks.rs", &["Grid"], "rows and columns"),
    ("crates/rustwarp/src/mixed_matmul/mod.rs", &["Forced"], GROWS),
    ("crates/ptx_sim/src/harness/argument.rs", &["Dim"], "the three extents of a launch"),
    ("crates/ptx_sim/src/isa/", &["*"], "the instruction set of this version, for its own observers; not for users"),
    ("crates/ptx_sim/src/machine/launch.rs", &["Launch"], "callers construct it"),
    ("crates/ptx_sim/src/occupancy/mod.rs", &["Demand"], "callers construct it"),
    ("crates/ptx_sim/src/profile.rs", &["Profile"], "callers describe GPUs of their own by it"),
    ("crates/ptx_sim/src/accesses/mod.rs", &["Effect"], "an access reads, writes or does both at once"),
    ("crates/ptx_sim/src/program/", &["*"], "the decoded program, for its own observers; not for users"),
    ("crates/ptx_sim/src/registers/", &["*"], "the registers, for its own observers; not for users"),
    ("crates/ptx_sim/src/session/config.rs", &["Config"], GROWS),
    ("crates/ptx_sim/src/texture.rs", &["Texture", "Format"], "callers construct them"),
    (
        "crates/ptx_sim/src/texture.rs",
        &["Layout", "Channel", "Filter", "AddressMode"],
        "CUDA's textures, which have had these choices since its first version",
    ),
    (
        "crates/rustwarp/src/backend/observed.rs",
        &["Between", "Device"],
        "callers describe a run and a GPU by them, to estimate times",
    ),
    ("crates/rustwarp/src/backend/occupancy.rs", &["Question"], "callers construct it"),
    ("crates/rustwarp/src/backend/options.rs", &["Checkers", "Simulation"], GROWS),
    ("crates/rustwarp/src/backend/sampling.rs", &["Sampling"], "callers construct it"),
    ("crates/rustwarp/src/backend/tensor_map.rs", &["TensorLayout"], "callers construct it"),
    (
        "crates/rustwarp/src/backend/sampling.rs",
        &["Layout", "Channel", "Filter", "AddressMode"],
        "CUDA's textures, which have had these choices since its first version",
    ),
    (
        "crates/rustwarp/src/backend/options.rs",
        &["Checks"],
        "callers that offer the choice have a case for each, and the compiler names the places",
    ),
    ("crates/rustwarp/src/backend/streams.rs", &["RawStream"], "the driver's handles, which callers construct"),
    ("crates/rustwarp/src/streamed/settings.rs", &["Settings"], GROWS),
    ("crates/rustwarp/src/conv2d.rs", &["Operands"], "callers construct it"),
    ("crates/rustwarp/src/separable.rs", &["Operands"], "callers construct it"),
    (
        "crates/rustwarp/src/diagnostic.rs",
        &["Diagnostic", "Place", "Position"],
        "callers that convert findings construct them, in tests above all",
    ),
    (
        "crates/rustwarp/src/element.rs",
        &["Dtype", "Value", "Array"],
        "code that handles each element type needs a new one's case, and the compiler names the places",
    ),
    ("crates/rustwarp/src/launch.rs", &["Tuning"], GROWS),
    ("crates/rustwarp/src/matmul/sizes.rs", &["Sizes"], "callers construct it"),
    ("crates/rustwarp/src/matvec/mod.rs", &["Sizes"], "callers construct it"),
    ("crates/rustwarp/src/ptx/arch.rs", &["Arch"], "the two parts of an architecture's name"),
    ("crates/rustwarp/src/ptx/kernels.rs", &["Packed", "Code"], "build scripts generate code that constructs them"),
    ("crates/rustwarp/src/scan.rs", &["Kind"], "scans are inclusive or exclusive"),
];

/// Reports types that violate the rule.
pub fn check(tree: &Tree) -> Vec<Finding> {
    without(KNOWN, found(tree))
}

/// The findings that no exception covers, and a finding for each exception that covers none.
fn without(known: &[(&str, &[&str], &str)], mut found: Vec<(String, Finding)>) -> Vec<Finding> {
    let known: Vec<_> =
        known.iter().flat_map(|(path, names, _)| names.iter().map(move |name| (*path, *name))).collect();
    let is = |(name, finding): &(String, Finding), known: (&str, &str)| match known {
        (folder, "*") => finding.path.starts_with(folder),
        (path, known) => finding.path == path && name == known,
    };
    let unneeded: Vec<_> = known
        .iter()
        .filter(|known| !found.iter().any(|found| is(found, **known)))
        .map(|(path, name)| unneeded("exhaustive", &format!("{path} {name}")))
        .collect();
    found.retain(|found| !known.iter().any(|known| is(found, *known)));
    found.into_iter().map(|(_, finding)| finding).chain(unneeded).collect()
}

/// The tokens of the crates' files, by path: each file is read once, although every type asks about many files.
type Files<'t> = BTreeMap<&'t str, Vec<Token<'t>>>;

/// The types that can be named from outside and that lack the attribute, each with its name.
fn found(tree: &Tree) -> Vec<(String, Finding)> {
    let mut found = Vec::new();
    let of_crates = tree.files.iter().filter(|file| CRATES.iter().any(|root| file.path.starts_with(root)));
    let files: Files<'_> = of_crates.map(|file| (file.path.as_str(), tokens(&file.text))).collect();
    for (path, tokens) in &files {
        let Some(root) = CRATES.iter().find(|root| path.starts_with(**root)) else { continue };
        for at in 0..tokens.len() {
            let Some(name) = open_type(tokens, at) else { continue };
            if is_exported(&files, root, path, name) {
                let text = format!("`{name}` can't grow: add `#[non_exhaustive]`, or list it with the reason");
                found.push((name.to_owned(), Finding::new(path, tokens[at].line, text)));
            }
        }
    }
    found
}

/// The name of the public type that starts at `at`, if code elsewhere could match or construct all of it.
fn open_type<'t>(tokens: &[Token<'t>], at: usize) -> Option<&'t str> {
    let word = |offset: usize| tokens.get(at + offset).map_or("", |token| token.text);
    let name = tokens.get(at + 2).filter(|token| token.is_word())?.text;
    if word(0) != "pub" || has_attribute(&tokens[..at]) {
        return None;
    }
    match word(1) {
        "enum" => Some(name),
        "struct" => has_public_fields_only(&tokens[at + 3..]).then_some(name),
        _ => None,
    }
}

/// Whether the attributes at the end of the tokens contain `non_exhaustive`.
fn has_attribute(before: &[Token<'_>]) -> bool {
    let mut end = before.len();
    while end > 0 && before[end - 1].text == "]" {
        let start = before[..end].iter().rposition(|token| token.text == "#").unwrap_or(0);
        if before[start..end].iter().any(|token| token.text == "non_exhaustive") {
            return true;
        }
        end = start;
    }
    false
}

/// Whether the fields of a struct are all public, given what follows its name. A struct without fields has none.
fn has_public_fields_only(rest: &[Token<'_>]) -> bool {
    let Some(open) = rest.iter().position(|token| matches!(token.text, "{" | "(" | ";")) else { return false };
    let mut depth = 0_i32;
    let mut starts_field = true;
    let mut fields = 0;
    for (at, token) in rest.iter().enumerate().skip(open) {
        match token.text {
            "{" | "(" | "[" | "<" => depth += 1,
            "}" | ")" | "]" | ">" => depth -= 1,
            "," if depth == 1 => starts_field = true,
            _ if depth == 1 && starts_field && token.text != "#" => {
                if token.text != "pub" || rest.get(at + 1).is_some_and(|next| next.text == "(") {
                    return false;
                }
                starts_field = false;
                fields += 1;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    fields > 0
}

/// Whether users can name the type: its modules are public, or a public module has it in a `pub use`.
fn is_exported(files: &Files<'_>, root: &str, path: &str, name: &str) -> bool {
    let modules = modules(root, path);
    let private = (0..modules.len()).find(|&depth| !is_public(files, root, &modules[..=depth]));
    let Some(private) = private else { return true };
    files.iter().filter(|(path, _)| path.starts_with(root)).any(|(path, tokens)| {
        let chain = self::modules(root, path);
        let reachable = (0..chain.len()).all(|depth| is_public(files, root, &chain[..=depth]));
        reachable && reexports(tokens, modules[private..].iter().copied(), name)
    })
}

/// Whether a `pub use` names the type, or everything, of one of these modules.
fn reexports<'m>(tokens: &[Token<'_>], modules: impl Iterator<Item = &'m str> + Clone, name: &str) -> bool {
    let starts = tokens.windows(2).enumerate().filter(|(_, pair)| pair[0].text == "pub" && pair[1].text == "use");
    starts.into_iter().any(|(start, _)| {
        let words = tokens[start..].iter().take_while(|token| token.text != ";").map(|token| token.text);
        let of_module = words.clone().any(|word| modules.clone().any(|module| module == word));
        of_module && words.into_iter().any(|word| word == name || word == "*")
    })
}

/// The names of the modules that contain a file's items.
fn modules<'p>(root: &str, path: &'p str) -> Vec<&'p str> {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    inside.split('/').filter(|part| !matches!(*part, "mod" | "lib")).collect()
}

/// Whether the file of the parent declares the last of these modules as `pub mod`.
fn is_public(files: &Files<'_>, root: &str, modules: &[&str]) -> bool {
    let Some((last, parents)) = modules.split_last() else { return true };
    let folder = parents.join("/");
    let paths = if parents.is_empty() {
        [format!("{root}lib.rs"), String::new()]
    } else {
        [format!("{root}{folder}/mod.rs"), format!("{root}{folder}.rs")]
    };
    paths.iter().filter_map(|path| files.get(path.as_str())).any(|tokens| {
        tokens.windows(3).any(|words| words[0].text == "pub" && words[1].text == "mod" && words[2].text == *last)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        found(&Tree::of(files)).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn types_that_users_can_construct_or_match_are_found() {
        let text = "pub enum A { X }\n#[derive(Debug)]\n#[non_exhaustive]\npub enum B { X }\n\
                    pub struct C { pub x: Vec<(u8, u8)>, #[x] pub y: u8 }\npub struct D { pub x: u8, y: u8 }\n\
                    pub struct E(pub u8);\npub struct F(u8);\npub struct G;\npub(crate) enum H { X }\nenum I { X }\n\
                    pub struct J { pub(crate) x: u8 }\npub struct K<T> { pub x: T }";
        assert_eq!(names(&[("crates/rustwarp/src/lib.rs", text)]), ["A", "C", "E", "K"]);
        assert!(names(&[("host/src/lib.rs", text)]).is_empty());
    }

    #[test]
    fn only_types_that_can_be_named_from_outside_are_found() {
        let root = "pub mod open;\nmod shut;\npub use shut::{deep::Shown, other};\n";
        let files = [
            ("crates/ptx_sim/src/lib.rs", root),
            ("crates/ptx_sim/src/open/inner.rs", "pub enum InOpen { X }"),
            ("crates/ptx_sim/src/open/mod.rs", "pub mod inner;\npub enum Open { X }"),
            ("crates/ptx_sim/src/shut/deep.rs", "pub enum Shown { X }\npub enum Hidden { X }"),
            ("crates/ptx_sim/src/shut/mod.rs", "pub mod deep;\npub enum AlsoHidden { X }"),
        ];
        assert_eq!(names(&files), ["InOpen", "Open", "Shown"]);
    }

    #[test]
    fn exceptions_are_needed() {
        let found = || found(&Tree::of(&[("crates/rustwarp/src/lib.rs", "pub enum A { X }\npub enum B { X }")]));
        let path = "crates/rustwarp/src/lib.rs";
        assert!(without(&[(path, &["A", "B"], "why")], found()).is_empty());
        let rest = without(&[(path, &["A", "C"], "why")], found());
        assert_eq!(rest.len(), 2, "{rest:?}");
        assert!(rest[1].text.contains("lib.rs C` is no longer needed"), "{rest:?}");
    }
}
