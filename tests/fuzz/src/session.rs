//! Does with a tape what a case says, and notes what is seen.

use crate::event::{Event, Seen};
use crate::functions::{FAULT, Fault};
use crate::host::{Host, Mark};
use crate::program::{Action, Case, Recording, Seeds, Step};
use crate::replay;
use crate::subject::Engine;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tapewright::tape::{AdjointVector, LaneVector};
use tapewright::{Error, Number, Real, SweepError, Tape};

/// A part of a recording as it was at its end.
pub(crate) struct Part<E: Engine> {
    pub(crate) steps: Vec<Step>,
    pub(crate) given: Vec<f64>,
    end: Mark,
    /// Numbers of marks and of constants, and the variables.
    marks: usize,
    frozen: usize,
    registers: Vec<Real<E>>,
}

/// A recording with its parts.
pub(crate) struct Recorded<E: Engine> {
    pub(crate) host: Host<E>,
    pub(crate) early: Vec<f64>,
    pub(crate) parts: Vec<Part<E>>,
}

/// Tapes and vectors that are used again and again.
pub(crate) struct Session<E: Engine> {
    pub(crate) tape: Tape<E>,
    vector: AdjointVector<E::Value>,
    between: AdjointVector<E::Value>,
    lanes: HashMap<usize, LaneVector<E::Value>>,
    events: Vec<Event>,
    /// Whether the latest sweep from position to position has not got to the start.
    unfinished: bool,
}

/// A number as seen.
pub(crate) fn number<V: Number>(x: V) -> Seen {
    Seen::Number(x.as_f64())
}

/// The kind of an error.
pub(crate) fn word(error: &Error) -> &'static str {
    match error {
        Error::LengthMismatch { .. } => "length mismatch",
        Error::ForeignVariable { .. } => "foreign variable",
        Error::Storage(_) => "storage",
        Error::StalePosition { .. } => "stale position",
        Error::SeedBehind { .. } => "seed behind",
        Error::Sweep(SweepError::NoRule { .. }) => "no rule",
        Error::Sweep(SweepError::Rule { .. }) => "rule",
        Error::Sweep(SweepError::BranchChanged { .. }) => "branch changed",
        Error::Sweep(SweepError::Unsupported { .. }) => "unsupported",
        Error::Sweep(_) => "another sweep error",
        _ => "another error",
    }
}

/// What was seen, or the kind of the error.
fn seen_or_word<V: Number>(result: Result<Vec<V>, Error>) -> Vec<Seen> {
    match result {
        Ok(numbers) => core::iter::once(Seen::Word("ok")).chain(numbers.into_iter().map(number)).collect(),
        Err(error) => vec![Seen::Word(word(&error))],
    }
}

/// An adjoint that was asked for, or `zero` if it was refused because the variable is no input: it has been consumed.
fn consumed<T>(found: Result<T, Error>, zero: T) -> Result<T, Error> {
    match found {
        Err(Error::NotAnInput { .. }) => Ok(zero),
        other => other,
    }
}

/// Records a program, from its first inputs on; the rest are late.
pub(crate) fn record<E: Engine>(
    tape: &mut Tape<E>,
    recording: (&[f64], usize, &[Step]),
    thaw: Option<Vec<E::Value>>,
) -> Host<E> {
    let (inputs, early, steps) = recording;
    let inputs: Vec<E::Value> = inputs.iter().map(|x| E::Value::from_f64(*x)).collect();
    tape.record(|scope| {
        let first = scope.inputs(&inputs[..early]);
        let mut host = Host::new(&first, &inputs[early..]);
        host.thaw = thaw;
        host.run(steps, &mut Some(scope));
        host.hold_all();
        host
    })
}

/// Goes on with a recording.
pub(crate) fn go_on<E: Engine>(tape: &mut Tape<E>, host: &mut Host<E>, inputs: &[f64], steps: &[Step]) {
    tape.resume(|scope| {
        host.registers = scope.renew_all(&host.registers).expect("variables of this recording");
        host.late = inputs.iter().rev().map(|x| E::Value::from_f64(*x)).collect();
        host.run(steps, &mut Some(scope));
        host.hold_all();
    });
}

impl<E: Engine> Recorded<E> {
    /// The outputs with seeds.
    pub(crate) fn seeds(&self, seeds: &Seeds, among: usize) -> Vec<(&Real<E>, E::Value)> {
        let output = |k: usize| &self.host.held[k % among];
        seeds.iter().map(|(k, seed)| (output(*k), E::Value::from_f64(*seed))).collect()
    }

    fn all(&self) -> usize {
        self.host.held.len()
    }

