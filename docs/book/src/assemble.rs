//! The book: a copy of the chapters in `target`, each at its path in the project, with links that work there, and
//! mdBook's pages of it.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use mdbook_driver::{MDBook, config::Config};

use crate::{markdown, read};

/// The list of chapters.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Where mdBook reads the chapters.
const SOURCES: &str = "target/book-sources";

/// Where the pages are.
pub const PAGES: &str = "target/book";

/// The address of the project; a reserved domain as long as it has none.
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");

/// Makes the pages, and returns the number of chapters.
///
/// # Errors
/// Fails if a file cannot be read or written, a chapter is missing, or mdBook fails.
pub fn book(root: &Path) -> Result<usize> {
    let sources = root.join(SOURCES);
    if sources.exists() {
        fs::remove_dir_all(&sources).with_context(|| format!("cannot remove {}", sources.display()))?;
    }
    let summary_path = Path::new(SUMMARY);
    let summary = read(root, summary_path)?;
    let chapters: BTreeSet<PathBuf> = markdown::links(&summary)
        .iter()
        .filter_map(|link| markdown::resolve(summary_path, &link.target).map(|(path, _)| path))
        .collect();
    // The summary is at the root of the book, so that every file of the project can be a chapter.
    let listed = |target: &str| markdown::resolve(summary_path, target).map(|(path, _)| in_url(&path));
    write(&sources.join("SUMMARY.md"), with_links(&summary, |link| listed(&link.target)))?;
    for chapter in &chapters {
        let text = read(root, chapter)?;
        for link in markdown::links(&text).into_iter().filter(|link| link.image) {
            let Some((image, _)) = markdown::resolve(chapter, &link.target) else { continue };
            let bytes = fs::read(root.join(&image)).with_context(|| format!("cannot read {}", image.display()))?;
            write(&sources.join(image), bytes)?;
        }
        write(&sources.join(chapter), with_links(&text, |link| outside(chapter, &chapters, link)))?;
    }
    let config: Config = format!(
        "[book]\ntitle = \"Rustwarp\"\nlanguage = \"en\"\nsrc = \"{SOURCES}\"\n\
         [build]\nbuild-dir = \"{PAGES}\"\ncreate-missing = false\nuse-default-preprocessors = false\n\
         [output.html]\nsmart-punctuation = false\n\
         [output.html.playground]\nrunnable = false\n\
         [output.html.fold]\nenable = true\nlevel = 1\n"
    )
    .parse()
    .context("mdBook does not accept its configuration")?;
    let book = MDBook::load_with_config(root, config).context("mdBook cannot read the chapters")?;
    book.build().context("mdBook cannot write the pages")?;
    for chapter in &chapters {
        let page = root.join(PAGES).join(chapter).with_extension("html");
        ensure!(page.exists(), "{} has no page: {} is missing", chapter.display(), page.display());
    }
    Ok(chapters.len())
}

/// What a link of a chapter becomes; `None` if it leads to another chapter or a web page.
fn outside(chapter: &Path, chapters: &BTreeSet<PathBuf>, link: &markdown::Link) -> Option<String> {
    let (target, anchor) = markdown::resolve(chapter, &link.target)?;
    if link.image || chapters.contains(&target) {
        return None;
    }
    let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    let path = in_url(&target);
    if !REPOSITORY.contains("example.org") {
        return Some(format!("{REPOSITORY}/blob/main/{path}{anchor}"));
    }
    // From the page to the root of the project: through the chapter's folders and those of `PAGES`.
    let depth = chapter.components().count() - 1 + Path::new(PAGES).components().count();
    Some(format!("{}{path}{anchor}", "../".repeat(depth)))
}

/// The text with new targets for the links for which there is one.
fn with_links(text: &str, target: impl Fn(&markdown::Link) -> Option<String>) -> String {
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for link in markdown::links(text) {
        let Some(changed) = target(&link) else { continue };
        // An image can be the text of a link; its own target comes before the link's.
        let Some(at) = text[link.range.clone()].rfind(&link.target).map(|at| link.range.start + at) else { continue };
        if at < done {
            continue;
        }
        new.push_str(&text[done..at]);
        new.push_str(&changed);
        done = at + link.target.len();
    }
    new.push_str(&text[done..]);
    new
}

/// A relative path with `/`.
fn in_url(path: &Path) -> String {
    path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_other_files_change() {
        let chapters = ["docs/guide/a.md".into(), "docs/ladders/b.md".into()].into();
        let text = "[b](../ladders/b.md#x) [c](../../src/c.rs) [d](https://d.org) ![e](e.svg)\n";
        let new = with_links(text, |link| outside(Path::new("docs/guide/a.md"), &chapters, link));
        let c = "../../../../src/c.rs";
        assert_eq!(new, format!("[b](../ladders/b.md#x) [c]({c}) [d](https://d.org) ![e](e.svg)\n"));
    }
}
