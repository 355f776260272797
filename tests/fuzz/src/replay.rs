//! Replays, and new recordings at the same inputs.

use crate::event::Seen;
use crate::program::Recording;
use crate::session::{Recorded, go_on, number, record, word};
use crate::subject::Engine;
use tapewright::{Number, Real, Tape};

/// Computes a recording again with these values of its first inputs. What was seen, and the values of a new recording
/// there; nothing under strategies without replays.
pub(crate) fn replay<E: Engine>(
    tape: &mut Tape<E>,
    recording: &Recording,
    inputs: &[f64],
    on: &mut Recorded<E>,
) -> Option<(Vec<Seen>, Vec<f64>)> {
    if !E::REPLAYS {
        return None;
    }
    let mut values = on.early.clone();
    let count = inputs.len().min(recording.early);
    values[..count].copy_from_slice(&inputs[..count]);
    let mut again = Tape::<E>::new();
    E::set_guards(&mut again, recording.guards);
    let first = (&values[..], recording.early, &on.parts[0].steps[..]);
    let mut host = record(&mut again, first, Some(on.host.frozen.clone()));
    for part in &on.parts[1..] {
        go_on(&mut again, &mut host, &part.given, &part.steps);
    }
    let given: Vec<(&Real<E>, E::Value)> =
        on.host.inputs.iter().zip(&values[..count]).map(|(x, value)| (x, E::Value::from_f64(*value))).collect();
    if let Err(error) = E::replay(tape, &given) {
        return Some((vec![Seen::Word(word(&error))], host.take_trace()));
    }
    on.early = values;
    let same = |(y, new): (&Real<E>, &Real<E>)| {
        let value = E::value_of(tape, y).expect("its own output");
        // What was computed in a pause stays what it was.
        E::locate(y.id()).is_none() || number(value).same(&number(new.value()))
    };
    let seen = vec![Seen::Word("ok"), Seen::Facts(vec![on.host.held.iter().zip(&host.held).all(same)])];
    Some((seen, host.take_trace()))
}
