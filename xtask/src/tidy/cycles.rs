//! Import cycles: files that need each other cannot be read, moved or tested separately. A file and its child may name
//! each other, because the child is a part of the file.

use std::collections::BTreeSet;

use super::graph::{Graph, is_parent};
use super::known::{covers, unneeded};
use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "no import cycle is larger than a file and its child";

/// Folders with cycles, the largest number of files in one of their strongly connected components, and the reason.
const KNOWN: &[(&str, usize, &str)] = &[
    ("crates/cuda_std/", 2, "`print!` and the text that it makes"),
    ("kernels-gpu/", 4, "a rung and the variant built on it share a tile"),
];

/// Reports import cycles.
pub fn check(tree: &Tree) -> Vec<Finding> {
    checked(tree, KNOWN)
}

fn checked(tree: &Tree, known: &[(&'static str, usize, &'static str)]) -> Vec<Finding> {
    let mut needed = BTreeSet::new();
    let mut found = Vec::new();
    for package in &tree.packages {
        let graph = Graph::of(tree, package);
        for component in graph.components() {
            let Some(cycle) = cycle(&graph, &component) else { continue };
            let exception = known.iter().find(|(folder, most, why)| {
                component.len() <= *most && component.iter().all(|file| covers((folder, why), file))
            });
            match exception {
                Some((folder, ..)) => {
                    needed.insert(*folder);
                }
                None => found.push(finding(&graph, &cycle, component.len())),
            }
        }
    }
    found.extend(known.iter().filter(|(folder, ..)| !needed.contains(folder)).map(|known| unneeded("cycles", known.0)));
    found
}

/// The smallest cycle that is not a file and its child, if there is one; its first file is not repeated at the end.
fn cycle<'g>(graph: &'g Graph, component: &BTreeSet<&'g str>) -> Option<Vec<&'g str>> {
    let edges =
        || graph.edges.keys().filter(|(from, to)| component.contains(from.as_str()) && component.contains(to.as_str()));
    let pair = edges().find(|(from, to)| graph.has(to, from) && !is_parent(from, to) && !is_parent(to, from));
    if let Some((from, to)) = pair {
        return Some(vec![from, to]);
    }
    // The direct edge is excluded, so each path closes a cycle with the edge that it replaces.
    let cycles = edges().filter_map(|(from, to)| graph.detour(component, to, from));
    cycles.min_by_key(Vec::len)
}

fn finding(graph: &Graph, cycle: &[&str], all: usize) -> Finding {
    let next = cycle.iter().cycle().skip(1);
    let steps = cycle.iter().zip(next).map(|(from, to)| format!("{from}:{} -> {to}", graph.line(from, to)));
    let text = format!(
        "import cycle, in a strongly connected component of {all} files: {}; move the shared items to a file below \
        both",
        steps.collect::<Vec<_>>().join(", ")
    );
    Finding::new(cycle[0], graph.line(cycle[0], cycle[1 % cycle.len()]), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], known: &[(&'static str, usize, &'static str)]) -> Vec<String> {
        let tree = Tree::of_crate("x", "src/lib.rs", files);
        checked(&tree, known).into_iter().map(|finding| finding.to_string()).collect()
    }

    const SIBLINGS: &[(&str, &str)] = &[
        ("src/lib.rs", "mod a;\nmod b;"),
        ("src/a.rs", "pub struct A;\nuse super::b::B;"),
        ("src/b.rs", "pub struct B;\nfn f(_: crate::a::A) {}"),
    ];

    #[test]
    fn siblings_that_import_each_other_are_found() {
        let found = found(SIBLINGS, &[]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("src/a.rs:2: import cycle") && found[0].contains("src/b.rs:2 -> src/a.rs"),
            "{found:?}"
        );
    }

    #[test]
    fn an_exception_has_a_size_and_is_needed() {
        assert_eq!(found(SIBLINGS, &[("src/", 2, "why")]), Vec::<String>::new());
        assert_eq!(found(SIBLINGS, &[("src/", 1, "why")]).len(), 2);
        assert_eq!(found(&SIBLINGS[..1], &[("src/", 2, "why")]).len(), 1);
    }

    #[test]
    fn a_file_and_its_child_may_import_each_other() {
        let parent = ("src/lib.rs", "mod a;\nmod b;\npub struct L;\nfn f(_: a::A, _: b::B) {}");
        let child = ("src/a.rs", "pub struct A(super::L);");
        let star = [parent, child, ("src/b.rs", "pub struct B(super::L);")];
        assert_eq!(found(&star, &[]), Vec::<String>::new());
        let ring = [parent, child, ("src/b.rs", "pub struct B(crate::a::A);")];
        assert_eq!(found(&ring, &[]).len(), 1, "lib -> b -> a -> lib");
    }
}
