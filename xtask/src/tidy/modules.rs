//! The modules of a crate, read from its files: children, items, imports, and the paths that the code names. Items that
//! only exist in tests are left out, because tests may refer to any module.

use std::collections::{BTreeMap, BTreeSet};

use super::cfg::is_for_tests;
use super::syntax::{Token, tokens};
use super::tree::Tree;

/// All modules of one target.
#[derive(Debug, Default)]
pub struct Crate {
    /// All modules; the first one is the root.
    pub modules: Vec<Module>,
    /// Module of each macro with `#[macro_export]`, by name.
    macros: BTreeMap<String, usize>,
}

/// A module: a whole file, or `mod name { … }` within a file.
#[derive(Debug, Default)]
pub struct Module {
    /// Path of its file.
    pub file: String,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths in the code, imports included.
    pub mentions: Vec<Mention>,
}

/// A name that `use` imports, or all names of a path (`None`).
#[derive(Clone, Debug)]
struct Import {
    path: Vec<String>,
    name: Option<String>,
}

/// An occurrence of a path in the code.
#[derive(Clone, Debug)]
pub struct Mention {
    /// Segments of the path.
    pub path: Vec<String>,
    /// Line number, from 1.
    pub line: usize,
}

/// File of a module, and the folder of its children's files.
#[derive(Clone, Copy)]
struct Place<'p> {
    file: &'p str,
    folder: &'p str,
}

impl Crate {
    /// Reads the target whose root is this file; missing files are left out.
    pub fn read(tree: &Tree, root: &str) -> Self {
        let mut made = Self::default();
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        made.file(tree, Place { file: root, folder }, None);
        made
    }

    fn file(&mut self, tree: &Tree, place: Place<'_>, parent: Option<usize>) -> Option<usize> {
        let file = tree.file(place.file)?;
        let module = self.add(place.file, parent);
        self.scan(tree, &tokens(&file.text), module, place);
        Some(module)
    }

    fn add(&mut self, file: &str, parent: Option<usize>) -> usize {
        self.modules.push(Module { file: file.to_owned(), parent, ..Module::default() });
        self.modules.len() - 1
    }

