//! Reading tables.

use std::path::PathBuf;

/// A line of a table.
#[derive(Clone, Debug)]
pub struct Row {
    /// The function.
    pub name: String,
    /// The arguments.
    pub arguments: Vec<f64>,
    /// The value.
    pub value: f64,
    /// The first derivatives.
    pub first: Vec<f64>,
    /// The second derivatives, the upper triangle by rows.
    pub second: Vec<f64>,
    /// Where the line is.
    pub place: String,
}

impl Row {
    fn parse(line: &str, place: String) -> Self {
        let fields: Vec<Vec<&str>> = line.split('|').map(|field| field.split_whitespace().collect()).collect();
        let numbers = |field: &[&str]| -> Vec<f64> {
            field.iter().map(|text| text.parse().unwrap_or_else(|_| panic!("{place}: {text} is no number"))).collect()
        };
        let [call, value, first, second] = fields.as_slice() else {
            panic!("{place}: a line has four fields, not {}", fields.len())
        };
        let row = Self {
            name: call[0].to_owned(),
            arguments: numbers(&call[1..]),
            value: numbers(value)[0],
            first: numbers(first),
            second: numbers(second),
            place: place.clone(),
        };
        let n = row.arguments.len();
        assert!(row.first.len() == n && row.second.len() == n * (n + 1) / 2, "{place}: not all derivatives are there");
        row
    }

    /// The second derivative for two arguments.
    #[must_use]
    pub fn bend(&self, i: usize, j: usize) -> f64 {
        self.second[place(i.min(j), i.max(j), self.arguments.len())]
    }

    /// Σ|xᵢ·∂ᵢf|: the change of the value by a relative change of the arguments.
    #[must_use]
    pub fn conditioning(&self) -> f64 {
        self.arguments.iter().zip(&self.first).map(|(x, slope)| product(*x, *slope)).sum()
    }

    /// The same of the first derivative for argument `j`.
    #[must_use]
    pub fn conditioning_of_first(&self, j: usize) -> f64 {
        self.arguments.iter().enumerate().map(|(i, x)| product(*x, self.bend(i, j))).sum()
    }
}

/// |a·b|; 0 where a factor is.
fn product(a: f64, b: f64) -> f64 {
    if a == 0.0 || b == 0.0 { 0.0 } else { (a * b).abs() }
}

/// The place of a pair i ≤ j in the upper triangle.
fn place(i: usize, j: usize, n: usize) -> usize {
    i * n - i * (i + 1) / 2 + j
}

/// The lines of all tables.
///
/// # Panics
///
/// When a table cannot be read, or a line is wrong.
#[must_use]
pub fn rows() -> Vec<Row> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    let folder = PathBuf::from(folder).join("tables");
    let mut files: Vec<PathBuf> =
        folder.read_dir().expect("a folder of tables").map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut rows = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "txt")) {
        let text = std::fs::read_to_string(file).expect("a table");
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        for (line, number) in text.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                rows.push(Row::parse(line, format!("{name}, line {number}: {line}")));
            }
        }
    }
    rows
}
