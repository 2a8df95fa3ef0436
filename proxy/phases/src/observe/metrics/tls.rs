//! Metrics of connections from clients.

use prometheus::{Error, IntGauge};

use super::register::{Register, VariantCounters};
use transport::http2::CloseReason;
use transport::tls::{Handshake, ServerTls};

/// Metrics of TLS handshakes, the certificate and HTTP/2 connections.
pub(crate) struct TlsMetrics {
    pub(crate) handshakes: VariantCounters<Handshake>,
    expires: IntGauge,
    pub(crate) http2: VariantCounters<CloseReason>,
}

impl TlsMetrics {
    /// Registers the metrics.
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            handshakes: register.variant_counters(
                "utg_tls_handshakes_total",
                "TLS handshakes with clients, by outcome.",
                "outcome",
            )?,
            http2: register.variant_counters(
                "utg_http2_connections_closed_total",
                "Client HTTP/2 connections closed, by reason.",
                "reason",
            )?,
            expires: register.gauge(
                "utg_certificate_expiry_timestamp_seconds",
                "Unix time at which the server certificate expires. 0 without TLS.",
            )?,
        })
    }

    /// Copies the expiry of the certificate.
    pub(super) fn update(&self, tls: Option<&ServerTls>) {
        self.expires.set(tls.map_or(0, ServerTls::expires_at));
    }
}
