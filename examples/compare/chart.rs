//! Bars for bytes and for time, a group for each workload, a bar for each strategy in memory.
//!
//! Records have a color, indices a pattern: reused ones are striped, and stand beside linear ones. The colors are those
//! of Okabe and Ito, which people who see colors differently can tell apart.

use crate::paths;
use crate::strategies::Strategy;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::error::Error;
use std::path::Path;

/// A workload and its bars.
pub(crate) struct Group {
    workload: String,
    bars: Vec<Bar>,
}

/// One strategy's figures.
struct Bar {
    strategy: Strategy,
    /// Bytes for each statement, adjoints included.
    bytes: f64,
    /// Recording and sweep, as a multiple of the function.
    time: f64,
}

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Axes<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Draws the figures in a file that was written before.
pub(crate) fn redraw(figures: &Path, svg: Option<&Path>) -> Result<(), String> {
    let at = |why: String| format!("--redraw {}: {why}", figures.display());
    let text = std::fs::read_to_string(figures).map_err(|error| at(error.to_string()))?;
    let groups = read(&text).map_err(at)?;
    draw(svg.ok_or("--redraw needs --svg")?, &groups)
}

/// The groups in figures; lines that begin with `#` are notes.
pub(crate) fn read(csv: &str) -> Result<Vec<Group>, String> {
    let mut lines = csv.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| header.iter().position(|found| *found == name).ok_or(format!("no column {name}"));
    let names = ["workload", "strategy", "indices", "layer", "statements", "tape_bytes", "adjoint_bytes", "ratio"];
    let columns = names.map(column).into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut groups: Vec<Group> = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |k: usize| cells.get(columns[k]).copied().unwrap_or_default();
        let number = |k: usize| cell(k).parse::<f64>().map_err(|_| format!("'{}' is no number in '{line}'", cell(k)));
        let is_this =
            |strategy: &&Strategy| [strategy.records, strategy.indices, strategy.layer] == [1, 2, 3].map(cell);
        let Some(strategy) = Strategy::ALL.iter().find(is_this).filter(|strategy| strategy.is_in_memory()) else {
            continue;
        };
        let bar = Bar { strategy: *strategy, bytes: (number(5)? + number(6)?) / number(4)?.max(1.0), time: number(7)? };
        match groups.last_mut().filter(|group| group.workload == cell(0)) {
            Some(group) => group.bars.push(bar),
            None => groups.push(Group { workload: cell(0).to_owned(), bars: vec![bar] }),
        }
    }
    if groups.is_empty() { Err("there are no strategies in memory".into()) } else { Ok(groups) }
}

/// Draws the chart in a file.
pub(crate) fn draw(path: &Path, groups: &[Group]) -> Result<(), String> {
    panels(path, groups).map_err(|error| paths::refused("--svg", path, &error))
}

fn panels(path: &Path, groups: &[Group]) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(path, (1120, 760)).into_drawing_area();
    root.fill(&WHITE)?;
    let (upper, lower) = root.split_vertically(380);
    panel(&upper, "bytes per statement, adjoints included", groups, |bar| bar.bytes)?;
    panel(&lower, "record + sweep, as a multiple of the function", groups, |bar| bar.time)?;
    root.present()?;
    Ok(())
}

/// The strategies in the order of their bars: what differs only in its indices stands together.
fn order(groups: &[Group]) -> Vec<Strategy> {
    let drawn = |s: &&Strategy| groups.iter().flat_map(|group| &group.bars).any(|bar| bar.strategy == **s);
    let mut order: Vec<Strategy> = Strategy::ALL.iter().filter(drawn).copied().collect();
    let records: Vec<&str> = order.iter().map(|strategy| strategy.records).collect();
    let first = |strategy: &Strategy| records.iter().position(|found| *found == strategy.records);
    order.sort_by_key(first);
    order
}

fn color(strategy: Strategy) -> RGBColor {
    match strategy.records {
        "jacobian" => RGBColor(0, 114, 178),
        "primal_value" => RGBColor(230, 159, 0),
        "hybrid" => RGBColor(0, 158, 115),
        _ => RGBColor(204, 121, 167),
    }
}

fn panel(area: &Panel<'_>, title: &str, groups: &[Group], height: fn(&Bar) -> f64) -> Result<(), Box<dyn Error>> {
    let highest = groups.iter().flat_map(|group| &group.bars).map(height).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(50)
        .build_cartesian_2d(0.0..groups.len() as f64, 0.0..1.15 * highest)?;
    let name = |x: &f64| {
        let at = groups.iter().enumerate().find(|(k, _)| (*k as f64 + 0.5 - x).abs() < 0.01);
        at.map_or_else(String::new, |(_, group)| group.workload.clone())
    };
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh().light_line_style(TRANSPARENT).x_labels(2 * groups.len() + 1).x_label_formatter(&name);
    mesh.draw()?;
    let order = order(groups);
    let width = 0.8 / order.len().max(1) as f64;
    for (s, strategy) in order.into_iter().enumerate() {
        let bars = groups.iter().enumerate().filter_map(|(k, group)| {
            let bar = group.bars.iter().find(|bar| bar.strategy == strategy)?;
            Some((k as f64 + 0.1 + s as f64 * width, height(bar)))
        });
        draw_bars(&mut chart, strategy, bars.collect(), 0.85 * width, highest / 60.0)?;
    }
    let mut labels = chart.configure_series_labels();
    labels.position(SeriesLabelPosition::UpperMiddle).background_style(WHITE).border_style(BLACK.mix(0.3)).draw()?;
    Ok(())
}

/// The bars of one strategy, given by their left sides and heights: solid, or striped for reused indices.
fn draw_bars(
    chart: &mut Axes<'_>,
    strategy: Strategy,
    bars: Vec<(f64, f64)>,
    width: f64,
    stripe: f64,
) -> Result<(), Box<dyn Error>> {
    let (color, is_striped) = (color(strategy), strategy.indices == "reuse");
    let fill = if is_striped { color.mix(0.25).filled() } else { color.filled() };
    let right = |left: f64| left + width;
    chart
        .draw_series(bars.iter().map(|(left, top)| Rectangle::new([(*left, 0.0), (right(*left), *top)], fill)))?
        .label(strategy.title())
        .legend(move |(x, y)| {
            let (fill, middle) = if is_striped { (color.mix(0.25), 2) } else { (color.mix(1.0), 5) };
            let whole = Rectangle::new([(x, y - 5), (x + 12, y + 5)], fill.filled());
            let line = Rectangle::new([(x, y - middle), (x + 12, y + middle)], color.filled());
            EmptyElement::at((0, 0)) + whole + line
        });
    if is_striped {
        let lines = bars.iter().flat_map(|&(left, top)| {
            let heights = (0..).map(move |k| 2.0 * stripe * f64::from(k)).take_while(move |y| *y < top);
            heights.map(move |y| Rectangle::new([(left, y), (right(left), (y + stripe).min(top))], color.filled()))
        });
        chart.draw_series(lines)?;
    }
    Ok(())
}
