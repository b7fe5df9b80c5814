//! Vector clock over all blocks: a persistent tree from block to [`Entry`].
//!
//! With ten thousand blocks that each are ordered after all earlier ones, separate clocks would take a hundred million
//! numbers. The trees share their common parts: a change copies the path to one leaf, and a union visits only the parts
//! that differ.

use super::entry::Entry;
use std::sync::Arc;

const BITS: u32 = 4;
const FAN: usize = 1 << BITS;

#[derive(Debug)]
enum Node {
    Leaf([Option<Arc<Entry>>; FAN]),
    Inner([Option<Arc<Node>>; FAN]),
}

/// Entries by block; clones are cheap.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    root: Option<Arc<Node>>,
    /// Levels of inner nodes above the leaves.
    height: u32,
}

impl Tree {
    /// Returns the entry of a block.
    #[inline]
    pub fn get(&self, block: u32) -> Option<&Arc<Entry>> {
        let mut node = self.root.as_deref()?;
        let mut level = self.height;
        if u64::from(block) >> (BITS * (level + 1)) != 0 {
            return None;
        }
        loop {
            let at = digit(block, level);
            match node {
                Node::Leaf(entries) => return entries[at].as_ref(),
                Node::Inner(nodes) => node = nodes[at].as_deref()?,
            }
            level = level.saturating_sub(1);
        }
    }

    /// Whether the tree has no entries.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Adds the entry of a block.
    pub fn insert(&mut self, block: u32, entry: &Arc<Entry>) {
        while u64::from(block) >> (BITS * (self.height + 1)) != 0 {
            self.raise();
        }
        self.root = Some(with(self.root.as_ref(), self.height, block, entry));
    }

    /// Covers lanes of a warp of a block up to `time`.
    pub fn cover(&mut self, block: u32, warp: u8, lanes: u32, time: u32) {
        if lanes != 0 {
            let mut entry = self.get(block).map_or_else(Entry::default, |entry| Entry::clone(entry));
            entry.cover(warp, lanes, time);
            self.insert(block, &Arc::new(entry));
        }
    }

    /// Whether both are one tree in memory, and thus equal.
    #[inline]
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.root, &other.root) {
            (Some(mine), Some(theirs)) => Arc::ptr_eq(mine, theirs),
            (mine, theirs) => mine.is_none() && theirs.is_none(),
        }
    }

    /// Adds all entries of `other`.
    pub fn join(&mut self, other: &Self) {
        let Some(theirs) = &other.root else { return };
        let Some(mine) = &self.root else {
            *self = other.clone();
            return;
        };
        if Arc::ptr_eq(mine, theirs) {
            return;
        }
        let mut other = other.clone();
        while self.height < other.height {
            self.raise();
        }
        while other.height < self.height {
            other.raise();
        }
        if let (Some(mine), Some(theirs)) = (&self.root, &other.root) {
            self.root = Some(joined(mine, theirs));
        }
    }

    /// Adds a level; the present blocks become its first branch.
    fn raise(&mut self) {
        if let Some(root) = self.root.take() {
            let mut nodes: [Option<Arc<Node>>; FAN] = Default::default();
            nodes[0] = Some(root);
            self.root = Some(Arc::new(Node::Inner(nodes)));
        }
        self.height += 1;
    }
}

fn digit(block: u32, level: u32) -> usize {
    (block >> (BITS * level)) as usize & (FAN - 1)
}

fn with(node: Option<&Arc<Node>>, level: u32, block: u32, entry: &Arc<Entry>) -> Arc<Node> {
    let at = digit(block, level);
    match node.map(Arc::as_ref) {
        Some(Node::Leaf(entries)) => {
            let new = entries[at].as_ref().map_or_else(|| entry.clone(), |old| Entry::join(old, entry));
            let mut entries = entries.clone();
            entries[at] = Some(new);
            Arc::new(Node::Leaf(entries))
        }
        Some(Node::Inner(nodes)) => {
            let mut nodes = nodes.clone();
            nodes[at] = Some(with(nodes[at].as_ref(), level - 1, block, entry));
            Arc::new(Node::Inner(nodes))
        }
        None if level == 0 => {
            let mut entries: [Option<Arc<Entry>>; FAN] = Default::default();
            entries[at] = Some(entry.clone());
            Arc::new(Node::Leaf(entries))
        }
        None => {
            let mut nodes: [Option<Arc<Node>>; FAN] = Default::default();
            nodes[at] = Some(with(None, level - 1, block, entry));
            Arc::new(Node::Inner(nodes))
        }
    }
}

/// Returns the union of two nodes. If one covers the other, it is returned itself, so that nodes stay shared.
fn joined(a: &Arc<Node>, b: &Arc<Node>) -> Arc<Node> {
    if Arc::ptr_eq(a, b) {
        return a.clone();
    }
    match (a.as_ref(), b.as_ref()) {
        (Node::Leaf(x), Node::Leaf(y)) => choose(a, b, x, y, Entry::join, Node::Leaf),
        (Node::Inner(x), Node::Inner(y)) => choose(a, b, x, y, joined, Node::Inner),
        // Trees of equal height have leaves at equal depth.
        _ => a.clone(),
    }
}

fn choose<T>(
    a: &Arc<Node>,
    b: &Arc<Node>,
    x: &[Option<Arc<T>>; FAN],
    y: &[Option<Arc<T>>; FAN],
    join: impl Fn(&Arc<T>, &Arc<T>) -> Arc<T>,
    node: impl Fn([Option<Arc<T>>; FAN]) -> Node,
) -> Arc<Node> {
    let both: [Option<Arc<T>>; FAN] = std::array::from_fn(|at| match (&x[at], &y[at]) {
        (Some(x), Some(y)) => Some(join(x, y)),
        (one, other) => one.as_ref().or(other.as_ref()).cloned(),
    });
    let same = |these: &[Option<Arc<T>>; FAN]| {
        both.iter().zip(these).all(|pair| match pair {
            (Some(both), Some(this)) => Arc::ptr_eq(both, this),
            (None, None) => true,
            _ => false,
        })
    };
    if same(x) {
        a.clone()
    } else if same(y) {
        b.clone()
    } else {
        Arc::new(node(both))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(time: u32) -> Arc<Entry> {
        Arc::new(Entry::whole(time))
    }

    #[test]
    fn far_blocks_are_found() {
        let mut tree = Tree::default();
        for block in [0, 15, 16, 4095, 1 << 20, u32::MAX] {
            tree.insert(block, &entry(block / 2 + 1));
        }
        assert_eq!(tree.get(4095).map(Arc::as_ref), Some(&Entry::whole(2048)));
        assert_eq!(tree.get(u32::MAX).map(Arc::as_ref), Some(&Entry::whole(u32::MAX / 2 + 1)));
        assert!(tree.get(17).is_none() && tree.get(1 << 30).is_none());
    }

    #[test]
    fn joins_share_the_covering_tree() {
        let mut all = Tree::default();
        for block in 0..10_000 {
            all.insert(block, &entry(2));
        }
        let mut few = Tree::default();
        few.insert(3, &entry(1));
        let mut copy = few.clone();
        copy.join(&all);
        assert!(matches!((&copy.root, &all.root), (Some(a), Some(b)) if Arc::ptr_eq(a, b)));
        few.insert(20_000, &entry(7));
        copy.join(&few);
        assert_eq!(copy.get(20_000).map(Arc::as_ref), Some(&Entry::whole(7)));
        assert_eq!(copy.get(3).map(Arc::as_ref), Some(&Entry::whole(2)));
    }
}
