//! The figures that `compare` writes.

/// The columns of the results file, one line for each workload and strategy. `indices` and `layer` are the index
/// management and where records live; `tape_bytes` is without the adjoint vector; times are in milliseconds; `ratio` is
/// that of recording and sweep together to the primal. Further columns may follow; the tables do not show them.
pub const COLUMNS: [&str; 13] = [
    "workload",
    "strategy",
    "indices",
    "layer",
    "statements",
    "arguments",
    "tape_bytes",
    "bytes_per_statement",
    "adjoint_bytes",
    "record_ms",
    "reverse_ms",
    "primal_ms",
    "ratio",
];

/// The columns that are words.
const WORDS: usize = 4;

/// A strategy with its index management and its layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// The name of the type.
    pub name: String,
    /// `linear` or `reuse`.
    pub indices: String,
    /// `in_memory`, `shared` or `spilled`.
    pub layer: String,
}

impl Strategy {
    /// The name for tables: the type, and what is not the default.
    #[must_use]
    pub fn title(&self) -> String {
        let others = [(&self.indices, "linear"), (&self.layer, "in_memory")];
        let others = others.into_iter().filter(|(word, default)| word != default);
        others.fold(format!("`{}`", self.name), |title, (word, _)| title + " " + word)
    }

    /// Whether records stay in memory of their own tape.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.layer == "in_memory"
    }

    /// Whether the statements of the workload are all records on the tape; not if only one stage at a time is recorded,
    /// or whole loops.
    #[must_use]
    pub fn counts_statements(&self) -> bool {
        !["checkpointed", "kernels"].contains(&self.layer.as_str())
    }

    /// Whether this is the plain type, with linear indices and in memory.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.indices == "linear" && self.is_in_memory()
    }
}

/// One workload under one strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The workload, as tables show it.
    pub workload: String,
    /// The strategy: the name of its type, and what of index management and layer is not the default.
    pub strategy: Strategy,
    numbers: [f64; COLUMNS.len() - WORDS],
}

impl Row {
    /// The number in this column.
    ///
    /// # Panics
    ///
    /// When there is no such column of numbers.
    #[must_use]
    pub fn number(&self, column: &str) -> f64 {
        let at = COLUMNS.iter().position(|name| *name == column).and_then(|at| at.checked_sub(WORDS));
        self.numbers[at.unwrap_or_else(|| panic!("{column} is no column of numbers"))]
    }

    /// Bytes of the tape and of adjoints.
    #[must_use]
    pub fn bytes(&self) -> f64 {
        self.number("tape_bytes") + self.number("adjoint_bytes")
    }

    /// The time of recording and sweep.
    #[must_use]
    pub fn milliseconds(&self) -> f64 {
        self.number("record_ms") + self.number("reverse_ms")
    }
}

/// What a results file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The comment lines, such as date and processor, without their `#`.
    pub notes: Vec<String>,
    /// The lines of numbers, in the order of the file.
    pub rows: Vec<Row>,
}

impl Results {
    /// Reads comma-separated lines under a header, which begins with [`COLUMNS`]. Lines that begin with `#` are notes.
    ///
    /// # Errors
    ///
    /// The number of the line that is wrong, and why.
    pub fn from_csv(text: &str) -> Result<Self, String> {
        let (notes, lines): (Vec<_>, Vec<_>) = text
            .lines()
            .zip(1..)
            .filter(|(line, _)| !line.trim().is_empty())
            .partition(|(line, _)| line.starts_with('#'));
        let mut lines = lines.into_iter();
        let header = lines.next().map_or("", |(line, _)| line).trim();
        let columns: Vec<&str> = header.split(',').collect();
        if !columns.starts_with(&COLUMNS) {
            return Err(format!("the header is {header:?}, expected {:?}", COLUMNS.join(",")));
        }
        let rows = lines.map(|(line, number)| row(line, columns.len()).map_err(|why| format!("line {number}: {why}")));
        let notes = notes.into_iter().map(|(note, _)| note.trim_start_matches('#').trim().to_owned());
        Ok(Self { rows: rows.collect::<Result<_, _>>()?, notes: notes.collect() })
    }

    /// The strategies, in the order in which they first occur.
    #[must_use]
    pub fn strategies(&self) -> Vec<&Strategy> {
        distinct(self.rows.iter().map(|row| &row.strategy))
    }

    /// The workloads, in the order in which they first occur.
    #[must_use]
    pub fn workloads(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|row| row.workload.as_str()))
    }

    /// The line for this workload and strategy.
    #[must_use]
    pub fn get(&self, workload: &str, strategy: &Strategy) -> Option<&Row> {
        self.rows.iter().find(|row| row.workload == workload && row.strategy == *strategy)
    }
}

fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

/// The row of a line that must have so many cells.
fn row(line: &str, columns: usize) -> Result<Row, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let [workload, strategy, indices, layer, numbers @ ..] = &cells[..] else {
        return Err(format!("only {} cells", cells.len()));
    };
    let numbers: Vec<f64> = numbers
        .iter()
        .map(|cell| cell.parse().map_err(|_| format!("{cell:?} is no number")))
        .collect::<Result<_, _>>()?;
    let shown = numbers.first_chunk().filter(|_| cells.len() == columns);
    let numbers = *shown.ok_or_else(|| format!("{} cells, expected {columns}", cells.len()))?;
    let [indices, layer] = [indices, layer].map(|word| (*word).to_owned());
    let strategy = Strategy { name: type_name(strategy), indices, layer };
    Ok(Row { workload: (*workload).to_owned(), strategy, numbers })
}

/// `primal_value`, as on the command line, becomes `PrimalValue`.
fn type_name(name: &str) -> String {
    name.split('_')
        .flat_map(|word| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)))
        .collect()
}
