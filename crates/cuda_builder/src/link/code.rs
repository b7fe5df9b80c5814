//! What a bitcode file says about each of its symbols, so that two versions of a file can be compared symbol by symbol.
//!
//! rustc puts all instances of a generic function of `core` into one file, whatever family asks for them. An edit of
//! one family changes that file, and the code that the other families take from it stays the same.
//!
//! The hash of a symbol covers its text with metadata, attributes and private constants replaced by their content:
//! their numbers shift when anything else in the file changes.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    rc::Rc,
};

use super::syntax::{name_end, string_end, symbol};

/// The symbols of one file.
#[derive(Debug, Default)]
pub(super) struct Code {
    symbols: HashMap<String, Symbol>,
}

#[derive(Debug)]
struct Symbol {
    hash: u64,
    /// Names of the symbols that it uses, in this file or another.
    uses: Vec<String>,
    kind: Kind,
}

/// How a file knows a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Defined for every file.
    Exported,
    /// Defined for this file only.
    Local,
    /// Defined elsewhere, or nowhere: dynamic shared memory has a declaration only.
    Declared,
}

impl Code {
    /// Reads a module in LLVM's textual form.
    pub fn parse(text: &str) -> Self {
        let module = Text::split(text);
        let mut hashes = Hashes { module: &module, known: HashMap::new(), open: Vec::new() };
        let symbols = module.symbols.iter().map(|&(name, kind, text)| {
            let (hash, uses) = hashes.symbol(text);
            (name.to_owned(), Symbol { hash, uses, kind })
        });
        Self { symbols: symbols.collect() }
    }
}

/// Lists of symbols that stay in a module without being reached.
const KEPT: [&str; 2] = ["llvm.used", "llvm.compiler.used"];

/// What `files` contain of the code that `roots` reach: each symbol with the hash of its code, or of its declaration.
pub(super) fn reached<'a>(files: &[&'a Code], roots: impl IntoIterator<Item = &'a str>) -> BTreeSet<(&'a str, u64)> {
    let exports = |file: &&Code, name: &str| file.symbols.get(name).is_some_and(|symbol| symbol.kind == Kind::Exported);
    let find = |name: &'a str| files.iter().position(|file| exports(file, name)).map(|file| (file, name));
    let mut pending: Vec<(usize, &str)> = roots.into_iter().filter_map(find).collect();
    // LLVM keeps what these lists name, whether it is reached or not. Each file has its own.
    for (index, file) in files.iter().enumerate() {
        pending.extend(KEPT.iter().filter(|list| file.symbols.contains_key(**list)).map(|&list| (index, list)));
    }
    let mut seen: HashSet<(usize, &str)> = pending.iter().copied().collect();
    let mut found = BTreeSet::new();
    while let Some((file, name)) = pending.pop() {
        let symbol = &files[file].symbols[name];
        found.insert((name, symbol.hash));
        let elsewhere = (symbol.kind == Kind::Declared).then(|| find(name)).flatten();
        let here = symbol.uses.iter().map(|used| (file, used.as_str()));
        let here = here.filter(|(file, used)| files[*file].symbols.contains_key(*used));
        pending.extend(here.chain(elsewhere).filter(|&place| seen.insert(place)));
    }
    found
}

/// The top-level items of a module's text.
#[derive(Default)]
struct Text<'a> {
    /// Functions and variables: name, kind and text.
    symbols: Vec<(&'a str, Kind, &'a str)>,
    /// Private constants, which have no identity.
    private: HashMap<&'a str, &'a str>,
    /// Metadata nodes, by number.
    metadata: HashMap<&'a str, &'a str>,
    /// Groups of attributes, by number.
    attributes: HashMap<&'a str, &'a str>,
}

impl<'a> Text<'a> {
    fn split(text: &'a str) -> Self {
        let mut out = Self::default();
        let mut rest = text;
        while !rest.is_empty() {
            let line = &rest[..rest.find('\n').map_or(rest.len(), |end| end + 1)];
            let length = if line.starts_with("define ") {
                rest.find("\n}").map_or(rest.len(), |end| end + "\n}".len())
            } else {
                line.len()
            };
            let (item, after) = rest.split_at(length);
            out.add(item.trim_end());
            rest = after;
        }
        out
    }

    fn add(&mut self, item: &'a str) {
        if item.starts_with("define ") || item.starts_with("declare ") {
            if let Some(at) = item.find('@') {
                let kind = kind(&item[..at], item.starts_with("declare "));
                self.symbols.push((symbol(&item[at..name_end(item, at)]), kind, item));
            }
        } else if item.starts_with('@') {
            let (name, value) = item.split_at(name_end(item, 0));
            let linkage = value.strip_prefix(" = ").unwrap_or(value);
            if linkage.starts_with("private ") {
                self.private.insert(symbol(name), value);
            } else {
                let declared = linkage.starts_with("external ") || linkage.starts_with("extern_weak ");
                self.symbols.push((symbol(name), kind(linkage, declared), item));
            }
        } else if item.starts_with('!') {
            if let Some((name, value)) = item.split_once(" = ") {
                self.metadata.insert(&name[1..], value);
            }
        } else if let Some((name, value)) = item.strip_prefix("attributes #").and_then(|rest| rest.split_once(" = ")) {
            self.attributes.insert(name, value);
        }
    }
}

