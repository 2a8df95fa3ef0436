//! The schedule of a run: how many calls it has and when each is due.

mod stage;

use std::time::Duration;

use thiserror::Error;

pub(crate) use stage::Stage;

/// An open-loop schedule: due times do not depend on earlier responses.
///
/// A slow server therefore receives the same load as a fast one, and the latencies show the full
/// delay.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule {
    segments: Vec<Segment>,
    shard: Shard,
}

/// A stage at its place in the run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment {
    stage: Stage,
    start: Duration,
    first_call: u64,
}

/// The part of a run that one of several drivers makes: every `of`th call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    /// The number of the driver, from 1.
    pub(crate) number: u32,
    /// The number of drivers.
    pub(crate) of: u32,
}

impl Shard {
    /// The only driver.
    pub(crate) const ALL: Self = Self { number: 1, of: 1 };

    /// Parses `2/5`.
    pub(crate) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let parsed = text
            .split_once('/')
            .and_then(|(number, of)| Some(Self { number: number.parse().ok()?, of: of.parse().ok()? }));
        let valid = parsed.filter(|shard| shard.number >= 1 && shard.number <= shard.of);
        valid.ok_or_else(|| ScheduleError::Shard(text.to_owned()))
    }
}

/// The bounds of a run that was not asked to be longer.
pub(crate) const MAX_DURATION: Duration = Duration::from_secs(3600);
/// The calls that an hour of 5,000 calls a second has, and some more.
pub(crate) const MAX_CALLS: u64 = 20_000_000;

/// The reason why a schedule is invalid. The text names the option to change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ScheduleError {
    /// A stage is invalid.
    #[error(
        "invalid stage `{0}`: expected a duration and calls per second, for example 10s:100, 1m:100..2000 or 10s:100 burst"
    )]
    Stage(String),
    /// A shard is invalid.
    #[error("invalid shard `{0}`: expected a number and how many there are, for example 2/5")]
    Shard(String),
    /// There are no calls.
    #[error("the stages make no calls: expected a rate and a duration above 0")]
    Empty,
    /// The run is too long.
    #[error("the run takes {seconds} s and makes {calls} calls: expected at most {} s and {MAX_CALLS} calls, or --unbounded", MAX_DURATION.as_secs())]
    TooLong {
        /// The duration in seconds.
        seconds: u64,
        /// The number of calls.
        calls: u64,
    },
}

impl Schedule {
    /// Returns the schedule of these stages.
    ///
    /// # Errors
    /// Returns an error if there are no calls or, unless it is unbounded, if there are too many.
    pub(crate) fn new(stages: &[Stage], shard: Shard, unbounded: bool) -> Result<Self, ScheduleError> {
        let mut segments = Vec::with_capacity(stages.len());
        let (mut start, mut first_call) = (Duration::ZERO, 0);
        for &stage in stages {
            segments.push(Segment { stage, start, first_call });
            start += stage.duration;
            first_call += stage.calls();
        }
        if first_call == 0 {
            return Err(ScheduleError::Empty);
        }
        // A typo in a rate or a duration must not become a day of load on somebody's server.
        if !unbounded && (start > MAX_DURATION || first_call > MAX_CALLS) {
            return Err(ScheduleError::TooLong { seconds: start.as_secs(), calls: first_call });
        }
        Ok(Self { segments, shard })
    }

    /// Returns the time during which calls become due.
    pub(crate) fn duration(&self) -> Duration {
        self.segments.iter().map(|segment| segment.stage.duration).sum()
    }

    /// Returns the number of calls of all shards.
    pub(crate) fn calls(&self) -> u64 {
        self.segments.iter().map(|segment| segment.stage.calls()).sum()
    }

    /// Returns the number of calls of this shard.
    pub(crate) fn own_calls(&self) -> u64 {
        let (number, of) = (u64::from(self.shard.number) - 1, u64::from(self.shard.of));
        // The first shards get the calls that are left over.
        (self.calls() + of - 1 - number) / of
    }

    /// Returns the most calls of all shards that are due within a minute.
    pub(crate) fn fullest_minute(&self) -> f64 {
        const MINUTE: f64 = 60.0;
        // Limits count any minute, and the fullest one may lie across two stages.
        let begins = (0..=self.duration().as_secs()).map(|second| second as f64);
        begins.map(|begin| self.due_until(begin + MINUTE) - self.due_until(begin)).fold(0.0, f64::max)
    }

