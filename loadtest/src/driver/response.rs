//! The response to a call, as far as reports and scenarios need it.

use hyper::body::Incoming;
use hyper::header::{HeaderMap, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::Value;
use shared::problem::{Code, codes};

use http_body_util::BodyExt;

use crate::record::{CallError, CallOutcome};
use crate::repr_digest::ReprDigest;

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
}

impl CallResponse {
    /// Reads a response to its end and keeps the first `keep` bytes of the body.
    ///
    /// # Errors
    /// Returns [`CallError::Truncated`] if the connection ends within the body, and
    /// [`CallError::Corrupt`] if the body is not the one that `Repr-Digest` describes.
    pub(super) async fn read(response: Response<Incoming>, keep: usize) -> Result<Self, CallError> {
        let (head, mut incoming) = response.into_parts();
        let mut read = Self { status: head.status, headers: head.headers, body: Vec::new(), bytes: 0 };
        let mut digest = ReprDigest::stated_in(&read.headers);
        while let Some(frame) = incoming.frame().await {
            let Ok(data) = frame.map_err(|_ended| CallError::Truncated)?.into_data() else { continue };
            read.bytes += data.len() as u64;
            if let Some(digest) = &mut digest {
                digest.update(&data);
            }
            let kept = keep.saturating_sub(read.body.len()).min(data.len());
            read.body.extend_from_slice(data.get(..kept).unwrap_or_default());
        }
        if digest.is_none_or(ReprDigest::matches) { Ok(read) } else { Err(CallError::Corrupt) }
    }

    /// Returns the outcome that goes into the call's record.
    pub(super) fn outcome(&self) -> CallOutcome {
        CallOutcome::Completed {
            status: self.status.as_u16(),
            code: self.problem_code(),
            retry_after: self.headers.contains_key(RETRY_AFTER),
            bytes: u32::try_from(self.bytes).unwrap_or(u32::MAX),
            minute_quota: self.minute_quota().unwrap_or(0),
        }
    }

    fn problem_code(&self) -> Option<Code> {
        let problem: Value = serde_json::from_slice(&self.body).ok()?;
        codes::parse(problem.get("code")?.as_str()?)
    }

    /// Returns the number of calls per 60 seconds that `RateLimit-Policy` allows.
    pub(crate) fn minute_quota(&self) -> Option<u32> {
        let policy = self.headers.get("ratelimit-policy")?.to_str().ok()?;
        let minute = policy.split(',').find(|item| item.split(';').any(|part| part.trim() == "w=60"))?;
        minute.split(';').find_map(|part| part.trim().strip_prefix("q="))?.parse().ok()
    }
}
