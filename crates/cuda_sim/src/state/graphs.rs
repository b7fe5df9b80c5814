//! Graphs, and the capture of streams into them.

use super::State;
use crate::code::{Answer, Code};
use crate::model::{Capture, Graph, Handle, Node, Operation, kind_of};
use std::collections::HashMap;

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

    /// Adds an operation of a stream that is captured.
    ///
    /// # Errors
    /// As [`State::add_node`].
    pub fn capture(&mut self, stream: Handle, operation: Operation) -> Answer {
        let capture = self.streams.get(&stream).and_then(|stream| stream.capture.clone());
        let Some(Capture { graph, after, .. }) = capture else { return Err(Code::INVALID_VALUE) };
        let kind = kind_of(&operation);
        let node = self.add_node(graph, kind, operation, after)?;
        if let Some(capture) = self.streams.get_mut(&stream).and_then(|stream| stream.capture.as_mut()) {
            capture.after = vec![node];
        }
        Ok(())
    }

    /// Returns the nodes of a graph, each after those that it depends on.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such graph, or its dependencies form a cycle.
    pub fn sorted(&self, graph: Handle) -> Answer<Vec<(Handle, u32, Operation)>> {
        let nodes = &self.graphs.get(&graph).ok_or(Code::INVALID_VALUE)?.nodes;
        let mut left: HashMap<Handle, usize> = HashMap::new();
        for node in nodes {
            left.insert(*node, self.nodes.get(node).map_or(0, |node| node.after.len()));
        }
        let mut sorted = Vec::with_capacity(nodes.len());
        while sorted.len() < nodes.len() {
            // In the order in which they were added, so that every launch runs them in the same order.
            let next = nodes.iter().find(|node| left.get(node) == Some(&0)).ok_or(Code::INVALID_VALUE)?;
            left.remove(next);
            for node in nodes.iter().filter_map(|node| Some((node, self.nodes.get(node)?))) {
                let times = node.1.after.iter().filter(|after| *after == next).count();
                if let Some(left) = left.get_mut(node.0) {
                    *left -= times;
                }
            }
            let node = self.nodes.get(next).ok_or(Code::INVALID_VALUE)?;
            sorted.push((*next, node.kind, node.operation.clone()));
        }
        Ok(sorted)
    }

    /// Makes a copy of a graph, and returns it with the copies of its nodes.
    ///
    /// # Errors
    /// `INVALID_VALUE` if there is no such graph.
    pub fn clone_graph(&mut self, graph: Handle) -> Answer<Handle> {
        let nodes = self.graphs.get(&graph).ok_or(Code::INVALID_VALUE)?.nodes.clone();
        let copy = self.handle();
        self.graphs.insert(copy, Graph::default());
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
