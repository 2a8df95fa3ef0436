//! The validity of the server's certificate: what `--check` warns of, and what the log of a running proxy says when it
//! ends soon or has expired.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use log::Level;
use pingora::server::ShutdownWatch;
use pingora::services::background::BackgroundService;
use shared::time::UnixMillis;
use tokio::time::sleep;

use phases::state::State;
use transport::clock;
use transport::tls::ServerTls;

/// The validity of a certificate at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Validity {
    /// It is valid for two weeks at least.
    Valid,
    /// It is not valid yet.
    NotYet(UnixMillis),
    /// It expires within two weeks.
    EndsSoon(UnixMillis, Days),
    /// It expires within two days.
    EndsNow(UnixMillis, Days),
    /// It has expired.
    Expired(UnixMillis),
}

/// A number of whole days.
pub(crate) type Days = u64;

const DAY_MS: u64 = 86_400_000;
/// Remaining validity below which there is a warning. Equal to the alert CertificateEnds.
const SOON: Days = 14;
/// Remaining validity below which there is an error. Equal to the alert CertificateEndsNow.
const NOW: Days = 2;
/// The interval of looks at the certificate in use, which a reload replaces.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Validity {
    /// Returns the validity at `now` of a certificate with these bounds, in seconds since 1970.
    pub(crate) fn at(starts_at: i64, expires_at: i64, now: UnixMillis) -> Self {
        let moment = |seconds: i64| UnixMillis(u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000));
        let (starts, expires) = (moment(starts_at), moment(expires_at));
        let left = expires.since(now);
        match left / DAY_MS {
            _ if expires <= now => Self::Expired(expires),
            _ if starts > now => Self::NotYet(starts),
            days if left < NOW * DAY_MS => Self::EndsNow(expires, days),
            days if left < SOON * DAY_MS => Self::EndsSoon(expires, days),
            _ => Self::Valid,
        }
    }

    /// Returns the level of its line in the log. `None` while there is nothing to say.
    const fn level(self) -> Option<Level> {
        match self {
            Self::Valid => None,
            Self::EndsSoon(..) => Some(Level::Warn),
            Self::NotYet(_) | Self::EndsNow(..) | Self::Expired(_) => Some(Level::Error),
        }
    }
}

impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Valid => f.write_str("the certificate is valid"),
            Self::NotYet(at) => {
                write!(f, "the certificate is not valid before {}; clients refuse it", at.to_rfc3339())
            }
            Self::EndsSoon(at, days) | Self::EndsNow(at, days) => {
                write!(f, "the certificate expires at {}, in {days} days; renew it", at.to_rfc3339())
            }
            Self::Expired(at) => {
                write!(f, "the certificate expired at {}; clients refuse it", at.to_rfc3339())
            }
        }
    }
}

/// The background service that logs when the certificate in use is about to expire: at the start, after a
/// reload, and then once a day.
pub(crate) struct CertificateWatch(pub(crate) Arc<State>);

/// What was said last: the end of the certificate in seconds since 1970, the level, and the day. So a line
/// comes with each change of them.
type Said = Option<(i64, Option<Level>, Days)>;

#[async_trait]
impl BackgroundService for CertificateWatch {
    async fn start(&self, mut shutdown: ShutdownWatch) {
        let mut said = None;
        loop {
            // Loaded at each look: a reload replaces the certificate, and the new one may be as
            // old.
            let config = self.0.config.load_full();
            said = config.server.tls.as_ref().and_then(|tls| look(tls, clock::now(), said));
            tokio::select! {
                () = sleep(LOOK_EVERY) => {}
                _ = shutdown.changed() => return,
            }
        }
    }
}

/// Logs the validity of a certificate, unless it was logged before.
fn look(tls: &ServerTls, now: UnixMillis, said: Said) -> Said {
    let validity = Validity::at(tls.starts_at(), tls.expires_at(), now);
    let to_say = (tls.expires_at(), validity.level(), now.0 / DAY_MS);
    if let Some(level) = validity.level().filter(|_| said != Some(to_say)) {
        let at = UnixMillis(u64::try_from(tls.expires_at()).unwrap_or(0).saturating_mul(1_000)).to_rfc3339();
        log::log!(level, "server certificate needs renewal: expires_at={at} reason=\"{validity}\"");
    }
    Some(to_say)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificate_outside_or_near_the_end_of_its_validity_is_said() {
        const DAY: i64 = 86_400;
        let at = |day: u64| {
            let validity = Validity::at(100 * DAY, 200 * DAY, UnixMillis(day * DAY_MS));
            (validity.level(), validity.to_string())
        };
        for (day, level, text) in [
            (99, Some(Level::Error), "not valid before 1970-04-11"),
            (100, None, "is valid"),
            (186, None, "is valid"),
            (187, Some(Level::Warn), "expires at 1970-07-20T00:00:00Z, in 13 days"),
            (198, Some(Level::Warn), "in 2 days"),
            (199, Some(Level::Error), "in 1 days"),
            (200, Some(Level::Error), "expired at 1970-07-20"),
            (300, Some(Level::Error), "expired at 1970-07-20"),
        ] {
            let (found, said) = at(day);
            assert_eq!(found, level, "{day}");
            assert!(said.contains(text), "{day}: {said}");
        }
    }
}
