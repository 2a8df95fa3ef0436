//! What was measured, as a table of medians, with ratios to the first peer of the same round.

use std::fmt;

/// Peers by columns; each value once for every round.
pub(crate) struct Table {
    title: String,
    peers: Vec<&'static str>,
    rows: Vec<Row>,
}

struct Row {
    peer: &'static str,
    column: &'static str,
    values: Vec<f64>,
    form: Form,
}

/// A value, by how it is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cell {
    /// Next to the first peer's.
    Count(f64),
    /// Next to the first peer's.
    Micros(f64),
    /// A bound, which is not compared.
    AtMost(f64),
    /// Of a hundred, which is not compared.
    Percent(f64),
}

#[derive(Clone, Copy, Debug)]
enum Form {
    /// With so many decimals, and the ratio to the first peer.
    Compared(usize),
    AtMost,
    Percent,
}

impl Table {
    pub(crate) fn new(title: String) -> Self {
        Self { title, peers: Vec::new(), rows: Vec::new() }
    }

    /// Names a peer, which is told to have no values where none are added.
    pub(crate) fn name(&mut self, peer: &'static str) {
        if !self.peers.contains(&peer) {
            self.peers.push(peer);
        }
    }

    /// Adds a round's value.
    pub(crate) fn add(&mut self, peer: &'static str, column: &'static str, cell: Cell) {
        self.name(peer);
        let (value, form) = match cell {
            Cell::Count(value) => (value, Form::Compared(0)),
            Cell::Micros(value) => (value, Form::Compared(1)),
            Cell::AtMost(value) => (value, Form::AtMost),
            Cell::Percent(value) => (value, Form::Percent),
        };
        match self.rows.iter_mut().find(|row| row.peer == peer && row.column == column) {
            Some(row) => row.values.push(value),
            None => self.rows.push(Row { peer, column, values: vec![value], form }),
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
        let mut peers = self.peers.clone();
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
                let first = peers.iter().find_map(|first| self.values(first, column));
                let row = self.values(peer, column).zip(first);
                let cell = row.map_or_else(|| "–".to_owned(), |(row, first)| row.told(first));
                write!(f, " {cell:>28}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Row {
    /// The median, and where it is compared the median of each round's ratio to the first peer.
    fn told(&self, first: &Self) -> String {
        let value = median(&self.values);
        match self.form {
            Form::Compared(decimals) => {
                format!("{value:.decimals$} ({:.2})", median(&ratios(&self.values, &first.values)))
            }
            Form::AtMost => format!("≤ {value:.0}"),
            Form::Percent => format!("{value:.2} %"),
        }
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

    #[test]
    fn a_peer_without_values_is_told_to_have_none_and_none_is_compared_with_it() {
        let mut table = Table::new("share".to_owned());
        table.name("bare");
        table.name("bare");
        for (peer, rate, bound, part) in [("utg", 20.0, 25.0, 99.996), ("direct", 30.0, f64::INFINITY, 98.0)]
        {
            table.add(peer, "calls/s", Cell::Count(rate));
            table.add(peer, "p99", Cell::AtMost(bound));
            table.add(peer, "part", Cell::Percent(part));
        }
        let text = table.to_string();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        let rows = [
            vec!["bare", "–", "–", "–"],
            vec!["utg", "20", "(1.00)", "≤", "25", "100.00", "%"],
            vec!["direct", "30", "(1.50)", "≤", "inf", "98.00", "%"],
        ];
        assert_eq!(lines[2..], rows, "{text}");
    }
}
