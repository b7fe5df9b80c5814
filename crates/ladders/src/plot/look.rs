//! Which lines of a plot stand out, how they are told apart, and where their names stand.

use super::Line;
use crate::kernels::Role;
use plotters::prelude::*;

/// Pixels between two names at least.
pub(super) const LINE: i32 = 14;

/// Colours of the rungs that stand out, apart for people who can't tell red from green, too (P. Tol's schemes).
pub(super) const COLOURS: [RGBColor; 6] = [
    RGBColor(51, 34, 136),
    RGBColor(0, 140, 130),
    RGBColor(221, 119, 0),
    RGBColor(170, 68, 153),
    RGBColor(60, 130, 210),
    RGBColor(110, 110, 0),
];
/// Colour of the variant `best`.
pub(super) const BEST: RGBColor = RGBColor(200, 20, 50);
/// Colour of the rungs that don't stand out.
pub(super) const REST: RGBColor = RGBColor(185, 185, 185);
/// Colour of their names.
const REST_NAME: RGBColor = RGBColor(125, 125, 125);
/// Most rungs that stand out beside the first one.
const STEPS: usize = 4;
/// Least gain over all rungs before it that lets a rung stand out.
const GAIN: f64 = 1.15;

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Look {
    /// Colour of the line and its marks.
    pub colour: RGBColor,
    /// Colour of the name.
    pub name: RGBColor,
    /// Width of the line in pixels.
    pub width: u32,
    /// Corners of the mark around its middle, in pixels.
    pub mark: &'static [(i32, i32)],
    /// Whether the mark is filled.
    pub filled: bool,
}

/// Shapes of marks; each is there filled and hollow.
const MARKS: [&[(i32, i32)]; 10] = [
    &[(-3, -3), (3, -3), (3, 3), (-3, 3)],
    &[(0, -4), (4, 3), (-4, 3)],
    &[(0, -5), (5, 0), (0, 5), (-5, 0)],
    &[(0, 4), (4, -3), (-4, -3)],
    &[(-2, -4), (2, -4), (4, -1), (4, 2), (2, 4), (-2, 4), (-4, 2), (-4, -1)],
    &[(-4, 0), (3, -4), (3, 4)],
    &[(4, 0), (-3, -4), (-3, 4)],
    &[(-1, -4), (1, -4), (1, -1), (4, -1), (4, 1), (1, 1), (1, 4), (-1, 4), (-1, 1), (-4, 1), (-4, -1), (-1, -1)],
    &[(-5, -2), (5, -2), (5, 2), (-5, 2)],
    &[(-2, -5), (2, -5), (2, 5), (-2, 5)],
];

/// A look for each line of a ladder, in its order.
pub(super) fn looks(lines: &[Line]) -> Vec<Look> {
    let stand_out = steps(lines);
    let mut colours = COLOURS.iter().cycle();
    let look = |(number, line): (usize, &Line)| {
        let (colour, name, width) = match line.role {
            Role::Library => (BLACK, BLACK, 3),
            Role::Best => (BEST, BEST, 3),
            Role::Rung if stand_out.contains(&number) => {
                let colour = colours.next().copied().unwrap_or(BLACK);
                (colour, colour, 2)
            }
            Role::Rung => (REST, REST_NAME, 1),
        };
        Look {
            colour,
            name,
            width,
            mark: MARKS[number % MARKS.len()],
            filled: (number / MARKS.len()).is_multiple_of(2),
        }
    };
    lines.iter().enumerate().map(look).collect()
}

/// The first rung, and those that gain most over all rungs before them, at the largest size.
fn steps(lines: &[Line]) -> Vec<usize> {
    let mut fastest = 0.0;
    let mut gains = Vec::new();
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| line.role == Role::Rung) {
        let Some(&(_, rate)) = line.points.last() else { continue };
        // The first one gains without bound.
        let gain = rate / fastest;
        if gain >= GAIN {
            gains.push((gain, number));
        }
        fastest = f64::max(fastest, rate);
    }
    gains.sort_by(|a, b| b.0.total_cmp(&a.0));
    gains.into_iter().take(1 + STEPS).map(|(_, number)| number).collect()
}

/// Places at least [`LINE`] apart, near those given, which ascend, and above `bottom` where there is room.
pub(super) fn apart(wanted: &[i32], bottom: i32) -> Vec<i32> {
    let mut places = wanted.to_vec();
    for k in 1..places.len() {
        places[k] = places[k].max(places[k - 1] + LINE);
    }
    let mut limit = bottom;
    for place in places.iter_mut().rev() {
        *place = (*place).min(limit);
        limit = *place - LINE;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, rate: f64) -> Line {
        let role = if name == "CUB" { Role::Library } else { Role::of_variant(name) };
        Line { name: name.to_owned(), role, points: vec![(1024.0, 1.0), (2048.0, rate)] }
    }

    #[test]
    fn eighteen_lines_have_eighteen_marks_and_few_have_colours() {
        let mut lines: Vec<_> = (0..16).map(|k| line(&format!("rung {k}"), 10.0 + f64::from(k))).collect();
        lines[5].points[1].1 = 60.0;
        lines.extend([line("best", 90.0), line("CUB", 80.0)]);
        let looks = looks(&lines);
        for (k, look) in looks.iter().enumerate() {
            assert!(looks[..k].iter().all(|other| (other.mark, other.filled) != (look.mark, look.filled)), "{k}");
        }
        let strong: Vec<_> = (0..lines.len()).filter(|k| looks[*k].colour != REST).collect();
        assert_eq!(strong, [0, 5, 16, 17], "the first, the one that gains, best and the library");
        assert_eq!((looks[16].colour, looks[17].colour), (BEST, BLACK));
        let strong = [looks[0].colour, looks[5].colour];
        assert!(strong[0] != strong[1] && strong.iter().all(|colour| ![REST, BEST, BLACK].contains(colour)));
    }

    #[test]
    fn a_line_is_drawn_by_its_role_and_not_by_its_name() {
        let renamed = Line { role: Role::Rung, ..line("CUB", 2.0) };
        let library = Line { role: Role::Library, ..line("best", 1.0) };
        let looks = looks(&[renamed, library]);
        assert_eq!((looks[0].colour, looks[1].colour), (COLOURS[0], BLACK));
    }

    #[test]
    fn names_keep_apart_and_on_the_picture() {
        assert_eq!(apart(&[10, 12, 100], 400), [10, 24, 100]);
        assert_eq!(apart(&[380, 385, 390], 386), [358, 372, 386]);
        assert_eq!(apart(&[], 386), Vec::<i32>::new());
    }
}
