//! The mix of requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;

use super::error::{PlanError, PlanErrorReason};
use super::request::PlannedRequest;
use super::template::Variables;
use crate::keys::KeyPool;
use crate::random;
use crate::scenario::RequestSpec;
use crate::target::Target;

/// A call that is ready to be sent.
pub(crate) struct PlannedCall {
    pub(crate) request: Request<Full<Bytes>>,
    /// The index of the request.
    pub(crate) index: u16,
    /// The number of the key, or `NO_KEY`.
    pub(crate) key: u32,
}

/// The requests of a run with their weights.
pub(crate) struct CallPlan {
    requests: Vec<PlannedRequest>,
    /// The sum of weights up to each request.
    cumulative: Vec<u64>,
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
        let mut plan = Self { requests: Vec::new(), cumulative: Vec::new() };
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

    /// Returns call number `nth`. Of any consecutive calls each request has about its share.
    pub(crate) fn call(&self, nth: u64) -> Option<PlannedCall> {
        let sum = *self.cumulative.last()?;
        let at = (u64::from(random::spread(nth)) * sum) >> 32;
        let index = self.cumulative.partition_point(|&until| until <= at);
        let (request, key) = self.requests.get(index)?.render(nth);
        Some(PlannedCall { request, index: u16::try_from(index).unwrap_or(u16::MAX), key })
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
