//! Excerpts of the kernels' sources.

use anyhow::{Context, Result};
use ladders::kernels::{Family, VariantInfo};
use std::path::{Path, PathBuf};

/// Maximum number of lines of a kernel that a page shows.
const LINES: usize = 48;

/// The module text of the family's `mod.rs` or only file, as Markdown.
///
/// # Errors
/// Fails if the file cannot be read.
pub fn module_text(family: &Family) -> Result<String> {
    let text = read(&module_file(family))?;
    let lines =
        text.lines().map_while(|line| line.strip_prefix("//!")).map(|line| line.strip_prefix(' ').unwrap_or(line));
    Ok(without_links(&lines.collect::<Vec<_>>().join("\n")))
}

/// The first kernel of a variant.
pub struct Kernel {
    /// Path of the source file, relative to the workspace's root.
    pub path: PathBuf,
    /// The text from the attribute to the closing brace; a long kernel is cut off.
    pub text: String,
}

/// The kernel that the variant launches first: the function whose name its first entry begins with. If several match,
/// the longest name is used: `dot_best_f32` belongs to `dot_best`, not to `dot`.
///
/// # Errors
/// Fails if the sources cannot be read, or none of them has the kernel.
pub fn kernel(family: &Family, variant: &VariantInfo) -> Result<Kernel> {
    let entry = variant.entries.first().map_or("", |entry| entry.name.as_str());
    let mut found: Option<(usize, Kernel)> = None;
    for path in files(family)? {
        let text = read(&path)?;
        for (name, kernel) in kernels(&text) {
            let name = if name.starts_with('$') { instance(&text, entry) } else { name };
            let more = found.as_ref().is_none_or(|(length, _)| *length < name.len());
            if !name.is_empty() && is_made_of(entry, name) && more {
                found = Some((name.len(), Kernel { path: path.clone(), text: kernel }));
            }
        }
    }
    let kernel = found.map(|(_, kernel)| kernel);
    kernel.with_context(|| format!("no kernel of {} makes the entry '{entry}' of {}", family.name, variant.name))
}

/// The name that a macro's call in this file gives the kernel of an entry; empty if there is none.
fn instance<'a>(text: &'a str, entry: &str) -> &'a str {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| !word.is_empty() && is_made_of(entry, word)).max_by_key(|word| word.len()).unwrap_or_default()
}

/// Whether an entry's name is the function's name, followed by types and constants.
fn is_made_of(entry: &str, function: &str) -> bool {
    entry.strip_prefix(function).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

/// Names and texts of the kernels in a file.
fn kernels(text: &str) -> Vec<(&str, String)> {
    let lines: Vec<_> = text.lines().collect();
    // A kernel that other crates instantiate is an entry of this one by a feature only.
    let begins = |line: &str| line.starts_with("#[kernel") || line.starts_with("#[cfg_attr(");
    let is_first = |at: usize| at == 0 || lines[at - 1].trim_start() != ")]";
    let starts = (0..lines.len()).filter(|&at| begins(lines[at].trim_start()) && is_first(at));
    starts.filter_map(|start| kernel_at(&lines[start..])).collect()
}

/// The kernel that begins in the first of these lines. Inside a macro the whole function is indented.
fn kernel_at<'a>(lines: &[&'a str]) -> Option<(&'a str, String)> {
    let indent = lines.first().map_or(0, |line| line.len() - line.trim_start().len());
    let closing = format!("{}}}", " ".repeat(indent));
    let length = lines.iter().position(|line| *line == closing)? + 1;
    let name = lines[..length].iter().find_map(|line| line.split_once("fn "))?.1;
    let name = name.split(['<', '(']).next()?;
    let shown = lines[..length.min(LINES)].iter().map(|line| line.get(indent..).unwrap_or_default());
    let mut text = shown.collect::<Vec<_>>().join("\n");
    if length > LINES {
        text += "\n    // …";
    }
    Some((name, without_feature(text)))
}

