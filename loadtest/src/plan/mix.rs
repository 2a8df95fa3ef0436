//! The mix of requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;

use super::error::{PlanError, PlanErrorReason};
use super::request::PlannedRequest;
use super::response_check::{Observed, ResponseCheck, Wanted};
use super::template::Variables;
use crate::keys::KeyPool;
use crate::random;
use crate::record::{CheckKind, CheckSample};
use crate::scenario::RequestSpec;
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
}

/// The requests of a run with their weights.
pub(crate) struct CallPlan {
    requests: Vec<PlannedRequest>,
    /// The sum of weights up to each request.
    cumulative: Vec<u64>,
    /// The first response that failed each check, by request and check.
    samples: Mutex<BTreeMap<(u16, CheckKind), String>>,
}

impl CallPlan {
    /// Plans all requests of a scenario.
    ///
    /// # Errors
    /// Returns an error that names the request and what is wrong.
    pub(crate) fn new(
        specs: &[RequestSpec],
        target: &Target,
        http2: bool,
        variables: &Variables,
        pools: &BTreeMap<String, Arc<KeyPool>>,
    ) -> Result<Self, PlanError> {
        let mut plan = Self { requests: Vec::new(), cumulative: Vec::new(), samples: Mutex::default() };
        let mut sum = 0;
        for spec in specs {
            let planned = pool_of(spec, pools)
                .and_then(|keys| PlannedRequest::new(spec, target, http2, variables, keys))
                .map_err(|reason| PlanError { name: spec.name.clone(), reason })?;
            sum += u64::from(spec.weight);
            plan.requests.push(planned);
            plan.cumulative.push(sum);
        }
        if sum == 0 {
            let name = specs.first().map_or_else(String::new, |spec| spec.name.clone());
            return Err(PlanError { name, reason: PlanErrorReason::Weight });
        }
        Ok(plan)
    }

    /// Returns the names of the requests by index.
    pub(crate) fn names(&self) -> Vec<String> {
        self.requests.iter().map(|request| request.name.clone()).collect()
    }

    /// Returns the method and the path of the requests by index, as the scenario has them.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.requests.iter().map(|request| request.label.clone()).collect()
    }

    /// Returns call number `nth`. Of any consecutive calls each request has about its share.
    pub(crate) fn call(&self, nth: u64) -> Option<PlannedCall> {
        let sum = *self.cumulative.last()?;
        let at = (u64::from(random::spread(nth)) * sum) >> 32;
        let index = self.cumulative.partition_point(|&until| until <= at);
        let planned = self.requests.get(index)?;
        let (request, key) = planned.render(nth);
        let wanted = planned.check.as_ref().map(ResponseCheck::wanted).unwrap_or_default();
        Some(PlannedCall { request, index: u16::try_from(index).unwrap_or(u16::MAX), key, wanted })
    }

    /// Returns the check that the response to call number `nth` of a request fails, and keeps the first
    /// such response for the report.
    pub(crate) fn failed_check(&self, index: u16, nth: u64, response: &Observed<'_>) -> Option<CheckKind> {
        let check = self.requests.get(usize::from(index))?.check.as_ref()?;
        let failure = check.failure(nth, response)?;
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.entry((index, failure.kind)).or_insert(failure.found);
        Some(failure.kind)
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

    async fn plan(requests: &str) -> Result<CallPlan, PlanError> {
        let scenario: crate::scenario::Scenario = toml::from_str(requests).unwrap();
        let target = Target::resolve("http://127.0.0.1:80", false).await.unwrap();
        CallPlan::new(&scenario.requests, &target, false, &Variables::new(), &BTreeMap::new())
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
