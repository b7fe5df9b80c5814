//! Import cycles: files that need each other cannot be read, moved or tested separately. A file and its child may name
//! each other, because the child is a part of the file.

use std::collections::BTreeSet;

use super::graph::{Graph, is_parent};
use super::known::unneeded;
use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "no import cycle is larger than a file and its child";

/// The files of a strongly connected component that may have cycles, in the order of their paths, and the reason.
type Cycle = (&'static [&'static str], &'static str);

/// Cycles that are accepted.
const KNOWN: &[Cycle] = &[
    (&["crates/cuda_std/src/io.rs", "crates/cuda_std/src/text.rs"], "`print!` and the text that it makes"),
    (
        &[
            "kernels-gpu/src/segreduce/best/join.rs",
            "kernels-gpu/src/segreduce/best/mod.rs",
            "kernels-gpu/src/segreduce/best/tile.rs",
            "kernels-gpu/src/segreduce/scan.rs",
        ],
        "the scan of the tiles' ends, a file of its own, reads the tile of the kernel that it is part of",
    ),
];

/// Reports import cycles.
pub fn check(tree: &Tree) -> Vec<Finding> {
    checked(tree, KNOWN)
}

fn checked(tree: &Tree, known: &[Cycle]) -> Vec<Finding> {
    let mut needed = BTreeSet::new();
    let mut found = Vec::new();
    for package in &tree.packages {
        let graph = Graph::of(tree, package);
        for component in graph.components() {
            let Some(cycle) = cycle(&graph, &component) else { continue };
            match known.iter().position(|(files, _)| component.iter().eq(files.iter())) {
                Some(exception) => {
                    needed.insert(exception);
                }
                None => found.push(finding(&graph, &cycle, &component)),
            }
        }
    }
    let rest = known.iter().enumerate().filter(|(number, _)| !needed.contains(number));
    found.extend(rest.map(|(_, (files, _))| unneeded("cycles", &files.join(", "))));
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

fn finding(graph: &Graph, cycle: &[&str], component: &BTreeSet<&str>) -> Finding {
    let next = cycle.iter().cycle().skip(1);
    let steps = cycle.iter().zip(next).map(|(from, to)| format!("{from}:{} -> {to}", graph.line(from, to)));
    let text = format!(
        "import cycle, in a strongly connected component of {} files: {}; move the shared items to a file below \
        both (the component: {})",
        component.len(),
        steps.collect::<Vec<_>>().join(", "),
        component.iter().copied().collect::<Vec<_>>().join(", ")
    );
    Finding::new(cycle[0], graph.line(cycle[0], cycle[1 % cycle.len()]), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)], known: &[Cycle]) -> Vec<String> {
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
    fn an_exception_names_every_file_and_is_needed() {
        let both: &[&str] = &["src/a.rs", "src/b.rs"];
        assert_eq!(found(SIBLINGS, &[(both, "why")]), Vec::<String>::new());
        for other in [&["src/a.rs"][..], &["src/a.rs", "src/b.rs", "src/c.rs"], &["src/a.rs", "src/c.rs"]] {
            assert_eq!(found(SIBLINGS, &[(other, "why")]).len(), 2, "{other:?}");
        }
        assert_eq!(found(&SIBLINGS[..1], &[(both, "why")]).len(), 1);
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
