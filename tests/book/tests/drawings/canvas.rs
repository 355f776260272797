//! A sheet that shapes are put on, and the SVG that it becomes.

use std::fmt::Write as _;

/// How a shape is filled. The colors are those of Okabe and Ito, pale, with an edge of the full color.
#[derive(Clone, Copy)]
pub(crate) enum Paint {
    Blue,
    Orange,
    Green,
    Purple,
    /// No color: what is there and does not matter, or is free.
    Plain,
}

impl Paint {
    fn class(self) -> &'static str {
        match self {
            Self::Blue => "blue",
            Self::Orange => "orange",
            Self::Green => "green",
            Self::Purple => "purple",
            Self::Plain => "plain",
        }
    }
}

/// Where a text has its point.
#[derive(Clone, Copy)]
pub(crate) enum At {
    Start,
    Middle,
}

/// Both themes: a drawing has a ground of its own, so it can be read on any page.
const STYLE: &str = "\
text{font-family:system-ui,sans-serif;font-size:14px;fill:#1b1f24}\
.small{font-size:12px}.head{font-weight:600}.code{font-family:ui-monospace,monospace;font-size:13px}\
.ground{fill:#fff}.line{stroke:#57606a;fill:none;stroke-width:1.5}.tip{fill:#57606a}\
.strong{stroke:#0072b2;stroke-width:3}.dashed{stroke-dasharray:5 4}\
.blue{fill:#d3e6f3;stroke:#0072b2}.orange{fill:#fbeccb;stroke:#c98a00}.green{fill:#cdebe0;stroke:#009e73}\
.purple{fill:#f3dfea;stroke:#cc79a7}.plain{fill:none;stroke:#8c959f}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#22272e}.line{stroke:#adbac7}.tip{fill:#adbac7}\
.strong{stroke:#56b4e9}.blue{fill:#123a54}.orange{fill:#4d3a0c}.green{fill:#0c4034}.purple{fill:#4a2c3d}}";

/// A sheet of some width and height, in pixels.
pub(crate) struct Canvas {
    width: f64,
    height: f64,
    shapes: String,
}

impl Canvas {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, shapes: String::new() }
    }

    /// A box with rounded corners.
    pub(crate) fn cell(&mut self, [x, y]: [f64; 2], [width, height]: [f64; 2], paint: Paint) {
        let class = paint.class();
        let _ = writeln!(
            self.shapes,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\" class=\"{class}\"/>"
        );
    }

    /// A box with a text in its middle.
    pub(crate) fn labelled(&mut self, at: [f64; 2], size: [f64; 2], paint: Paint, label: &str) {
        self.cell(at, size, paint);
        self.text([at[0] + size[0] / 2.0, at[1] + size[1] / 2.0 + 5.0], At::Middle, "code", label);
    }

    pub(crate) fn text(&mut self, [x, y]: [f64; 2], at: At, class: &str, text: &str) {
        let anchor = match at {
            At::Start => "start",
            At::Middle => "middle",
        };
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        let _ =
            writeln!(self.shapes, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>");
    }

    pub(crate) fn circle(&mut self, [x, y]: [f64; 2], radius: f64, paint: Paint) {
        let class = paint.class();
        let _ = writeln!(self.shapes, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" class=\"{class}\"/>");
    }

    pub(crate) fn line(&mut self, from: [f64; 2], to: [f64; 2], class: &str) {
        let ([x1, y1], [x2, y2]) = (from, to);
        let _ = writeln!(self.shapes, "<path d=\"M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}\" class=\"line {class}\"/>");
    }

    /// A line with a tip at its end.
    pub(crate) fn arrow(&mut self, from: [f64; 2], to: [f64; 2], class: &str) {
        self.line(from, to, class);
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let length = dx.hypot(dy);
        let (dx, dy) = (dx / length, dy / length);
        let corner = |side: f64| [to[0] - 9.0 * dx - side * 4.0 * dy, to[1] - 9.0 * dy + side * 4.0 * dx];
        let ([x, y], [ax, ay], [bx, by]) = (to, corner(1.0), corner(-1.0));
        let _ = writeln!(self.shapes, "<path d=\"M{x:.1} {y:.1}L{ax:.1} {ay:.1}L{bx:.1} {by:.1}Z\" class=\"tip\"/>");
    }

    /// The file. The title is what readers get who do not see the drawing.
    pub(crate) fn svg(&self, title: &str) -> String {
        let Self { width, height, shapes } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\">\n<title>{title}</title>\n<style>{STYLE}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"8\" class=\"ground\"/>\n{shapes}</svg>\n"
        )
    }
}
