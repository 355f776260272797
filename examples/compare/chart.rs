//! Bars for bytes and for time, a group for each workload, a bar for each strategy in memory.

use crate::measure::{Outcome, Row};
use crate::strategies::Strategy;
use plotters::coord::Shift;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws the chart.
pub(crate) fn draw(path: &Path, outcomes: &[Outcome]) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, (1120, 760)).into_drawing_area();
    root.fill(&WHITE)?;
    let (upper, lower) = root.split_vertically(380);
    panel(&upper, "bytes per statement, adjoints included", outcomes, |_, row| {
        row.bytes() as f64 / row.memory.statements.max(1) as f64
    })?;
    panel(&lower, "record + reverse, as a multiple of the primal", outcomes, |outcome, row| {
        row.multiple_of(&outcome.primal).median
    })?;
    root.present()?;
    Ok(())
}

fn panel(
    area: &Panel<'_>,
    title: &str,
    outcomes: &[Outcome],
    height: impl Fn(&Outcome, &Row) -> f64,
) -> Result<(), Box<dyn Error>> {
    let shown = |row: &&Row| row.strategy.is_in_memory();
    let heights =
        |outcome: &Outcome| outcome.rows.iter().filter(shown).map(|row| height(outcome, row)).fold(0.0, f64::max);
    let top = outcomes.iter().map(heights).fold(1.0, f64::max) * 1.15;
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..outcomes.len() as f64, 0.0..top)?;
    let name = |x: &f64| {
        let middle = (x.fract() - 0.5).abs() < 0.01;
        let outcome = middle.then(|| outcomes.iter().enumerate().find(|(k, _)| (*k as f64 + 0.5 - x).abs() < 0.01));
        outcome.flatten().map_or_else(String::new, |(_, outcome)| outcome.workload.to_owned())
    };
    let labels = 2 * outcomes.len() + 1;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(labels)
        .x_label_formatter(&name)
        .draw()?;
    let drawn =
        |strategy: &Strategy| outcomes.iter().flat_map(|outcome| &outcome.rows).any(|row| row.strategy == *strategy);
    let strategies: Vec<_> = Strategy::ALL.iter().copied().filter(|s| s.is_in_memory() && drawn(s)).collect();
    let width = 0.8 / strategies.len().max(1) as f64;
    for (s, strategy) in strategies.into_iter().enumerate() {
        let colour = Palette99::pick(s).mix(0.8);
        let bars = outcomes.iter().enumerate().flat_map(|(k, outcome)| {
            outcome.rows.iter().filter(move |row| row.strategy == strategy).map(move |row| (k, outcome, row))
        });
        let bars = bars.map(|(k, outcome, row)| {
            let left = k as f64 + 0.1 + s as f64 * width;
            Rectangle::new([(left, 0.0), (left + 0.9 * width, height(outcome, row))], colour.filled())
        });
        chart
            .draw_series(bars)?
            .label(strategy.title())
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 10, y + 5)], colour.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperMiddle)
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}
