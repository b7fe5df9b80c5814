//! Tables that fit a terminal.
//!
//! A table that is wider than the terminal is made narrower in this order, until it fits: headings are wrapped at
//! spaces; columns of sentences are wrapped; columns are left out, those with the highest rank first. What was left out
//! is said under the table.

use crate::wrap::wrap;
use comfy_table::{Attribute, Cell as Formatted, CellAlignment, Color, ColumnConstraint, Table, Width, presets};

/// The surroundings of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Characters of a line; `None` for any number.
    pub width: Option<usize>,
    /// Whether colours and bold text are shown.
    pub colour: bool,
}

/// The meaning of a cell, which determines its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Any text.
    #[default]
    Plain,
    /// A good outcome.
    Good,
    /// An outcome to look at.
    Poor,
    /// A bad outcome.
    Bad,
    /// An explanation.
    Quiet,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// Creates a cell with a meaning.
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// How a column becomes narrower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// The column always has its width.
    Keep,
    /// The column is left out; higher numbers go first.
    Drop(u8),
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    heading: String,
    right: bool,
    /// Narrowest width of a column of sentences, which are wrapped.
    wrapped: Option<usize>,
    fit: Fit,
}

impl Column {
    /// A column of words, on the left.
    pub fn text(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), right: false, wrapped: None, fit: Fit::Keep }
    }

    /// A column of numbers, on the right.
    pub fn number(heading: impl Into<String>) -> Self {
        Self { right: true, ..Self::text(heading) }
    }

    /// A column of sentences, which are wrapped to `narrowest` characters or more.
    pub fn sentences(heading: impl Into<String>, narrowest: usize) -> Self {
        Self { wrapped: Some(narrowest), ..Self::text(heading) }
    }

    /// Lets the column be left out, before those with a lower rank.
    pub fn rank(self, rank: u8) -> Self {
        Self { fit: Fit::Drop(rank), ..self }
    }
}

/// A table with a heading.
#[derive(Clone, Debug)]
pub struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// Where the columns are that were left out.
    elsewhere: &'static str,
}

/// Characters between and around `columns` columns.
fn borders(columns: usize) -> usize {
    3 * columns + 1
}

impl Grid {
    /// Creates a table without rows. `elsewhere` says where columns are shown that are left out, as in `--json`.
    pub fn new(columns: impl IntoIterator<Item = Column>, elsewhere: &'static str) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), elsewhere }
    }

    /// Adds a row, with a cell for each column.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// The text of the table, and of a line under it that names the columns that are left out.
    pub fn render(&self, look: Look) -> String {
        let Layout { shown, widths } = self.layout(look.width);
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN);
        if look.colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let bold = |text: &str| Formatted::new(text).add_attribute(Attribute::Bold);
        table.set_header(shown.iter().map(|&k| bold(&self.columns[k].heading)));
        for row in &self.rows {
            table.add_row(shown.iter().map(|&k| formatted(&row[k])));
        }
        for ((&k, width), place) in shown.iter().zip(&widths).zip(0..) {
            let Some(column) = table.column_mut(place) else { continue };
            if self.columns[k].right {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if *width < self.natural(k) {
                // The width includes a space on both sides.
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(*width as u16 + 2)));
            }
        }
        let left_out: Vec<&str> =
            (0..self.columns.len()).filter(|k| !shown.contains(k)).map(|k| self.columns[k].heading.as_str()).collect();
        match left_out.as_slice() {
            [] => table.to_string(),
            names => {
                let line = format!("left out for lack of width: {} ({})", names.join(", "), self.elsewhere);
                format!("{table}\n{}", wrap(&line, look.width, 2))
            }
        }
    }

    /// Chooses the columns and their widths.
    fn layout(&self, width: Option<usize>) -> Layout {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let mut widths: Vec<usize> = shown.iter().map(|&k| self.natural(k)).collect();
        let Some(limit) = width else { return Layout { shown, widths } };
        let total = |widths: &[usize]| widths.iter().sum::<usize>() + borders(widths.len());
        if total(&widths) <= limit {
            return Layout { shown, widths };
        }
        loop {
            let least: Vec<usize> = shown.iter().map(|&k| self.least(k)).collect();
            let droppable = shown.iter().enumerate().filter_map(|(place, &k)| match self.columns[k].fit {
                Fit::Drop(rank) => Some((rank, place)),
                Fit::Keep => None,
            });
            match droppable.max() {
                Some((_, place)) if total(&least) > limit => {
                    shown.remove(place);
                }
                _ => {
                    widths = least;
                    break;
                }
            }
        }
        // What is left over goes to the columns from the left, sentences last.
        let mut spare = limit.saturating_sub(total(&widths));
        let sentences = |k: usize| self.columns[k].wrapped.is_some();
        for wanted in [false, true] {
            for (width, &k) in widths.iter_mut().zip(&shown).filter(|(_, k)| sentences(**k) == wanted) {
                let more = (self.natural(k) - *width).min(spare);
                // A heading is wrapped at spaces: part of its width is no use.
                if wanted || *width + more == self.natural(k) {
                    *width += more;
                    spare -= more;
                }
            }
        }
        Layout { shown, widths }
    }

    fn cells(&self, k: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row[k].text.as_str())
    }

    /// Width of a column with each cell and the heading on one line.
    fn natural(&self, k: usize) -> usize {
        self.cells(k).chain([self.columns[k].heading.as_str()]).map(length).max().unwrap_or(0)
    }

    /// Narrowest width of a column.
    fn least(&self, k: usize) -> usize {
        let Column { heading, wrapped, .. } = &self.columns[k];
        let word = heading.split(' ').map(length).max().unwrap_or(0);
        let cells = self.cells(k).map(length).max().unwrap_or(0);
        wrapped.map_or(cells, |narrowest| narrowest.min(cells)).max(word)
    }
}