    /// Adds the items of a module.
    fn scan(&mut self, tree: &Tree, tokens: &[Token<'_>], module: usize, place: Place<'_>) {
        let at = |index: usize| tokens.get(index).map_or("", |token| token.text);
        let mut index = 0;
        let (mut for_tests, mut exported) = (false, false);
        while index < tokens.len() {
            match at(index) {
                "#" => {
                    let open = if at(index + 1) == "!" { index + 2 } else { index + 1 };
                    let end = closing(tokens, open);
                    let words: Vec<_> = tokens[open..end].iter().map(|token| token.text).collect();
                    let only_tests = is_for_tests(&words);
                    if only_tests && at(index + 1) == "!" {
                        // An attribute of the whole module.
                        return;
                    }
                    for_tests |= only_tests;
                    exported |= words.contains(&"macro_export");
                    index = end;
                    continue;
                }
                "pub" => {
                    index = if at(index + 1) == "(" { closing(tokens, index + 1) } else { index + 1 };
                    continue;
                }
                _ => {}
            }
            let end = item(tokens, index);
            if !for_tests {
                self.item(tree, &tokens[index..end], module, place, exported);
            }
            (for_tests, exported) = (false, false);
            index = end;
        }
    }

    /// Adds an item, whose tokens exclude its attributes.
    fn item(&mut self, tree: &Tree, tokens: &[Token<'_>], module: usize, place: Place<'_>, exported: bool) {
        let at = |index: usize| tokens.get(index).map_or("", |token| token.text);
        match at(0) {
            "mod" if at(2) == ";" => {
                let (name, folder) = (at(1), place.folder);
                let candidates = [
                    (format!("{folder}/{name}.rs"), format!("{folder}/{name}")),
                    (format!("{folder}/{name}/mod.rs"), format!("{folder}/{name}")),
                ];
                for (file, folder) in &candidates {
                    let place = Place { file: file.trim_start_matches('/'), folder: folder.trim_start_matches('/') };
                    if let Some(child) = self.file(tree, place, Some(module)) {
                        self.modules[module].children.insert(name.to_owned(), child);
                        break;
                    }
                }
            }
            "mod" if at(2) == "{" => {
                let child = self.add(place.file, Some(module));
                self.modules[module].children.insert(at(1).to_owned(), child);
                let folder = format!("{}/{}", place.folder, at(1));
                let body = &tokens[3..tokens.len().saturating_sub(1).max(3)];
                self.scan(tree, body, child, Place { file: place.file, folder: &folder });
            }
            "use" => {
                for (import, line) in imports(&tokens[1..]) {
                    self.modules[module].mentions.push(Mention { path: import.path.clone(), line });
                    self.modules[module].imports.push(import);
                }
            }
            _ => {
                let keywords = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules"];
                let named = tokens.iter().take_while(|token| !["{", "(", "=", ";"].contains(&token.text));
                let words: Vec<_> = named.map(|token| token.text).filter(|text| *text != "!").collect();
                let name = words.windows(2).find(|pair| keywords.contains(&pair[0]) && !keywords.contains(&pair[1]));
                if let Some([keyword, name]) = name {
                    self.modules[module].items.insert((*name).to_owned());
                    if exported && *keyword == "macro_rules" {
                        self.macros.insert((*name).to_owned(), module);
                    }
                }
                mentions(tokens, &mut self.modules[module].mentions);
            }
        }
    }

    /// Returns the module that a path names, or that defines the item that it names; `None` for items of other crates.
    pub fn resolve(&self, from: usize, path: &[String]) -> Option<usize> {
        self.resolve_within(from, path, 32)
    }

    fn resolve_within(&self, from: usize, path: &[String], steps: usize) -> Option<usize> {
        let steps = steps.checked_sub(1)?;
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(0, rest, steps),
            "self" => self.walk(from, rest, steps),
            "super" => {
                let mut module = self.modules[from].parent?;
                let mut rest = rest;
                while let Some(("super", others)) = rest.split_first().map(|(part, others)| (part.as_str(), others)) {
                    (module, rest) = (self.modules[module].parent?, others);
                }
                self.walk(module, rest, steps)
            }
            name => match (self.modules[from].children.get(name), self.import(from, name)) {
                (Some(child), _) => self.walk(*child, rest, steps),
                (None, Some(import)) if import.path.first() != Some(first) || import.path.len() > 1 => {
                    self.resolve_within(from, &[&import.path, rest].concat(), steps)
                }
                _ => None,
            },
        }
    }

    fn import(&self, module: usize, name: &str) -> Option<&Import> {
        self.modules[module].imports.iter().find(|import| import.name.as_deref() == Some(name))
    }

    /// Resolves a path relative to a module.
    fn walk(&self, module: usize, path: &[String], steps: usize) -> Option<usize> {
        let steps = steps.checked_sub(1)?;
        let Some((first, rest)) = path.split_first() else { return Some(module) };
        let here = &self.modules[module];
        if let Some(child) = here.children.get(first) {
            return self.walk(*child, rest, steps);
        }
        if let Some(import) = self.import(module, first) {
            return self.resolve_within(module, &[&import.path, rest].concat(), steps);
        }
        if here.items.contains(first) {
            return Some(module);
        }
        if let Some(defined) = self.macros.get(first).filter(|_| module == 0) {
            return Some(*defined);
        }
        let everything = here.imports.iter().filter(|import| import.name.is_none());
        let sources = everything.filter_map(|import| self.resolve_within(module, &import.path, steps));
        let source = sources.into_iter().find(|source| *source != module && self.provides(*source, first, steps));
        match source {
            Some(source) => self.walk(source, path, steps),
            // A macro generates the item.
            None => Some(module),
        }
    }

    fn provides(&self, module: usize, name: &str, steps: usize) -> bool {
        let Some(steps) = steps.checked_sub(1) else { return false };
        let here = &self.modules[module];
        let named = here.items.contains(name) || here.children.contains_key(name);
        named || self.import(module, name).is_some() || {
            let everything = here.imports.iter().filter(|import| import.name.is_none());
            let mut sources = everything.filter_map(|import| self.resolve_within(module, &import.path, steps));
            sources.any(|source| source != module && self.provides(source, name, steps))
        }
    }
}

/// Returns the index after the bracket that closes the one at `open`.
fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// Returns the index after the item that starts at `start`.
fn item(tokens: &[Token<'_>], start: usize) -> usize {
    // `const fn` ends as a function does.
    let value = match (tokens[start].text, tokens.get(start + 1).map_or("", |token| token.text)) {
        ("const", "fn" | "unsafe" | "extern") => false,
        (word, _) => ["const", "static", "type", "use"].contains(&word),
    };
    let mut index = start;
    while index < tokens.len() {
        match tokens[index].text {
            ";" => return index + 1,
            "{" if !value => return closing(tokens, index),
            "(" | "[" | "{" => index = closing(tokens, index),
            _ => index += 1,
        }
    }
    tokens.len()
}

/// Returns the imports of a `use`, given its tokens after the keyword up to the semicolon.
fn imports(tokens: &[Token<'_>]) -> Vec<(Import, usize)> {
    let mut found = Vec::new();
    branch(tokens, &mut 0, &[], &mut found);
    found
}

fn branch(tokens: &[Token<'_>], index: &mut usize, prefix: &[String], found: &mut Vec<(Import, usize)>) {
    let mut path = prefix.to_vec();
    let mut name = None;
    while let Some(token) = tokens.get(*index) {
        *index += 1;
        match token.text {
            "::" => {}
            "*" => {
                found.push((Import { path, name: None }, token.line));
                return;
            }
            "{" => {
                while tokens.get(*index).is_some_and(|token| token.text != "}") {
                    branch(tokens, index, &path, found);
                    if tokens.get(*index).is_some_and(|token| token.text == ",") {
                        *index += 1;
                    }
                }
                *index += 1;
                return;
            }
            "as" => {
                name = tokens.get(*index).map(|token| token.text.to_owned());
                *index += 1;
            }
            "," | "}" | ";" => {
                *index -= 1;
                break;
            }
            // `use a::{self}` imports `a`.
            "self" if !path.is_empty() => {}
            text => path.push(text.to_owned()),
        }
    }
    if let Some(last) = path.last().cloned() {
        let line = tokens.get(index.saturating_sub(1)).map_or(0, |token| token.line);
        found.push((Import { path, name: name.or(Some(last)) }, line));
    }
}

/// Collects the paths of at least two segments in an item's code, including those of a `use` in a function's body.
fn mentions(tokens: &[Token<'_>], found: &mut Vec<Mention>) {
    let at = |index: usize| tokens.get(index).map_or("", |token: &Token<'_>| token.text);
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let before = index.checked_sub(1).map_or("", at);
        if token.text == "use" && ["{", "}", ";"].contains(&before) {
            found.extend(
                imports(&tokens[index + 1..]).into_iter().map(|(import, line)| Mention { path: import.path, line }),
            );
            index = item(tokens, index);
            continue;
        }
        let mut end = index + 1;
        if token.is_word() && at(end) == "::" && before != "::" && before != "." {
            let mut path = vec![token.text.to_owned()];
            while at(end) == "::" && tokens.get(end + 1).is_some_and(Token::is_word) {
                path.push(at(end + 1).to_owned());
                end += 2;
            }
            found.push(Mention { path, line: token.line });
        }
        index = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_tests_name_nothing() {
        let files = [
            ("src/lib.rs", "#![cfg(unix)]\nmod a;\nmod b;\n#[cfg(all(test, unix))]\nmod tests { use crate::a::A; }"),
            ("src/a.rs", "#![cfg(all(test, unix))]\nuse crate::b::B;\nuse crate::b::C;"),
            ("src/b.rs", "#[cfg(any(test, unix))]\nuse crate::a::A;"),
        ];
        let found = Crate::read(&Tree::of(&files), "src/lib.rs");
        let mentions = found.modules.iter().filter(|module| !module.mentions.is_empty());
        assert_eq!(mentions.map(|module| module.file.as_str()).collect::<Vec<_>>(), ["src/b.rs"]);
    }
}