    fn end_part(&mut self, tape: &Tape<E>, given: &[f64], steps: &[Step]) {
        let host = &mut self.host;
        let end = (tape.position(), host.held.len(), host.inputs.len());
        host.marks.push(end);
        let (marks, frozen, registers) = (host.marks.len(), host.frozen.len(), host.registers.clone());
        self.parts.push(Part { steps: steps.to_vec(), given: given.to_vec(), end, marks, frozen, registers });
    }
}

impl<E: Engine> Session<E> {
    /// Does all that a case says.
    pub(crate) fn run(case: &Case) -> Vec<Event> {
        let mut session = Self {
            tape: Tape::new(),
            vector: AdjointVector::new(),
            between: AdjointVector::new(),
            lanes: HashMap::new(),
            events: Vec::new(),
            unfinished: false,
        };
        for (k, recording) in case.recordings.iter().enumerate() {
            session.recording(k, recording);
        }
        session.events
    }

    fn note(&mut self, what: String, seen: Option<Vec<Seen>>, trace: Vec<f64>) {
        self.events.push(Event { what, seen, trace });
    }

    fn recording(&mut self, k: usize, recording: &Recording) {
        E::set_guards(&mut self.tape, recording.guards);
        if recording.drivers {
            let (seen, trace) = self.drivers(recording);
            self.note(format!("drivers of recording {k}"), Some(seen), trace);
        }
        if recording.aborts {
            self.abort(recording);
        }
        let program = (&recording.inputs[..], recording.early, &recording.steps[..]);
        let host = record(&mut self.tape, program, None);
        let mut recorded = Recorded { host, early: recording.inputs.clone(), parts: Vec::new() };
        recorded.end_part(&self.tape, &recording.inputs, &recording.steps);
        let (seen, trace) = (facts(&recorded.host), recorded.host.take_trace());
        self.unfinished = false;
        self.note(format!("recording {k}"), Some(seen), trace);
        let mut ended = false;
        for (n, action) in recording.actions.iter().enumerate() {
            let what = format!("recording {k}, action {n}, {action:?}");
            let found = if ended { None } else { self.act(action, recording, &mut recorded) };
            ended |= found.is_none();
            let (seen, trace) = found.map_or((None, Vec::new()), |(seen, trace)| (Some(seen), trace));
            self.note(what, seen, trace);
        }
    }

    /// Begins a recording that ends by a panic.
    fn abort(&mut self, recording: &Recording) {
        let aborted = catch_unwind(AssertUnwindSafe(|| {
            self.tape.record(|scope| {
                let inputs: Vec<E::Value> = recording.inputs.iter().map(|x| E::Value::from_f64(*x)).collect();
                let first = scope.inputs(&inputs);
                Host::new(&first, &[]).run(&recording.steps, &mut Some(scope));
                panic!("a program panics, as told");
            })
        }));
        assert!(aborted.is_err(), "it panics");
    }

    /// What is seen, and the values of what is recorded.
    fn act(&mut self, action: &Action, recording: &Recording, on: &mut Recorded<E>) -> Option<(Vec<Seen>, Vec<f64>)> {
        let seen = match action {
            Action::Sweep { how, seeds } => self.sweep(*how, seeds, on),
            Action::Lanes { own, seeds, width } => self.sweep_lanes(*own, *width, seeds, on),
            Action::Forward { own, tangents } => self.forward(*own, tangents, on),
            Action::Between { reset, seeds, stops, finish } => self.between(*reset, (seeds, stops), *finish, on),
            Action::Resume { inputs, steps } => {
                go_on(&mut self.tape, &mut on.host, inputs, steps);
                on.end_part(&self.tape, inputs, steps);
                return Some((facts(&on.host), on.host.take_trace()));
            }
            Action::ResetTo(part) => self.reset_to(*part, on),
            Action::Replay(inputs) => return replay::replay(&mut self.tape, recording, inputs, on),
            Action::Foreign => self.foreign(on),
            Action::Fault { panics, width, seeds } => self.fault(*panics, *width, seeds, on),
            Action::Memory => {
                let total = self.tape.memory().total();
                vec![Seen::Facts(vec![total.used <= total.reserved])]
            }
        };
        Some((seen, Vec::new()))
    }

    fn sweep(&mut self, how: usize, seeds: &Seeds, on: &Recorded<E>) -> Vec<Seen> {
        let seeds = on.seeds(seeds, on.all());
        let adjoints = match how % 3 {
            0 => self.tape.sweep(&seeds),
            1 => {
                let (outputs, seeds): (Vec<_>, Vec<_>) = seeds.iter().map(|(y, seed)| ((*y).clone(), *seed)).unzip();
                self.tape.sweep_all(&outputs, &seeds)
            }
            _ => self.tape.sweep_with(&mut self.vector, &seeds),
        };
        let all = on.host.inputs.iter().chain(&on.host.held);
        seen_or_word(adjoints.and_then(|adjoints| all.map(|x| consumed(adjoints.of(x), E::Value::ZERO)).collect()))
    }

