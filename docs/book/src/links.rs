//! Relative links of Markdown files: each leads to a file or folder of the project, and its anchor to a heading.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::{markdown, read};

/// The links that lead nowhere, one per line: file, line and reason.
///
/// # Errors
/// Fails if a file cannot be read.
pub fn broken(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in files {
        let text = read(root, path)?;
        for link in markdown::links(&text) {
            let Some((target, anchor)) = markdown::resolve(path, &link.target) else { continue };
            let line = text[..link.range.start].matches('\n').count() + 1;
            if let Some(reason) = reason(root, &target, anchor.as_deref())? {
                found.push(format!("{}:{line}: `{}` {reason}", path.display(), link.target));
            }
        }
    }
    Ok(found)
}

/// Why a link to this place is broken; `None` if it is not.
fn reason(root: &Path, target: &Path, anchor: Option<&str>) -> Result<Option<String>> {
    let place = root.join(target);
    if target.as_os_str().is_empty() || !place.exists() {
        return Ok(Some("leads to no file of the project".to_owned()));
    }
    let Some(anchor) = anchor else { return Ok(None) };
    if target.extension().is_none_or(|extension| extension != "md") {
        return Ok(Some("has an anchor, but leads to a file that is not Markdown".to_owned()));
    }
    let anchors = markdown::anchors(&read(root, target)?);
    let known = anchors.iter().any(|have| have == anchor);
    Ok((!known).then(|| format!("has no such heading there; there are {}", anchors.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_links_are_found() -> Result<()> {
        let folder = tempfile::tempdir()?;
        std::fs::write(
            folder.path().join("a.md"),
            "# One\n[x](b.md)\n[x](b.md#two)\n[x](c.md)\n[x](#one)\n[x](#no)\n",
        )?;
        std::fs::write(folder.path().join("b.md"), "# Two\n")?;
        let found = broken(folder.path(), &["a.md".into(), "b.md".into()])?;
        assert_eq!(
            found,
            [
                "a.md:4: `c.md` leads to no file of the project",
                "a.md:6: `#no` has no such heading there; there are one"
            ]
        );
        Ok(())
    }
}