/// The kind of a symbol whose linkage is among the words of `head`.
fn kind(head: &str, declared: bool) -> Kind {
    // Linkage precedes the type.
    let mut linkage = head.split_whitespace().take_while(|word| !word.starts_with(['(', '[', '{', '<', '@']));
    if declared {
        Kind::Declared
    } else if linkage.any(|word| word == "internal") {
        Kind::Local
    } else {
        Kind::Exported
    }
}

/// Hashes of a module's parts, each computed once.
struct Hashes<'a> {
    module: &'a Text<'a>,
    /// Hash of a part, and the symbols in it.
    known: HashMap<&'a str, (u64, Rc<BTreeSet<&'a str>>)>,
    /// The parts whose hash is being computed: metadata may contain itself.
    open: Vec<&'a str>,
}

impl<'a> Hashes<'a> {
    /// Hash of a function or variable, and the symbols that it uses.
    fn symbol(&mut self, text: &'a str) -> (u64, Vec<String>) {
        let mut hasher = DefaultHasher::new();
        let mut uses = BTreeSet::new();
        // Distinct nodes can have equal content, and their names change between builds. So a node is hashed by its
        // number in the order of first mention.
        let mut order: HashMap<&str, usize> = HashMap::new();
        self.walk(text, &mut hasher, &mut |part, hasher| match part {
            Part::Symbol(name) => drop(uses.insert(symbol(name))),
            Part::Node(name) => {
                let next = order.len();
                order.entry(name).or_insert(next).hash(hasher);
            }
        });
        (hasher.finish(), uses.into_iter().map(str::to_owned).collect())
    }

    /// Hash of what stands for `name`, a metadata node, a group of attributes or a private constant, and the symbols in
    /// it: a table of functions names code that is reached through it.
    fn part(&mut self, name: &'a str, text: &'a str) -> (u64, Rc<BTreeSet<&'a str>>) {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        if let Some(depth) = self.open.iter().rev().position(|open| *open == name) {
            return (depth as u64, Rc::default());
        }
        self.open.push(name);
        let mut hasher = DefaultHasher::new();
        let mut uses = BTreeSet::new();
        self.walk(text, &mut hasher, &mut |part, _| {
            if let Part::Symbol(name) = part {
                uses.insert(symbol(name));
            }
        });
        self.open.pop();
        let result = (hasher.finish(), Rc::new(uses));
        self.known.insert(name, result.clone());
        result
    }

    /// Feeds `text` to the hasher, with the content of what it names instead of the names, and reports these.
    fn walk(
        &mut self,
        text: &'a str,
        hasher: &mut DefaultHasher,
        report: &mut dyn FnMut(Part<'a>, &mut DefaultHasher),
    ) {
        let module = self.module;
        let bytes = text.as_bytes();
        let (mut at, mut copied) = (0, 0);
        while at < bytes.len() {
            let end = match bytes[at] {
                b'"' => {
                    at = string_end(text, at);
                    continue;
                }
                b'@' => name_end(text, at),
                b'!' | b'#' => digits_end(text, at + 1),
                _ => at + 1,
            };
            let name = &text[at..end];
            let content = match bytes[at] {
                b'@' => module.private.get(symbol(name)).copied(),
                b'!' => module.metadata.get(&name[1..]).copied(),
                b'#' => module.attributes.get(&name[1..]).copied(),
                _ => None,
            };
            if let Some(content) = content {
                text[copied..at].hash(hasher);
                let (hash, uses) = self.part(name, content);
                hash.hash(hasher);
                uses.iter().for_each(|used| report(Part::Symbol(used), hasher));
                copied = end;
            }
            match bytes[at] {
                b'@' if content.is_none() => report(Part::Symbol(name), hasher),
                b'!' if content.is_some() => report(Part::Node(name), hasher),
                _ => {}
            }
            at = end;
        }
        text[copied..].hash(hasher);
    }
}

