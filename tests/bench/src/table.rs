//! A table of medians, with ratios to other peers of the same rounds, and their intervals of 95 %.

use std::fmt;

use crate::ratio::{Ratio, median};

/// Peers whose ratios are what is asked: ours, by the beginning of their names.
const OURS: &str = "utg";

/// A table with a row per peer. Each cell collects one value per round.
pub(crate) struct Table {
    title: String,
    peers: Vec<&'static str>,
    rows: Vec<Row>,
    /// The peers to which compared values have a ratio, beside the first one.
    references: &'static [&'static str],
}

struct Row {
    peer: &'static str,
    column: &'static str,
    values: Vec<f64>,
    format: CellFormat,
}

/// A measured value, by its format.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Measurement {
    /// A count, compared with the first peer.
    Count(f64),
    /// Microseconds with one decimal, compared with the first peer.
    Micros(f64),
    /// An upper bound, not compared.
    AtMost(f64),
    /// A percentage, not compared.
    Percent(f64),
}

#[derive(Clone, Copy, Debug)]
enum CellFormat {
    /// With this number of decimals and the ratio to the first peer.
    Compared(usize),
    AtMost,
    Percent,
}

impl Table {
    pub(crate) fn new(title: String) -> Self {
        Self { title, peers: Vec::new(), rows: Vec::new(), references: &[] }
    }

    /// Returns the table with ratios to these peers as well, if they have values.
    pub(crate) const fn compared_with(mut self, references: &'static [&'static str]) -> Self {
        self.references = references;
        self
    }

    /// Adds a row for a peer. Cells without values show a dash.
    pub(crate) fn add_peer(&mut self, peer: &'static str) {
        if !self.peers.contains(&peer) {
            self.peers.push(peer);
        }
    }

    /// Adds the value of one round.
    pub(crate) fn add(&mut self, peer: &'static str, column: &'static str, cell: Measurement) {
        self.add_peer(peer);
        let (value, format) = match cell {
            Measurement::Count(value) => (value, CellFormat::Compared(0)),
            Measurement::Micros(value) => (value, CellFormat::Compared(1)),
            Measurement::AtMost(value) => (value, CellFormat::AtMost),
            Measurement::Percent(value) => (value, CellFormat::Percent),
        };
        match self.rows.iter_mut().find(|row| row.peer == peer && row.column == column) {
            Some(row) => row.values.push(value),
            None => self.rows.push(Row { peer, column, values: vec![value], format }),
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

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// Returns each peer's median of a column, with the ratio of one of them to it.
    pub(crate) fn compared(&self, ours: &str, column: &str) -> Vec<(&'static str, f64, Option<Ratio>)> {
        let ours = self.values(ours, column);
        let rows = self.rows.iter().filter(|row| row.column == column);
        rows.map(|row| (row.peer, median(row.values.clone()), ours.map(|ours| ours.ratio(row)))).collect()
    }

    /// Returns the width of the least certain ratio of a peer of ours, as a share of it; `None` if no ratio has an
    /// interval.
    pub(crate) fn widest(&self) -> Option<f64> {
        let compared = self
            .rows
            .iter()
            .filter(|row| matches!(row.format, CellFormat::Compared(_)) && row.peer.starts_with(OURS));
        let widths = compared.flat_map(|row| {
            let first = self.peers().into_iter().find(|first| self.values(first, row.column).is_some());
            let others = self.references.iter().copied().chain(first).filter(|other| *other != row.peer);
            others.filter_map(|other| row.ratio(self.values(other, row.column)?).width())
        });
        widths.reduce(f64::max)
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
        let references = |column: &str| {
            let is_there = |reference: &&&str| self.values(reference, column).is_some();
            self.references.iter().filter(is_there).copied().collect::<Vec<_>>()
        };
        writeln!(f, "{}", self.title)?;
        write!(f, "{:14}", "")?;
        for column in &columns {
            write!(f, " {column:>28}")?;
            for reference in references(column) {
                write!(f, " {:>22}", format!("÷ {reference}"))?;
            }
        }
        writeln!(f)?;
        for &peer in &peers {
            write!(f, "{peer:14}")?;
            for column in &columns {
                let first = peers.iter().find_map(|first| self.values(first, column));
                let row = self.values(peer, column);
                let cell = row.zip(first).map(|(row, first)| row.format(first));
                write!(f, " {:>28}", cell.as_deref().unwrap_or("–"))?;
                for reference in references(column) {
                    let cell =
                        row.zip(self.values(reference, column)).map(|(row, to)| row.ratio(to).to_string());
                    write!(f, " {:>22}", cell.as_deref().unwrap_or("–"))?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Row {
    /// Returns the median and, for compared values, the ratio to the first peer.
    fn format(&self, first: &Self) -> String {
        let value = median(self.values.clone());
        match self.format {
            CellFormat::Compared(decimals) => format!("{value:.decimals$} ({})", self.ratio(first)),
            CellFormat::AtMost => format!("≤ {value:.0}"),
            CellFormat::Percent => format!("{value:.2} %"),
        }
    }

    fn ratio(&self, to: &Self) -> Ratio {
        Ratio::of(&self.values, &to.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ratios_cover_all_rounds() {
        let mut table = Table::new("cost".to_owned());
        for (bare, ours) in [(10.0, 8.0), (20.0, 18.0), (12.0, 6.0)] {
            table.add("utg", "cpu", Measurement::Micros(ours));
            table.add("bare", "cpu", Measurement::Micros(bare));
        }
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].starts_with("bare") && lines[2].ends_with("12.0 (1.00 1.00…1.00)"), "{text}");
        assert!(lines[3].starts_with("utg") && lines[3].ends_with("8.0 (0.80 0.50…0.90)"), "{text}");
    }

    #[test]
    fn widest_ratio_is_that_of_a_peer_of_ours() {
        let mut table = Table::new("cost".to_owned());
        for (bare, ours, nginx) in [(10.0, 8.0, 5.0), (10.0, 8.2, 10.0), (10.0, 8.1, 20.0)] {
            for (peer, micros) in [("bare", bare), ("utg", ours), ("nginx", nginx)] {
                table.add(peer, "cpu", Measurement::Micros(micros));
            }
        }
        let widest = table.widest().unwrap();
        assert!((widest - 0.2 / 8.1).abs() < 1e-9, "{widest}");
    }

    #[test]
    fn value_has_a_ratio_to_each_reference_with_values() {
        let mut table = Table::new("cost".to_owned()).compared_with(&["nginx", "haproxy"]);
        for (peer, cpu) in [("bare", 10.0), ("utg", 6.0), ("nginx", 12.0)] {
            table.add(peer, "cpu", Measurement::Micros(cpu));
        }
        let text = table.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].ends_with("÷ nginx"), "{text}");
        assert!(lines[3].starts_with("utg") && lines[3].ends_with(" 0.50"), "{text}");
    }

    #[test]
    fn peer_without_values_shows_dashes_and_no_ratio() {
        let mut table = Table::new("share".to_owned());
        table.add_peer("bare");
        table.add_peer("bare");
        for (peer, rate, bound, part) in [("utg", 20.0, 25.0, 99.996), ("direct", 30.0, f64::INFINITY, 98.0)]
        {
            table.add(peer, "calls/s", Measurement::Count(rate));
            table.add(peer, "p99", Measurement::AtMost(bound));
            table.add(peer, "part", Measurement::Percent(part));
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
