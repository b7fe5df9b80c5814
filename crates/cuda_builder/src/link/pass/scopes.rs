//! Merges source locations that differ only in their lexical block. Line tables name functions and files, not blocks,
//! and rustc gives every `let` a block: without them the text of a module is half as long.

use std::{borrow::Cow, collections::HashMap};

use crate::{link::syntax::string_end, options::DebugInfo};

/// The module with every location in its function, or in the macro's file if that differs from the function's.
pub(super) fn flatten(module: &str, debug: DebugInfo) -> Cow<'_, str> {
    let Some(start) = module.find("\n!0 = ").filter(|_| debug == DebugInfo::LineTables) else {
        return Cow::Borrowed(module);
    };
    // Metadata ends the module; named metadata precedes the numbered nodes.
    let (code, nodes) = module.split_at(start + 1);
    let nodes = Nodes::parse(nodes);
    let mut merged = Merged { nodes: &nodes, alias: vec![None; nodes.list.len()], locations: HashMap::new() };
    let mut out = String::with_capacity(module.len() / 2);
    merged.rename(code, &mut out);
    for number in 0..nodes.list.len() {
        let text = nodes.list[number];
        if !text.is_empty() && merged.of(number) == number {
            out.push_str(&format!("!{number} = "));
            merged.rename(text, &mut out);
            out.push('\n');
        }
    }
    Cow::Owned(out)
}

/// The numbered nodes of a module.
struct Nodes<'a> {
    /// Text of each node after `= `; empty where there is none.
    list: Vec<&'a str>,
}

impl<'a> Nodes<'a> {
    fn parse(text: &'a str) -> Self {
        let mut list = Vec::new();
        for line in text.lines() {
            let node = line.strip_prefix('!').and_then(|rest| rest.split_once(" = "));
            let Some((number, text)) = node.and_then(|(number, text)| Some((number.parse::<usize>().ok()?, text)))
            else {
                continue;
            };
            if list.len() <= number {
                list.resize(number + 1, "");
            }
            list[number] = text;
        }
        Self { list }
    }

    /// The number in a node's field.
    fn field(&self, node: usize, name: &str) -> Option<usize> {
        let text = self.list.get(node)?;
        number(&text[text.find(name)? + name.len()..]).0
    }
}

/// Which node stands for which.
struct Merged<'a> {
    nodes: &'a Nodes<'a>,
    alias: Vec<Option<usize>>,
    /// Locations by line, column, scope and the call that they were inlined into.
    locations: HashMap<(&'a str, usize, Option<usize>), usize>,
}

impl<'a> Merged<'a> {
    /// The node that stands for `node`.
    fn of(&mut self, node: usize) -> usize {
        let Some(&known) = self.alias.get(node) else { return node };
        if let Some(alias) = known {
            return alias;
        }
        // Only scopes and calls are followed, which form no circle; the node itself stands until it is known.
        self.alias[node] = Some(node);
        let text: &'a str = self.nodes.list[node];
        let alias = if text.contains("!DILexicalBlock") {
            self.block(node)
        } else if let Some(fields) = text.strip_prefix("!DILocation(") {
            self.location(node, fields)
        } else {
            node
        };
        self.alias[node] = Some(alias);
        alias
    }

    /// A block's scope, unless the block is in another file.
    fn block(&mut self, node: usize) -> usize {
        let Some(scope) = self.nodes.field(node, "scope: !") else { return node };
        let scope = self.of(scope);
        let file = |node| self.nodes.field(node, "file: !");
        if file(scope).is_some() && file(scope) == file(node) { scope } else { node }
    }

    /// The first location with the same content.
    fn location(&mut self, node: usize, fields: &'a str) -> usize {
        let Some(place) = fields.find("scope: !").map(|end| &fields[..end]) else { return node };
        let Some(scope) = self.nodes.field(node, "scope: !") else { return node };
        let call = self.nodes.field(node, "inlinedAt: !").map(|call| self.of(call));
        let scope = self.of(scope);
        *self.locations.entry((place, scope, call)).or_insert(node)
    }

