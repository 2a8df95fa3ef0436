//! A request as it came, with the one moment and the one name it has from then on.

use shared::{request_id::RequestId, time::UnixMillis};
use worker::{Headers, web_sys};

use crate::entropy;

/// A request as it came.
pub(crate) struct Incoming {
    pub(crate) request: web_sys::Request,
    pub(crate) id: RequestId,
    pub(crate) now: UnixMillis,
    /// The method's token, unchanged: the crate's own type would read an unknown one as GET.
    pub(crate) method: String,
    /// The URL's text. The runtime has resolved dot segments and backslashes by now; nobody parses it again.
    pub(crate) url: String,
    /// Header lines; repeated ones are joined with a comma, as the runtime shows them.
    pub(crate) headers: Vec<(String, String)>,
}

impl Incoming {
    pub(crate) fn read(request: web_sys::Request, now: UnixMillis) -> worker::Result<Self> {
        Ok(Self {
            id: RequestId(entropy::random()?),
            now,
            method: request.method(),
            url: request.url(),
            headers: Headers(request.headers()).entries().collect(),
            request,
        })
    }

    /// Header lines as `shared` reads them.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
    }

    /// The first header line of this name, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}
