//! Variables that are used in the wrong place: a clear panic or an `Err`, never a wrong value.

use crate::conformance::Outcome;
use crate::conformance::check::{ensure, floats, number_of, on_another_thread, panics_naming, recorded, still_works};
use crate::{Error, Number, Real, Reverse, Tape, dot, sum};
use tapewright_strategies::same;

/// A statement of a variable whose recording has finished panics, in every form, and names the recording.
pub fn variable_of_a_finished_recording<S: Reverse>() -> Outcome {
    let recorded = recorded::<S>(&[2.0], |x| vec![(&x[0] * 2.0).eval()]);
    let (x, y) = (&recorded.x[0], &recorded.y[0]);
    let number = [number_of(x)];
    panics_naming("a statement of a finished recording's input", &number, &mut || _ = (x * 2.0).eval())?;
    panics_naming("a statement of a finished recording's result", &number, &mut || _ = (y + x).eval())?;
    panics_naming("an assignment operator", &number, &mut || {
        let mut y = y.clone();
        y += 1.0;
    })?;
    panics_naming("a sum", &number, &mut || _ = sum(&recorded.y))?;
    panics_naming("an inner product", &number, &mut || _ = dot(&recorded.x, &recorded.y))?;
    still_works(recorded.tape)
}

/// Inside a later recording, of the same tape or of another, the panic names both recordings.
pub fn variable_of_an_outdated_recording<S: Reverse>() -> Outcome {
    let mut old = recorded::<S>(&[2.0], |x| vec![(&x[0] * 2.0).eval()]);
    for tape in [&mut old.tape, &mut Tape::new()] {
        tape.record(|scope| {
            let _inputs = scope.inputs(&floats(&[1.0, 2.0, 3.0]));
            let numbers = [number_of(&old.y[0]), scope.number().get()];
            panics_naming("a statement of an outdated variable", &numbers, &mut || _ = (&old.y[0] * 2.0).eval())?;
            panics_naming("a function of a slice of outdated variables", &numbers, &mut || _ = sum(&old.x))
        })?;
    }
    still_works(old.tape)
}

/// A statement of variables of two recordings, both active, panics and names both.
pub fn variables_of_two_recordings<S: Reverse>() -> Outcome {
    let mut refused = Ok(());
    let outer = recorded::<S>(&[2.0], |x| {
        refused = Tape::<S>::new().record(|scope| {
            let u = scope.inputs(&floats(&[3.0]));
            let numbers = [number_of(&x[0]), number_of(&u[0])];
            panics_naming("a product over two recordings", &numbers, &mut || _ = (&x[0] * &u[0]).eval())?;
            panics_naming("a sum over two recordings", &numbers, &mut || _ = sum(&[u[0].clone(), x[0].clone()]))?;
            panics_naming("an inner product over two recordings", &numbers, &mut || _ = dot(x, &u))
        });
        Vec::new()
    });
    refused?;
    still_works(outer.tape)
}

/// After a reset, the variables of the recording are outdated: statements panic, sweeps and queries are `Err`.
pub fn variable_of_a_reset_tape<S: Reverse>() -> Outcome {
    let mut old = recorded::<S>(&[2.0], |x| vec![(&x[0] * 2.0).eval()]);
    old.tape.reset();
    panics_naming("a statement of a reset tape's variable", &[number_of(&old.x[0])], &mut || {
        _ = (&old.x[0] * 2.0).eval();
    })?;
    ensure(old.sweep(&[1.0]).is_err(), "an output of a reset recording was swept")?;
    ensure(old.tape.sweep(&[])?.of(&old.x[0]).is_err(), "an input of a reset recording has an adjoint")?;
    still_works(old.tape)
}

