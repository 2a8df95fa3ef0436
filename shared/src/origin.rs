//! The proxies behind the edge: the order in which they are tried, and what it means if one does
//! not respond.
//!
//! **When a call may be sent again.** Only if no origin can have executed it: the connection was
//! refused, the proxy refused the grant, or the method is safe (RFC 9110 section 9.2.2). The rule
//! is [`Failure::may_try_next`].
//!
//! The runtime reports a refused connection and one that was lost later in the same words. So with
//! several origins a POST goes only to one that has responded within [`CONFIRMED_MS`], or that
//! responds to a probe first.

use std::fmt;

use crate::{
    problem::{Code, Problem},
    request::TOOL_ANSWER_MS,
    route::CallMethod,
    time::UnixMillis,
    tool::Tool,
};

/// Timeout for the head of an origin's response once it has the whole request, in milliseconds: a
/// second more than the proxy gives a tool, so that the proxy's own, more specific response arrives
/// first.
pub const ANSWER_MS: u64 = TOOL_ANSWER_MS + 1_000;
/// Time after which a silent origin is probed, in milliseconds, if there is another one.
pub const CONNECT_MS: u64 = 3_000;
/// Time for which an origin that has responded counts as reachable without a probe, in
/// milliseconds.
pub const CONFIRMED_MS: u64 = 5_000;
/// Maximum declared length, in bytes, of a body that the edge receives whole before it asks an origin. Longer ones,
/// and those of undeclared length, are streamed.
pub const HELD_BODY_BYTES: u64 = 65_536;
/// Time for which an unreachable origin is tried last, in milliseconds.
const AVOID_MS: u64 = 5_000;
const MAX_ORIGINS: usize = 8;

/// One data centre's proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The data centre's name, which grants for it end with.
    pub name: String,
    /// Scheme and authority, without a slash at the end.
    pub base: String,
}

/// The origins, best first. There is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origins(Vec<Origin>);

/// A fault in a configured list of origins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OriginsFault {
    /// There is none.
    Empty,
    /// More than eight.
    TooMany,
    /// This one is no `name=url` or `url`, where a URL is scheme, host and port only.
    BadEntry(String),
}

impl fmt::Display for OriginsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("names no origin"),
            Self::TooMany => write!(f, "names more than {MAX_ORIGINS} origins"),
            Self::BadEntry(entry) => {
                write!(f, "has `{entry}`, which is not https://host:port or name=https://host:port")
            }
        }
    }
}

impl Origins {
    /// Reads `url,url` or `name=url,name=url`, best first. A URL without a name belongs to data
    /// centre `default`.
    ///
    /// # Errors
    /// Returns an error if the list is empty or too long, or an entry is not one.
    pub fn parse(text: &str) -> Result<Self, OriginsFault> {
        let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let origins = entries.map(Origin::parse).collect::<Result<Vec<_>, _>>()?;
        match origins.len() {
            0 => Err(OriginsFault::Empty),
            1..=MAX_ORIGINS => Ok(Self(origins)),
            _ => Err(OriginsFault::TooMany),
        }
    }

    /// Returns all of them, best first.
    #[must_use]
    pub fn all(&self) -> &[Origin] {
        &self.0
    }
}

impl Origin {
    fn parse(entry: &str) -> Result<Self, OriginsFault> {
        let (name, url) = entry.split_once('=').unwrap_or(("default", entry));
        let base = url.strip_suffix('/').unwrap_or(url);
        let authority = base.strip_prefix("https://").or_else(|| base.strip_prefix("http://")).unwrap_or("");
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        let well_formed = !name.is_empty()
            && name.bytes().all(plain)
            && !authority.is_empty()
            && authority.bytes().all(|b| plain(b) || matches!(b, b':' | b'[' | b']'));
        if well_formed {
            Ok(Self { name: name.to_owned(), base: base.to_owned() })
        } else {
            Err(OriginsFault::BadEntry(entry.to_owned()))
        }
    }
}

