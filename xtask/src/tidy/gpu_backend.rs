//! Only a backend uses its device's crate: the GPU's `cuda_driver`, the simulator's `ptx_sim`. All other code of the
//! library is the same for both.

use super::known::covers;
use super::syntax::tokens;
use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str =
    "in `rustwarp`, only the files of their backends name the crates `cuda_driver` and `ptx_sim`";

/// A crate that few files may name.
struct Row {
    name: &'static str,
    /// Folder in which the rule holds; empty for the whole tree.
    within: &'static str,
    /// Files or folders that may name it.
    places: &'static [&'static str],
}

/// The crates of the backends.
const ROWS: &[Row] = &[
    Row { name: "cuda_driver", within: "crates/rustwarp/", places: &["crates/rustwarp/src/backend/gpu/"] },
    Row {
        name: "ptx_sim",
        within: "crates/rustwarp/",
        places: &[
            "crates/rustwarp/src/backend/sim/",
            "crates/rustwarp/src/backend/observed.rs",
            "crates/rustwarp/src/backend/occupancy.rs",
            "crates/rustwarp/src/backend/options.rs",
        ],
    },
];

/// Reports other files that name them.
pub fn check(tree: &Tree) -> Vec<Finding> {
    ROWS.iter().flat_map(|row| checked(tree, row)).collect()
}

fn checked(tree: &Tree, Row { name, within, places }: &Row) -> Vec<Finding> {
    let mut found = Vec::new();
    let others = tree.files.iter().filter(|file| !places.iter().any(|place| covers((place, ""), &file.path)));
    for file in others.filter(|file| file.path.starts_with(within)) {
        let tokens = tokens(&file.text);
        let mut pairs = tokens.iter().zip(tokens.iter().skip(1)).enumerate();
        let named = pairs.find(|(index, (word, next))| {
            let before = index.checked_sub(1).map_or("", |index| tokens[index].text);
            word.text == *name && (next.text == "::" && before != "::" || before == "use" || before == "crate")
        });
        if let Some((_, (word, _))) = named {
            let text = format!("this file names `{name}`, which only {} may: use the backend", places.join(", "));
            found.push(Finding::new(&file.path, word.line, text));
        }
    }
    let unused = places.iter().filter(|place| !tree.files.iter().any(|file| covers((place, ""), &file.path)));
    found.extend(unused.map(|place| super::known::unneeded("gpu_backend", place)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_that_names_cuda_driver_is_found() {
        let tree = Tree::of(&[
            ("gpu.rs", "use cuda_driver::memory::A;"),
            ("a.rs", "\nuse cuda_driver::module::B;"),
            ("b.rs", "fn f() { cuda_driver::init() }"),
            ("c.rs", "// cuda_driver::init\nuse x::cuda_driver::Y; fn cuda_driver() {}"),
        ]);
        let row = |within, places| Row { name: "cuda_driver", within, places };
        let found: Vec<_> =
            checked(&tree, &row("", &["gpu.rs"])).into_iter().map(|finding| (finding.path, finding.line)).collect();
        assert_eq!(found, [("a.rs".to_owned(), 2), ("b.rs".to_owned(), 1)]);
        assert!(
            checked(&tree, &row("", &["gpu.rs", "old.rs"])).iter().any(|finding| finding.text.contains("`old.rs`"))
        );
        assert_eq!(checked(&tree, &row("b", &[])).len(), 1, "the rule holds in one folder only");
    }
}
