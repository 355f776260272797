//! Time over the memory budget.

use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

/// Draws seconds over megabytes, with the time in memory as a line and the size of the tape marked.
pub(super) fn draw(path: &Path, points: &[(f64, f64)], in_memory: f64, tape: f64) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, (760, 420)).into_drawing_area();
    root.fill(&WHITE)?;
    let largest = points.iter().map(|(_, seconds)| *seconds).fold(in_memory, f64::max);
    let (left, right) = (points[0].0 * 0.8, points[points.len() - 1].0 * 1.25);
    let mut chart = ChartBuilder::on(&root)
        .caption("time of one gradient over the memory budget", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d((left..right).log_scale(), 0.0..largest * 1.15)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("memory budget in MB (logarithmic)")
        .y_desc("seconds")
        .draw()?;
    let color = Palette99::pick(0).to_rgba();
    chart
        .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)))?
        .label("spilled")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
    chart.draw_series(points.iter().map(|point| Circle::new(*point, 4, color.filled())))?;
    let gray = BLACK.mix(0.5);
    chart
        .draw_series(LineSeries::new([(left, in_memory), (right, in_memory)], gray))?
        .label("in memory")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], gray));
    let red = RED.mix(0.5);
    chart
        .draw_series(LineSeries::new([(tape, 0.0), (tape, largest * 1.15)], red))?
        .label("size of the tape")
        .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], red));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE)
        .border_style(BLACK.mix(0.3))
        .draw()?;
    root.present()?;
    Ok(())
}
