//! The conditions of runs, which must be the same for a comparison or a merge to mean something.

use std::path::Path;

use super::error::SavedError;
use crate::report::{Report, RunEnd, RunInfo};

/// Returns an error unless both runs have the same scenario, requests and load.
pub(super) fn check_same(one: &RunInfo, other: &RunInfo, path: &Path) -> Result<(), SavedError> {
    let facts = [
        ("scenario", one.scenario.clone(), other.scenario.clone()),
        ("list of requests", one.requests.join(", "), other.requests.join(", ")),
        ("list of paths", one.paths.join(", "), other.paths.join(", ")),
        ("load", one.stages.join(", "), other.stages.join(", ")),
    ];
    match facts.into_iter().find(|(_, one, other)| one != other) {
        Some((what, expected, found)) => {
            Err(SavedError::Different { path: path.to_owned(), what, expected, found })
        }
        None => Ok(()),
    }
}

/// Returns a sentence for each other condition in which two runs differ, and for each run that is
/// not complete.
pub(super) fn warnings(before: &Report, after: &Report) -> Vec<String> {
    let (one, other) = (&before.run, &after.run);
    let lag = |run: &RunInfo| format!("{} ms", run.criteria.max_send_lag_ms);
    let facts = [
        ("target", one.target.clone(), other.target.clone()),
        ("protocol", one.protocol.clone(), other.protocol.clone()),
        ("number of connections", one.connections.to_string(), other.connections.to_string()),
        ("number of streams", one.streams.to_string(), other.streams.to_string()),
        ("shard", one.shard.clone(), other.shard.clone()),
        ("timeout", format!("{} s", one.timeout_s), format!("{} s", other.timeout_s)),
        ("maximum send lag", lag(one), lag(other)),
        ("version of loadtest", one.version.clone(), other.version.clone()),
    ];
    let different = facts.into_iter().filter(|(_, one, other)| one != other);
    let different = different.map(|(what, one, other)| format!("the {what} differs: {one}, then {other}"));
    let incomplete = [("first", before), ("second", after)]
        .into_iter()
        .filter(|(_, report)| report.end != RunEnd::Planned)
        .map(|(which, _)| format!("the {which} run ended early"));
    different.chain(incomplete).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::RunOutcome;
    use crate::summary::tests::{call, status, summary};
    use crate::timeline::Timeline;

    fn run(change: impl FnOnce(&mut RunInfo)) -> RunInfo {
        let mut run = RunInfo { scenario: "steady".to_owned(), connections: 32, ..RunInfo::default() };
        change(&mut run);
        run
    }

    #[test]
    fn runs_of_different_scenarios_or_loads_are_error() {
        let check = |other: RunInfo| {
            check_same(&run(|_| ()), &other, Path::new("b.bin")).map_err(|error| error.to_string())
        };
        assert_eq!(check(run(|run| run.connections = 64)), Ok(()));
        let paths = |path: &str| run(|run| run.paths = vec![format!("GET {path}")]);
        let error = check_same(&paths("/a"), &paths("/b"), Path::new("b.bin")).unwrap_err().to_string();
        assert_eq!(error, "b.bin: the list of paths is `GET /b`, and that of the other run `GET /a`");
        let error = check(run(|run| "ramp".clone_into(&mut run.scenario))).unwrap_err();
        assert_eq!(error, "b.bin: the scenario is `ramp`, and that of the other run `steady`");
        assert!(
            check(run(|run| run.stages = vec!["1s:5".to_owned()]))
                .unwrap_err()
                .contains("the load is `1s:5`")
        );
    }

    #[test]
    fn other_differences_are_warnings() {
        let report = |run: RunInfo, end: RunEnd| {
            let outcome = RunOutcome { end, ..RunOutcome::default() };
            Report::new(run, outcome, &summary([call(0, status(200))], &Timeline::default()))
        };
        let before = report(run(|_| ()), RunEnd::Planned);
        assert!(warnings(&before, &before).is_empty());
        let after = report(run(|run| run.connections = 64), RunEnd::Interrupted);
        let expected = ["the number of connections differs: 32, then 64", "the second run ended early"];
        assert_eq!(warnings(&before, &after), expected);
    }
}