/// A variable of a recording that is active on one thread is refused on another, which may have its own recordings.
pub fn variable_on_another_thread<S: Reverse<Variable: Send>>() -> Outcome {
    let mut tape = Tape::<S>::new();
    tape.record(|scope| {
        let x = scope.input(S::Value::from_f64(2.0));
        let sent = x.clone();
        on_another_thread(Box::new(move || {
            let number = number_of(&sent);
            panics_naming("a statement on another thread", &[number], &mut || _ = (&sent * 2.0).eval())?;
            Tape::<S>::new().record(|scope| {
                let numbers = [number, scope.number().get()];
                panics_naming("a statement in another thread's recording", &numbers, &mut || _ = (&sent * 2.0).eval())
            })
        }))?;
        ensure(same((&x * 2.0).eval().value(), S::Value::from_f64(4.0)), "the recording's own thread cannot go on")
    })?;
    still_works(tape)
}

/// A refused statement leaves no trace on the tapes it was refused by.
pub fn misuse_leaves_the_recording_intact<S: Reverse>() -> Outcome {
    let old = recorded::<S>(&[2.0], |x| vec![(&x[0] * 2.0).eval()]);
    let mut refused = Ok(());
    let mut later = recorded::<S>(&[2.0, 3.0], |x| {
        let before = (&x[0] * &x[1]).eval();
        refused = panics_naming("a mixed statement", &[], &mut || _ = (&before * &old.y[0] * &x[1]).eval())
            .and(panics_naming("a mixed sum", &[], &mut || _ = sum(&[before.clone(), old.y[0].clone()])));
        vec![(&before * &before).eval()]
    });
    refused?;
    let statements = later.tape.memory().statements;
    ensure(statements == 2, format_args!("{statements} statements, though all but 2 were refused"))?;
    later.sweep_gives("the gradient beside refused statements", &[1.0], &[36.0, 24.0])
}

/// Asking a sweep for the adjoint of another recording's variable, and sweeping from one, is an `Err` that names both
/// recordings, and the next sweep is right.
pub fn foreign_variable_in_a_sweep<S: Reverse>() -> Outcome {
    let other = recorded::<S>(&[2.0], |x| vec![(&x[0] * 2.0).into()]);
    let mut own = recorded::<S>(&[3.0], |x| vec![(&x[0] * &x[0]).into()]);
    let expected = Error::ForeignVariable { variable: number_of(&other.x[0]), recording: number_of(&own.x[0]) };
    let adjoints = own.sweep(&[1.0])?;
    for foreign in [&other.x[0], &other.y[0]] {
        let found = adjoints.of(foreign);
        ensure(found.as_ref().err() == Some(&expected), format_args!("a foreign variable's adjoint is {found:?}"))?;
    }
    ensure(adjoints.of_all(&other.x).err().as_ref() == Some(&expected), "foreign variables have adjoints")?;
    let one = S::Value::ONE;
    let found = own.tape.sweep(&[(&own.y[0], one), (&other.y[0], one)]).err();
    ensure(found.as_ref() == Some(&expected), format_args!("a foreign output is swept with {found:?}"))?;
    own.sweep_gives("the gradient after a refused sweep", &[1.0], &[6.0])
}

/// Lengths that must agree and do not are an `Err` that names both.
pub fn lengths_that_differ<S: Reverse>() -> Outcome {
    let mut recorded = recorded::<S>(&[2.0, 3.0], |x| vec![(&x[0] * &x[1]).eval()]);
    let names_both = |error: Option<Error>, counts: [&str; 2]| {
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        let named = counts.iter().all(|count| text.contains(count));
        ensure(named, format_args!("lengths that differ are reported as: {text:?}"))
    };
    names_both(recorded.sweep(&[1.0, 2.0, 3.0]).err(), ["1 output", "3 seed"])?;
    let mut short = floats(&[0.0; 5]);
    let too_long = recorded.tape.sweep_all(&recorded.y, &floats(&[1.0]))?.write(&recorded.x, &mut short).err();
    names_both(too_long, ["2 variable", "5 adjoint"])?;
    let f = |x: &[Real<S>]| x[0].clone();
    let too_long = recorded.tape.gradient(f, &floats(&[1.0]), &mut short).err();
    names_both(too_long, ["1 input", "5 gradient"])?;
    let too_many = crate::vjp::<S>(|x| vec![x[0].clone()], &floats(&[1.0]), &floats(&[1.0, 2.0])).err();
    names_both(too_many, ["1 output", "2 seed"])
}
