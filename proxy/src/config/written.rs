//! The settings' own types in TOML notation, for the effective configuration.

use shared::headers::PassedHeaders;

use super::{
    AccessDetail, AccessTarget, Balance, DisabledUntil, ProbeKind,
    reader::effective::{Written, quoted},
};
use transport::tls::{Authorities, MinVersion};

macro_rules! written_as_word {
    ($($type:ty { $($variant:pat => $word:literal),* $(,)? })*) => {
        $(impl Written for $type {
            fn written(&self) -> Option<String> {
                match self {
                    $($variant => Some(quoted($word)),)*
                }
            }
        })*
    };
}

written_as_word! {
    AccessTarget { Self::Stdout => "stdout", Self::Off => "off" }
    AccessDetail { Self::Failures => "failures", Self::Calls => "calls", Self::Timings => "timings" }
    Balance {
        Self::RoundRobin => "round-robin",
        Self::LeastConnections => "least-connections",
        Self::KeyHash => "key-hash",
    }
    ProbeKind { Self::Http => "http", Self::Tcp => "tcp" }
    MinVersion { Self::Tls12 => "1.2", Self::Tls13 => "1.3" }
    shared::key::KeyEnv { Self::Live => "live", Self::Test => "test" }
}

impl Written for log::LevelFilter {
    fn written(&self) -> Option<String> {
        Some(quoted(&self.as_str().to_lowercase()))
    }
}

impl Written for DisabledUntil {
    fn written(&self) -> Option<String> {
        Some(match self {
            Self::Moment(moment) => quoted(&moment.to_rfc3339()),
            Self::FurtherNotice => quoted("further-notice"),
        })
    }
}

impl Written for PassedHeaders {
    fn written(&self) -> Option<String> {
        let passed = Self::withheld().iter().filter(|name| self.allows(name));
        passed.map(|name| (*name).to_owned()).collect::<Vec<_>>().written()
    }
}

/// The public certificate authorities are the default and have no file.
impl Written for Authorities {
    fn written(&self) -> Option<String> {
        None
    }
}
