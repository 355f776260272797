//! Sparse matrices are of a number.

struct Solver {
    kept: Option<tapewright::sparse::SparseJacobian>,
}

fn main() {}
