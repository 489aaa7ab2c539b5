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

/// A table of texts; the columns named in `right` hold numbers.
#[must_use]
pub fn human(head: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    build(head, right, rows, RULED, ContentArrangement::Dynamic, escape::terminal)
}

/// The same as Markdown.
#[must_use]
pub fn markdown(head: &[&str], right: &[usize], rows: &[Vec<String>]) -> String {
    build(head, right, rows, presets::ASCII_MARKDOWN, ContentArrangement::Disabled, escape::markdown)
}

fn build(
    head: &[&str],
    right: &[usize],
    rows: &[Vec<String>],
    style: TableStyle,
    arrangement: ContentArrangement,
    escaped: fn(&str) -> String,
) -> String {
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
    table.trim_fmt()
}
