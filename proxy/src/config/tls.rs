//! TLS towards clients and upstreams. Certificates are read with the file, so that what is wrong with them is said with all
//! other faults.

use tokio_rustls::rustls::pki_types::ServerName;

use super::reader::{Entry, Section};
use transport::tls::{Authorities, Connector, MinVersion, ServerTls, pem};

/// What clients are served with; `None` when the section is left out, or faulty.
pub(super) fn server(section: &mut Section<'_>) -> Option<ServerTls> {
    let written = section.is_written();
    let chain = required(section, "certificate", |entry| pem::chain(&entry.path()?));
    let key = required(section, "key", |entry| pem::key(&entry.path()?));
    let client_ca =
        section.entry("client_ca").map(|entry| entry.read(|entry| pem::authorities(&entry.path()?)));
    let min_version = section.read("min_version", MinVersion::Tls12, |entry| match entry.text()?.as_str() {
        "1.2" => Ok(MinVersion::Tls12),
        "1.3" => Ok(MinVersion::Tls13),
        other => Err(format!("invalid TLS version `{other}`: expected \"1.2\" or \"1.3\"")),
    });
    let http2 = section.read("http2", true, Entry::truth);
    section.finish();
    if !written {
        return None;
    }
    let (chain, key) = (chain?, key?);
    let client_ca = match client_ca {
        Some(read) => Some(read?),
        None => None,
    };
    ServerTls::new(chain, key, client_ca, min_version, http2)
        .map_err(|fault| section.fault_at("key", fault))
        .ok()
}

fn required<T>(
    section: &mut Section<'_>,
    key: &'static str,
    read: impl FnOnce(&Entry<'_>) -> Result<T, String>,
) -> Option<T> {
    match section.entry(key) {
        Some(entry) => entry.read(read),
        None => {
            if section.is_written() {
                section.fault(key, "is missing; write the path of a PEM file");
            }
            None
        }
    }
}

/// How the upstreams of a pool are connected to.
#[derive(Clone, Debug, Default)]
pub struct UpstreamTls {
    /// Whether over TLS at all.
    pub on: bool,
    /// The name that certificates must be for; that of each upstream when left out.
    pub name: Option<String>,
    /// Whose certificates are good; those that browsers trust when left out.
    authorities: Option<Authorities>,
}

impl UpstreamTls {
    /// Reads the settings of a section over those it inherits.
    pub(super) fn read(section: &mut Section<'_>, inherited: &Self) -> Self {
        let tls = Self {
            on: section.read("tls", inherited.on, Entry::truth),
            name: section.read("tls_name", inherited.name.clone(), |entry| match entry.text()? {
                name if is_name(&name) => Ok(Some(name)),
                name => {
                    Err(format!("invalid certificate name `{name}`: expected for example tools.internal"))
                }
            }),
            authorities: section.read("tls_ca", inherited.authorities.clone(), |entry| {
                Authorities::of_file(&entry.path()?).map(Some)
            }),
        };
        if tls.on
            && tls.authorities.is_none()
            && let Err(fault) = Authorities::public()
        {
            section.fault_at("tls", fault);
        }
        tls
    }

    /// What connections to an upstream of this name, which may choose HTTP/2 or not, are made safe with; `None` without
    /// TLS.
    #[must_use]
    pub fn connector(&self, host: &str, http2: bool) -> Option<Connector> {
        let authorities = match &self.authorities {
            _ if !self.on => None,
            Some(authorities) => Some(authorities.clone()),
            None => Authorities::public().ok(),
        };
        Connector::new(self.name.as_deref().unwrap_or(host), authorities?, http2)
    }
}

/// Whether a certificate could be for this name.
pub(super) fn is_name(name: &str) -> bool {
    ServerName::try_from(name).is_ok()
}
