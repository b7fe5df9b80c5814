//! Source files as they are now, each located, read and hashed once.

use super::find::{self, Unavailable};
use super::recorded::Recorded;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

/// What is known of a source file on this machine.
#[derive(Debug)]
pub(crate) struct Opened {
    /// Path and content of the text that was compiled.
    pub found: Result<(PathBuf, String), Unavailable>,
    /// Path for display.
    pub shown: String,
}

impl Opened {
    /// Looks for the text that was compiled.
    pub fn new(file: &str, recorded: &Recorded) -> Self {
        let found = find::text(file, recorded);
        let shown = find::shown(file, recorded, found.as_ref().ok().map(|(path, _)| path.as_path()));
        Self { found, shown }
    }

    /// Returns the text that was compiled; `None` if it is not available.
    pub fn text(&self) -> Option<&str> {
        self.found.as_ref().ok().map(|(_, text)| text.as_str())
    }
}

/// The files of one report, or of one list of lines. It is not kept longer, since files change.
#[derive(Debug, Default)]
pub(crate) struct Files(RefCell<Vec<(String, Recorded, Rc<Opened>)>>);

impl Files {
    /// Returns a file, and reads it at the first call for it. Files of one name may belong to several workspaces.
    pub fn open(&self, file: &str, recorded: &Recorded) -> Rc<Opened> {
        let mut files = self.0.borrow_mut();
        if let Some((.., opened)) = files.iter().find(|(name, record, _)| name == file && record == recorded) {
            return opened.clone();
        }
        let opened = Rc::new(Opened::new(file, recorded));
        files.push((file.to_owned(), recorded.clone(), opened.clone()));
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once_and_names_of_two_workspaces_are_two_files() {
        let folder = std::env::temp_dir().join(format!("ptx_sim-opened-{}", std::process::id()));
        let texts = ["fn first() {}\n", "fn second() {}\n"];
        let records = [0, 1].map(|at| {
            let root = folder.join(at.to_string());
            std::fs::create_dir_all(root.join("src")).expect("a folder");
            std::fs::write(root.join("src/kernels.rs"), texts[at]).expect("a file");
            Recorded { md5: Some(md5::compute(texts[at]).0), root: Some(root.display().to_string().into()) }
        });
        let files = Files::default();
        let opened = [0, 1].map(|at| files.open("src/kernels.rs", &records[at]));
        assert_eq!(opened.each_ref().map(|file| file.text()), texts.map(Some));
        std::fs::remove_dir_all(folder).expect("removed");
        assert!(Rc::ptr_eq(&files.open("src/kernels.rs", &records[1]), &opened[1]), "it is not read again");
    }
}
