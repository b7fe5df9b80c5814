//! The layers of `ptx_sim`: a module names only those below its layer. Modules of one layer do not name each other,
//! except in the last one.

use super::graph::Graph;
use super::known::unneeded;
use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "a module of `ptx_sim` names only those of the layers below: the table is in layers.rs";

/// The package with the layers.
const PACKAGE: &str = "ptx_sim";

const SOURCES: &str = "crates/ptx_sim/src/";

/// Layers of `ptx_sim`, the lowest first, with their modules.
const LAYERS: &[(&str, &[&str])] = &[
    ("files", &["files", "hash"]),
    ("ground", &["syntax", "registers", "stop", "tensor", "texture"]),
    ("lanes", &["lanes", "level", "profile", "diagnostics"]),
    ("isa", &["isa"]),
    ("program", &["program"]),
    ("decode and memory", &["decode", "memory"]),
    ("observe", &["observe"]),
    ("occupancy", &["occupancy"]),
    ("machine", &["machine"]),
    ("count", &["count"]),
    ("observers", &["accesses", "check", "trace"]),
    ("top", &["session", "harness", "explain", "fidelity", "lib"]),
];

/// Exceptions: modules that name one above them or beside them, with reasons.
const KNOWN: &[(&str, &str, &str)] = &[];

/// Reports imports of a higher layer, and of another module of the same layer.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(package) = tree.packages.iter().find(|package| package.name == PACKAGE) else {
        let text = format!("the workspace has no package `{PACKAGE}`, whose layers are checked: name it in layers.rs");
        return vec![Finding::new("Cargo.toml", 1, text)];
    };
    checked(tree, &Graph::of(tree, package), KNOWN)
}

fn checked(tree: &Tree, graph: &Graph, known: &[(&str, &str, &str)]) -> Vec<Finding> {
    let ours = tree.files.iter().filter(|file| file.path.starts_with(SOURCES));
    let unknown = ours.filter(|file| layer(&file.path).is_none()).map(|file| {
        let text = format!("`{}` has no layer: give it one in xtask/src/tidy/layers.rs", module(&file.path));
        Finding::new(&file.path, 1, text)
    });
    let upward: Vec<_> = graph
        .edges
        .iter()
        .filter_map(|((from, to), line)| {
            let (low, high) = (layer(from)?, layer(to)?);
            let beside = low == high && low + 1 < LAYERS.len() && module(from) != module(to);
            (low < high || beside).then_some((module(from), module(to), from, line, LAYERS[low].0, LAYERS[high].0))
        })
        .collect();
    let is_known = |from: &str, to: &str| known.iter().any(|known| (known.0, known.1) == (from, to));
    let wrong = upward.iter().filter(|(from, to, ..)| !is_known(from, to)).map(|(from, to, file, line, low, high)| {
        let text = format!(
            "`{from}` (layer {low}) names `{to}` (layer {high}), which is not below it: reverse the dependency"
        );
        Finding::new(file, **line, text)
    });
    let is_needed = |known: &(&str, &str, &str)| upward.iter().any(|(from, to, ..)| (*from, *to) == (known.0, known.1));
    let rest = known
        .iter()
        .filter(|known| !is_needed(known))
        .map(|(from, to, _)| unneeded("layers", &format!("{from} -> {to}")));
    unknown.chain(wrong).chain(rest).collect()
}

/// Returns the top-level module that a file belongs to.
fn module(path: &str) -> &str {
    let inner = path.strip_prefix(SOURCES).unwrap_or(path);
    inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs")
}

fn layer(path: &str) -> Option<usize> {
    path.strip_prefix(SOURCES)?;
    LAYERS.iter().position(|(_, modules)| modules.contains(&module(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], known: &[(&str, &str, &str)]) -> Vec<String> {
        let tree = Tree::of_crate("ptx_sim", "crates/ptx_sim/src/lib.rs", files);
        let graph = Graph::of(&tree, &tree.packages[0]);
        checked(&tree, &graph, known).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn an_import_of_a_higher_layer_is_found() {
        let files = [
            ("crates/ptx_sim/src/lib.rs", "mod machine; mod check; mod syntax;"),
            ("crates/ptx_sim/src/machine/mod.rs", "mod warp;\nuse crate::syntax::T;"),
            ("crates/ptx_sim/src/machine/warp.rs", "\nuse crate::check::Race;"),
            ("crates/ptx_sim/src/check.rs", "pub struct Race(crate::machine::M);"),
            ("crates/ptx_sim/src/syntax.rs", "pub struct T;"),
        ];
        let found_here = found(&files, &[]);
        assert_eq!(found_here.len(), 1, "{found_here:?}");
        assert!(
            found_here[0].starts_with("crates/ptx_sim/src/machine/warp.rs:2: `machine` (layer machine) names `check`")
        );
        assert_eq!(found(&files, &[("machine", "check", "why")]), Vec::<String>::new());
        assert!(found(&files[..1], &[("machine", "check", "why")])[0].contains("no longer needed"));
    }

    #[test]
    fn an_import_of_a_neighbour_is_found_except_at_the_top() {
        let files = [
            ("crates/ptx_sim/src/lib.rs", "mod memory; mod decode; mod session; mod explain;"),
            ("crates/ptx_sim/src/memory.rs", "mod cells;\npub struct M;"),
            ("crates/ptx_sim/src/memory/cells.rs", "use crate::memory::M;"),
            ("crates/ptx_sim/src/decode.rs", "\n\nuse crate::memory::M;"),
            ("crates/ptx_sim/src/session.rs", "use crate::explain::E;"),
            ("crates/ptx_sim/src/explain.rs", "pub struct E;"),
        ];
        let found = found(&files, &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/ptx_sim/src/decode.rs:3: `decode`"), "{found:?}");
    }

    #[test]
    fn a_missing_package_is_found() {
        let found = check(&Tree::of_crate("other", "src/lib.rs", &[("src/lib.rs", "")]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].text.starts_with("the workspace has no package `ptx_sim`"), "{found:?}");
    }

    #[test]
    fn a_new_module_needs_a_layer() {
        assert!(found(&[("crates/ptx_sim/src/news.rs", "")], &[])[0].contains("`news` has no layer"));
    }
}
