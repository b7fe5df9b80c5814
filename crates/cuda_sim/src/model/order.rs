//! The order of a graph's nodes.

use std::collections::HashSet;
use std::sync::Arc;

/// What the nodes of a graph depend on, by their positions in an order in which they can run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Of each node, the positions of those that it depends on, which are lower than its own.
    pub after: Vec<Vec<usize>>,
    /// Of each node, its number among the nodes of the graph, as they were added.
    pub numbers: Vec<usize>,
}

impl Order {
    /// Whether a path of dependencies leads from one node to another.
    fn has_path(&self, from: usize, to: usize) -> bool {
        let (mut open, mut seen) = (vec![to], HashSet::new());
        while let Some(at) = open.pop() {
            if at == from {
                return true;
            }
            // Those below cannot come after it.
            for before in self.after.get(at).into_iter().flatten().copied().filter(|before| *before >= from) {
                if seen.insert(before) {
                    open.push(before);
                }
            }
        }
        false
    }
}

/// A node of a graph that is launched: its position, after those of the nodes whose child graphs it is in.
#[derive(Clone, Debug, Default)]
pub struct Position(pub Vec<(Arc<Order>, usize)>);

impl Position {
    /// Whether this node of a launch comes before another one, or is the same.
    pub fn is_before(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        let differs = pairs.find(|((_, one), (_, other))| one != other);
        differs.is_none_or(|((order, one), (_, other))| order.has_path(*one, *other))
    }

    /// The numbers of the nodes, as `2`, or `2.0` for the first node of a child graph.
    pub fn shown(&self) -> String {
        let number = |(order, at): &(Arc<Order>, usize)| order.numbers.get(*at).unwrap_or(at).to_string();
        self.0.iter().map(number).collect::<Vec<_>>().join(".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_any_length() {
        let after = vec![vec![], vec![0], vec![0], vec![1, 2], vec![], vec![4, 3]];
        let order = Arc::new(Order { after, numbers: vec![3, 1, 2, 0, 4, 5] });
        let paths = |from| (0..6).filter(|to| order.has_path(from, *to)).collect::<Vec<_>>();
        assert_eq!(paths(0), [0, 1, 2, 3, 5]);
        assert_eq!((paths(1), paths(4)), (vec![1, 3, 5], vec![4, 5]));
        let [outer, inner] = [0, 1].map(|at| Position(vec![(order.clone(), 3), (order.clone(), at)]));
        assert!(outer.is_before(&inner) && outer.is_before(&outer) && !inner.is_before(&outer));
        assert_eq!(inner.shown(), "0.1");
        let other = Position(vec![(order, 4)]);
        assert!(!other.is_before(&inner) && !inner.is_before(&other));
    }
}
