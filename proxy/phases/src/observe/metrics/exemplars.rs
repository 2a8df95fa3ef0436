//! Exemplars: for each bucket of a histogram, a call whose trace was exported.

use std::collections::HashMap;
use std::fmt;

use parking_lot::Mutex;
use shared::time::UnixMillis;
use shared::trace::SpanContext;

/// The exemplars of all histograms, by the text of their series.
#[derive(Debug, Default)]
pub(crate) struct Exemplars(Mutex<HashMap<String, Exemplar>>);

/// The last exported call that a bucket has counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exemplar {
    span: SpanContext,
    seconds: f64,
    time: UnixMillis,
}

/// A histogram with exemplars: its name, its bounds and its labels with their values, in the order of
/// their names.
pub(super) struct Series<'a> {
    pub(super) name: &'a str,
    pub(super) bounds: &'a [f64],
    pub(super) labels: &'a [(&'a str, &'a str)],
}

impl Exemplars {
    /// Records a call in the bucket of its value.
    pub(super) fn record(&self, series: &Series<'_>, seconds: f64, span: SpanContext, time: UnixMillis) {
        let bound = series.bounds.iter().find(|bound| seconds <= **bound);
        let bound = bound.map_or_else(|| "+Inf".to_owned(), f64::to_string);
        let labels: String =
            series.labels.iter().map(|(name, value)| format!("{name}=\"{value}\",")).collect();
        let bucket = format!("{}_bucket{{{labels}le=\"{bound}\"}}", series.name);
        self.0.lock().insert(bucket, Exemplar { span, seconds, time });
    }

    /// Returns the exemplar of a bucket, which is named as in the text format.
    pub(super) fn of(&self, bucket: &str) -> Option<Exemplar> {
        self.0.lock().get(bucket).copied()
    }

    /// Forgets all, because series may have been removed.
    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}

impl fmt::Display for Exemplar {
    /// Writes what follows the value of a bucket.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { span: SpanContext { trace_id, span_id, .. }, seconds, time } = self;
        let (whole, millis) = (time.0 / 1_000, time.0 % 1_000);
        write!(f, " # {{trace_id=\"{trace_id}\",span_id=\"{span_id}\"}} {seconds} {whole}.{millis:03}")
    }
}
