//! Plain tables: columns as wide as their widest cell, numbers to the right.

/// A table that grows row by row.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    indent: usize,
}

impl Table {
    /// A table whose lines begin with that many blanks.
    pub(crate) fn indented(indent: usize) -> Self {
        Self { rows: Vec::new(), indent }
    }

    /// Adds a row.
    pub(crate) fn row<const N: usize>(&mut self, cells: [&str; N]) {
        self.rows.push(cells.iter().map(|cell| (*cell).to_owned()).collect());
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, without a line break at the end.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = " ".repeat(self.indent);
            for (cell, width) in row.iter().zip(&widths) {
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                // Counts and times, not identifiers that begin with a digit.
                let is_number = cell.len() <= 16 && cell.starts_with(|c: char| c.is_ascii_digit());
                line.push_str(&if is_number { padding + cell } else { cell.clone() + &padding });
                line.push_str("  ");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text.trim_end_matches('\n').to_owned()
    }
}

/// `1234567` → `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::indented(2);
        table.row(["walls", "12", "m"]);
        table.row(["é", "1,234", "km"]);
        assert_eq!(table.render(), "  walls     12  m\n  é      1,234  km");
        assert_eq!((grouped(0), grouped(999), grouped(1_234_567)), ("0".into(), "999".into(), "1,234,567".into()));
    }
}
