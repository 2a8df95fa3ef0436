//! The decision whether a trace is recorded.

use shared::request_id::RequestId;
use shared::trace::{SpanContext, TraceId};

/// A parent-based sampler: the flag of the caller decides, and a share of the traces that begin at the
/// gateway is recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    ratio: f64,
    /// Whether the caller's flag decides. The share is taken of all traces otherwise.
    trusts_caller: bool,
}

impl Sampler {
    /// Returns the sampler of a share from 0 to 1.
    pub const fn new(ratio: f64, trusts_caller: bool) -> Self {
        Self { ratio, trusts_caller }
    }

    /// Decides on a trace. The edge samples none: a trace that began there has the id of the request.
    pub fn samples(&self, caller: Option<SpanContext>, trace: TraceId, request: RequestId) -> bool {
        match caller.filter(|_| self.trusts_caller && trace != TraceId::from(request)) {
            Some(caller) => caller.is_sampled,
            None => self.is_within(trace),
        }
    }

    /// Returns true for the share of all trace ids. Others that sample by trace id, as the SDKs of
    /// OpenTelemetry do, keep the same ones.
    fn is_within(&self, trace: TraceId) -> bool {
        let [_, _, _, _, _, _, _, _, low @ ..] = trace.bytes();
        #[expect(clippy::cast_precision_loss, reason = "a share needs no 64 bits")]
        let place = (u64::from_be_bytes(low) >> 1) as f64;
        place < self.ratio * 2_f64.powi(63)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: RequestId = RequestId([9; 16]);

    fn caller(is_sampled: bool) -> SpanContext {
        let text = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0{}", u8::from(is_sampled));
        SpanContext::parse(&text).unwrap()
    }

    #[test]
    fn flag_of_a_trusted_caller_decides() {
        for (ratio, is_sampled) in [(0.0, true), (0.0, false), (1.0, true), (1.0, false)] {
            let caller = caller(is_sampled);
            let decided =
                |trusts| Sampler::new(ratio, trusts).samples(Some(caller), caller.trace_id, REQUEST);
            assert_eq!((decided(true), decided(false)), (is_sampled, ratio > 0.0));
        }
    }

    #[test]
    fn ratio_decides_on_traces_that_begin_at_the_gateway() {
        let sampled = |ratio: f64, caller: Option<bool>| {
            let mut random = fastrand::Rng::with_seed(7);
            let ids = (0..10_000).map(|_| RequestId(random.u128(..).to_be_bytes()));
            let sampler = Sampler::new(ratio, true);
            let is_sampled = |&id: &RequestId| {
                let trace = TraceId::from(id);
                let caller = caller.map(|flag| SpanContext { trace_id: trace, ..self::caller(flag) });
                sampler.samples(caller, trace, id)
            };
            ids.filter(is_sampled).count()
        };
        for caller in [None, Some(false)] {
            assert_eq!([0.0, 1.0].map(|ratio| sampled(ratio, caller)), [0, 10_000]);
            let tenth = sampled(0.1, caller);
            assert!((900..1_100).contains(&tenth), "{tenth}");
        }
    }
}