    fn sweep_lanes(&mut self, own: bool, width: usize, seeds: &[(usize, Vec<f64>)], on: &Recorded<E>) -> Vec<Seen> {
        let rounded = |seeds: &[f64]| -> Vec<E::Value> { seeds.iter().map(|seed| E::Value::from_f64(*seed)).collect() };
        let all: Vec<(&Real<E>, Vec<E::Value>)> =
            seeds.iter().map(|(k, seeds)| (&on.host.held[k % on.all()], rounded(seeds))).collect();
        let inputs = &[&on.host.inputs[..], &on.host.held[..]].concat();
        let found = if own {
            match width {
                1 => own_lanes::<E, 1>(&mut self.tape, &all, inputs),
                2 => own_lanes::<E, 2>(&mut self.tape, &all, inputs),
                3 => own_lanes::<E, 3>(&mut self.tape, &all, inputs),
                4 => own_lanes::<E, 4>(&mut self.tape, &all, inputs),
                _ => own_lanes::<E, 8>(&mut self.tape, &all, inputs),
            }
        } else {
            let lanes = self.lanes.entry(width).or_insert_with(|| LaneVector::new(width));
            let seeds: Vec<_> = all.iter().map(|(y, seeds)| (*y, &seeds[..])).collect();
            let swept = self.tape.sweep_lanes_with(lanes, &seeds).expect("its own outputs");
            let zeros = vec![E::Value::ZERO; width];
            let of = |x| consumed(swept.of(x), &zeros[..]).expect("its own inputs").to_vec();
            inputs.iter().map(of).collect()
        };
        // One of the lanes alone.
        let lane = width / 2;
        let alone: Vec<_> = all.iter().map(|(y, seeds)| (*y, seeds[lane])).collect();
        let alone = self.tape.sweep(&alone).expect("its own outputs");
        let alone = inputs.iter().map(|x| consumed(alone.of(x), E::Value::ZERO).expect("its own inputs"));
        let alone: Vec<E::Value> = alone.collect();
        let same = alone.iter().zip(&found).all(|(alone, found)| number(*alone).same(&number(found[lane])));
        let mut seen = vec![Seen::Facts(vec![same])];
        seen.extend(found.into_iter().flatten().map(number));
        seen
    }

    fn forward(&mut self, own: bool, tangents: &[f64], on: &Recorded<E>) -> Vec<Seen> {
        let tangents = tangents.iter().map(|t| E::Value::from_f64(*t));
        let tangents: Vec<_> = on.host.inputs.iter().zip(tangents).collect();
        let outputs: Vec<&Real<E>> = on.host.held.iter().collect();
        let found = if own {
            self.tape.jvp(&tangents, &outputs)
        } else {
            self.tape.jvp_with(&mut self.vector, &tangents, &outputs)
        };
        if let Ok(alone) = &found {
            // Several directions at once, bit for bit as one alone.
            let several: Vec<_> = tangents.iter().map(|(x, t)| (*x, [*t, -*t, E::Value::ZERO, *t])).collect();
            let several = self.tape.jvp_lanes(&several, &outputs).expect("it succeeds along one of them");
            for (alone, [first, _, _, last]) in alone.iter().zip(several) {
                let same = [first, last].iter().all(|lane| number(*alone).same(&number(*lane)));
                assert!(same, "{alone:?} along a direction alone, {first:?} and {last:?} in lanes");
            }
        }
        // The sign of a zero depends on where a sum begins.
        let zero = E::Value::default();
        seen_or_word(found.map(|all| all.into_iter().map(|x| if x.is_nought() { zero } else { x }).collect()))
    }

    fn between(
        &mut self,
        reset: bool,
        (seeds, stops): (&Seeds, &[(usize, Seeds)]),
        finish: bool,
        on: &Recorded<E>,
    ) -> Vec<Seen> {
        if reset || self.unfinished {
            self.between.reset();
        }
        self.unfinished = !finish;
        let (tape, vector, marks) = (&self.tape, &mut self.between, &on.host.marks);
        let mut seen = Vec::new();
        let mut at = (tape.position(), on.all(), on.host.inputs.len());
        tape.seed(vector, &on.seeds(seeds, on.all())).expect("its own outputs");
        for (to, seeds) in order(stops, marks.len()) {
            let to = marks[to];
            let adjoints = tape.sweep_between(vector, &at.0, &to.0).expect("positions of this recording");
            let there = on.host.held[..to.1].iter().chain(&on.host.inputs[..to.2]);
            seen.extend(there.map(|y| number(adjoints.of(y).expect("its own variables"))));
            if to.1 > 0 {
                tape.seed(vector, &on.seeds(seeds, to.1)).expect("its own outputs");
            }
            at = to;
        }
        if finish {
            let adjoints = tape.sweep_from_position(vector, &at.0).expect("a position of this recording");
            seen.extend(adjoints.of_all(&on.host.inputs).expect("its own inputs").into_iter().map(number));
        }
        seen
    }