/// What a text names.
enum Part<'a> {
    Symbol(&'a str),
    Node(&'a str),
}

fn digits_end(text: &str, start: usize) -> usize {
    text[start..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
@anon.1.0 = private unnamed_addr constant [3 x i8] c"a\22b", align 1
@anon.1.1 = private unnamed_addr constant <{ ptr }> <{ ptr @anon.1.0 }>, align 8
@anon.1.2 = private unnamed_addr constant <{ ptr, ptr }> <{ ptr @first, ptr @second }>, align 8
@TABLE = constant [4 x i8] zeroinitializer
@DYNAMIC = external global [0 x i8], section ".shared.dynamic", align 16
define void @"sum<f32>"(ptr %0) #0 !dbg !4 {
  call void @check(ptr @anon.1.1), !dbg !5
  %f = load ptr, ptr @anon.1.2
  call void %f(ptr @DYNAMIC)
  ret void, !dbg !6
}
define internal void @check(ptr %0) #1 !dbg !7 {
  %2 = load i32, ptr @TABLE
  call void @panic()
  ret void
}
define internal void @first() {
  store i32 1, ptr null
  ret void
}
define hidden void @second() {
  ret void
}
define void @other() {
  ret void
}
declare void @panic() #1
attributes #0 = { nounwind }
attributes #1 = { cold }
!4 = distinct !DISubprogram(name: "sum", line: 1)
!5 = !DILocation(line: 2, scope: !4)
!6 = !DILocation(line: 3, scope: !4)
!7 = distinct !{!7, !4}
"#;

    fn names(file: &str, root: &'static str) -> Vec<String> {
        let code = Code::parse(file);
        reached(&[&code], [root]).into_iter().map(|(name, _)| name.to_owned()).collect()
    }

    /// Whether the code that `root` reaches is the same in `FILE` and in a changed `FILE`.
    fn same(change: impl Fn(&str) -> String, root: &'static str) -> bool {
        let changed = change(FILE);
        assert_ne!(changed, FILE);
        let (old, new) = (Code::parse(FILE), Code::parse(&changed));
        reached(&[&old], [root]) == reached(&[&new], [root])
    }

    #[test]
    fn code_is_reached_through_calls_and_variables() {
        assert_eq!(names(FILE, "sum<f32>"), ["DYNAMIC", "TABLE", "check", "first", "panic", "second", "sum<f32>"]);
        assert_eq!(names(FILE, "other"), ["other"]);
        assert!(names(FILE, "panic").is_empty());
    }

    #[test]
    fn code_of_another_file_is_reached_through_its_declaration() {
        let first = Code::parse("define void @a() {\n  call void @b()\n}\ndeclare void @b()\n");
        let second = Code::parse("define hidden void @b() {\n  call void @c()\n}\ndefine internal void @c() {\n}\n");
        let local = Code::parse("define internal void @b() {\n}\n");
        let reached = |files: &[&Code]| reached(files, ["a"]).len();
        assert_eq!(reached(&[&first]), 2, "`a` and the declaration of `b`");
        assert_eq!(reached(&[&first, &second]), 4);
        assert_eq!(reached(&[&first, &local]), 2, "the function of another file that has the same name");
    }

    #[test]
    fn what_a_file_keeps_is_reached_without_a_root() {
        let file = |value: u32| {
            Code::parse(&format!(
                "@KEPT = global i32 {value}\n@OTHER = global i32 {value}\n\
                 @llvm.used = appending global [1 x ptr] [ptr @KEPT], section \"llvm.metadata\"\n"
            ))
        };
        let (old, new) = (file(1), file(2));
        let (old, new) = (reached(&[&old], []), reached(&[&new], []));
        assert_eq!(old.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["KEPT", "llvm.used"]);
        assert_ne!(old, new);
    }

    #[test]
    fn numbers_do_not_count() {
        assert!(same(|text| text.replace("!5", "!50").replace("!6", "!60"), "sum<f32>"));
        assert!(same(|text| text.replace("#0", "#7"), "sum<f32>"));
        assert!(same(|text| text.replace("@anon.1.0", "@anon.1.8").replace("@anon.1.1", "@anon.1.0"), "sum<f32>"));
        assert!(same(
            |text| text.replace("define void @other() {", "define void @other() {\n  unreachable"),
            "sum<f32>"
        ));
    }

    #[test]
    fn content_counts() {
        for (from, to) in [
            ("ret void, !dbg !6", "ret void, !dbg !5"),
            ("line: 3", "line: 4"),
            ("{ nounwind }", "{ cold }"),
            (r"a\22b", r"a\22c"),
            ("[4 x i8] zeroinitializer", "[5 x i8] zeroinitializer"),
            ("load i32", "load i64"),
            ("@panic()", "@abort()"),
            ("store i32 1", "store i32 2"),
            ("ptr @second }>", "ptr @first }>"),
            ("align 16", "align 8"),
            ("declare void @panic() #1", "declare void @panic() #0"),
        ] {
            assert!(!same(|text| text.replace(from, to), "sum<f32>"), "{from}");
        }
        assert!(same(|text| text.replace("load i32", "load i64"), "other"));
    }
}
