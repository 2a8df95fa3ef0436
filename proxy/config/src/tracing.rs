//! `[tracing]`: the export of traces.

use std::time::Duration;

use http::Uri;
use http::uri::{PathAndQuery, Scheme};
use shared::url::Address;

use super::limits::{Password, password};
use super::reader::effective::ToToml;
use super::reader::{Entry, Section, ValueError, duration_in};
use super::sampler::Sampler;

/// The path of a collector's receiver of traces.
pub const OTLP_PATH: &str = "/v1/traces";

/// The settings of traces.
#[derive(Clone, Debug)]
pub struct TracingConfig {
    /// The collector's receiver of OTLP over HTTP.
    pub endpoint: Uri,
    /// The value of `Authorization` for it.
    pub authorization: Option<Password>,
    /// The decision which traces are recorded.
    pub sampler: Sampler,
    /// The time to the start of the response from which a call is exported in any case.
    pub slow: Duration,
    /// The name of the service.
    pub service: String,
}

/// A share from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio(f64);

impl ToToml for Ratio {
    fn to_toml(&self) -> Option<String> {
        Some(format!("{:?}", self.0))
    }
}

const AUTHORIZATION: [&str; 2] = ["authorization", "authorization_file"];

/// Reads `[tracing]`: every key, so that none is reported as unknown. Returns `None` without an endpoint.
pub(super) fn read(section: &mut Section<'_>) -> Option<Box<TracingConfig>> {
    let endpoint = section.read("endpoint", None, |entry| endpoint(entry).map(|uri| Some(Endpoint(uri))));
    let authorization = section.secret(AUTHORIZATION, password, None);
    let Ratio(ratio) = section.read("ratio", Ratio(0.01), |entry| entry.share().map(Ratio));
    let trusts_caller = section.read("trust_caller", true, Entry::boolean);
    let slow = section.read(
        "slow",
        Duration::from_secs(10),
        duration_in(Duration::from_millis(1)..=Duration::from_secs(3_600)),
    );
    let service = section.read("service", "utg-proxy".to_owned(), service);
    let Endpoint(endpoint) = endpoint?;
    if authorization.is_some() && is_readable_on_the_way(&endpoint) {
        section.fault_at("endpoint", "must be https, because `authorization` goes to another machine");
    }
    let sampler = Sampler::new(ratio, trusts_caller);
    Some(Box::new(TracingConfig { endpoint, authorization, sampler, slow, service }))
}

/// An endpoint in the notation of TOML.
struct Endpoint(Uri);

impl ToToml for Endpoint {
    fn to_toml(&self) -> Option<String> {
        self.0.to_string().to_toml()
    }
}

/// Parses the URL of a collector. One without a path has the receiver of traces at its usual path.
fn endpoint(entry: &Entry<'_>) -> Result<Uri, ValueError> {
    const EXPECTED: &str = "an http or https URL, for example http://127.0.0.1:4318/v1/traces";
    let text = entry.text()?;
    let invalid = || ValueError::invalid("URL", &text, EXPECTED);
    let mut parts = text.parse::<Uri>().map_err(|_| invalid())?.into_parts();
    let is_known = [Some(Scheme::HTTP), Some(Scheme::HTTPS)].contains(&parts.scheme);
    let has_host = parts.authority.as_ref().is_some_and(|host| !host.host().is_empty());
    let has_user = parts.authority.as_ref().is_some_and(|host| host.as_str().contains('@'));
    if !is_known || !has_host || has_user {
        return Err(invalid());
    }
    if parts.path_and_query.as_ref().is_none_or(|path| path == "/") {
        parts.path_and_query = Some(PathAndQuery::from_static(OTLP_PATH));
    }
    Uri::from_parts(parts).map_err(|_| invalid())
}

fn is_readable_on_the_way(endpoint: &Uri) -> bool {
    let text = endpoint.to_string();
    Address::parse(&text).is_none_or(|address| address.check_confidential(false).is_err())
}

fn service(entry: &Entry<'_>) -> Result<String, ValueError> {
    let text = entry.text()?;
    let is_printable = text.bytes().all(|byte| matches!(byte, b'!'..=b'~'));
    match is_printable && (1..=64).contains(&text.len()) {
        true => Ok(text),
        false => {
            Err(ValueError::invalid("service name", text, "1 to 64 printable characters without spaces"))
        }
    }
}
