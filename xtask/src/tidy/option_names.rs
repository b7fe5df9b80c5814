//! Messages of the libraries do not name options of the command line, which their other users do not have.

use super::known::{self, Known};
use super::syntax::strings;
use super::tree::{File, Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "strings of `rustwarp` and `ladders` contain no option of the command line, such as `--n`";

/// The sources in question.
const PLACES: &[&str] = &["crates/rustwarp/src/", "crates/ladders/src/"];

/// Exceptions: files whose strings contain text of this form.
const KNOWN: &[Known] = &[
    ("crates/ladders/src/explain/html.rs", "custom properties of CSS"),
    ("crates/ladders/src/kernels/spelling.rs", "the one spelling of declared parameters and settings"),
];

/// Reports strings that contain an option.
pub fn check(tree: &Tree) -> Vec<Finding> {
    known::without("option_names", KNOWN, found(tree))
}

fn found(tree: &Tree) -> Vec<Finding> {
    let files = tree.files.iter().filter(|file| PLACES.iter().any(|place| file.path.starts_with(place)));
    files.flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Finding> {
    // Tests, which quote messages, are at the end of a file.
    let code = file.text.find("#[cfg(test)]").map_or(&*file.text, |tests| &file.text[..tests]);
    let named = strings(code).into_iter().filter_map(|string| Some((string.line, option(string.text)?)));
    let finding = |(line, option)| {
        let text = format!("the message names the option `{option}`: say what to change in the library's own words");
        Finding::new(&file.path, line, text)
    };
    named.map(finding).collect()
}

/// The first option in a text, or the place where a name is formatted as one; options of cargo commands are exempt.
fn option(text: &str) -> Option<&str> {
    let starts = text.match_indices("--").map(|(at, _)| at);
    let mut options = starts.filter(|&at| {
        let (before, after) = (&text[..at], &text[at + 2..]);
        let in_command = before.rfind("`cargo ").is_some_and(|command| !before[command + 1..].contains('`'));
        !before.ends_with('-') && after.starts_with(|c: char| c.is_ascii_lowercase() || c == '{') && !in_command
    });
    let at = options.next()?;
    let rest = &text[at..];
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_{}".contains(c)).unwrap_or(rest.len());
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_in_a_message_is_found() {
        let tree = Tree::of(&[
            (
                "crates/rustwarp/src/a.rs",
                "// --x\nf(\"use a smaller --n or input\");\ng(\"run `cargo x --arch sm_90`\");",
            ),
            ("crates/ladders/src/b.rs", "f(\"a -- b\", \"---\");\ng(format!(\"there is no --{name}\"));"),
            ("crates/ladders/src/c.rs", "f();\n#[cfg(test)]\nmod tests { f(\"--n\"); }"),
            ("crates/rustwarp/src/d.rs", "f(\"`cargo a`, then `b --c-d`\");"),
            ("host/src/e.rs", "f(\"--device sim\");"),
        ]);
        let found: Vec<_> = found(&tree).into_iter().map(|finding| finding.to_string()).collect();
        let options = ["b.rs:2: the message names the option `--{name}`", "a.rs:2: the message names the option `--n`"];
        assert!(options.iter().zip(&found).all(|(option, found)| found.contains(option)), "{found:?}");
        assert!(found.len() == 3 && found[2].contains("`--c-d`"), "{found:?}");
    }
}
