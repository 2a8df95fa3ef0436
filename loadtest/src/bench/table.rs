//! What was measured, as a table of medians, with ratios to the first peer of the same round.

use std::fmt;

/// Peers by columns; each value once for every round.
pub(super) struct Table {
    title: String,
    rows: Vec<Row>,
}

struct Row {
    peer: &'static str,
    column: &'static str,
    values: Vec<f64>,
    decimals: usize,
}

/// A value, by how many decimals mean something.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell {
    Count(f64),
    Micros(f64),
}

impl Table {
    pub(super) fn new(title: String) -> Self {
        Self { title, rows: Vec::new() }
    }

    /// Adds a round's value.
    pub(super) fn add(&mut self, peer: &'static str, column: &'static str, cell: Cell) {
        let (value, decimals) = match cell {
            Cell::Count(value) => (value, 0),
            Cell::Micros(value) => (value, 1),
        };
        match self.rows.iter_mut().find(|row| row.peer == peer && row.column == column) {
            Some(row) => row.values.push(value),
            None => self.rows.push(Row { peer, column, values: vec![value], decimals }),
        }
    }

    fn columns(&self) -> Vec<&'static str> {
        let mut columns = Vec::new();
        for row in &self.rows {
            if !columns.contains(&row.column) {
                columns.push(row.column);
            }
        }
        columns
    }

    fn peers(&self) -> Vec<&'static str> {
        let mut peers = Vec::new();
        for row in &self.rows {
            if !peers.contains(&row.peer) {
                peers.push(row.peer);
            }
        }
        peers.sort_by_key(|peer| !peer.starts_with("bare"));
        peers
    }

    fn values(&self, peer: &str, column: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.peer == peer && row.column == column)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (columns, peers) = (self.columns(), self.peers());
        if columns.is_empty() {
            return Ok(());
        }
        writeln!(f, "{}", self.title)?;
        write!(f, "{:12}", "")?;
        for column in &columns {
            write!(f, " {column:>28}")?;
        }
        writeln!(f)?;
        for &peer in &peers {
            write!(f, "{peer:12}")?;
            for column in &columns {
                let cell = self.values(peer, column).map_or_else(String::new, |row| {
                    let median = median(&row.values);
                    let first = peers.first().and_then(|first| self.values(first, column));
                    let ratios = first.map(|first| ratios(&row.values, &first.values)).unwrap_or_default();
                    format!("{median:.*} ({:.2})", row.decimals, self::median(&ratios))
                });
                write!(f, " {cell:>28}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Round by round.
fn ratios(values: &[f64], to: &[f64]) -> Vec<f64> {
    values.iter().zip(to).map(|(value, to)| value / to).collect()
}

/// The middle value; of an even number, the upper middle one. 0 of none.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ratios_are_taken_over_the_rounds() {
        let mut table = Table::new("cost".to_owned());
        for (bare, ours) in [(10.0, 8.0), (20.0, 18.0), (12.0, 6.0)] {
            table.add("utg", "cpu", Cell::Micros(ours));
            table.add("bare", "cpu", Cell::Micros(bare));
        }
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].starts_with("bare") && lines[2].ends_with("12.0 (1.00)"), "{text}");
        assert!(lines[3].starts_with("utg") && lines[3].ends_with("8.0 (0.80)"), "{text}");
    }
}
