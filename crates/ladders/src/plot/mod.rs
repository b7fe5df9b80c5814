//! Plots of measurements, as SVG: lines over sizes, bars where there is one size. Drawn by plotters.
//!
//! A ladder has more rungs than colours that can be told apart. So the first rung, the rungs that gain most, `best` and
//! the vendor's library have strong colours, and the others are grey; each line has a mark of its own, which stands
//! before its name at the line's end, too.

use crate::error::{Error, Result};
use crate::kernels::{Role, Row, matmul};
use axis::{powers_of_two, ticks};
use look::{BEST, COLOURS, LINE, Look, REST, apart, looks};
use plotters::coord::combinators::{BindKeyPoints, LogCoord};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::collections::BTreeMap;

mod axis;
mod look;

/// Pixels of a panel.
const WIDTH: u32 = 760;
/// Height of a panel of lines in pixels.
const HEIGHT: u32 = 400;
/// Width of the lines' names on the right, in pixels.
const NAMES: i32 = 190;
/// Height of a bar with its gap, in pixels.
const BAR: i32 = 22;
/// The horizontal axis of a product of matrices.
const SIDE: &str = "side of the matrices";

/// One picture of several.
#[derive(Clone, Debug, PartialEq)]
pub enum Panel {
    /// A line per variant over the number of elements, both axes logarithmic.
    Lines {
        /// Title: the subject of the measurements.
        title: String,
        /// Meaning of the horizontal axis.
        axis: &'static str,
        /// Unit of the vertical axis.
        unit: &'static str,
        /// The lines in the order of the ladder.
        lines: Vec<Line>,
    },
    /// A bar per variant.
    Bars {
        /// Title: the quantity, its subject, and its unit.
        title: String,
        /// The bars in the order of the ladder.
        bars: Vec<Bar>,
    },
}

/// A variant's measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The variant's name.
    pub name: String,
    /// Its role, which determines its colour.
    pub role: Role,
    /// Length: the measured value.
    pub value: f64,
}

/// A variant's measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The variant's name.
    pub name: String,
    /// Its role, which determines its colour and width.
    pub role: Role,
    /// Pairs of size and measured value.
    pub points: Vec<(f64, f64)>,
}

/// One measurement, from which panels are made.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Family, operation, type and settings: measurements of the same subject are compared with each other.
    pub subject: String,
    /// The variant's name, as in the row.
    pub variant: String,
    /// Whether it is one of the family's variants or another library's.
    pub role: Role,
    /// The problem's size: see [`Size::new`].
    pub size: Size,
    /// Unit and value.
    pub value: (&'static str, f64),
}

/// The size of a problem on the horizontal axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// The number.
    pub value: f64,
    /// Its meaning.
    pub axis: &'static str,
}

impl Size {
    /// The number of elements of the first operand; of a product of matrices the side, since that number says nothing
    /// about the other operand: the cube root of M * N * K.
    pub fn new(family: &str, n: u64, shape: &[u64]) -> Self {
        match *shape {
            [m, n, k] if family == matmul::FAMILY.name => {
                Self { value: (m as f64 * n as f64 * k as f64).cbrt(), axis: SIDE }
            }
            _ => Self { value: n as f64, axis: "elements" },
        }
    }

    /// The size for a title.
    fn in_words(self) -> String {
        let number = self.value.round();
        if self.axis == SIDE { format!("matrices of side {number}") } else { format!("{number} {}", self.axis) }
    }
}

/// Panels of rows: of the rates on a GPU, and of the counters that determine the time on the simulator.
pub fn of_rows<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<Panel> {
    panels(rows.into_iter().flat_map(measurements))
}

