//! Graphs.

use super::State;
use crate::code::{Answer, Code};
use crate::model::{Executable, Graph, Handle, Node, Operation, Order, Step};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

impl State {
    /// Adds a node to a graph.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such graph, or a dependency is no node of it.
    pub fn add_node(&mut self, graph: Handle, kind: u32, operation: Operation, after: Vec<Handle>) -> Answer<Handle> {
        if after.iter().any(|node| self.nodes.get(node).is_none_or(|node| node.graph != graph)) {
            return Err(Code::INVALID_VALUE);
        }
        let node = self.handle();
        self.graphs.get_mut(&graph).ok_or(Code::INVALID_VALUE)?.nodes.push(node);
        self.nodes.insert(node, Node { graph, operation, kind, after });
        Ok(node)
    }

    /// Returns the nodes of a graph, each after those that it depends on, and their order.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such graph, or its dependencies form a cycle.
    pub fn sorted(&self, graph: Handle) -> Answer<(Vec<Step>, Arc<Order>)> {
        let nodes = &self.graphs.get(&graph).ok_or(Code::INVALID_VALUE)?.nodes;
        // By the order in which they were added, so that every launch runs them in the same order.
        let places: HashMap<Handle, usize> = nodes.iter().enumerate().map(|(at, node)| (*node, at)).collect();
        let mut left = vec![0; nodes.len()];
        let mut followers = vec![Vec::new(); nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            for before in self.nodes.get(node).into_iter().flat_map(|node| &node.after) {
                followers[*places.get(before).ok_or(Code::INVALID_VALUE)?].push(at);
                left[at] += 1;
            }
        }
        let mut ready: BTreeSet<usize> = (0..nodes.len()).filter(|at| left[*at] == 0).collect();
        let mut sorted = Vec::with_capacity(nodes.len());
        let (mut order, mut positions) = (Order::default(), vec![0; nodes.len()]);
        while let Some(at) = ready.pop_first() {
            positions[at] = sorted.len();
            order.numbers.push(at);
            let node = self.nodes.get(&nodes[at]).ok_or(Code::INVALID_VALUE)?;
            sorted.push((nodes[at], node.kind, node.operation.clone()));
            let mut after: Vec<usize> = node.after.iter().map(|before| positions[places[before]]).collect();
            after.sort_unstable();
            after.dedup();
            order.after.push(after);
            for follower in &followers[at] {
                left[*follower] -= 1;
                if left[*follower] == 0 {
                    ready.insert(*follower);
                }
            }
        }
        if sorted.len() < nodes.len() {
            return Err(Code::INVALID_VALUE);
        }
        Ok((sorted, Arc::new(order)))
    }

    /// Returns a graph as it can be launched.
    ///
    /// # Errors
    /// As [`State::sorted`].
    pub fn executable(&self, graph: Handle) -> Answer<Executable> {
        let (steps, order) = self.sorted(graph)?;
        let graph = self.graphs.get(&graph).ok_or(Code::INVALID_VALUE)?;
        let objects = graph.objects.values().map(|(object, _)| object.clone()).collect();
        Ok(Executable { steps, order, memory: graph.memory.clone(), objects })
    }

    /// Removes a graph with its nodes.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such graph.
    pub fn remove_graph(&mut self, graph: Handle) -> Answer {
        let known = self.graphs.remove(&graph).ok_or(Code::INVALID_VALUE)?;
        known.nodes.iter().for_each(|node| drop(self.nodes.remove(node)));
        self.release(known.memory);
        Ok(())
    }

    /// Frees memory that no other graph, executable graph or launch has.
    pub fn release(&mut self, memory: Vec<Arc<u64>>) {
        for address in memory.into_iter().filter_map(Arc::into_inner) {
            // The program may have freed it.
            let _ = self.free_block(address);
        }
    }

    /// Makes a copy of a graph, and returns it with the copies of its nodes.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such graph.
    pub fn clone_graph(&mut self, graph: Handle) -> Answer<Handle> {
        let known = self.graphs.get(&graph).ok_or(Code::INVALID_VALUE)?;
        let (nodes, memory, objects) = (known.nodes.clone(), known.memory.clone(), known.objects.clone());
        let copy = self.handle();
        self.graphs.insert(copy, Graph { nodes: Vec::new(), memory, objects });
        let mut copies: HashMap<Handle, Handle> = HashMap::new();
        for old in &nodes {
            copies.insert(*old, self.handle());
        }
        for old in &nodes {
            let Some(node) = self.nodes.get(old).cloned() else { continue };
            let after = node.after.iter().filter_map(|node| copies.get(node).copied()).collect();
            self.nodes.insert(copies[old], Node { graph: copy, after, ..node });
        }
        if let Some(graph) = self.graphs.get_mut(&copy) {
            graph.nodes = nodes.iter().map(|old| copies[old]).collect();
        }
        Ok(copy)
    }
}
