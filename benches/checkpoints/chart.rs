//! Time over memory, with a line for each kind of schedule.

use crate::mb;
use crate::tradeoff::Point;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

/// Draws time, as a multiple of that with all steps on the tape, over megabytes.
pub(super) fn draw(path: &Path, revolve: &[Point], mixed: &[Point], full: &Point) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, (760, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let at = |point: &Point| (mb(point.bytes), point.seconds / full.seconds);
    let everything = || revolve.iter().chain(mixed).chain([full]).map(at);
    let most = |of: fn((f64, f64)) -> f64| everything().map(of).fold(0.0, f64::max);
    let least = everything().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let mut chart = ChartBuilder::on(&root)
        .caption("time of one gradient over memory for tapes and snapshots", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((0.8 * least..1.3 * most(|point| point.0)).log_scale(), 0.0..1.1 * most(|point| point.1))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("MB (logarithmic)")
        .y_desc("× time on the full tape")
        .draw()?;
    for (k, (name, points)) in
        [("Revolve", revolve), ("Mixed", mixed), ("full tape", core::slice::from_ref(full))].into_iter().enumerate()
    {
        let color = Palette99::pick(k).to_rgba();
        chart
            .draw_series(LineSeries::new(points.iter().map(at), color.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
        chart.draw_series(points.iter().map(|point| Circle::new(at(point), 4, color.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .draw()?;
    root.present()?;
    Ok(())
}
