//! `cargo generate` takes the template as `cargo xtask new` does.
//!
//! It runs every file through the template language Liquid, where `{{` and `{%` begin expressions and tags; `cargo
//! xtask new` replaces the two placeholders only. Both give the same project if there is no other construct.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The placeholders: `cargo generate` asks for the address, and has the name.
const PLACEHOLDERS: [&str; 2] = ["{{project-name}}", "{{repository}}"];

/// The constructs of Liquid in a text, other than the placeholders, with the number of their line.
fn constructs(text: &str) -> Vec<(usize, String)> {
    let without = PLACEHOLDERS.iter().fold(text.to_owned(), |text, placeholder| text.replace(placeholder, ""));
    let starts = |line: &&str| ["{{", "}}", "{%", "%}"].iter().any(|start| line.contains(start));
    let lines = without.lines().enumerate();
    lines.filter(|(_, line)| starts(line)).map(|(at, line)| (at + 1, line.trim().to_owned())).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn the_template_has_no_construct_but_its_placeholders() {
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates/project"));
    let read = |path: &PathBuf| fs::read_to_string(path).expect("text");
    let found: Vec<_> =
        files.iter().map(|path| (path, constructs(&read(path)))).filter(|(_, f)| !f.is_empty()).collect();
    assert!(found.is_empty(), "Liquid would evaluate {found:?}: write it in another way");
    for placeholder in PLACEHOLDERS {
        assert!(files.iter().any(|path| read(path).contains(placeholder)), "{placeholder} occurs nowhere");
    }
}

#[test]
fn constructs_are_found() {
    assert_eq!(constructs("name = \"{{project-name}}\"\ngit = {{repository}}"), []);
    let text = "a\nrun: ${{ github.sha }}\n{% if x %}\nformat!(\"{{}}\")\n{{ project-name }}";
    assert_eq!(constructs(text).iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 4, 5]);
}
