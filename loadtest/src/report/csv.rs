//! The seconds of a run as CSV.

use std::fmt::Write as _;

use super::Report;

/// Returns one line per second, after a header (RFC 4180, but with line feeds).
pub(crate) fn to_csv(report: &Report) -> String {
    let mut csv = "second,due,success,limited,client_errors,server_errors,failed,check_failed,completed,p50_ms,p99_ms,max_ms,lag_p99_ms,wait_p99_ms,memory_bytes\n".to_owned();
    for second in &report.series {
        let counts = [
            second.due,
            second.success,
            second.limited,
            second.client_errors,
            second.server_errors,
            second.failed,
            second.check_failed,
            second.completed,
        ];
        let times = [second.p50_ms, second.p99_ms, second.max_ms, second.lag_p99_ms, second.wait_p99_ms];
        // Writing to a String never fails.
        let _infallible = write!(csv, "{}", second.second)
            .and_then(|()| counts.iter().try_for_each(|count| write!(csv, ",{count}")))
            .and_then(|()| times.iter().try_for_each(|time| write!(csv, ",{time:.3}")))
            .and_then(|()| writeln!(csv, ",{}", second.memory));
    }
    csv
}
