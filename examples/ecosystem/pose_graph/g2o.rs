//! Files in the format of `g2o`: a line for each vertex, fixed vertex and edge.

use crate::edges::root;
use crate::graph::{Edge, Graph, Space, Vertex};
use core::fmt::Write;
use std::collections::HashMap;
use tapewright_ecosystem::text::{Found, TextError, Words};

/// Kinds of lines.
#[derive(Clone, Copy)]
enum Tag {
    Vertex(Space),
    Edge(Space),
    Fix,
}

const TAGS: [(&str, Tag); 5] = [
    ("VERTEX_SE2", Tag::Vertex(Space::Plane)),
    ("EDGE_SE2", Tag::Edge(Space::Plane)),
    ("VERTEX_SE3:QUAT", Tag::Vertex(Space::Solid)),
    ("EDGE_SE3:QUAT", Tag::Edge(Space::Solid)),
    ("FIX", Tag::Fix),
];

/// An id that a line names, which a later line may define.
#[derive(Clone, Copy)]
struct Named {
    id: u64,
    line: usize,
}

/// What was read so far.
#[derive(Default)]
struct Reader {
    space: Option<Space>,
    vertices: Vec<Vertex>,
    /// Index of each vertex, and its line.
    ids: HashMap<u64, (usize, usize)>,
    fixed: Vec<Named>,
    /// Ends of the edges.
    ends: Vec<[Named; 2]>,
    edges: Vec<Edge>,
}

/// Reads a graph. Empty lines and lines that begin with `#` are skipped.
pub(crate) fn read(text: &str) -> Result<Graph, TextError> {
    let mut reader = Reader::default();
    let mut last = 1;
    for (k, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with('#')) {
        if !line.trim().is_empty() {
            last = k + 1;
            reader.line(k + 1, line)?;
        }
    }
    reader.finish(last)
}

impl Reader {
    fn line(&mut self, line: usize, text: &str) -> Result<(), TextError> {
        let mut words = Words::of_line(line, text);
        let names = TAGS.map(|(name, _)| name).join(", ");
        let tag = |word: &str| TAGS.iter().find(|(name, _)| *name == word).map(|(_, tag)| *tag);
        let tag = words.next(|| format!("one of {names}"), tag)?;
        if let Tag::Vertex(space) | Tag::Edge(space) = tag
            && *self.space.get_or_insert(space) != space
        {
            let (found, expected) = match space {
                Space::Plane => ("a pose in the plane", "poses in space, as in the lines before"),
                Space::Solid => ("a pose in space", "poses in the plane, as in the lines before"),
            };
            return Err(TextError { line, found: words_of(found), expected: expected.to_owned() });
        }
        match tag {
            Tag::Vertex(space) => self.vertex(space, line, &mut words)?,
            Tag::Edge(space) => self.edge(space, line, &mut words)?,
            Tag::Fix => {
                self.fixed.push(Named { id: id(&mut words, "a vertex")?, line });
                while !words.is_empty() {
                    self.fixed.push(Named { id: id(&mut words, "a vertex")?, line });
                }
            }
        }
        words.end()
    }

    fn vertex(&mut self, space: Space, line: usize, words: &mut Words<'_>) -> Result<(), TextError> {
        let id = id(words, "the vertex")?;
        let pose = pose(space, line, words, &format!("vertex {id}"))?;
        if let Some((_, before)) = self.ids.insert(id, (self.vertices.len(), line)) {
            let expected = format!("another id: line {before} has that vertex already");
            return Err(TextError { line, found: words_of(&id.to_string()), expected });
        }
        self.vertices.push(Vertex { id, pose, is_fixed: false });
        Ok(())
    }

