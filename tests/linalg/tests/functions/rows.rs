//! The rows of `functions/expected.csv`: operations at special matrices, with derivatives of high precision.

/// An operation at a matrix.
pub(crate) struct Row {
    pub(crate) operation: String,
    pub(crate) name: String,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) inputs: Vec<f64>,
    /// The gradient of the weighed sum of results.
    pub(crate) gradient: Vec<f64>,
    /// Its Hessian times the direction; empty where there is none.
    pub(crate) product: Vec<f64>,
}

impl Row {
    /// How much rounding of the inputs is enlarged: the condition of the matrices that are not well conditioned.
    pub(crate) fn condition(&self) -> f64 {
        match self.name.as_str() {
            // The eigenvalues are known up to ε of the largest, and the slopes are of the smallest.
            "graded" => 1e6,
            "scattered" | "companion" | "tall" => 100.0,
            _ => 4.0,
        }
    }
}

/// The weight of a result.
#[allow(clippy::cast_precision_loss, reason = "the number is small")]
pub(crate) fn weight(k: usize) -> f64 {
    ((7 * k + 3) % 11) as f64 / 8.0 - 0.5
}

/// The direction's part along an input.
#[allow(clippy::cast_precision_loss, reason = "the number is small")]
pub(crate) fn direction(k: usize) -> f64 {
    ((5 * k + 2) % 9) as f64 / 8.0 - 0.5
}

/// All rows.
pub(crate) fn all() -> Vec<Row> {
    let lines = include_str!("expected.csv").lines().filter(|line| !line.starts_with('#'));
    lines.map(row).collect()
}

fn row(line: &str) -> Row {
    let fields: Vec<&str> = line.split(';').collect();
    let numbers = |k: usize| -> Vec<f64> {
        fields[k].split_whitespace().map(|number| number.parse().expect("a number")).collect()
    };
    let size = |k: usize| fields[k].parse().expect("a size");
    Row {
        operation: fields[0].to_owned(),
        name: fields[1].to_owned(),
        rows: size(2),
        columns: size(3),
        inputs: numbers(4),
        gradient: numbers(5),
        product: numbers(6),
    }
}