fn measurements(row: &Row) -> Vec<Measurement> {
    let words = [Some(row.family), row.op.as_deref(), Some(row.dtype), row.settings.as_deref()];
    let subject = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let shape: Vec<u64> = row.shape.iter().flatten().map(|&axis| axis as u64).collect();
    let size = Size::new(row.family, row.n, &shape);
    let measurement =
        |value| Measurement { subject: subject.clone(), variant: row.variant.clone(), role: row.role, size, value };
    match (row.tflops.map(|x| ("TFLOP/s", x)).or(row.gbps.map(|x| ("GB/s", x))), &row.counters) {
        (Some(rate), _) => vec![measurement(rate)],
        (None, Some(counters)) => vec![
            measurement(("warp instructions", counters.warp_instructions as f64)),
            measurement(("sectors of global memory", counters.global_sectors as f64)),
            measurement(("wavefronts of shared memory", counters.shared_wavefronts as f64)),
        ],
        (None, None) => Vec::new(),
    }
}

/// Makes a panel per subject and unit, in the order in which they first appear: lines if there are several sizes, else
/// bars. A quantity that is 0 for all variants has no panel.
pub fn panels(measurements: impl IntoIterator<Item = Measurement>) -> Vec<Panel> {
    let mut subjects: Vec<Vec<Measurement>> = Vec::new();
    for one in measurements {
        let same = |all: &&mut Vec<Measurement>| all[0].subject == one.subject && all[0].value.0 == one.value.0;
        match subjects.iter_mut().find(same) {
            Some(all) => all.push(one),
            None => subjects.push(vec![one]),
        }
    }
    subjects.retain(|all| all.iter().any(|one| one.value.1 > 0.0));
    subjects.iter().map(|all| panel(all)).collect()
}

/// Makes the panel of one subject from its measurements, of which there is at least one.
fn panel(all: &[Measurement]) -> Panel {
    let (subject, unit) = (&all[0].subject, all[0].value.0);
    let size @ Size { axis, .. } = all[0].size;
    if all.iter().all(|one| one.size.value == size.value) {
        let bars =
            all.iter().map(|one| Bar { name: one.variant.clone(), role: one.role, value: one.value.1 }).collect();
        return Panel::Bars { title: format!("{subject}, {}: {unit}", size.in_words()), bars };
    }
    let mut lines: Vec<Line> = Vec::new();
    let mut places = BTreeMap::new();
    for one in all.iter().filter(|one| one.value.1 > 0.0) {
        let place = *places.entry(&one.variant).or_insert_with(|| {
            lines.push(Line { name: one.variant.clone(), role: one.role, points: Vec::new() });
            lines.len() - 1
        });
        lines[place].points.push((one.size.value, one.value.1));
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    Panel::Lines { title: subject.clone(), axis, unit, lines }
}

/// The panels below each other, as the text of an SVG file.
///
/// # Errors
/// [`Error::Usage`] when there is nothing to draw.
pub fn svg(panels: &[Panel]) -> Result<String> {
    if panels.is_empty() {
        return Err(Error::Usage("there is nothing to plot: no row has a time or a counter above 0".to_owned()));
    }
    let heights: Vec<_> = panels.iter().map(Panel::height).collect();
    let mut text = String::new();
    {
        let mut rest = SVGBackend::with_string(&mut text, (WIDTH, heights.iter().sum())).into_drawing_area();
        let failed = |error: &dyn std::fmt::Display| Error::Usage(format!("the plot can't be drawn: {error}"));
        rest.fill(&WHITE).map_err(|error| failed(&error))?;
        for (panel, height) in panels.iter().zip(heights) {
            let (area, below) = rest.split_vertically(height as i32);
            rest = below;
            panel.draw(&area).map_err(|error| failed(&error))?;
        }
        rest.present().map_err(|error| failed(&error))?;
    }
    Ok(text)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> = std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

impl Panel {
    fn height(&self) -> u32 {
        match self {
            Self::Lines { .. } => HEIGHT,
            Self::Bars { bars, .. } => 50 + BAR as u32 * bars.len() as u32,
        }
    }

    fn draw<'a>(&self, area: &Area<'a>) -> Drawn<'a> {
        match self {
            Self::Lines { title, axis, unit, lines } => draw_lines(area, title, [axis, unit], lines),
            Self::Bars { title, bars } => draw_bars(area, title, bars),
        }
    }
}

