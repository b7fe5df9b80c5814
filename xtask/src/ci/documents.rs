//! The commands of the README and of the guide: CI runs them and compares what they print with what is quoted.
//!
//! An `sh` block has a command per line. A `console` block has commands after `$ `, each followed by lines that it
//! prints: these stand one after the other in the output, up to the amount of space; a line `…` stands for any lines,
//! and a line that ends in `…` for any rest of a line. A document's blocks run in order, each from the root of the
//! project; `cd` changes the folder for the rest of its block, and `~` is a folder in `target`, empty at first.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{command, workspace};

/// Settings for projects outside the workspace, as the tests have: without optimisation, and with the dependencies that
/// were fetched for this workspace.
pub const QUICK: [&str; 5] = [
    "--config=profile.dev.package.ptx_sim.opt-level=0",
    "--config=profile.dev.package.rustwarp-builder.opt-level=0",
    "--config=profile.dev.debug=false",
    "--config=profile.test.debug=false",
    "--offline",
];

/// Their target folder, relative to the root of the workspace; the tests use it, too.
pub const PROJECTS: &str = "target/tmp/projects";

/// A command of a document.
#[derive(Debug, PartialEq, Eq)]
struct Quoted<'t> {
    line: &'t str,
    /// Whether it is the first of its block.
    first: bool,
    /// Lines that it prints.
    output: Vec<&'t str>,
}

impl Quoted<'_> {
    /// Whether there is a line to compare.
    fn has_output(&self) -> bool {
        self.output.iter().any(|line| !matches!(line.trim(), "" | "…"))
    }

    /// Whether the quoted lines report a mistake, with which a command may fail.
    fn may_fail(&self) -> bool {
        self.output.iter().any(|line| ["error", "finding"].iter().any(|word| line.starts_with(word)))
    }
}

/// README.md and the chapters of the guide.
///
/// # Errors
/// Fails if the folder of the guide cannot be read.
pub fn paths() -> Result<Vec<PathBuf>> {
    let folder = workspace::root().join("docs/guide");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut chapters = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    chapters.sort();
    chapters.insert(0, workspace::root().join("README.md"));
    Ok(chapters)
}

/// Runs the commands of all documents. Those that embed the kernels come last: after that the command line would be
/// compiled anew.
///
/// # Errors
/// Fails at the first command that fails or does not print what is quoted.
pub fn run() -> Result<()> {
    let read = |path: PathBuf| -> Result<(PathBuf, String)> {
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((path, text))
    };
    let texts = paths()?.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    let mut documents: Vec<_> = texts.iter().map(|(path, text)| (path, commands(text))).collect();
    documents.retain(|(_, quoted)| !quoted.is_empty());
    documents.sort_by_key(|(_, quoted)| quoted.iter().any(|command| command.line.starts_with("cargo xtask embed")));
    for (path, quoted) in documents {
        eprintln!("the commands of {}:", path.display());
        let home = workspace::root().join("target/documents");
        if home.exists() {
            fs::remove_dir_all(&home).with_context(|| format!("cannot remove {}", home.display()))?;
        }
        fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
        let mut folder = workspace::root();
        for command in &quoted {
            if command.first {
                folder = workspace::root();
            }
            execute(command, &mut folder, &home).with_context(|| format!("{}: `{}`", path.display(), command.line))?;
        }
    }
    Ok(())
}

/// Runs one command in `folder`, or changes that.
fn execute(quoted: &Quoted<'_>, folder: &mut PathBuf, home: &Path) -> Result<()> {
    let at_home = |word: &str| match word.strip_prefix("~/") {
        Some(rest) => home.join(rest).display().to_string(),
        None => word.to_owned(),
    };
    let words: Vec<String> = quoted.line.split_whitespace().map(at_home).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["cd", to] => {
            *folder = folder.join(to);
            ensure!(folder.is_dir(), "there is no folder {}", folder.display());
        }
        // Both have run already.
        ["cargo", "xtask", "demo" | "test"] => {}
        ["cargo", arguments @ ..] => {
            let mut cargo = command::cargo();
            cargo.current_dir(&*folder);
            let examples = arguments.contains(&"examples/Cargo.toml");
            if examples || *folder != workspace::root() {
                cargo.args(QUICK).env("CARGO_TARGET_DIR", workspace::root().join(PROJECTS));
            }
            cargo.args(arguments);
            if !quoted.has_output() {
                return command::run(&mut cargo);
            }
            let output = cargo.output().context("cannot start cargo")?;
            let text =
                [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).join("\n");
            ensure!(output.status.success() || quoted.may_fail(), "it fails:\n{text}");
            prints(&text, &quoted.output)?;
        }
        _ => bail!("CI runs only `cargo` and `cd` there"),
    }
    Ok(())
}

