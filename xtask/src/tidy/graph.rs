//! Dependencies between files: an edge is an import or a path that refers to an item of another file of the same
//! package. Re-exports are followed to the definition.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::modules::Crate;
use super::tree::{Package, Tree};

/// The dependencies between the files of a package.
#[derive(Debug, Default)]
pub struct Graph {
    /// Naming file and named file, with the first line that names it.
    pub edges: BTreeMap<(String, String), usize>,
}

impl Graph {
    /// Builds the graph of one package.
    pub fn of(tree: &Tree, package: &Package) -> Self {
        let mut graph = Self::default();
        for root in &package.roots {
            let target = Crate::read(tree, root);
            for (index, module) in target.modules.iter().enumerate() {
                for mention in &module.mentions {
                    let found = target.resolve(index, &mention.path).map(|to| target.modules[to].file.clone());
                    if let Some(to) = found.filter(|to| *to != module.file) {
                        let line = graph.edges.entry((module.file.clone(), to)).or_insert(mention.line);
                        *line = mention.line.min(*line);
                    }
                }
            }
        }
        graph
    }

    /// Whether a file names another.
    pub fn has(&self, from: &str, to: &str) -> bool {
        self.edges.contains_key(&(from.to_owned(), to.to_owned()))
    }

    /// Returns the first line at which a file names another; 0 if there is none.
    pub fn line(&self, from: &str, to: &str) -> usize {
        self.edges.get(&(from.to_owned(), to.to_owned())).copied().unwrap_or(0)
    }

    /// Returns the strongly connected components of at least two files.
    pub fn components(&self) -> Vec<BTreeSet<&str>> {
        let next = self.next();
        let reached: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|file| (*file, reach(&next, file))).collect();
        let mut components: Vec<BTreeSet<&str>> = Vec::new();
        for (file, to) in &reached {
            if !to.contains(file) || components.iter().any(|component| component.contains(file)) {
                continue;
            }
            let back = |other: &&&str| reached.get(**other).is_some_and(|to| to.contains(file));
            components.push(to.iter().filter(back).copied().collect());
        }
        components
    }

    /// Returns the shortest path from one file to another within a component, without the direct edge.
    pub fn detour<'g>(&'g self, component: &BTreeSet<&'g str>, from: &'g str, to: &'g str) -> Option<Vec<&'g str>> {
        let next = self.next();
        let mut before = BTreeMap::from([(from, from)]);
        let mut queue = VecDeque::from([from]);
        while let Some(file) = queue.pop_front() {
            for other in next.get(file).into_iter().flatten().filter(|other| component.contains(**other)) {
                if (file == from && *other == to) || before.contains_key(other) {
                    continue;
                }
                before.insert(other, file);
                if *other == to {
                    let mut way = vec![to];
                    while let Some(previous) =
                        way.last().and_then(|file| before.get(file)).filter(|_| way.last() != Some(&from))
                    {
                        way.push(previous);
                    }
                    way.reverse();
                    return Some(way);
                }
                queue.push_back(other);
            }
        }
        None
    }

    fn next(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut next: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (from, to) in self.edges.keys() {
            next.entry(from).or_default().push(to);
        }
        next
    }
}

/// Returns the files that can be reached from a file; the file itself only if it is on a cycle.
fn reach<'g>(next: &BTreeMap<&'g str, Vec<&'g str>>, from: &str) -> BTreeSet<&'g str> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&str> = next.get(from).cloned().unwrap_or_default();
    while let Some(file) = left.pop() {
        if reached.insert(file) {
            left.extend(next.get(file).into_iter().flatten());
        }
    }
    reached
}

/// Whether a file's module is the parent of another's.
pub fn is_parent(parent: &str, child: &str) -> bool {
    let Some((folder, name)) = child.rsplit_once('/') else { return false };
    let folder = match name {
        "mod.rs" => folder.rsplit_once('/').map_or("", |(folder, _)| folder),
        _ => folder,
    };
    parent.rsplit_once('/').is_some_and(|(own, name)| own == folder && ["mod.rs", "lib.rs", "main.rs"].contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(files: &[(&str, &str)]) -> Vec<(String, String, usize)> {
        let tree = Tree::of_crate("x", "src/lib.rs", files);
        let graph = Graph::of(&tree, &tree.packages[0]);
        graph.edges.into_iter().map(|((from, to), line)| (from, to, line)).collect()
    }

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let short = |path: &str| path.trim_start_matches("src/").trim_end_matches(".rs").to_owned();
        graph(files).into_iter().map(|(from, to, line)| format!("{}:{line}>{}", short(&from), short(&to))).collect()
    }

    #[test]
    fn paths_lead_to_the_file_that_defines() {
        let found = edges(&[
            ("src/lib.rs", "mod a;\npub mod b;\npub use b::c::C;\nuse std::fmt;\nfn f() { a::f() }"),
            ("src/a.rs", "use crate::C;\n// use crate::b::B;\npub fn f(x: super::b::B) { fmt::g(\"crate::b\") }"),
            ("src/b/mod.rs", "pub mod c;\npub struct B;\n#[cfg(test)]\nmod tests { use crate::a; }"),
            ("src/b/c.rs", "use super::*;\npub struct C(B);\nfn g() { use crate::a::{self, f as h}; }"),
        ]);
        assert_eq!(found, ["a:1>b/c", "a:3>b/mod", "b/c:3>a", "b/c:1>b/mod", "lib:5>a", "lib:3>b/c"]);
    }

    #[test]
    fn macros_and_globs_lead_to_their_file() {
        let found = edges(&[
            ("src/lib.rs", "mod m;\nmod a;\nmod b;\npub use b::*;"),
            ("src/m.rs", "#[macro_export]\nmacro_rules! each { () => { $crate::b::B } }"),
            ("src/a.rs", "const X: [u8; 2] = [1; 2];\nfn f() { crate::each!(crate::B) }"),
            ("src/b.rs", "pub enum B {}"),
        ]);
        assert_eq!(found, ["a:2>b", "a:2>m", "lib:4>b", "m:2>b"]);
    }

    #[test]
    fn a_child_lies_in_its_parents_folder() {
        assert!(is_parent("src/lib.rs", "src/a.rs") && is_parent("src/lib.rs", "src/a/mod.rs"));
        assert!(is_parent("src/a/mod.rs", "src/a/b.rs") && !is_parent("src/a/mod.rs", "src/a/b/c.rs"));
        assert!(!is_parent("src/a.rs", "src/b.rs") && !is_parent("src/lib.rs", "src/a/b.rs"));
    }
}