fn draw_lines<'a>(area: &Area<'a>, title: &str, axes: [&str; 2], lines: &[Line]) -> Drawn<'a> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)))
    };
    // Room around the points, so that none lies on the frame.
    let (left, right) = range(&mut points().map(|point| point.0));
    let (low, high) = range(&mut points().map(|point| point.1));
    let (left, right, low, high) = (left / 1.2, right * 1.2, low / 1.3, high * 1.3);
    // The labels of plotters stand at powers of the base, of which a short axis has none.
    let x: LogCoord<f64> = (left..right).log_scale().base(2.0).into();
    let y: LogCoord<f64> = (low..high).log_scale().into();
    let (x, y) = (x.with_key_points(powers_of_two(left, right)), y.with_key_points(ticks(low, high)));
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 15))
        .margin(10)
        .margin_right(NAMES)
        .x_label_area_size(38)
        .y_label_area_size(60)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc(axes[0])
        .y_desc(axes[1])
        .x_label_formatter(&|n| elements(*n))
        .y_label_formatter(&|y| number(*y))
        .draw()?;
    let (_, origin) = area.get_base_pixel();
    let looks = looks(lines);
    let mut names = Vec::new();
    // The lines that stand out lie on the others.
    for width in 1..=3 {
        for (line, look) in lines.iter().zip(&looks).filter(|(_, look)| look.width == width) {
            let style = look.colour.stroke_width(width);
            chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
            for point in &line.points {
                let (x, y) = chart.backend_coord(point);
                draw_mark(area, look, (x, y - origin))?;
            }
            if let Some(last) = line.points.last() {
                let (x, y) = chart.backend_coord(last);
                names.push(((x, y - origin), line.name.as_str(), *look));
            }
        }
    }
    draw_names(area, names)
}

fn draw_mark<'a>(area: &Area<'a>, look: &Look, (x, y): (i32, i32)) -> Drawn<'a> {
    let corners: Vec<_> = look.mark.iter().map(|(right, down)| (x + right, y + down)).collect();
    let inside = if look.filled { look.colour } else { WHITE };
    area.draw(&Polygon::new(corners.clone(), inside.filled()))?;
    let outline = corners.iter().copied().chain(corners.first().copied());
    area.draw(&PathElement::new(outline.collect::<Vec<_>>(), look.colour))
}

/// Names beside the ends of their lines, each with the line's mark, pushed apart where they would cover each other.
fn draw_names<'a>(area: &Area<'a>, mut names: Vec<((i32, i32), &str, Look)>) -> Drawn<'a> {
    names.sort_by_key(|((_, y), ..)| *y);
    let ends: Vec<i32> = names.iter().map(|((_, y), ..)| *y).collect();
    let left = WIDTH as i32 - NAMES + 4;
    for (((x, end), name, look), y) in names.iter().zip(apart(&ends, HEIGHT as i32 - LINE)) {
        area.draw(&PathElement::new(vec![(x + 5, *end), (left, y)], REST.stroke_width(1)))?;
        draw_mark(area, look, (left + 6, y))?;
        let style = ("sans-serif", 12).into_font().color(&look.name).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new((*name).to_owned(), (left + 16, y), style))?;
    }
    Ok(())
}

fn draw_bars<'a>(area: &Area<'a>, title: &str, bars: &[Bar]) -> Drawn<'a> {
    /// Pixels on the left for the names.
    const LEFT: i32 = 170;
    let most = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    let coordinates = RangedCoordf64::from(0.0..most);
    let text = |size, at| ("sans-serif", size).into_font().color(&BLACK).pos(Pos::new(at, VPos::Center));
    area.draw(&Text::new(title.to_owned(), (10, 14), text(15, HPos::Left)))?;
    for (row, Bar { name, role, value }) in bars.iter().enumerate() {
        let y = 40 + BAR * row as i32;
        let right = coordinates.map(value, (LEFT, WIDTH as i32 - NAMES));
        let colour = if *role == Role::Best { BEST } else { COLOURS[0] };
        area.draw(&Rectangle::new([(LEFT, y - BAR / 2 + 3), (right, y + BAR / 2 - 3)], colour.filled()))?;
        area.draw(&Text::new(name.clone(), (LEFT - 8, y), text(12, HPos::Right)))?;
        area.draw(&Text::new(number(*value), (right + 6, y), text(12, HPos::Left)))?;
    }
    Ok(())
}

