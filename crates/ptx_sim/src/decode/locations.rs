//! Source locations from `.loc`: each distinct location once, with its chain of inlined calls.

use crate::files::Recorded;
use crate::hash::Map;
use crate::program::{File, Location};
use crate::syntax::tree::{DebugStrings, Loc};

/// Collects the locations of a module.
#[derive(Default)]
pub struct Locations<'t> {
    list: Vec<Location>,
    known: Map<Key<'t>, u32>,
    files: Vec<File>,
    numbers: Map<u32, u32>,
    /// The latest location with this file, line and column, which `inlined_at` refers to.
    latest: Map<(u32, u32, u32), u32>,
}

/// Identity of a location.
type Key<'t> = (u32, u32, u32, Option<(&'t str, u64)>, Option<u32>);

impl<'t> Locations<'t> {
    /// Creates a collection with the files of a module.
    pub fn new(files: &[(u32, String, Recorded)]) -> Self {
        let mut locations = Locations::default();
        for (number, name, recorded) in files {
            let index = locations.files.len() as u32;
            locations.files.push(File { name: name.clone(), recorded: recorded.clone() });
            locations.numbers.insert(*number, index);
        }
        locations
    }

    /// Starts a function: `inlined_at` never refers to a location of another function.
    pub fn start_function(&mut self) {
        self.latest.clear();
    }

    /// Returns the index of a location, and adds it if necessary.
    pub fn add(&mut self, loc: &Loc<'t>, strings: &DebugStrings<'_>) -> u32 {
        let inlined_at = loc.inlined_at.map(|at| match self.latest.get(&at) {
            Some(&place) => place,
            None => self.intern((at.0, at.1, at.2, None, None), strings),
        });
        let index = self.intern((loc.file, loc.line, loc.column, loc.function, inlined_at), strings);
        self.latest.insert((loc.file, loc.line, loc.column), index);
        index
    }

    fn intern(&mut self, key: Key<'t>, strings: &DebugStrings<'_>) -> u32 {
        if let Some(&index) = self.known.get(&key) {
            return index;
        }
        let (number, line, column, function, inlined_at) = key;
        let file = match self.numbers.get(&number) {
            Some(&file) => file,
            None => {
                let file = self.files.len() as u32;
                self.files.push(File { name: format!("<file {number}>"), recorded: Recorded::default() });
                self.numbers.insert(number, file);
                file
            }
        };
        let function = function.map(|(label, offset)| strings.get(label, offset).unwrap_or_else(|| label.to_string()));
        let index = self.list.len() as u32;
        self.list.push(Location { file, line, column, function, inlined_at });
        self.known.insert(key, index);
        index
    }

    /// Returns the locations, and the files that they refer to.
    pub fn finish(self) -> (Vec<Location>, Vec<File>) {
        (self.list, self.files)
    }
}
