//! How is a table printed, for a terminal and as Markdown?
//!
//! Cells may hold anybody's text: it is escaped here, at the one door, and nowhere before.

use super::escape;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle, presets};

/// Lines around and below the head; none between rows, which a table of 200 could not afford.
const RULED: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('═').junction('═'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// Columns of a table of sentences in a pipe.
const PIPE_WIDTH: u16 = 100;

/// What draws a table: [`human`], [`bounded`] or [`markdown`].
pub type Drawn = fn(&[&str], &[usize], &[Vec<String>]) -> String;

/// A table of texts; the columns named in `right` hold numbers.
#[must_use]
pub fn human(head: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    build(head, right, rows, RULED, ContentArrangement::Dynamic, escape::terminal).trim_fmt()
}

/// The same, at most [`PIPE_WIDTH`] wide where no terminal says how wide: for tables of sentences, which would make lines of
/// hundreds of characters.
#[must_use]
pub fn bounded(head: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    let mut table = build(head, right, rows, RULED, ContentArrangement::Dynamic, escape::terminal);
    if table.width().is_none() {
        table.set_width(PIPE_WIDTH);
    }
    table.trim_fmt()
}

/// The same as Markdown.
#[must_use]
pub fn markdown(head: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    build(head, right, rows, presets::ASCII_MARKDOWN, ContentArrangement::Disabled, escape::markdown)
        .trim_fmt()
}

fn build(
    head: &[&str],
    right: &[usize],
    rows: &[Vec<String>],
    style: TableStyle,
    arrangement: ContentArrangement,
    escaped: fn(&str) -> String,
) -> Table {
    let mut table = Table::new();
    table.load_style(style).set_content_arrangement(arrangement).set_header(head);
    for row in rows {
        table.add_row(row.iter().map(|text| Cell::new(escaped(text))));
    }
    for index in right {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}