    fn reset_to(&mut self, part: usize, on: &mut Recorded<E>) -> Vec<Seen> {
        let part = part % on.parts.len();
        let (stale, mark) = (on.host.held.pop().expect("variables are outputs"), on.host.marks.pop());
        let last = part + 1 == on.parts.len();
        let keep = &on.parts[part];
        self.tape.reset_to(&keep.end.0).expect("the end of a part");
        let host = &mut on.host;
        host.held.truncate(keep.end.1);
        host.inputs.truncate(keep.end.2);
        host.marks.truncate(keep.marks);
        host.frozen.truncate(keep.frozen);
        host.registers = keep.registers.clone();
        on.parts.truncate(part + 1);
        if last {
            on.host.held.push(stale);
            on.host.marks.extend(mark);
            return Vec::new();
        }
        let foreign = self.tape.sweep(&[(&stale, E::Value::from_f64(1.0))]).map(|_| Vec::<E::Value>::new());
        let behind =
            mark.map_or(Ok(()), |mark| self.tape.sweep_from_position(&mut AdjointVector::new(), &mark.0).map(|_| ()));
        let mut seen = seen_or_word(foreign);
        seen.push(Seen::Word(behind.as_ref().err().map_or("ok", word)));
        seen
    }

    fn foreign(&mut self, on: &Recorded<E>) -> Vec<Seen> {
        let other = Tape::<E>::new().record(|scope| scope.input(E::Value::from_f64(1.0)));
        let one = E::Value::from_f64(1.0);
        let both = [(&on.host.held[0], one), (&other, one)];
        let swept = self.tape.sweep(&both).err();
        let lanes = self.tape.sweep_lanes(&both.map(|(y, seed)| (y, [seed; 2]))).err();
        let forward = self.tape.jvp(&both, &[&on.host.held[0]]).err();
        let short = self.tape.sweep_all(&on.host.held[..1], &[]).err();
        [swept, lanes, forward, short].iter().map(|e| Seen::Word(e.as_ref().map_or("ok", word))).collect()
    }

    /// A sweep in which rules fail. What it finds is of no use.
    fn fault(&mut self, panics: bool, width: usize, seeds: &Seeds, on: &Recorded<E>) -> Vec<Seen> {
        let seeds = on.seeds(seeds, on.all());
        FAULT.set(if panics { Fault::Panic } else { Fault::Error });
        let outcome = catch_unwind(AssertUnwindSafe(|| match width {
            1 => self.tape.sweep(&seeds).map(|_| ()),
            2 => self.tape.jvp(&seeds, &[]).map(|_| ()),
            _ => {
                let seeds: Vec<_> = seeds.iter().map(|(y, seed)| (*y, [*seed; 4])).collect();
                self.tape.sweep_lanes(&seeds).map(|_| ())
            }
        }));
        FAULT.set(Fault::None);
        let word = match outcome {
            Ok(Ok(())) => "ok",
            Ok(Err(error)) => word(&error),
            Err(_) => "panic",
        };
        vec![Seen::Word(word)]
    }
}

/// Whether outputs are passive, and what happened where variables were used inside.
fn facts<E: Engine>(host: &Host<E>) -> Vec<Seen> {
    let active = host.held.iter().map(|y| E::locate(y.id()).is_some()).collect();
    vec![Seen::Facts(active), Seen::Facts(host.leaks.clone())]
}

/// Stops as numbers of marks, the last first.
pub(crate) fn order(stops: &[(usize, Seeds)], marks: usize) -> Vec<(usize, &Seeds)> {
    let mut stops: Vec<_> = stops.iter().map(|(k, seeds)| (k % marks, seeds)).collect();
    stops.sort_by_key(|(k, _)| core::cmp::Reverse(*k));
    stops
}

fn own_lanes<E: Engine, const N: usize>(
    tape: &mut Tape<E>,
    seeds: &[(&Real<E>, Vec<E::Value>)],
    inputs: &[Real<E>],
) -> Vec<Vec<E::Value>> {
    let seeds: Vec<(&Real<E>, [E::Value; N])> =
        seeds.iter().map(|(y, seeds)| (*y, core::array::from_fn(|lane| seeds[lane]))).collect();
    let swept = tape.sweep_lanes(&seeds).expect("its own outputs");
    let of = |x: &Real<E>| consumed(swept.of(x), [E::Value::ZERO; N]).expect("its own inputs").to_vec();
    inputs.iter().map(of).collect()
}