    fn edge(&mut self, space: Space, line: usize, words: &mut Words<'_>) -> Result<(), TextError> {
        let from = id(words, "the vertex from which the edge leads")?;
        let to = id(words, "the vertex to which the edge leads")?;
        if from == to {
            let expected = format!("an edge from vertex {from} to another one");
            return Err(TextError { line, found: words_of(&to.to_string()), expected });
        }
        let motion = pose(space, line, words, "the motion")?;
        let count = space.freedom() * (space.freedom() + 1) / 2;
        let entry = |k| words.number(|| format!("entry {k} of {count} of the information matrix, a finite number"));
        let information = (0..count).map(entry).collect::<Result<Vec<_>, _>>()?;
        let is_definite = match space {
            Space::Plane => root::<3>(&information).is_some(),
            Space::Solid => root::<6>(&information).is_some(),
        };
        if !is_definite {
            let expected = "the upper triangle of a positive definite information matrix, row by row".to_owned();
            return Err(TextError { line, found: words_of(&joined(&information)), expected });
        }
        self.ends.push([from, to].map(|id| Named { id, line }));
        self.edges.push(Edge { ends: [0; 2], motion, information, line });
        Ok(())
    }

    /// Resolves the ids that lines name.
    fn finish(mut self, last: usize) -> Result<Graph, TextError> {
        let space = self.space.filter(|_| !self.vertices.is_empty());
        let Some(space) = space else {
            let expected = "a line VERTEX_SE2 or VERTEX_SE3:QUAT".to_owned();
            return Err(TextError { line: last, found: Found::EndOfFile, expected });
        };
        let index = |Named { id, line }| {
            let expected = || format!("the id of one of the {} vertices", self.ids.len());
            let known = self.ids.get(&id).map(|(index, _)| *index);
            known.ok_or_else(|| TextError { line, found: words_of(&id.to_string()), expected: expected() })
        };
        for named in self.fixed {
            self.vertices[index(named)?].is_fixed = true;
        }
        for (edge, [from, to]) in self.edges.iter_mut().zip(self.ends) {
            edge.ends = [index(from)?, index(to)?];
        }
        Ok(Graph { space, vertices: self.vertices, edges: self.edges })
    }
}

fn words_of(words: &str) -> Found {
    Found::Words(words.to_owned())
}

fn id(words: &mut Words<'_>, of: &str) -> Result<u64, TextError> {
    words.next(|| format!("the id of {of}, a number"), |word| word.parse().ok())
}

/// Reads a pose or a motion. Files have quaternions in the order x, y, z, w, of about unit length.
fn pose(space: Space, line: usize, words: &mut Words<'_>, of: &str) -> Result<Vec<f64>, TextError> {
    let count = space.size();
    let number = |k| words.number(|| format!("number {k} of {count} of {of}, a finite number"));
    let mut pose = (0..count).map(number).collect::<Result<Vec<_>, _>>()?;
    if space == Space::Solid {
        let norm = pose[3..].iter().map(|part| part * part).sum::<f64>().sqrt();
        if !(norm > 0.0 && norm.is_finite()) {
            let expected = format!("a quaternion of {of} that is not 0");
            return Err(TextError { line, found: words_of(&joined(&pose[3..])), expected });
        }
        pose[3..].rotate_right(1);
        pose[3..].iter_mut().for_each(|part| *part /= norm);
    }
    Ok(pose)
}

fn joined(numbers: &[f64]) -> String {
    numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
}

/// Writes a graph.
pub(crate) fn write(graph: &Graph) -> String {
    let [vertex, edge] = match graph.space {
        Space::Plane => ["VERTEX_SE2", "EDGE_SE2"],
        Space::Solid => ["VERTEX_SE3:QUAT", "EDGE_SE3:QUAT"],
    };
    let in_order = |pose: &[f64]| {
        let mut pose = pose.to_vec();
        if graph.space == Space::Solid {
            pose[3..].rotate_left(1);
        }
        joined(&pose)
    };
    let mut text = String::new();
    let mut line = |words: core::fmt::Arguments<'_>| writeln!(text, "{words}").expect("memory does not fail");
    for Vertex { id, pose, .. } in &graph.vertices {
        line(format_args!("{vertex} {id} {}", in_order(pose)));
    }
    for Vertex { id, .. } in graph.vertices.iter().filter(|vertex| vertex.is_fixed) {
        line(format_args!("FIX {id}"));
    }
    for Edge { ends, motion, information, .. } in &graph.edges {
        let [from, to] = ends.map(|end| graph.vertices[end].id);
        line(format_args!("{edge} {from} {to} {} {}", in_order(motion), joined(information)));
    }
    text
}
