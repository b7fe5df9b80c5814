//! `cargo xtask docs --book`: the guide as web pages in `target/book`, from the chapters that `docs/SUMMARY.md` lists.
//!
//! Code in a chapter is copied from the file that the comment above it names, so that it is code that the tests run.
//! With `--check` no chapter is changed, and stale code is an error. Every relative link of every Markdown file is
//! checked.

mod assemble;
mod excerpts;
mod links;
mod markdown;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        other => bail!("usage: docs-book [--check], not {}", other.join(" ")),
    };
    let root = root();
    let files = markdown::files(&root)?;
    let mut stale = Vec::new();
    for path in &files {
        let text = read(&root, path)?;
        let new = excerpts::updated(&root, path, &text)?;
        if new != text && check {
            stale.push(path.display().to_string());
        } else if new != text {
            fs::write(root.join(path), new).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    if !stale.is_empty() {
        bail!("code differs from its source in {}: run `cargo xtask docs --book`", stale.join(" "));
    }
    let broken = links::broken(&root, &files)?;
    if !broken.is_empty() {
        bail!("broken links:\n{}", broken.join("\n"));
    }
    let pages = assemble::book(&root)?;
    println!("{} chapters are in {}; the links of {} files lead somewhere", pages, assemble::PAGES, files.len());
    Ok(())
}

/// The root of the workspace.
fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own).to_owned()
}

/// The text of a file whose path is relative to the root.
fn read(root: &Path, path: &Path) -> Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_leads_somewhere_and_code_is_that_of_its_source() {
        let root = root();
        let files = markdown::files(&root).expect("the files");
        assert!(files.len() > 30, "{files:?}");
        assert_eq!(links::broken(&root, &files).expect("readable files"), Vec::<String>::new());
        for path in &files {
            let text = read(&root, path).expect("a file");
            let new = excerpts::updated(&root, path, &text).expect("its sources");
            assert!(new == text, "{} is stale: run `cargo xtask docs --book`", path.display());
        }
    }

    #[test]
    fn every_page_of_the_guide_and_of_a_ladder_is_a_chapter() {
        let root = root();
        let summary = read(&root, Path::new("docs/SUMMARY.md")).expect("the list of chapters");
        for folder in ["guide", "ladders"] {
            for entry in fs::read_dir(root.join("docs").join(folder)).expect("a folder") {
                let name = entry.expect("an entry").file_name().into_string().expect("a name");
                let listed = summary.contains(&format!("({folder}/{name})"));
                assert!(listed || !name.ends_with(".md"), "docs/SUMMARY.md does not list {folder}/{name}");
            }
        }
    }
}
