//! One table of all workloads in Markdown, as docs/performance.md has it.

use crate::measure::WorkloadTables;

/// The peer whose ratio to each other one is shown.
const OURS: &str = "utg";

/// Returns a row for each workload and a column for each program: what a call costs, and in brackets the ratio of
/// ours to it with its interval of 95 %.
pub(crate) fn markdown(tables: &[WorkloadTables], column: &str) -> String {
    let mut programs: Vec<&str> = Vec::new();
    let rows: Vec<_> = tables
        .iter()
        .map(|tables| {
            let names = ["", " tls", " 2"].map(|variant| format!("{OURS}{variant}"));
            // A workload has peers of one variant.
            let compared = names.iter().map(|ours| tables.cost.compared(ours, column));
            let compared =
                compared.max_by_key(|rows| rows.iter().filter(|(.., ratio)| ratio.is_some()).count());
            let cells: Vec<_> = compared
                .unwrap_or_default()
                .into_iter()
                .map(|(peer, median, ratio)| {
                    let program = program(peer);
                    if !programs.contains(&program) {
                        programs.push(program);
                    }
                    let ratio = ratio.filter(|_| program != OURS).map(|ratio| format!(" ({ratio})"));
                    let decimals = if median < 100.0 { 1 } else { 0 };
                    (program, format!("{median:.decimals$}{}", ratio.unwrap_or_default()))
                })
                .collect();
            (tables.cost.title().split(':').next().unwrap_or_default(), cells)
        })
        .collect();
    let line =
        |cells: &mut dyn Iterator<Item = &str>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut text = line(&mut [column].into_iter().chain(programs.iter().copied()));
    text += &line(&mut std::iter::repeat_n("---", programs.len() + 1));
    for (title, cells) in &rows {
        let cell = |program: &&str| {
            cells.iter().find(|(of, _)| of == program).map_or("–", |(_, cell)| cell.as_str())
        };
        text += &line(&mut [*title].into_iter().chain(programs.iter().map(cell)));
    }
    text
}

/// Returns a peer's name without its variant, which the workload says.
fn program(peer: &'static str) -> &'static str {
    peer.strip_suffix(" tls").or_else(|| peer.strip_suffix(" 2")).unwrap_or(peer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Counted;
    use crate::table::Measurement;
    use crate::workload::WORKLOADS;

    #[test]
    fn workloads_of_each_variant_share_the_columns_of_a_program() {
        let mut tables: Vec<WorkloadTables> = WORKLOADS
            .iter()
            .filter(|workload| ["proxied", "tls"].contains(&workload.name))
            .map(|workload| WorkloadTables::of_counts(workload, Counted::Instructions))
            .collect();
        for (at, peers) in
            [["utg", "nginx", "caddy"], ["utg tls", "nginx tls", "haproxy tls"]].iter().enumerate()
        {
            for (peer, value) in peers.iter().zip([300.0, 600.0, 50.0]) {
                for _ in 0..3 {
                    tables[at].cost.add(peer, "instructions", Measurement::Count(value));
                }
            }
        }
        let text = markdown(&tables, "instructions");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "| instructions | utg | nginx | caddy | haproxy |", "{text}");
        assert!(lines[2].ends_with("| 300 | 600 (0.50 0.50…0.50) | 50.0 (6.00 6.00…6.00) | – |"), "{text}");
        assert!(lines[3].ends_with("| 300 | 600 (0.50 0.50…0.50) | – | 50.0 (6.00 6.00…6.00) |"), "{text}");
    }
}
