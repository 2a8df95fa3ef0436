//! The settings' own types in TOML notation: those that are one of several words, and others.

use shared::headers::PassedHeaders;
use shared::key::KeyEnv;

use super::callers::ReplayStore;
use super::limits::{AuthorityKind, KindWord};
use super::reader::choice::choices;
use super::reader::effective::{ToToml, quoted};
use super::{Balance, DisabledUntil, ProbeKind};
use transport::downstream::Transport;
use transport::tls::{Authorities, MinVersion};

choices! {
    Balance: "balance" {
        "round-robin" => Self::RoundRobin,
        "least-connections" => Self::LeastConnections,
        "key-hash" => Self::KeyHash,
    }
    Transport: "transport" { "relay" => Self::Relay, "pingora-proxy" => Self::PingoraProxy }
    ProbeKind: "probe kind" { "http" => Self::Http, "tcp" => Self::Tcp }
    MinVersion: "TLS version" { "1.2" => Self::Tls12, "1.3" => Self::Tls13 }
    ReplayStore: "replay store" { "process" => Self::Process, "valkey" => Self::Valkey }
    AuthorityKind: "authority" { "process" => Self::Process, "edge" => Self::Edge, "valkey" => Self::Valkey }
    KindWord: "kind" { "single" => Self::Single, "sentinel" => Self::Sentinel, "cluster" => Self::Cluster }
    KeyEnv: "environment" { "live" => Self::Live, "test" => Self::Test }
}

impl ToToml for DisabledUntil {
    fn to_toml(&self) -> Option<String> {
        Some(match self {
            Self::Moment(moment) => quoted(&moment.to_rfc3339()),
            Self::FurtherNotice => quoted("further-notice"),
        })
    }
}

impl ToToml for PassedHeaders {
    fn to_toml(&self) -> Option<String> {
        let passed = Self::withheld().iter().filter(|name| self.allows(name));
        passed.map(|name| (*name).to_owned()).collect::<Vec<_>>().to_toml()
    }
}

/// The public certificate authorities are the default and have no file.
impl ToToml for Authorities {
    fn to_toml(&self) -> Option<String> {
        None
    }
}
