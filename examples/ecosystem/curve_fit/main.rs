//! Curve fits: data sets of NIST with certified results, fitted by the crate `levenberg-marquardt` and by the loop that
//! the examples share, from far and from near.
//!
//! `cargo run --release -p tapewright-ecosystem --example curve_fit`

mod fit;
mod nist;

use fit::{Fit, Way};
use nist::{ALL, Reference, digits};
use std::error::Error;

/// Prints the parameters of a fit, and to how many digits they agree with the certified ones.
fn print_parameters(reference: &Reference, fit: &Fit) {
    println!("  {:>20} {:>20} {:>8} {:>8}", "parameter", "standard deviation", "digits", "digits");
    for ((x, deviation), [certified, spread]) in fit.x.iter().zip(&fit.deviations).zip(reference.certified) {
        let (of_x, of_deviation) = (digits(*x, *certified), digits(*deviation, *spread));
        println!("  {x:>20.10e} {deviation:>20.10e} {of_x:>8.1} {of_deviation:>8.1}");
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    for reference in ALL {
        println!("{}, {} observations", reference.name, reference.data.len());
        let mut best = None;
        for (start, from) in reference.starts.into_iter().zip(["far", "near"]) {
            for way in Way::ALL {
                let fit = Fit::of(&reference, start, way)?;
                let (evaluations, squares) = (fit.evaluations, fit.squares);
                let agree = fit.digits(&reference);
                println!(
                    "  {way:<20} from {from:<4} {evaluations:>4} evaluations, Σr² {squares:.10e}, {agree:.1} digits"
                );
                if !fit.is_certified(&reference) {
                    return Err(format!("{way} has missed the certified parameters of {}", reference.name).into());
                }
                best = Some(fit);
            }
        }
        if let Some(fit) = best {
            print_parameters(&reference, &fit);
        }
    }
    Ok(())
}
