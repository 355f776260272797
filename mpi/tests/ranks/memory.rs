//! What a message allocates, and what a recording keeps of it.

use tapewright::Scope;
use tapewright::prelude::*;
use tapewright::variables::Variables;
use tapewright_mpi::{Communicator, Reduction};
use tapewright_test_support::counting::peak;

const COUNT: usize = 20_000;
/// Of a message of so many numbers.
const BYTES: usize = 8 * COUNT;
/// For what does not grow with the message.
const CONSTANT: usize = 4096;

pub(crate) fn check(all: Communicator) {
    let (behind, ahead) = ((all.rank() + all.size() - 1) % all.size(), (all.rank() + 1) % all.size());
    let view = |scope: &mut Scope<Jacobian>| [scope.view([COUNT], &vec![1.0; COUNT])];
    let variables = |scope: &mut Scope<Jacobian>| scope.inputs(&vec![1.0; COUNT]);
    // Variables that do not lie in a row take 4 bytes each.
    let some = |scope: &mut Scope<Jacobian>| -> Vec<Real<Jacobian>> {
        let all = scope.inputs(&vec![1.0; 3 * COUNT]);
        all.into_iter().step_by(3).collect()
    };
    let exchange = |x: &[_]| all.sendrecv(x, ahead, behind);
    // A copy that is on its way, a message that has come, its numbers, and the elements of the view.
    let (kept, most) = measured(view, exchange);
    assert!(kept <= CONSTANT && most <= 4 * BYTES + CONSTANT, "{kept} and {most} bytes for a message of {BYTES}");
    let (kept, most) = measured(view, |x| all.all_reduce(x, Reduction::Sum));
    let buffers = 4 + all.size();
    assert!(kept <= CONSTANT && most <= buffers * BYTES + CONSTANT, "{kept} and {most} bytes for a sum of {BYTES}");
    let exchange = |x: &[_]| all.sendrecv(x, ahead, behind);
    let (kept, _) = measured(variables, exchange);
    assert!(kept <= CONSTANT, "{kept} bytes for a message of {BYTES}");
    let (kept, _) = measured(some, exchange);
    assert!(kept <= BYTES / 2 + CONSTANT, "{kept} bytes for a message of {BYTES}");
}

/// The bytes that a recording keeps for a call, and the most that were live in the call and not before.
fn measured<X: Variables<Jacobian>, I: AsRef<[X]>>(
    inputs: impl FnOnce(&mut Scope<Jacobian>) -> I,
    call: impl FnOnce(&[X]) -> Vec<X>,
) -> (usize, usize) {
    let mut tape = Tape::<Jacobian>::new();
    let (_, most) = tape.record(|scope| {
        let inputs = inputs(scope);
        peak(|| call(inputs.as_ref()))
    });
    (tape.memory().usage("externals").used, most)
}
