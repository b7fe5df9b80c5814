//! Markdown files of the repository, and their links and headings.

use std::{
    fs,
    ops::Range,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// A link of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The bytes of the whole link in the text.
    pub range: Range<usize>,
    /// What it leads to, as written.
    pub target: String,
    /// Whether it shows an image.
    pub image: bool,
}

/// Every Markdown file of the project, relative to `root`, in the order of the paths.
///
/// # Errors
/// Fails if a folder cannot be listed.
pub fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(root, Path::new(""), &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let place = root.join(folder);
    for entry in fs::read_dir(&place).with_context(|| format!("cannot list {}", place.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        let path = folder.join(&name);
        let name = name.to_string_lossy();
        if entry.file_type()?.is_dir() {
            // Folders of build products contain no documents; the template's have placeholders.
            if !name.starts_with('.') && !["target", "dist", "shared", "templates"].contains(&&*name) {
                collect(root, &path, found)?;
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    Ok(())
}

/// The links and images of a document.
pub fn links(text: &str) -> Vec<Link> {
    let parser = Parser::new_ext(text, Options::ENABLE_TABLES);
    let link = |(event, range): (Event<'_>, Range<usize>)| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(Link { range, target: dest_url.to_string(), image: false }),
        Event::Start(Tag::Image { dest_url, .. }) => Some(Link { range, target: dest_url.to_string(), image: true }),
        _ => None,
    };
    parser.into_offset_iter().filter_map(link).collect()
}

/// The anchors of a document's headings, as forges and mdBook make them of the headings' texts.
pub fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(words) | Event::Code(words) => heading.iter_mut().for_each(|text| text.push_str(&words)),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let repeated = found.iter().filter(|have| **have == anchor).count();
                found.push(if repeated == 0 { anchor } else { format!("{anchor}-{repeated}") });
            }
            _ => {}
        }
    }
    found
}

fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Path and anchor of a relative link of the document at `from`; `None` if it leads elsewhere, for example to a web
/// page. Paths are relative to the root; a path that leaves it is an empty one.
pub fn resolve(from: &Path, target: &str) -> Option<(PathBuf, Option<String>)> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (target, None),
    };
    if path.is_empty() {
        return Some((from.to_owned(), anchor));
    }
    let mut resolved = from.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => resolved.push(name),
            Component::CurDir => {}
            _ if resolved.pop() => {}
            _ => return Some((PathBuf::new(), anchor)),
        }
    }
    Some((resolved, anchor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_code() {
        let text = "See [a](b.md#c) and ![d](e.svg).\n\n```text\n[no](x)\n```\n\n| [t](u.md) |\n|---|\n";
        let found: Vec<_> = links(text).into_iter().map(|link| (link.target, link.image)).collect();
        assert_eq!(found, [("b.md#c".into(), false), ("e.svg".into(), true), ("u.md".into(), false)]);
    }

    #[test]
    fn anchors_are_those_of_forges() {
        let text = "# The `reduce` ladder: sum, max\n## Why?\n## Why?\n```text\n# no heading\n```\n";
        assert_eq!(anchors(text), ["the-reduce-ladder-sum-max", "why", "why-1"]);
    }

    #[test]
    fn links_are_relative_to_their_document() {
        let from = Path::new("docs/guide/a.md");
        let resolved = |target: &str| resolve(from, target).map(|(path, anchor)| (path.display().to_string(), anchor));
        assert_eq!(resolved("../ladders/b.md#c"), Some(("docs/ladders/b.md".into(), Some("c".into()))));
        assert_eq!(resolved("#c"), Some(("docs/guide/a.md".into(), Some("c".into()))));
        assert_eq!(resolved("../../../x.md"), Some((String::new(), None)));
        assert_eq!(resolved("https://doc.rust-lang.org"), None);
    }
}