/// The commands of the fenced `sh` and `console` blocks, in their order.
fn commands(text: &str) -> Vec<Quoted<'_>> {
    let mut found: Vec<Quoted<'_>> = Vec::new();
    let mut fence = None;
    let mut first = true;
    for line in text.lines() {
        let command = match (fence, line.strip_prefix("```")) {
            (Some(_), Some(_)) => {
                fence = None;
                continue;
            }
            (None, Some(kind)) => {
                (fence, first) = (Some(kind), true);
                continue;
            }
            (Some("sh"), None) => line.split(" #").next().map(str::trim).filter(|line| !line.is_empty()),
            (Some("console"), None) => line.strip_prefix("$ "),
            _ => continue,
        };
        match (command, found.last_mut()) {
            (Some(line), _) => found.push(Quoted { line, first: std::mem::take(&mut first), output: Vec::new() }),
            (None, Some(last)) if fence == Some("console") => last.output.push(line),
            (None, _) => {}
        }
    }
    found
}

/// Checks that a text contains the quoted lines.
fn prints(text: &str, quoted: &[&str]) -> Result<()> {
    let spaced = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed: Vec<String> = text.lines().map(spaced).filter(|line| !line.is_empty()).collect();
    let quoted: Vec<String> = quoted.iter().map(|line| spaced(line)).filter(|line| !line.is_empty()).collect();
    let mut rest = printed.as_slice();
    for (number, run) in quoted.split(|line| line == "…").filter(|run| !run.is_empty()).enumerate() {
        let fits = |lines: &[String]| lines.iter().zip(run).all(|(line, pattern)| matches(line, pattern));
        let Some(at) = rest.windows(run.len()).position(fits) else {
            bail!(
                "what it prints has no lines\n{}\n(part {} of the quoted ones) in\n{text}",
                run.join("\n"),
                number + 1
            );
        };
        rest = &rest[at + run.len()..];
    }
    Ok(())
}

fn matches(line: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('…') {
        Some(start) => line.starts_with(start.trim_end()),
        None => line == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_commands_and_their_output() {
        let text = "```sh\ncargo xtask demo   # first\n\ncd ~/x\n```\n```rust\nlet x = 1;\n```\n\
                    ```console\n$ cargo run -- list\na  b\n…\n```\n```text\n$ cargo no\n```\n";
        let [first, second, third] = [
            ("cargo xtask demo", true, vec![]),
            ("cd ~/x", false, vec![]),
            ("cargo run -- list", true, vec!["a  b", "…"]),
        ]
        .map(|(line, first, output)| Quoted { line, first, output });
        assert_eq!(commands(text), [first, second, third]);
    }

    #[test]
    fn a_command_fails_only_where_a_mistake_is_quoted() {
        // The output, whether there is something to compare, and whether the command may fail.
        for (output, compared, may_fail) in [
            (vec![], false, false),
            (vec!["", "…", "  "], false, false),
            (vec!["…", "sum 1"], true, false),
            (vec!["no error here"], true, false),
            (vec!["…", "error[E0425]: cannot find"], true, true),
            (vec!["finding[data-race]: two threads"], true, true),
        ] {
            let quoted = Quoted { line: "cargo run", first: true, output };
            assert_eq!((quoted.has_output(), quoted.may_fail()), (compared, may_fail), "{quoted:?}");
        }
    }

    #[test]
    fn quoted_lines_are_those_of_the_output() {
        let text = "one  1\ntwo 2\nthree 3\nfour 4\n";
        for quoted in
            [vec!["one 1"], vec!["two    2", "three 3"], vec!["one 1", "…", "four…"], vec!["…", "th…"], vec![]]
        {
            prints(text, &quoted).expect("quoted as printed");
        }
        for quoted in [vec!["one 2"], vec!["one 1", "three 3"], vec!["two 2", "…", "one 1"], vec!["o"]] {
            prints(text, &quoted).expect_err("quoted otherwise");
        }
    }
}