    fn due_until(&self, seconds: f64) -> f64 {
        let due = |segment: &Segment| segment.stage.due_until(seconds - segment.start.as_secs_f64());
        self.segments.iter().map(due).sum()
    }

    /// Returns the number and the due time of each call of this shard.
    pub(crate) fn due_calls(&self) -> impl Iterator<Item = (u64, Duration)> {
        let (number, of) = (u64::from(self.shard.number) - 1, u64::from(self.shard.of));
        self.segments.iter().flat_map(move |segment| {
            let end = segment.first_call + segment.stage.calls();
            // Shards count through all stages, or each stage would begin with a call of the first
            // one.
            let skip = (number + of - segment.first_call % of) % of;
            let first = segment.first_call + skip;
            (first..end)
                .step_by(usize::try_from(of).unwrap_or(usize::MAX))
                .map(|nth| (nth, segment.start + segment.stage.due(nth - segment.first_call)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(stages: &[&str]) -> Schedule {
        let stages: Vec<Stage> = stages.iter().map(|text| Stage::parse(text).unwrap()).collect();
        Schedule::new(&stages, Shard::ALL, false).unwrap()
    }

    fn due_ms(stages: &[&str]) -> Vec<u128> {
        schedule(stages).due_calls().map(|(_, due)| due.as_millis()).collect()
    }

    #[test]
    fn stages_follow_each_other() {
        assert_eq!(due_ms(&["1s:4", "1s:2"]), [0, 250, 500, 750, 1000, 1500]);
        assert_eq!(due_ms(&["2s:3 burst"]), [0, 0, 0, 1000, 1000, 1000]);
        assert_eq!(schedule(&["10s:100", "1m:50"]).duration(), Duration::from_secs(70));
    }

    #[test]
    fn shards_together_are_the_whole_schedule() {
        let stages = ["1s:7", "3s:10..50", "1s:3"].map(|text| Stage::parse(text).unwrap());
        let whole: Vec<_> = Schedule::new(&stages, Shard::ALL, false).unwrap().due_calls().collect();
        let mut together: Vec<_> = (1..=3)
            .flat_map(|number| {
                let shard = Schedule::new(&stages, Shard { number, of: 3 }, false).unwrap();
                shard.due_calls().collect::<Vec<_>>()
            })
            .collect();
        together.sort_unstable();
        assert_eq!(together, whole);
        assert_eq!(whole.len(), 7 + 90 + 3);
    }

    #[test]
    fn calls_of_a_shard_and_of_the_fullest_minute_are_counted() {
        for (number, of) in [(1, 1), (1, 3), (2, 3), (3, 3), (5, 7)] {
            let stages = ["1s:7", "3s:10..50", "1s:3"].map(|text| Stage::parse(text).unwrap());
            let schedule = Schedule::new(&stages, Shard { number, of }, false).unwrap();
            assert_eq!(schedule.own_calls(), schedule.due_calls().count() as u64, "{number}/{of}");
        }
        let fullest = |stages: &[&str]| schedule(stages).fullest_minute().round();
        assert_eq!(fullest(&["1m:100"]), 6000.0);
        assert_eq!(fullest(&["10s:20", "2s:400", "18s:20"]), 1360.0);
        assert_eq!(fullest(&["5m:10", "1m:100", "5m:10"]), 6000.0);
        assert_eq!(fullest(&["10m:0..600"]), 34200.0);
        assert_eq!(fullest(&["2m:5 burst"]), 300.0);
    }

    #[test]
    fn run_beyond_the_bounds_is_error_that_names_the_one_option() {
        let error =
            |text: &str| Schedule::new(&[Stage::parse(text).unwrap()], Shard::ALL, false).unwrap_err();
        assert!(matches!(error("2h:1"), ScheduleError::TooLong { seconds: 7200, .. }));
        assert!(matches!(error("10s:3000000"), ScheduleError::TooLong { .. }));
        assert!(error("2h:1").to_string().contains("--unbounded"));
        assert_eq!(error("10s:0"), ScheduleError::Empty);
        assert!(Schedule::new(&[Stage::parse("2h:1").unwrap()], Shard::ALL, true).is_ok());
        assert!(Schedule::new(&[Stage::parse("1h:5000").unwrap()], Shard::ALL, false).is_ok());
    }

    #[test]
    fn shard_is_parsed() {
        assert_eq!(Shard::parse("2/5"), Ok(Shard { number: 2, of: 5 }));
        for text in ["0/5", "6/5", "2", "a/b", "2/"] {
            assert_eq!(Shard::parse(text), Err(ScheduleError::Shard(text.to_owned())));
        }
    }
}