/// An isolate's memory of which origins are reachable, by index in the list.
#[derive(Clone, Debug, Default)]
pub struct Reachability(Vec<(usize, LastSeen)>);

#[derive(Clone, Copy, Debug)]
enum LastSeen {
    Reached(UnixMillis),
    Unreached(UnixMillis),
}

impl Reachability {
    /// Records a response of the origin at `index`.
    pub fn record_reached(&mut self, index: usize, now: UnixMillis) {
        self.set(index, LastSeen::Reached(now));
    }

    /// Records a failed call. If the failure does not show that the origin is out of reach, the origin only has to be
    /// probed before the next POST.
    pub fn record_failure(&mut self, index: usize, failure: Failure, now: UnixMillis) {
        if failure.is_of_the_origin() {
            self.set(index, LastSeen::Unreached(now));
        } else {
            self.forget(index);
        }
    }

    /// Returns true if the origin responded within the last [`CONFIRMED_MS`] and no call to it has failed since.
    #[must_use]
    pub fn is_confirmed(&self, index: usize, now: UnixMillis) -> bool {
        let confirms =
            |seen: &LastSeen| matches!(seen, LastSeen::Reached(at) if now.since(*at) < CONFIRMED_MS);
        self.0.iter().any(|(other, seen)| *other == index && confirms(seen))
    }

    /// Returns the indexes of `origins` in the order to ask them: best first, those that were lately out of reach last.
    /// All are in it, since the memory may be wrong; a single one is in it twice, since a connection kept open may
    /// have been closed just before it was used.
    #[must_use]
    pub fn order(&self, origins: &Origins, now: UnixMillis) -> Vec<usize> {
        let avoids = |seen: &LastSeen| matches!(seen, LastSeen::Unreached(at) if now.since(*at) < AVOID_MS);
        let mut order: Vec<usize> = (0..origins.0.len()).collect();
        order.sort_by_key(|index| self.0.iter().any(|(other, seen)| other == index && avoids(seen)));
        if let &[only] = order.as_slice() {
            order.push(only);
        }
        order
    }

    fn set(&mut self, index: usize, seen: LastSeen) {
        self.forget(index);
        self.0.push((index, seen));
    }

    fn forget(&mut self, index: usize) {
        self.0.retain(|(other, _)| *other != index);
    }
}

/// A reason for which an origin gave no response of our proxy's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection came about.
    Refused,
    /// The connection was closed before a response.
    Lost,
    /// The connection was made, and no response came in time.
    TimedOut,
    /// Something responded that cannot prove to be our proxy.
    Foreign,
    /// The proxy does not accept our grant: the two do not share a secret, a name or a clock.
    Rejected,
}

/// Whether a tool may have executed a call that got no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Execution {
    /// It has not.
    None,
    /// It may have.
    Possible,
}

/// Returns the detail of a failed call: the tool, what happened and, for a POST, whether the tool may have executed it, so
/// that the client knows whether it may send it again.
#[must_use]
pub fn failure_detail(tool: Tool, method: CallMethod, execution: Execution, what: &str) -> String {
    match (method, execution) {
        (CallMethod::Get, _) => format!("{tool}: {what}"),
        (CallMethod::Post, Execution::None) => format!("{tool}: {what}; the call was not executed"),
        (CallMethod::Post, Execution::Possible) => format!("{tool}: {what}; the call may have been executed"),
    }
}

impl Failure {
    /// Returns what a response means that carries no [`Proof`](crate::proof::Proof). The platform responds with 521 to 530
    /// itself if it cannot connect, and with 524 if a response is late. Anything else is of some other server, whatever
    /// its status.
    ///
    /// A POST may then have been executed all the same: a load balancer in front of the proxy may have passed it on
    /// before it responded itself.
    #[must_use]
    pub const fn of_unproven_response(status: u16) -> Self {
        match status {
            521 | 522 | 523 | 525 | 526 | 530 => Self::Refused,
            524 => Self::TimedOut,
            _ => Self::Foreign,
        }
    }

