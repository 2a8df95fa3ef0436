//! Metrics of connections from clients.

use prometheus::{Error, IntCounter, IntGauge};

use super::register::Register;
use transport::{
    http2::CloseReason,
    tls::{Handshake, ServerTls},
};

/// Handshakes, and the certificate.
pub(super) struct TlsMetrics {
    handshakes: [(Handshake, IntCounter); Handshake::ALL.len()],
    expires: IntGauge,
    http2: [(CloseReason, IntCounter); CloseReason::ALL.len()],
}

impl TlsMetrics {
    /// All at zero.
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        let handshakes = register.counters(
            "utg_tls_handshakes_total",
            "TLS handshakes with clients, by outcome.",
            &["outcome"],
        )?;
        let http2 = register.counters(
            "utg_http2_connections_closed_total",
            "Client HTTP/2 connections closed, by reason.",
            &["reason"],
        )?;
        Ok(Self {
            http2: CloseReason::ALL.map(|end| (end, http2.with_label_values(&[end.as_str()]))),
            handshakes: Handshake::ALL
                .map(|outcome| (outcome, handshakes.with_label_values(&[outcome.as_str()]))),
            expires: register.gauge(
                "utg_certificate_expiry_timestamp_seconds",
                "Unix time at which the server certificate expires. 0 without TLS.",
            )?,
        })
    }

    pub(super) fn handshake(&self, outcome: Handshake) {
        if let Some((_, counter)) = self.handshakes.iter().find(|(other, _)| *other == outcome) {
            counter.inc();
        }
    }

    pub(super) fn http2_closed(&self, reason: CloseReason) {
        if let Some((_, counter)) = self.http2.iter().find(|(other, _)| *other == reason) {
            counter.inc();
        }
    }

    /// Takes what is known of the certificate.
    pub(super) fn look(&self, tls: Option<&ServerTls>) {
        self.expires.set(tls.map_or(0, ServerTls::expires_at));
    }
}