/// The attribute of a kernel that is an entry by a feature, in the form of the others.
fn without_feature(text: String) -> String {
    let Some(rest) = text.strip_prefix("#[cfg_attr(") else { return text };
    let parts = rest.split_once("kernel(").and_then(|(_, rest)| rest.split_once(")]"));
    let Some((arguments, mut function)) = parts else { return text };
    // The attribute for other features.
    while let Some(rest) = function.trim_start().strip_prefix("#[cfg_attr(") {
        function = rest.split_once(")]").map_or("", |(_, rest)| rest);
    }
    format!("#[kernel({})]{function}", arguments.trim_end().trim_end_matches(')'))
}

fn folder(family: &Family) -> PathBuf {
    Path::new("kernels-gpu/src").join(family.name)
}

/// The family's `mod.rs`, or the file beside its folder.
fn module_file(family: &Family) -> PathBuf {
    let inside = folder(family).join("mod.rs");
    if inside.is_file() { inside } else { folder(family).with_extension("rs") }
}

/// Every file of the family, at any depth, sorted by name.
fn files(family: &Family) -> Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (vec![module_file(family)], vec![folder(family)]);
    while let Some(folder) = folders.pop().filter(|folder| folder.is_dir()) {
        let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() { &mut folders } else { &mut files }.push(path);
        }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {}: run this in the workspace's root", path.display()))
}

/// Replaces rustdoc's links to items by plain code: ``[`x`]`` and ``[`x`](path)`` become `` `x` ``, without prefixes
/// such as `mod@`.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("[`") {
        let Some(end) = rest[start..].find("`]").map(|length| start + length) else { break };
        let code = &rest[start + 2..end];
        let name = code.split_once('@').map_or(code, |(_, name)| name);
        plain += &rest[..start];
        plain += &format!("`{name}`");
        rest = &rest[end + 2..];
        if let Some(target) = rest.strip_prefix('(').and_then(|target| target.split_once(')')) {
            rest = target.1;
        }
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use ladders::kernels::FAMILIES;

    #[test]
    fn links_become_code() {
        let text = "a [`x`] b [`y::z`](mod@y) [c](d) [`mod@unit`] [`open";
        assert_eq!(without_links(text), "a `x` b `y::z` [c](d) `unit` [`open");
    }

    #[test]
    fn a_kernel_ends_where_it_began() {
        let text = "#[kernel]\npub unsafe fn a_b<T>(x: u32) {\n    {\n    }\n}\nmacro! {\n    #[kernel]\n    fn c() \
            {\n    }\n}\n";
        let found = kernels(text);
        assert_eq!(found[0], ("a_b", "#[kernel]\npub unsafe fn a_b<T>(x: u32) {\n    {\n    }\n}".to_owned()));
        assert_eq!(found[1], ("c", "#[kernel]\nfn c() {\n}".to_owned()));
    }

    #[test]
    fn of_several_attributes_the_first_is_shown() {
        let first = "#[cfg_attr(\n    feature = \"x\",\n    kernel(block(2), for T in [f32])\n)]\n";
        let second = "#[cfg_attr(\n    not(feature = \"x\"),\n    kernel(for T in [f32])\n)]\n";
        let text = format!("{first}{second}fn a() {{\n}}\n");
        assert_eq!(kernels(&text), [("a", "#[kernel(block(2), for T in [f32])]\nfn a() {\n}".to_owned())]);
    }

    #[test]
    fn a_macro_names_its_kernels_where_it_is_called() {
        let text = "make!(best_large f32, best f32);";
        assert_eq!(instance(text, "best_large_f32_false"), "best_large");
        assert_eq!(instance(text, "other_f32"), "");
    }

    #[test]
    fn names_end_at_a_type() {
        assert!(is_made_of("scan_best_max_u64_1", "scan_best") && is_made_of("banks", "banks"));
        assert!(!is_made_of("tiled_16", "tile") && !is_made_of("scan_best_f32", "scan_best_f32_more"));
    }

    #[test]
    fn every_variant_has_a_kernel() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("the workspace's root");
        for family in FAMILIES {
            for variant in (family.variants)() {
                let kernel = kernel(family, &variant).expect("a kernel");
                assert!(kernel.text.starts_with("#[kernel"), "{} {}", family.name, variant.name);
            }
        }
    }
}
