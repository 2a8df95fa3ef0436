//! The response to a call, as far as reports and scenarios need it.

use std::fmt::Write as _;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{HeaderMap, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::Value;
use shared::problem::{Code, codes};

use http_body_util::BodyExt;
use sha2::{Digest as _, Sha256};

use super::event_clock::EventClock;
use crate::record::{CallError, CallOutcome, CheckKind, StreamTiming};
use crate::repr_digest::ReprDigest;

/// The part of a response that its check needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The bytes of the body.
    pub(crate) body: usize,
    /// True if its SHA-256 is wanted.
    pub(crate) hash: bool,
}

/// A complete response, as far as it is checked.
pub(crate) struct Observed<'a> {
    pub(crate) headers: &'a HeaderMap,
    /// The beginning of the body, as much as was wanted.
    pub(crate) body: &'a [u8],
    /// The size of the whole body.
    pub(crate) bytes: u64,
    /// The SHA-256 of the whole body in hexadecimal digits.
    pub(crate) sha256: Option<String>,
    /// The number of server-sent events, if it is a stream of them.
    pub(crate) events: Option<u32>,
}

/// A complete response: head, body size and, if it was kept, the body.
#[derive(Debug)]
pub(crate) struct CallResponse {
    /// The status.
    pub(crate) status: StatusCode,
    /// The headers.
    pub(crate) headers: HeaderMap,
    /// The beginning of the body, if it was kept.
    pub(crate) body: Vec<u8>,
    /// The size of the whole body in bytes.
    bytes: u64,
    /// The SHA-256 of the whole body in hexadecimal digits, if it was wanted.
    sha256: Option<String>,
    /// The times of server-sent events, if it is a stream of them.
    stream: Option<StreamTiming>,
}

impl CallResponse {
    /// Reads a response to its end and keeps of the body what is wanted. The request was sent at `sent`.
    ///
    /// # Errors
    /// Returns [`CallError::Truncated`] if the connection ends within the body, and
    /// [`CallError::Corrupt`] if the body is not the one that `Repr-Digest` describes.
    pub(crate) async fn read(
        response: Response<Incoming>,
        wanted: Wanted,
        sent: Instant,
    ) -> Result<Self, CallError> {
        let (head, mut incoming) = response.into_parts();
        let mut read = Self {
            status: head.status,
            headers: head.headers,
            body: Vec::new(),
            bytes: 0,
            sha256: None,
            stream: None,
        };
        let mut hash = wanted.hash.then(Sha256::new);
        let mut events = EventClock::for_stream(&read.headers, sent);
        // The simulated tools state a digest, which finds bodies that were mixed up or cut on the
        // way.
        let mut digest = ReprDigest::stated_in(&read.headers);
        while let Some(frame) = incoming.frame().await {
            // Trailers are no part of the body.
            let Ok(data) = frame.map_err(|_ended| CallError::Truncated)?.into_data() else { continue };
            read.bytes += data.len() as u64;
            if let Some(digest) = &mut digest {
                digest.update(&data);
            }
            if let Some(hash) = &mut hash {
                hash.update(&data);
            }
            if let Some(events) = &mut events {
                events.update(&data);
            }
            // The size and the digests count all bytes; only the wanted ones take memory.
            let kept = wanted.body.saturating_sub(read.body.len()).min(data.len());
            read.body.extend_from_slice(data.get(..kept).unwrap_or_default());
        }
        read.sha256 = hash.map(|hash| hexadecimal(&hash.finalize()));
        read.stream = events.map(|events| events.timing());
        if digest.is_none_or(ReprDigest::matches) { Ok(read) } else { Err(CallError::Corrupt) }
    }

    /// Returns the response as far as it is checked.
    pub(crate) fn observed(&self) -> Observed<'_> {
        Observed {
            headers: &self.headers,
            body: &self.body,
            bytes: self.bytes,
            sha256: self.sha256.clone(),
            events: self.stream.map(|stream| stream.events),
        }
    }

    /// Returns the outcome that goes into the call's record.
    pub(crate) fn outcome(&self, failed_check: Option<CheckKind>) -> CallOutcome {
        CallOutcome::Completed {
            status: self.status.as_u16(),
            code: self.problem_code(),
            retry_after: self.headers.contains_key(RETRY_AFTER),
            // A record of a call has a fixed size, and runs have millions of them.
            bytes: u32::try_from(self.bytes).unwrap_or(u32::MAX),
            minute_quota: self.minute_quota().unwrap_or(0),
            failed_check,
            stream: self.stream,
        }
    }

    fn problem_code(&self) -> Option<Code> {
        let problem: Value = serde_json::from_slice(&self.body).ok()?;
        codes::parse(problem.get("code")?.as_str()?)
    }

    /// Returns the number of calls per 60 seconds that `RateLimit-Policy` allows.
    pub(crate) fn minute_quota(&self) -> Option<u32> {
        let policy = self.headers.get("ratelimit-policy")?.to_str().ok()?;
        // A gateway may announce several windows; the certificate is about the minute.
        let minute = policy.split(',').find(|item| item.split(';').any(|part| part.trim() == "w=60"))?;
        minute.split(';').find_map(|part| part.trim().strip_prefix("q="))?.parse().ok()
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String never fails.
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}
