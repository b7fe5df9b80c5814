//! Reduces debug information to `.loc` directives, since debug sections would turn off ptxas's optimiser, and names
//! source files independently of the machine.

use std::path::{Component, Path, PathBuf};

use crate::{
    link::syntax::{escape, unescape},
    options::DebugInfo,
};

/// Changes the kind of debug information that a compile unit requests.
pub(super) fn shorten(line: &str, debug: DebugInfo) -> String {
    if debug != DebugInfo::LineTables || !line.contains("DICompileUnit(") {
        return line.to_owned();
    }
    line.replace("emissionKind: LineTablesOnly", "emissionKind: DebugDirectivesOnly")
        .replace("emissionKind: FullDebug", "emissionKind: DebugDirectivesOnly")
}

/// Replaces a source file's name and directory by one path without `..`: relative to the workspace if the file is in
/// it, else absolute.
pub(super) fn rename(line: &str, workspace: &Path) -> String {
    let parts = || {
        let (head, rest) = line.split_once("!DIFile(filename: \"")?;
        let (name, rest) = rest.split_once("\", directory: \"")?;
        let (directory, rest) = rest.split_once('"')?;
        Some((head, name, directory, rest))
    };
    let Some((head, name, directory, rest)) = parts() else { return line.to_owned() };
    let (directory, name) = (unescape(directory), unescape(name));
    let path = without_dots(&Path::new(&directory).join(name));
    let path = escape(&path.strip_prefix(workspace).unwrap_or(&path).to_string_lossy());
    format!("{head}!DIFile(filename: \"{path}\", directory: \"\"{rest}")
}

fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir && out.file_name().is_some() {
            out.pop();
        } else {
            out.push(part);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_tables_become_directives_and_full_stays() {
        let unit =
            "!1 = distinct !DICompileUnit(language: DW_LANG_Rust, emissionKind: LineTablesOnly, nameTableKind: None)";
        assert!(shorten(unit, DebugInfo::LineTables).contains("emissionKind: DebugDirectivesOnly"));
        assert_eq!(shorten(unit, DebugInfo::Full), unit);
    }

    #[test]
    fn files_are_named_the_same_on_every_machine() {
        let renamed = |text: &str| rename(text, Path::new("/home/me/work"));
        assert_eq!(
            renamed(concat!(
                r#"!1 = !DIFile(filename: "k/src/lib.rs", directory: "/home/me/work", "#,
                r#"checksumkind: CSK_MD5, checksum: "1")"#
            )),
            r#"!1 = !DIFile(filename: "k/src/lib.rs", directory: "", checksumkind: CSK_MD5, checksum: "1")"#
        );
        assert_eq!(
            renamed(r#"!1 = !DIFile(filename: "src/../../stdarch/x.rs", directory: "/rust/library/core")"#),
            r#"!1 = !DIFile(filename: "/rust/library/stdarch/x.rs", directory: "")"#
        );
        assert_eq!(
            rename(r#"!1 = !DIFile(filename: "k/\C3\BC.rs", directory: "/home/m\C3\BC")"#, Path::new("/home/mü")),
            r#"!1 = !DIFile(filename: "k/\C3\BC.rs", directory: "")"#
        );
        assert_eq!(renamed("!1 = !{}"), "!1 = !{}");
    }
}