    /// Copies `text`, with each node's number replaced by that of the node that stands for it.
    fn rename(&mut self, text: &str, out: &mut String) {
        let bytes = text.as_bytes();
        let (mut at, mut copied) = (0, 0);
        while at < bytes.len() {
            match bytes[at] {
                b'"' => at = string_end(text, at),
                b'!' => {
                    let (found, length) = number(&text[at + 1..]);
                    let start = at + 1;
                    at = start + length;
                    if let Some(node) = found.map(|node| (node, self.of(node))).filter(|(node, other)| node != other) {
                        out.push_str(&text[copied..start]);
                        out.push_str(&node.1.to_string());
                        copied = at;
                    }
                }
                _ => at += 1,
            }
        }
        out.push_str(&text[copied..]);
    }
}

/// The number at the start of `text`, and its length.
fn number(text: &str) -> (Option<usize>, usize) {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (text[..length].parse().ok(), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = r#"define void @f() !dbg !4 {
  store i32 0, ptr %0, !dbg !7
  store i32 1, ptr %0, !dbg !8
  store i32 2, ptr %0, !dbg !9
  store i32 3, ptr %0, !dbg !10
  ret void, !dbg !11
}
!llvm.dbg.cu = !{!2}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!2 = distinct !DICompileUnit(file: !3)
!3 = !DIFile(filename: "a!5.rs", directory: "")
!4 = distinct !DISubprogram(name: "f", scope: !3, file: !3, unit: !2)
!5 = distinct !DILexicalBlock(scope: !4, file: !3, line: 2, column: 3)
!6 = !DILexicalBlockFile(scope: !5, file: !13, discriminator: 0)
!7 = !DILocation(line: 3, column: 1, scope: !5)
!8 = !DILocation(line: 3, column: 1, scope: !4)
!9 = !DILocation(line: 3, column: 1, scope: !6)
!10 = !DILocation(line: 9, column: 1, scope: !4, inlinedAt: !7)
!11 = !DILocation(line: 9, column: 1, scope: !5, inlinedAt: !8)
!13 = !DIFile(filename: "macro.rs", directory: "")
"#;

    #[test]
    fn equal_places_are_one_location() {
        let out = flatten(MODULE, DebugInfo::LineTables);
        for line in [
            "  store i32 0, ptr %0, !dbg !7",
            "  store i32 1, ptr %0, !dbg !7",
            "  ret void, !dbg !10",
            "!7 = !DILocation(line: 3, column: 1, scope: !4)",
            "!10 = !DILocation(line: 9, column: 1, scope: !4, inlinedAt: !7)",
        ] {
            assert!(out.lines().any(|found| found == line), "{line} in {out}");
        }
        assert!(!out.contains("!8 =") && !out.contains("!11 =") && !out.contains("DILexicalBlock("), "{out}");
    }

    #[test]
    fn the_file_of_a_macro_stays() {
        let out = flatten(MODULE, DebugInfo::LineTables);
        assert!(out.contains("!dbg !9\n") && out.contains("!9 = !DILocation(line: 3, column: 1, scope: !6)"), "{out}");
        assert!(out.contains("!6 = !DILexicalBlockFile(scope: !4, file: !13, discriminator: 0)"), "{out}");
    }

    #[test]
    fn names_that_look_like_nodes_stay() {
        assert!(flatten(MODULE, DebugInfo::LineTables).contains(r#"filename: "a!5.rs""#));
    }

    #[test]
    fn full_debug_information_keeps_its_blocks() {
        assert_eq!(flatten(MODULE, DebugInfo::Full), MODULE);
        assert_eq!(flatten("define void @f() {\n}\n", DebugInfo::LineTables), "define void @f() {\n}\n");
    }
}
