//! The same functions over other numbers: single precision, third derivatives, packs, and by faer.

use super::rows::{Row, all, direction};
use super::{off, weighed};
use tapewright::prelude::*;
use tapewright::{Dual, Number};

/// The rows for which each kind of number is tried once.
fn some() -> Vec<Row> {
    let chosen = |row: &Row| {
        matches!(row.name.as_str(), "ones added" | "three 1e-10" | "third of a turn" | "design" | "diagonal")
    };
    all().into_iter().filter(chosen).collect()
}

#[test]
fn single_precision() {
    for row in some() {
        let x: Vec<f32> = row.inputs.iter().map(|x| <f32 as Number>::from_f64(*x)).collect();
        let found: Vec<f64> = gradient::<Jacobian<f32>>(|x| weighed(&row, x), &x).into_iter().map(f64::from).collect();
        assert!(off(&found, &row.gradient) < 1e-5, "{} {}: {found:?}", row.operation, row.name);
    }
}

type D2 = Dual<Dual<f64, 1>, 1>;

/// The third derivative, along the direction, by differences of the second one.
#[test]
fn third_derivatives() {
    for row in some().iter().filter(|row| !row.product.is_empty()) {
        let way: Vec<f64> = (0..row.inputs.len()).map(direction).collect();
        let one = |(x, v): (&f64, &f64)| Dual {
            value: Dual { value: *x, tangents: [*v] },
            tangents: [Dual { value: *v, tangents: [0.0] }],
        };
        let x: Vec<D2> = row.inputs.iter().zip(&way).map(one).collect();
        let found: Vec<f64> = gradient::<Jacobian<D2>>(|x| weighed(row, x), &x)
            .iter()
            .map(|slope| slope.tangents[0].tangents[0])
            .collect();
        let second = |t: f64| {
            let moved: Vec<f64> = row.inputs.iter().zip(&way).map(|(x, v)| x + t * v).collect();
            tapewright::hvp::<Jacobian<Dual<f64, 1>>>(|x| weighed(row, x), &moved, &way).2
        };
        let step = 1e-3;
        // Of order 4: (8·(f(h) − f(−h)) − (f(2h) − f(−2h)))/12h.
        let parts = [second(step), second(-step), second(2.0 * step), second(-2.0 * step)];
        let expected: Vec<f64> = (0..found.len())
            .map(|k| (8.0 * (parts[0][k] - parts[1][k]) - (parts[2][k] - parts[3][k])) / (12.0 * step))
            .collect();
        assert!(off(&found, &expected) < 1e-7, "{} {}: {found:?} {expected:?}", row.operation, row.name);
    }
}

#[cfg(feature = "packs")]
#[test]
fn packs() -> Result<(), tapewright::Error> {
    use tapewright::packs::{Pack, in_packs};
    let rows = some();
    for (first, second) in rows.iter().zip(&rows[1..]).filter(|(a, b)| a.operation == b.operation) {
        if first.inputs.len() != second.inputs.len() || (first.rows != second.rows) {
            continue;
        }
        let inputs = |k: usize| if k == 0 { &*first.inputs } else { &*second.inputs };
        let found = in_packs::<Jacobian<Pack<2>>, _, 2>(2, inputs, |x, _| weighed(first, x))?;
        for (row, gradient) in [first, second].into_iter().zip(&found.gradients) {
            assert!(off(gradient, &row.gradient) < 1e-13, "{} {}", row.operation, row.name);
        }
    }
    Ok(())
}

/// Some of the functions by faer.
#[cfg(feature = "faer")]
#[test]
fn by_faer() {
    use super::rows::weight;
    use faer::Mat;
    use tapewright::Closed;
    use tapewright::linalg::{self, Element};
    fn found<S: Taping<Value: Element>>(row: &Row, x: &[Real<S>]) -> Real<S> {
        let x = Closed::wrap_slice(x);
        let m = Mat::from_fn(row.rows, row.columns, |i, j| x[j * row.rows + i].clone());
        let found = match row.operation.as_str() {
            "symmetric_sqrt" => linalg::symmetric_sqrt(&m),
            "pseudo_inverse" => linalg::pseudo_inverse(&m, 1e-12),
            "nearest_orthogonal" => linalg::nearest_orthogonal(&m, 1e-12),
            "nearest_rotation" => linalg::nearest_rotation(&m, 1e-12),
            _ => {
                let pairs = linalg::eigenvalues(&m).expect("finite");
                let (real, imaginary): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
                return sum(real.into_iter().chain(imaginary));
            }
        };
        sum(found
            .expect("it has a derivative")
            .col_iter()
            .flat_map(|column| column.iter().cloned().collect::<Vec<_>>()))
    }
    fn sum<S: Taping<Value: Element>>(numbers: impl Iterator<Item = Closed<S>>) -> Real<S> {
        numbers.enumerate().fold(Closed::default(), |sum, (k, y)| sum + y * weight(k)).open()
    }
    let names = ["symmetric_sqrt", "pseudo_inverse", "nearest_orthogonal", "nearest_rotation", "eigenvalues"];
    for row in some().iter().filter(|row| names.contains(&row.operation.as_str())) {
        let (operation, name) = (&row.operation, &row.name);
        assert!(
            off(&gradient::<Jacobian>(|x| found(row, x), &row.inputs), &row.gradient) < 2e-14,
            "{operation} {name}"
        );
        let way: Vec<f64> = (0..row.inputs.len()).map(direction).collect();
        let product = tapewright::hvp::<Jacobian<Dual<f64, 1>>>(|x| found(row, x), &row.inputs, &way).2;
        assert!(off(&product, &row.product) < 1e-13, "{operation} {name}");
    }
}
