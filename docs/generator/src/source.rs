//! Pieces of the kernels' sources.

use anyhow::{Context, Result};
use host::kernels::Family;
use std::path::{Path, PathBuf};

/// Lines of a kernel that are shown at most.
const LINES: usize = 48;

/// The family's own words: the module text of its `mod.rs` or only file, as Markdown.
pub fn module_text(family: &Family) -> Result<String> {
    let text = read(&module_file(family))?;
    let lines =
        text.lines().map_while(|line| line.strip_prefix("//!")).map(|line| line.strip_prefix(' ').unwrap_or(line));
    Ok(without_links(&lines.collect::<Vec<_>>().join("\n")))
}

/// The file that a variant is written in.
pub fn variant_file(family: &Family, variant: &str) -> PathBuf {
    let own = folder(family).join(format!("{variant}.rs"));
    if own.is_file() { own } else { module_file(family) }
}

/// The first kernel of a file, from its attribute to its closing brace; `None` where the kernel is made by a macro elsewhere.
pub fn kernel(path: &Path) -> Result<Option<String>> {
    let text = read(path)?;
    let mut lines = text.lines().skip_while(|line| !line.starts_with("#[kernel"));
    let mut kernel = Vec::new();
    for line in &mut lines {
        kernel.push(line);
        if line == "}" {
            break;
        }
    }
    if kernel.len() > LINES {
        kernel.truncate(LINES);
        kernel.push("    // …");
    }
    Ok((!kernel.is_empty()).then(|| kernel.join("\n")))
}

fn folder(family: &Family) -> PathBuf {
    Path::new("kernels-gpu/src").join(family.name)
}

/// `mod.rs`, or the file beside the folder.
fn module_file(family: &Family) -> PathBuf {
    let inside = folder(family).join("mod.rs");
    if inside.is_file() { inside } else { folder(family).with_extension("rs") }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .with_context(|| format!("cannot read {}: run this in the workspace's root", path.display()))
}

/// rustdoc's links to items, as plain code: ``[`x`]`` and ``[`x`](path)`` become `` `x` ``.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("[`") {
        let Some(end) = rest[start..].find("`]").map(|length| start + length) else { break };
        plain += &rest[..start];
        plain += &rest[start + 1..=end];
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

    #[test]
    fn links_become_code() {
        assert_eq!(without_links("a [`x`] b [`y::z`](mod@y) [c](d) [`open"), "a `x` b `y::z` [c](d) [`open");
    }
}
