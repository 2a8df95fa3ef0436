//! Metrics of TLS towards clients.

use prometheus::{Error, IntCounter, IntGauge};

use super::register::Register;
use crate::tls::{Handshake, ServerTls};

/// Handshakes, and the certificate.
pub(super) struct TlsMetrics {
    handshakes: [(Handshake, IntCounter); Handshake::ALL.len()],
    expires: IntGauge,
}

impl TlsMetrics {
    /// All at zero.
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        let handshakes = register.counters(
            "utg_tls_handshakes_total",
            "TLS handshakes with clients, by what they came to.",
            &["outcome"],
        )?;
        Ok(Self {
            handshakes: Handshake::ALL
                .map(|outcome| (outcome, handshakes.with_label_values(&[outcome.as_str()]))),
            expires: register.gauge(
                "utg_certificate_expires_seconds",
                "When the certificate shown to clients ends, in seconds since 1970; 0 without TLS.",
            )?,
        })
    }

    pub(super) fn handshake(&self, outcome: Handshake) {
        if let Some((_, counter)) = self.handshakes.iter().find(|(other, _)| *other == outcome) {
            counter.inc();
        }
    }

    /// Takes what is known of the certificate.
    pub(super) fn look(&self, tls: Option<&ServerTls>) {
        self.expires.set(tls.map_or(0, ServerTls::expires_at));
    }
}
