//! The libraries that `host sanitize` hands to programs: the simulator's driver and the runtime libraries over it.

use anyhow::Context;
use ladders::error::Error;
use std::path::{Path, PathBuf};

/// A library: its file, the names by which programs load it, and its package.
struct Library {
    file: &'static str,
    names: &'static [&'static str],
    package: &'static str,
}

const DRIVER: Library = Library { file: "libcuda_sim.so", names: &["libcuda.so.1", "libcuda.so"], package: "cuda_sim" };

const RUNTIMES: [Library; 2] = [
    Library { file: "libcudart12_sim.so", names: &["libcudart.so.12"], package: "cudart12_sim" },
    Library { file: "libcudart13_sim.so", names: &["libcudart.so.13"], package: "cudart13_sim" },
];

/// Makes links in `folder` to the libraries, by the names under which programs load them. `driver` is the driver's
/// library, if it is not the one beside this program.
///
/// # Errors
/// Fails if a library is not there; the error names the command that builds all of them.
pub(super) fn link(driver: Option<&Path>, folder: &Path) -> anyhow::Result<()> {
    let given = driver.map(|path| {
        path.canonicalize().map_err(|error| Error::Usage(format!("no driver's library {}: {error}", path.display())))
    });
    let program = std::env::current_exe().context("finding this program")?;
    let mut folders: Vec<PathBuf> = program.ancestors().skip(1).take(2).map(Path::to_path_buf).collect();
    let driver = match given {
        Some(path) => {
            let path = path?;
            // A runtime library that was built with this driver is the first choice.
            folders.extend(path.parent().map(Path::to_path_buf));
            path
        }
        None => find(&DRIVER, &folders)?,
    };
    link_one(&DRIVER, &driver, folder)?;
    for library in &RUNTIMES {
        link_one(library, &find(library, &folders)?, folder)?;
    }
    Ok(())
}

fn link_one(library: &Library, file: &Path, folder: &Path) -> anyhow::Result<()> {
    for name in library.names {
        std::os::unix::fs::symlink(file, folder.join(name))
            .with_context(|| format!("linking {} as {name}", file.display()))?;
    }
    Ok(())
}

/// Finds a library in one of the folders or in `deps` there.
fn find(library: &Library, folders: &[PathBuf]) -> anyhow::Result<PathBuf> {
    let candidates = folders.iter().flat_map(|folder| ["", "deps"].map(|deps| folder.join(deps).join(library.file)));
    // The newest: cargo leaves an older one where it built it for itself alone.
    let built = |path: &PathBuf| path.metadata().and_then(|metadata| metadata.modified()).ok();
    candidates.filter(|path| built(path).is_some()).max_by_key(built).ok_or_else(|| {
        let all = [&DRIVER, &RUNTIMES[0], &RUNTIMES[1]].map(|library| format!("-p {}", library.package)).join(" ");
        let text = format!(
            "{} is not beside this program: build the libraries by `cargo build {all}`, with the profile of host, or \
             name the driver's by --library",
            library.file
        );
        Error::Usage(text).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_library_is_found_and_linked() {
        let root = tempfile::tempdir().expect("a folder");
        let (deps, links) = (root.path().join("deps"), root.path().join("links"));
        for folder in [&deps, &links] {
            std::fs::create_dir(folder).expect("a new folder");
        }
        let folders = [root.path().to_path_buf()];
        let [twelve, thirteen] = &RUNTIMES;
        std::fs::write(deps.join(twelve.file), "").expect("a file");
        let found = find(twelve, &folders).expect("it is in `deps`");
        assert_eq!(found, deps.join(twelve.file));
        link_one(twelve, &found, &links).expect("a link");
        assert_eq!(std::fs::read_link(links.join("libcudart.so.12")).expect("a link"), found);
        let error = find(thirteen, &folders).expect_err("there is none").to_string();
        assert!(error.contains("libcudart13_sim.so is not beside this program"), "{error}");
        assert!(error.contains("`cargo build -p cuda_sim -p cudart12_sim -p cudart13_sim`"), "{error}");
    }
}
