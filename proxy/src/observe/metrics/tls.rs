//! Metrics of connections from clients.

use prometheus::{Error, IntCounter, IntGauge};

use super::register::Register;
use transport::{
    http2::CloseReason,
    tls::{Handshake, ServerTls},
};

/// Metrics of TLS handshakes, the certificate and HTTP/2 connections.
pub(super) struct TlsMetrics {
    handshakes: [(Handshake, IntCounter); Handshake::ALL.len()],
    expires: IntGauge,
    http2: [(CloseReason, IntCounter); CloseReason::ALL.len()],
}

impl TlsMetrics {
    /// Registers the metrics.
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

    pub(super) fn record_handshake(&self, outcome: Handshake) {
        if let Some((_, counter)) = self.handshakes.iter().find(|(other, _)| *other == outcome) {
            counter.inc();
        }
    }

    pub(super) fn record_http2_close(&self, reason: CloseReason) {
        if let Some((_, counter)) = self.http2.iter().find(|(other, _)| *other == reason) {
            counter.inc();
        }
    }

    /// Copies the expiry of the certificate.
    pub(super) fn update(&self, tls: Option<&ServerTls>) {
        self.expires.set(tls.map_or(0, ServerTls::expires_at));
    }
}
