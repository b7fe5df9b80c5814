//! `cargo xtask tidy`: the project's rules on structure and text, which no compiler checks.
//!
//! [`RULES`] lists them. Each rule is a pure function from the [`Tree`] to findings, in a file of its own, with a test
//! that plants a violation. Exceptions are lists in the rule's file, each entry with its reason; an entry that is no
//! longer needed is a finding, too.

mod cfg;
mod crates;
mod cycles;
mod exhaustive;
mod expectations;
mod gpu_backend;
mod graph;
mod known;
mod layers;
mod long_files;
mod long_lines;
mod module_files;
mod module_text;
mod modules;
mod option_names;
mod syntax;
mod tree;
mod tune_marks;
mod upward;

use std::{fmt::Write, process::ExitCode};

use anyhow::{Result, bail};

use crate::workspace;
use tree::{Finding, Tree};

/// A rule of the project.
struct Rule {
    /// Name, printed with each finding.
    name: &'static str,
    /// Requirement, for help and documentation.
    requires: &'static str,
    /// Returns the findings, in any order.
    check: fn(&Tree) -> Vec<Finding>,
}

/// All rules; the command and its help read this table.
const RULES: &[Rule] = &[
    Rule { name: "crates", requires: crates::REQUIRES, check: crates::check },
    Rule { name: "layers", requires: layers::REQUIRES, check: layers::check },
    Rule { name: "cycles", requires: cycles::REQUIRES, check: cycles::check },
    Rule { name: "upward", requires: upward::REQUIRES, check: upward::check },
    Rule { name: "backends", requires: gpu_backend::REQUIRES, check: gpu_backend::check },
    Rule { name: "module-files", requires: module_files::REQUIRES, check: module_files::check },
    Rule { name: "module-text", requires: module_text::REQUIRES, check: module_text::check },
    Rule { name: "long-files", requires: long_files::REQUIRES, check: long_files::check },
    Rule { name: "long-lines", requires: long_lines::REQUIRES, check: long_lines::check },
    Rule { name: "expectations", requires: expectations::REQUIRES, check: expectations::check },
    Rule { name: "exhaustive", requires: exhaustive::REQUIRES, check: exhaustive::check },
    Rule { name: "option-names", requires: option_names::REQUIRES, check: option_names::check },
    Rule { name: "tune-marks", requires: tune_marks::REQUIRES, check: tune_marks::check },
];

/// Checks the working tree; fails if a rule is violated.
///
/// # Errors
/// Fails if a rule is violated, or the sources cannot be read.
pub fn run() -> Result<ExitCode> {
    let tree = Tree::read(&workspace::root())?;
    let mut broken = 0;
    for rule in RULES {
        let mut findings = (rule.check)(&tree);
        findings.sort();
        for finding in &findings {
            println!("{}: {finding}", rule.name);
        }
        broken += findings.len();
    }
    if broken > 0 {
        bail!("{broken} findings; `cargo xtask tidy --help` explains the rules");
    }
    println!("tidy: {} rules hold in {} files", RULES.len(), tree.files.len());
    Ok(ExitCode::SUCCESS)
}

/// The rules, for `--help`.
pub fn help() -> String {
    RULES.iter().fold("Rules:\n".to_owned(), |mut text, rule| {
        // Writing to a string can't fail.
        let _ = writeln!(text, "  {:<13} {}", rule.name, rule.requires);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_working_tree_is_tidy() {
        let tree = Tree::read(&workspace::root()).expect("the sources");
        assert!(tree.files.len() > 500, "{} files", tree.files.len());
        let found: Vec<_> = RULES
            .iter()
            .flat_map(|rule| (rule.check)(&tree).into_iter().map(|finding| format!("{}: {finding}", rule.name)))
            .collect();
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    #[test]
    fn the_printed_help_lists_every_rule() {
        let mut command = crate::command_line();
        let tidy = command.find_subcommand_mut("tidy").expect("the task");
        // Not wrapped, which `clap` does where another crate of the build enables it.
        let help = tidy.clone().term_width(0).render_help().to_string();
        for rule in RULES {
            let row = format!("{} {}", rule.name, rule.requires);
            let is_row = |line: &str| line.split_whitespace().eq(row.split_whitespace());
            assert!(help.lines().any(is_row), "`{}` is missing in:\n{help}", rule.name);
        }
    }

    /// The table of CONTRIBUTING.md has these rows and no others, in the order of [`RULES`].
    #[test]
    fn contributing_lists_every_rule() {
        let text = std::fs::read_to_string(workspace::root().join("CONTRIBUTING.md")).expect("a file");
        let (_, table) = text.split_once("| rule | requires |\n|---|---|\n").expect("the table of rules");
        let listed: Vec<_> = table.lines().take_while(|line| line.starts_with('|')).collect();
        let rows = RULES.iter().map(|rule| format!("| `{}` | {} |", rule.name, rule.requires));
        assert_eq!(listed, rows.collect::<Vec<_>>(), "CONTRIBUTING.md differs from `cargo xtask tidy --help`");
    }

    /// Cargo checks the workspace's own lock file only.
    #[test]
    fn lock_files_outside_the_workspace_list_what_ptx_sim_depends_on() {
        let tree = Tree::read(&workspace::root()).expect("the sources");
        let package = tree.packages.iter().find(|package| package.name == "ptx_sim").expect("the package");
        assert!(!package.dependencies.is_empty());
        for path in ["bench/simulators/Cargo.lock", "crates/ptx_sim/fuzz/Cargo.lock"] {
            let text = std::fs::read_to_string(workspace::root().join(path)).expect("a file");
            let (_, entry) = text.split_once("name = \"ptx_sim\"\n").expect("the package");
            let entry = entry.split("[[package]]").next().unwrap_or_default();
            // A version follows the name where the file has several.
            let listed = |name: &str| ["\"", " "].iter().any(|end| entry.contains(&format!(" \"{name}{end}")));
            for name in &package.dependencies {
                assert!(listed(name), "{path} lacks `{name}`: run `cargo metadata` there");
            }
        }
    }
}
