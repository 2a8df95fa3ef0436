//! The settings of TLS towards clients and upstreams. Certificates are loaded with the file, so
//! that their errors are reported together with all others.

use tokio_rustls::rustls::pki_types::ServerName;

use super::reader::choice::choice;
use super::reader::{Entry, Section, ValueError};
use transport::tls::{Authorities, Connector, MinVersion, ServerTls, TlsError, pem};

/// Reads TLS towards clients. Returns `None` if the section is missing or invalid.
pub(super) fn server(section: &mut Section<'_>) -> Option<ServerTls> {
    let is_present = section.is_present();
    let chain =
        required(section, "certificate", |entry| pem::chain(&entry.path()?).map_err(ValueError::refused));
    let key = required(section, "key", |entry| pem::key(&entry.secret_path()?).map_err(ValueError::refused));
    let client_ca = section
        .entry("client_ca")
        .map(|entry| entry.read(|entry| pem::authorities(&entry.path()?).map_err(ValueError::refused)));
    let min_version = section.read("min_version", MinVersion::Tls12, choice);
    let http2 = section.read("http2", true, Entry::boolean);
    section.finish();
    if !is_present {
        return None;
    }
    let (chain, key) = (chain?, key?);
    let client_ca = match client_ca {
        Some(read) => Some(read?),
        None => None,
    };
    ServerTls::new(chain, key, client_ca, min_version, http2)
        .map_err(|error| {
            let key = if matches!(error, TlsError::WrongOrder { .. }) { "certificate" } else { "key" };
            section.fault_at(key, error);
        })
        .ok()
}

fn required<T>(
    section: &mut Section<'_>,
    key: &'static str,
    read: impl FnOnce(&Entry<'_>) -> Result<T, ValueError>,
) -> Option<T> {
    match section.entry(key) {
        Some(entry) => entry.read(read),
        None => {
            if section.is_present() {
                section.fault(key, "is missing; write the path of a PEM file");
            }
            None
        }
    }
}

/// TLS towards the upstreams of a pool.
#[derive(Clone, Debug, Default)]
pub struct UpstreamTls {
    /// Whether connections use TLS.
    pub on: bool,
    /// The name that certificates must match. The host of each upstream if `None`.
    pub name: Option<String>,
    /// The trusted certificate authorities. The public ones if `None`.
    authorities: Option<Authorities>,
}

impl UpstreamTls {
    /// Reads the settings of a section. Missing ones are inherited.
    pub(super) fn read(section: &mut Section<'_>, inherited: &Self) -> Self {
        let tls = Self {
            on: section.read("tls", inherited.on, Entry::boolean),
            name: section.read("tls_name", inherited.name.clone(), |entry| match entry.text()? {
                name if is_name(&name) => Ok(Some(name)),
                name => Err(ValueError::invalid("certificate name", name, "for example tools.internal")),
            }),
            authorities: section.read("tls_ca", inherited.authorities.clone(), |entry| {
                Authorities::of_file(&entry.path()?).map(Some).map_err(ValueError::refused)
            }),
        };
        if tls.on
            && tls.authorities.is_none()
            && let Err(error) = Authorities::public()
        {
            section.fault_at("tls", error);
        }
        tls
    }

    /// Returns the connector to an upstream of this host, or `None` without TLS. With `http2` the
    /// upstream may choose HTTP/2.
    pub fn connector(&self, host: &str, http2: bool) -> Option<Connector> {
        let authorities = match &self.authorities {
            _ if !self.on => None,
            Some(authorities) => Some(authorities.clone()),
            None => Authorities::public().ok(),
        };
        Connector::new(self.name.as_deref().unwrap_or(host), authorities?, http2)
    }
}

/// Returns true if a certificate can have this name.
pub(super) fn is_name(name: &str) -> bool {
    ServerName::try_from(name).is_ok()
}
