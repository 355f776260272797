//! Recordings as graphs.

use super::{Trace, place};
use crate::error::Error;
use core::panic::Location;
use std::collections::HashMap;
use std::fmt::Write as _;
use tapewright_strategies::Reverse;
use tapewright_strategies::contract::{RecordKind, RecordView};

/// A record that is drawn as a node.
struct Node<V> {
    number: usize,
    kind: RecordKind,
    location: Option<&'static Location<'static>>,
    arguments: Vec<usize>,
    partials: Vec<V>,
}

impl<S: Reverse> Trace<'_, S> {
    /// Returns the recording as a graph in the language of Graphviz: a node for each input, statement, external
    /// function and launch, with its line, and an edge from each argument, with its partial. Meant for recordings of a
    /// few hundred statements.
    ///
    /// ```sh
    /// dot -Tsvg tape.dot > tape.svg
    /// ```
    ///
    /// Closures on the tape are called with an adjoint of 1 to find their partials.
    ///
    /// # Errors
    ///
    /// [`Error::Storage`] when records cannot be read back from disk.
    pub fn dot(&self) -> Result<String, Error> {
        let mut nodes = Vec::new();
        self.owned.visit(|record, location| nodes.push(node(record, location)))?;
        let mut graph = Graph { text: "digraph tape {\n".to_owned(), makers: HashMap::new() };
        for node in nodes.iter().rev() {
            match node.kind {
                RecordKind::Inputs => {}
                RecordKind::Statement { result } if node.arguments.is_empty() => _ = graph.makers.remove(&result),
                RecordKind::Statement { result } => {
                    let name = format!("s{}", node.number);
                    graph.node(&name, "box", &place(node.location));
                    for (slot, partial) in node.arguments.iter().zip(&node.partials) {
                        self.edge(&mut graph, *slot, &name, &format!(" [label=\"{partial:?}\"]"));
                    }
                    graph.makers.insert(result, name);
                }
                RecordKind::External(external) => {
                    let (name, call) = (format!("s{}", node.number), self.owned.call(external));
                    graph.node(&name, "box", &format!("{}\n{}", call.name, place(node.location)));
                    call.arguments.iter().for_each(|slot| self.edge(&mut graph, *slot, &name, ""));
                    graph.makers.extend(call.results.iter().map(|slot| (*slot, name.clone())));
                }
            }
        }
        Ok(graph.text + "}\n")
    }

    /// Draws an edge from the node that made the variable in this slot, unless the variable is passive. A variable that
    /// no node has made is an input.
    fn edge(&self, graph: &mut Graph, slot: usize, to: &str, label: &str) {
        if slot == 0 {
            return;
        }
        let from = graph.makers.get(&slot).cloned().unwrap_or_else(|| {
            let name = format!("x{slot}");
            graph.node(&name, "ellipse", &format!("input\n{}", place(self.owned.place_of_input(slot))));
            graph.makers.insert(slot, name.clone());
            name
        });
        _ = writeln!(graph.text, "  {from} -> {to}{label};");
    }
}

fn node<V>(record: &RecordView<'_, V>, location: Option<&'static Location<'static>>) -> Node<V> {
    let mut partials = Vec::new();
    if !record.arguments.is_empty() {
        (record.partials)(&mut partials);
    }
    Node { number: record.number, kind: record.kind, location, arguments: record.arguments.to_vec(), partials }
}

/// The part of the graph that has been written.
struct Graph {
    text: String,
    /// Name of the node that made the variable in each slot.
    makers: HashMap<usize, String>,
}

impl Graph {
    fn node(&mut self, name: &str, shape: &str, label: &str) {
        let label = label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        _ = writeln!(self.text, "  {name} [shape={shape}, label=\"{label}\"];");
    }
}
