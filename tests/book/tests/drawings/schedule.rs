//! What a checkpointing schedule does, drawn from the schedule itself.

use crate::canvas::{At, Canvas, Paint};
use tapewright::schedule::{Action, Revolve, Schedule};

const STEPS: usize = 10;
const SNAPSHOTS: usize = 3;

/// Where a step begins.
fn x(step: usize) -> f64 {
    120.0 + 54.0 * step as f64
}

/// Ten steps with three snapshots: time to the right, what happens next below.
pub(crate) fn revolve() -> String {
    let mut rows: Vec<Vec<Action>> = vec![Vec::new()];
    for action in Revolve::new(STEPS, SNAPSHOTS).actions() {
        // A row begins where the state is one that was kept.
        if matches!(action, Action::Restore { .. }) && !rows.last().is_some_and(Vec::is_empty) {
            rows.push(Vec::new());
        }
        rows.last_mut().expect("there is a row").push(action);
    }
    let top = |row: usize| 92.0 + 24.0 * row as f64;
    let bottom = top(rows.len());
    let mut c = Canvas::new(720.0, bottom + 60.0);
    let title = format!("Revolve: {STEPS} steps, {SNAPSHOTS} snapshots");
    c.text([20.0, 30.0], At::Start, "head", &title);
    for step in 0..=STEPS {
        c.text([x(step), 62.0], At::Middle, "small", &step.to_string());
        c.line([x(step), 70.0], [x(step), bottom - 8.0], "dashed");
    }
    c.text([20.0, 62.0], At::Start, "small", "before step");
    for (row, actions) in rows.iter().enumerate() {
        actions.iter().for_each(|action| draw(&mut c, *action, top(row)));
    }
    legend(&mut c, bottom + 18.0);
    c.text([20.0, bottom + 48.0], At::Start, "small", &counts());
    c.svg(&title)
}

fn draw(c: &mut Canvas, action: Action, y: f64) {
    match action {
        Action::Store { step, .. } => c.circle([x(step), y], 6.0, Paint::Orange),
        Action::Restore { step, .. } => c.circle([x(step), y], 4.0, Paint::Plain),
        Action::Advance { from, to } => c.arrow([x(from) + 6.0, y], [x(to) - 2.0, y], ""),
        Action::Record { step, .. } => c.cell([x(step) + 8.0, y - 7.0], [38.0, 14.0], Paint::Green),
        Action::Sweep { step, .. } => c.arrow([x(step + 1) - 4.0, y + 3.0], [x(step) + 4.0, y + 3.0], "strong"),
        _ => {}
    }
}

fn legend(c: &mut Canvas, y: f64) {
    c.circle([30.0, y - 4.0], 6.0, Paint::Orange);
    c.text([44.0, y], At::Start, "small", "state is kept");
    c.circle([146.0, y - 4.0], 4.0, Paint::Plain);
    c.text([160.0, y], At::Start, "small", "state is taken again");
    c.arrow([300.0, y - 4.0], [340.0, y - 4.0], "");
    c.text([348.0, y], At::Start, "small", "computed only");
    c.cell([450.0, y - 11.0], [38.0, 14.0], Paint::Green);
    c.text([496.0, y], At::Start, "small", "recorded");
    c.arrow([610.0, y - 4.0], [570.0, y - 4.0], "strong");
    c.text([618.0, y], At::Start, "small", "swept");
}

fn counts() -> String {
    let advanced = |action| if let Action::Advance { from, to } = action { to - from } else { 0 };
    let advances: usize = Revolve::new(STEPS, SNAPSHOTS).actions().map(advanced).sum();
    format!("{advances} steps are computed without recording, {STEPS} are recorded and swept, one at a time.")
}