/// The columns that are shown, and the width of each.
struct Layout {
    shown: Vec<usize>,
    widths: Vec<usize>,
}

fn length(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn formatted(cell: &Cell) -> Formatted {
    let formatted = Formatted::new(&cell.text);
    match cell.tone {
        Tone::Plain => formatted,
        Tone::Good => formatted.fg(Color::Green),
        Tone::Poor => formatted.fg(Color::Yellow),
        Tone::Bad => formatted.fg(Color::Red).add_attribute(Attribute::Bold),
        Tone::Quiet => formatted.add_attribute(Attribute::Dim),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let columns = [
            Column::text("variant"),
            Column::number("bank conflicts"),
            Column::number("barriers").rank(2),
            Column::number("sectors").rank(1),
            Column::sentences("idea", 12),
        ];
        let mut grid = Grid::new(columns, "--json has all");
        grid.row(["interleaved", "38340", "27264", "14459", "each thread adds the element beside its own"]);
        grid
    }

    fn at(width: usize) -> String {
        let text = grid().render(Look { width: Some(width), colour: false });
        let widest = text.lines().map(length).max().unwrap_or(0);
        assert!(widest <= width, "{widest} of {width}:\n{text}");
        text
    }

    #[test]
    fn everything_is_shown_where_there_is_room() {
        let text = grid().render(Look::default());
        assert_eq!(text.lines().count(), 3, "{text}");
        assert_eq!(at(200), text);
    }

    #[test]
    fn sentences_wrap_then_columns_go_by_rank() {
        let text = at(80);
        assert!(text.contains("sectors") && text.contains("barriers") && text.contains("bank conflicts"), "{text}");
        assert!(text.lines().count() > 3 && !text.contains("left out"), "{text}");
        let text = at(61);
        assert!(text.contains("left out for lack of width: barriers (--json has all)"), "{text}");
        let text = at(44);
        assert!(text.ends_with("left out for lack of width: barriers,\n  sectors (--json has all)"), "{text}");
        assert!(!text.contains("bank conflicts"), "the heading is wrapped: {text}");
    }

    #[test]
    fn colours_are_shown_on_request_only() {
        let mut grid = Grid::new([Column::text("a")], "");
        grid.row([Cell::new("WRONG", Tone::Bad)]);
        assert!(grid.render(Look { width: None, colour: true }).contains("\u{1b}["));
        assert!(!grid.render(Look::default()).contains('\u{1b}'));
    }
}
