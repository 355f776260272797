//! Recomputation over memory.

use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

/// Draws evaluations of each step over megabytes. On the full tape, which takes `full` megabytes, each step is
/// evaluated once.
pub(super) fn draw(path: &Path, points: &[(f64, f64)], full: f64) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, (760, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let least = points.iter().map(|point| point.0).fold(full, f64::min);
    let most = points.iter().map(|point| point.1).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(&root)
        .caption("a loop of 100,000 steps: evaluations of each step over memory", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((0.8 * least..1.5 * full).log_scale(), (0.8..1.3 * most).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("MB for tapes and snapshots (logarithmic)")
        .y_desc("evaluations of each step (logarithmic)")
        .y_label_formatter(&|y| {
            if [1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0].contains(y) { y.to_string() } else { String::new() }
        })
        .draw()?;
    // Blue and orange of Okabe and Ito, and two shapes.
    let color = RGBColor(0, 114, 178).to_rgba();
    chart
        .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?
        .label("Revolve, from 4 snapshots to one for each step")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
    chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, color.filled())))?;
    let other = RGBColor(230, 159, 0).to_rgba();
    chart
        .draw_series([TriangleMarker::new((full, 1.0), 9, other.filled())])?
        .label("full tape")
        .legend(move |(x, y)| TriangleMarker::new((x + 8, y), 7, other.filled()));
    let gray = BLACK.mix(0.4);
    chart
        .draw_series(LineSeries::new([(0.01 * full, 0.8), (0.01 * full, 1.3 * most)], gray))?
        .label("1 % of it")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], gray));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .draw()?;
    root.present()?;
    Ok(())
}