/// `2^20` where that is exact.
fn elements(n: f64) -> String {
    let power = n.log2();
    if power >= 10.0 && (power - power.round()).abs() < 1e-9 { format!("2^{power:.0}") } else { number(n) }
}

/// Three digits that count, without an exponent from 0.01 to a million.
fn number(x: f64) -> String {
    match x {
        _ if x >= 1e6 => format!("{:.3}M", x / 1e6),
        _ if x >= 100.0 => format!("{x:.0}"),
        _ if x >= 10.0 => format!("{x:.1}"),
        _ if x >= 0.01 => format!("{x:.2}"),
        0.0 => "0".to_owned(),
        _ => format!("{x:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(subject: &str, variant: &str, n: u64, value: f64) -> Measurement {
        let (subject, variant) = (subject.to_owned(), variant.to_owned());
        let role = if variant == "CUB" { Role::Library } else { Role::of_variant(&variant) };
        let size = Size::new(&subject, n, &[]);
        Measurement { subject, role, variant, size, value: ("GB/s", value) }
    }

    #[test]
    fn several_sizes_are_lines_one_is_bars() {
        let all = [
            one("reduce sum f32", "best", 1 << 22, 1400.0),
            one("reduce sum f32", "best", 1 << 20, 500.0),
            one("reduce sum f32", "CUB", 1 << 20, 400.0),
            one("scan", "best", 100, 3.0),
            one("nothing", "best", 100, 0.0),
        ];
        let panels = panels(all);
        let [Panel::Lines { lines, .. }, Panel::Bars { bars, title, .. }] = panels.as_slice() else {
            panic!("lines and bars, not {panels:?}");
        };
        assert_eq!(lines[0].points, [((1 << 20) as f64, 500.0), ((1 << 22) as f64, 1400.0)]);
        assert_eq!((lines[0].role, lines[1].role), (Role::Best, Role::Library));
        assert_eq!(
            (bars.as_slice(), title.as_str()),
            (&[Bar { name: "best".to_owned(), role: Role::Best, value: 3.0 }][..], "scan, 100 elements: GB/s")
        );
        let text = svg(&panels).expect("a drawing");
        for part in ["<svg", "CUB", "best", "2^20", "reduce sum f32", "3.00"] {
            assert!(text.contains(part), "{part} is missing");
        }
        assert_eq!(text, svg(&panels).expect("a drawing"), "the same picture every time");
    }

    #[test]
    fn the_axes_of_a_product_of_matrices_are_labelled() {
        let one = |side: u64, rate: f64| Measurement {
            size: Size::new("matmul", side * side, &[side, side, side]),
            ..one("matmul f64", "best", 1, rate)
        };
        // All rates lie between two powers of ten.
        let text = svg(&panels([one(256, 20.0), one(1024, 31.0), one(4096, 60.0)])).expect("a drawing");
        for part in ["side of the matrices", ">\n20.0\n<", ">\n40.0\n<", ">\n256", ">\n2^12\n<"] {
            assert!(text.contains(part), "{part:?} is missing in {text}");
        }
        let bars = panels([one(64, 1.0)]);
        assert!(
            matches!(&bars[0], Panel::Bars { title, .. } if title == "matmul f64, matrices of side 64: GB/s"),
            "{bars:?}"
        );
    }

    #[test]
    fn numbers_have_three_digits_and_zero_has_one() {
        let shown = [2_500_000.0, 123.4, 12.34, 1.234, 0.001, 0.0].map(number);
        assert_eq!(shown, ["2.500M", "123", "12.3", "1.23", "1e-3", "0"]);
    }

    #[test]
    fn nothing_to_draw_is_said() {
        assert!(svg(&[]).expect_err("refused").to_string().contains("nothing to plot"));
    }
}