    /// Returns true if it says that the origin itself is out of reach, and not just this one call's connection. A proxy
    /// that is alive responds before a call can be [`Failure::TimedOut`].
    #[must_use]
    pub const fn is_of_the_origin(self) -> bool {
        match self {
            Self::Refused | Self::TimedOut | Self::Rejected | Self::Foreign => true,
            Self::Lost => false,
        }
    }

    /// Returns true if the call may be sent to another origin: not if an origin may have executed it, unless it only
    /// reads. A late response is no reason: the tool is slow, not the origin dead.
    #[must_use]
    pub const fn may_try_next(self, method: CallMethod) -> bool {
        match (self, method) {
            (Self::Refused | Self::Rejected, _) | (Self::Lost | Self::Foreign, CallMethod::Get) => true,
            (Self::TimedOut, _) | (Self::Lost | Self::Foreign, CallMethod::Post) => false,
        }
    }

    /// Returns the problem that the client of a call gets: always a 503, with `Proxy-Status` (RFC
    /// 9209).
    #[must_use]
    pub fn problem(self, tool: Tool, method: CallMethod) -> Problem {
        let (_, what, _) = self.facts();
        self.render(failure_detail(tool, method, self.execution(), what))
    }

    /// Returns the problem for a request that calls no tool.
    #[must_use]
    pub fn problem_without_call(self) -> Problem {
        let (_, what, _) = self.facts();
        self.render(what.to_owned())
    }

    fn render(self, detail: String) -> Problem {
        let (code, _, error) = self.facts();
        Problem::new(code, detail)
            .retry_after(AVOID_MS.div_ceil(1_000))
            .with_header("proxy-status", format!("edge; error={error}"))
    }

    /// Returns the code, what happened, and the error type of `Proxy-Status`.
    const fn facts(self) -> (Code, &'static str, &'static str) {
        match self {
            Self::Refused => {
                (Code::ToolUnavailable, "no data centre could be reached", "destination_unavailable")
            }
            Self::Lost => (
                Code::ToolUnavailable,
                "the connection was lost before an answer came",
                "connection_terminated",
            ),
            Self::TimedOut => (Code::ToolTimeout, "no answer came in time", "http_response_timeout"),
            Self::Foreign => (
                Code::OriginInvalid,
                "another server responded in the data center's place",
                "http_protocol_error",
            ),
            Self::Rejected => (
                Code::ToolUnavailable,
                "the data centre does not take calls from this edge",
                "proxy_configuration_error",
            ),
        }
    }

