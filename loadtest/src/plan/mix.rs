//! The mix of requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;

use super::error::{PlanError, PlanErrorReason};
use super::flow::FlowState;
use super::request::PlannedRequest;
use super::response_check::{MAX_KEPT_BYTES, ResponseCheck};
use super::template::{Fields, Variables};
use crate::http::{Observed, Wanted};
use crate::keys::KeyPool;
use crate::random;
use crate::record::{CheckKind, CheckSample};
use crate::scenario::{RequestSpec, Scenario};
use crate::target::Target;

/// A call that is ready to be sent.
pub(crate) struct PlannedCall {
    pub(crate) request: Request<Full<Bytes>>,
    /// The index of the request.
    pub(crate) index: u16,
    /// The number of the key, or `NO_KEY`.
    pub(crate) key: u32,
    /// What is kept of the response.
    pub(crate) wanted: Wanted,
    /// The user, if it is a step of a flow.
    flow: FlowState,
}

/// What is known of a call when its response comes.
pub(crate) struct CallContext {
    index: u16,
    flow: FlowState,
}

impl PlannedCall {
    /// Splits the request from what its response is judged by.
    pub(crate) fn into_parts(self) -> (Request<Full<Bytes>>, Wanted, CallContext) {
        (self.request, self.wanted, CallContext { index: self.index, flow: self.flow })
    }
}

/// What a response means: the check that it fails, or the user's next step and the time until it.
pub(crate) enum Verdict {
    Failed(CheckKind),
    Passed(Option<(FlowState, Duration)>),
}

/// The requests of a run with their weights.
pub(crate) struct CallPlan {
    requests: Vec<PlannedRequest>,
    /// The sum of weights up to each request or flow, with the index of its first request.
    cumulative: Vec<(u64, usize)>,
    /// The first response that failed each check, by request and check.
    samples: Mutex<BTreeMap<(u16, CheckKind), String>>,
}

impl CallPlan {
    /// Plans all requests and flows of a scenario.
    ///
    /// # Errors
    /// Returns an error that names the request and what is wrong.
    pub(crate) fn new(
        scenario: &Scenario,
        target: &Target,
        http2: bool,
        fields: Fields<'_>,
        pools: &BTreeMap<String, Arc<KeyPool>>,
    ) -> Result<Self, PlanError> {
        let mut plan = Self { requests: Vec::new(), cumulative: Vec::new(), samples: Mutex::default() };
        let planned = |spec: &RequestSpec, fields: Fields<'_>| {
            pool_of(spec, pools)
                .and_then(|keys| PlannedRequest::new(spec, target, http2, fields, keys))
                .map_err(|reason| PlanError { name: spec.name.clone(), reason })
        };
        for spec in &scenario.requests {
            // Nobody would read the value: what was meant is a flow.
            if !spec.capture.is_empty() || spec.think.is_some() {
                return Err(PlanError { name: spec.name.clone(), reason: PlanErrorReason::NotInFlow });
            }
            plan.begin(spec.weight);
            plan.requests.push(planned(spec, fields)?);
            plan.end(1);
        }
        for flow in &scenario.flows {
            plan.begin(flow.weight);
            let mut captured = Vec::new();
            for step in flow.requests() {
                // Before its own captures are known: a step cannot use what its own response says.
                plan.requests.push(planned(&step, Fields { captured: &captured, ..fields })?);
                captured.extend(step.capture.into_keys());
            }
            if flow.steps.is_empty() {
                return Err(PlanError { name: flow.name.clone(), reason: PlanErrorReason::NoSteps });
            }
            plan.end(flow.steps.len());
        }
        // Weights of 0 leave nothing to choose from, and the run would send no call.
        if plan.cumulative.last().is_none_or(|(sum, _)| *sum == 0) {
            let name = scenario.request_names().into_iter().next().unwrap_or_default();
            return Err(PlanError { name, reason: PlanErrorReason::Weight });
        }
        Ok(plan)
    }

    fn begin(&mut self, weight: u32) {
        let sum = self.cumulative.last().map_or(0, |(sum, _)| *sum);
        self.cumulative.push((sum + u64::from(weight), self.requests.len()));
    }

    /// Ends a flow of this many steps.
    fn end(&mut self, steps: usize) {
        let end = self.requests.len();
        self.requests.iter_mut().rev().take(steps).for_each(|request| request.flow_end = end);
    }

    /// Returns the most calls that a due call makes: the steps of the longest flow.
    pub(crate) fn longest_flow(&self) -> u64 {
        let steps = self
            .cumulative
            .iter()
            .filter_map(|&(_, first)| Some(self.requests.get(first)?.flow_end.saturating_sub(first) as u64));
        steps.max().unwrap_or(1)
    }

    /// Returns the names of the requests by index.
    pub(crate) fn names(&self) -> Vec<String> {
        self.requests.iter().map(|request| request.name.clone()).collect()
    }

    /// Returns the method and the path of the requests by index, as the scenario has them.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.requests.iter().map(|request| request.label.clone()).collect()
    }

    /// Returns call number `nth`. Of any consecutive calls each request and flow has about its share.
    pub(crate) fn call(&self, nth: u64) -> Option<PlannedCall> {
        let (sum, _) = *self.cumulative.last()?;
        let at = (u64::from(random::spread(nth)) * sum) >> 32;
        let entry = self.cumulative.partition_point(|&(until, _)| until <= at);
        let (_, request) = *self.cumulative.get(entry)?;
        let first = self.requests.get(request)?;
        // One key for the whole flow: a user is one client, and later steps may need what the key
        // owns.
        let key = first.pick_key(nth);
        self.step(FlowState { nth, request, end: first.flow_end, key, captured: Variables::new() })
    }

    /// Returns the call of a user's next step.
    pub(crate) fn step(&self, flow: FlowState) -> Option<PlannedCall> {
        let planned = self.requests.get(flow.request)?;
        let (request, key) = planned.render(flow.nth, flow.key.clone(), &flow.captured);
        let mut wanted = planned.check.as_ref().map(ResponseCheck::wanted).unwrap_or_default();
        if planned.end.needs_body() {
            // A capture needs the body even if no check does.
            wanted.body = MAX_KEPT_BYTES;
        }
        let index = u16::try_from(flow.request).unwrap_or(u16::MAX);
        Some(PlannedCall { request, index, key, wanted, flow })
    }

    /// Judges a 2xx or 3xx. The first response that fails a check is kept for the report.
    pub(crate) fn judge(&self, call: CallContext, response: &Observed<'_>) -> Verdict {
        let CallContext { index, flow } = call;
        let Some(planned) = self.requests.get(usize::from(index)) else { return Verdict::Passed(None) };
        let check = planned.check.as_ref();
        let failure = check.and_then(|check| check.failure(flow.nth, &flow.captured, response));
        let captured = failure.map_or_else(|| planned.end.capture(response), Err);
        match captured {
            Ok(_) if flow.request + 1 >= flow.end => Verdict::Passed(None),
            Ok(captured) => {
                let think = planned.end.think(flow.nth);
                let mut next = FlowState { request: flow.request + 1, ..flow };
                next.captured.extend(captured);
                Verdict::Passed(Some((next, think)))
            }
            Err(failure) => {
                let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
                // The first of a kind is enough: a run with a million failures must not keep them
                // all.
                samples.entry((index, failure.kind)).or_insert(failure.found);
                Verdict::Failed(failure.kind)
            }
        }
    }

    /// Takes the first response that failed each check.
    pub(crate) fn take_samples(&self) -> Vec<CheckSample> {
        let samples = std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner));
        let name = |index: u16| self.requests.get(usize::from(index)).map(|request| request.name.clone());
        let sample = |((index, kind), found): ((u16, CheckKind), String)| CheckSample {
            request: name(index).unwrap_or_default(),
            check: kind.to_string(),
            found,
        };
        samples.into_iter().map(sample).collect()
    }
}

