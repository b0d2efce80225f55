//! Tables that read well on a terminal and as Markdown.

/// A table under construction.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this first row.
    pub(crate) fn new<S: Into<String>>(heads: impl IntoIterator<Item = S>) -> Self {
        Self {
            rows: vec![heads.into_iter().map(Into::into).collect()],
        }
    }

    /// Adds a row.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Prints it under a title, if it has rows below the first.
    pub(crate) fn print(&self, title: &str) {
        if self.rows.len() < 2 {
            return;
        }
        println!("\n### {title}\n");
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let lengths = self.rows.iter().filter_map(|row| row.get(column));
            lengths.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (index, row) in self.rows.iter().enumerate() {
            println!("| {} |", line(row, &widths));
            if index == 0 {
                let rules: Vec<String> = widths.iter().map(|&width| "-".repeat(width.max(3))).collect();
                println!("| {} |", rules.join(" | "));
            }
        }
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let empty = String::new();
    let cells = widths.iter().enumerate().map(|(column, &width)| {
        let cell = row.get(column).unwrap_or(&empty);
        let width = width.max(3);
        format!("{cell:<width$}")
    });
    cells.collect::<Vec<_>>().join(" | ")
}

/// `1.23`, `12.3`, `123`, `12.3 k`: three digits that matter.
pub(crate) fn figure(value: f64) -> String {
    match value {
        v if v.is_nan() => "-".to_owned(),
        v if v >= 99_950.0 => format!("{:.0} k", v / 1000.0),
        v if v >= 9_995.0 => format!("{:.1} k", v / 1000.0),
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_keep_three_digits() {
        let shown: Vec<String> = [0.5, 12.34, 123.4, 1234.0, 54_321.0, 181_269.0]
            .map(figure)
            .into();
        assert_eq!(shown, ["0.50", "12.3", "123", "1234", "54.3 k", "181 k"]);
    }
}