    const fn execution(self) -> Execution {
        match self {
            Self::Refused | Self::Rejected => Execution::None,
            Self::Lost | Self::TimedOut | Self::Foreign => Execution::Possible,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_in_order_with_or_without_names() {
        let origins = Origins::parse("fra=https://fra.example.com:8443/, http://127.0.0.1:8080").unwrap();
        let pairs: Vec<_> = origins.all().iter().map(|o| (o.name.as_str(), o.base.as_str())).collect();
        assert_eq!(pairs, [("fra", "https://fra.example.com:8443"), ("default", "http://127.0.0.1:8080")]);
    }

    #[test]
    fn a_list_that_is_none_is_refused_with_the_entry_at_fault() {
        assert_eq!(Origins::parse(" , "), Err(OriginsFault::Empty));
        assert_eq!(Origins::parse(&"http://a,".repeat(9)), Err(OriginsFault::TooMany));
        for entry in [
            "fra.example.com",
            "=http://a",
            "a b=http://a",
            "http://a/path",
            "http://u@a",
            "ftp://a",
            "http://",
        ] {
            assert_eq!(Origins::parse(entry), Err(OriginsFault::BadEntry(entry.to_owned())), "{entry}");
        }
    }

    #[test]
    fn unreached_origin_is_asked_last_for_a_while() {
        let origins = Origins::parse("http://a,http://b,http://c").unwrap();
        let mut seen = Reachability::default();
        seen.record_failure(0, Failure::Refused, UnixMillis(1_000));
        assert_eq!(seen.order(&origins, UnixMillis(1_000 + AVOID_MS - 1)), [1, 2, 0]);
        assert_eq!(seen.order(&origins, UnixMillis(1_000 + AVOID_MS)), [0, 1, 2]);
        seen.record_failure(0, Failure::TimedOut, UnixMillis(9_000));
        seen.record_reached(0, UnixMillis(9_000));
        assert_eq!(seen.order(&origins, UnixMillis(9_001)), [0, 1, 2]);
        let single = Origins::parse("http://a").unwrap();
        assert_eq!(seen.order(&single, UnixMillis(9_001)), [0, 0]);
    }

    #[test]
    fn origin_is_confirmed_until_a_call_fails_or_time_passes() {
        let mut seen = Reachability::default();
        assert!(!seen.is_confirmed(0, UnixMillis(1_000)), "nothing is known yet");
        seen.record_reached(0, UnixMillis(1_000));
        assert!(seen.is_confirmed(0, UnixMillis(1_000 + CONFIRMED_MS - 1)));
        assert!(!seen.is_confirmed(0, UnixMillis(1_000 + CONFIRMED_MS)));
        for failure in [Failure::Lost, Failure::Refused] {
            seen.record_reached(0, UnixMillis(2_000));
            seen.record_failure(0, failure, UnixMillis(2_000));
            assert!(!seen.is_confirmed(0, UnixMillis(2_001)), "{failure:?}");
        }
    }

    #[test]
    fn post_that_may_have_been_executed_is_never_sent_again() {
        for failure in [Failure::Lost, Failure::TimedOut, Failure::Foreign] {
            assert!(!failure.may_try_next(CallMethod::Post), "{failure:?}");
        }
        assert!(!Failure::TimedOut.may_try_next(CallMethod::Get), "the tool is slow, not the origin dead");
        assert!(Failure::Refused.may_try_next(CallMethod::Post));
        assert!(Failure::Rejected.may_try_next(CallMethod::Post));
        assert!(Failure::Lost.may_try_next(CallMethod::Get));
    }

    #[test]
    fn failed_post_says_whether_it_may_have_been_executed() {
        for failure in
            [Failure::Refused, Failure::Lost, Failure::TimedOut, Failure::Foreign, Failure::Rejected]
        {
            let post = failure.problem(Tool::Pdf, CallMethod::Post).detail().to_owned();
            let possible = post.ends_with("; the call may have been executed");
            assert!(post.starts_with("pdf: ") && (possible || post.ends_with("; the call was not executed")));
            let repeated = failure.may_try_next(CallMethod::Post);
            assert_eq!(possible, !repeated, "{failure:?}: what is sent again cannot have been executed");
            let get = failure.problem(Tool::Pdf, CallMethod::Get);
            assert!(get.detail().starts_with("pdf: ") && !get.detail().contains("executed"));
        }
    }

    #[test]
    fn a_failure_to_reach_a_tool_is_always_a_503_that_says_when_to_come_back() {
        for failure in
            [Failure::Refused, Failure::Lost, Failure::TimedOut, Failure::Foreign, Failure::Rejected]
        {
            let problem = failure.problem(Tool::Qr, CallMethod::Get);
            let rendered = problem.render(&crate::request_id::RequestId([0; 16]));
            assert_eq!(rendered.status, 503, "{failure:?}");
            for name in ["retry-after", "proxy-status"] {
                assert!(rendered.headers.iter().any(|(n, _)| *n == name), "{failure:?} {name}");
            }
        }
    }

    #[test]
    fn the_platforms_own_answers_are_told_from_a_tools() {
        assert_eq!(Failure::of_unproven_response(522), Failure::Refused);
        assert_eq!(Failure::of_unproven_response(524), Failure::TimedOut);
        for status in [200, 403, 404, 502] {
            assert_eq!(Failure::of_unproven_response(status), Failure::Foreign);
        }
    }
}