fn pool_of(
    spec: &RequestSpec,
    pools: &BTreeMap<String, Arc<KeyPool>>,
) -> Result<Option<Arc<KeyPool>>, PlanErrorReason> {
    let Some(name) = &spec.keys else { return Ok(None) };
    let pool = pools.get(name).map(Arc::clone).ok_or_else(|| PlanErrorReason::Keys {
        name: name.clone(),
        known: pools.keys().cloned().collect::<Vec<_>>().join(", "),
    })?;
    Ok(Some(pool))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::DataSets;

    async fn plan(requests: &str) -> Result<CallPlan, PlanError> {
        let scenario: Scenario = toml::from_str(requests).unwrap();
        let target = Target::resolve("http://127.0.0.1:80", false).await.unwrap();
        let fields = Fields { variables: &Variables::new(), data: &DataSets::new(), captured: &[] };
        CallPlan::new(&scenario, &target, false, fields, &BTreeMap::new())
    }

    #[tokio::test]
    async fn mix_has_the_shares_of_its_weights() {
        let text = "[[request]]\nname=\"a\"\npath=\"/a\"\nweight=7\n[[request]]\nname=\"b\"\npath=\"/b?n={{n}}\"\nweight=3\nmethod=\"POST\"\nbody='{\"n\": {{n}}}'";
        let plan = plan(text).await.unwrap();
        let calls: Vec<_> = (0..1000).map(|nth| plan.call(nth).unwrap()).collect();
        let second = calls.iter().filter(|call| call.index == 1).count();
        assert!((295..=305).contains(&second), "{second}");
        let (nth, call) = calls.iter().enumerate().find(|(_, call)| call.index == 1).unwrap();
        assert_eq!(call.request.uri(), &format!("/b?n={nth}")[..]);
        assert_eq!(
            (call.request.method().as_str(), call.request.headers()["content-type"].as_bytes()),
            ("POST", &b"application/json"[..])
        );
    }

    #[tokio::test]
    async fn invalid_request_is_error_that_names_it() {
        let cases = [
            ("path=\"v1\"", "begins with /"),
            ("path=\"/a\"\nkeys=\"k\"", "unknown keys `k`"),
            ("path=\"/a\"\nmethod=\"G T\"", "unknown method `G T`"),
            ("path=\"/a\"\nheaders={\"a b\"=\"c\"}", "invalid header `a b: c`"),
            ("path=\"/{{tol}}\"", "{{tol}}"),
            ("path=\"/a\"\nweight=0", "weight 0"),
            ("path=\"/a\"\nthink=\"1s\"", "steps of a flow"),
            ("path=\"/a\"\nbody=\"{bad\"", "the body `{bad` is not JSON: key must be a string"),
            ("path=\"/a\"\nbody='{\"n\": {{uuid}}}'", "is not JSON"),
            ("path=\"/a\"\nbody_file=\"/no/such/file\"", "/no/such/file"),
        ];
        for (fields, named) in cases {
            let error =
                plan(&format!("[[request]]\nname=\"main\"\n{fields}")).await.err().unwrap().to_string();
            assert!(error.contains("`main`") && error.contains(named), "{error}");
        }
    }
}
