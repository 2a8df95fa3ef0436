//! The settings of TLS towards clients and upstreams. Certificates are loaded with the file, so
//! that their errors are reported together with all others.

use std::path::{Path, PathBuf};

use tokio_rustls::rustls::pki_types::ServerName;

use super::last_good::Kept;
use super::reader::choice::choice;
use super::reader::part::Need;
use super::reader::{Entry, Section, ValueError};
use transport::tls::{Authorities, Connector, MinVersion, ServerTls, TlsError, pem};

/// Reads TLS towards clients. Returns `None` if the section is missing or invalid. The files of the
/// certificate, of its key and of the authorities are one part: while one of them is faulty, the last
/// good ones stay in use together.
pub(super) fn server(section: &mut Section<'_>) -> Option<ServerTls> {
    let is_present = section.is_present();
    let chain = required(section, "certificate", Entry::path);
    let key = required(section, "key", Entry::secret_path);
    let client_ca = section.entry("client_ca").map(|entry| with_path(entry, Entry::path));
    let min_version = section.read("min_version", MinVersion::Tls12, choice);
    let http2 = section.read("http2", true, Entry::boolean);
    section.finish();
    if !is_present {
        return None;
    }
    let client_ca = client_ca.map_or(Some(None), |named| named.map(Some));
    match (chain, key, client_ca) {
        (Some(chain), Some(key), Some(client_ca)) => Files { chain, key, client_ca }.read(min_version, http2),
        (chain, key, client_ca) => {
            // All faults are reported at once.
            report(chain.as_ref(), pem::chain);
            report(key.as_ref(), pem::key);
            report(client_ca.flatten().as_ref(), pem::authorities);
            None
        }
    }
}

/// Reports what is wrong with a file.
fn report<T>(named: Option<&Named<'_>>, parse: impl FnOnce(&Path, &[u8]) -> Result<T, TlsError>) {
    if let Some((entry, error)) = named.and_then(|named| content(named, parse).err()) {
        entry.fault(error);
    }
}

/// A value and the path that it names.
type Named<'a> = (Entry<'a>, PathBuf);

/// The files of TLS towards clients.
struct Files<'a> {
    chain: Named<'a>,
    key: Named<'a>,
    client_ca: Option<Named<'a>>,
}

impl Files<'_> {
    fn read(&self, min_version: MinVersion, http2: bool) -> Option<ServerTls> {
        let faults = &self.chain.0.reading.faults;
        let former = self.chain.0.reading.known.last_good.tls();
        let read = match former.filter(|_| self.are_changing()) {
            Some(former) => Ok(former.clone()),
            None => self.try_read(min_version, http2),
        };
        match (read, former) {
            (Ok(tls), _) => {
                faults.last_good.borrow_mut().keep_tls(tls.clone());
                Some(tls)
            }
            (Err(failed), Some(former)) => {
                failed.into_iter().for_each(|(entry, error)| entry.fail(error, true));
                faults.last_good.borrow_mut().keep_tls(former.clone());
                Some(former.clone())
            }
            (Err(failed), None) => {
                failed.into_iter().for_each(|(entry, error)| entry.fault(error));
                None
            }
        }
    }

    fn are_changing(&self) -> bool {
        let named = [Some(&self.chain), Some(&self.key), self.client_ca.as_ref()];
        named.into_iter().flatten().any(|(entry, path)| entry.is_changing(path))
    }

    /// Reads all files. Returns all that is wrong with them.
    fn try_read(
        &self,
        min_version: MinVersion,
        http2: bool,
    ) -> Result<ServerTls, Vec<(&Entry<'_>, ValueError)>> {
        let mut failed = Vec::new();
        let chain = content(&self.chain, pem::chain).map_err(|fault| failed.push(fault)).ok();
        let key = content(&self.key, pem::key).map_err(|fault| failed.push(fault)).ok();
        let client_ca = self
            .client_ca
            .as_ref()
            .and_then(|named| content(named, pem::authorities).map_err(|fault| failed.push(fault)).ok());
        match (chain, key) {
            (Some(chain), Some(key)) if failed.is_empty() => {
                ServerTls::new(chain, key, client_ca, min_version, http2).map_err(|error| {
                    let is_of_chain = matches!(error, TlsError::WrongOrder { .. });
                    let named = if is_of_chain { &self.chain } else { &self.key };
                    vec![(&named.0, ValueError::refused(error))]
                })
            }
            _ => Err(failed),
        }
    }
}

/// Returns what `parse` makes of a file, or its entry and what is wrong.
fn content<'a, T>(
    (entry, path): &'a Named<'_>,
    parse: impl FnOnce(&Path, &[u8]) -> Result<T, TlsError>,
) -> Result<T, (&'a Entry<'a>, ValueError)> {
    let content = entry.content(path);
    let parsed = content.and_then(|bytes| parse(path, &bytes).map_err(ValueError::refused));
    parsed.map_err(|error| (entry, error))
}

fn with_path<'a>(
    entry: Entry<'a>,
    path: impl FnOnce(&Entry<'a>) -> Result<PathBuf, ValueError>,
) -> Option<Named<'a>> {
    let path = entry.read(path)?;
    Some((entry, path))
}

fn required<'a>(
    section: &mut Section<'a>,
    key: &'static str,
    path: impl FnOnce(&Entry<'a>) -> Result<PathBuf, ValueError>,
) -> Option<Named<'a>> {
    match section.entry(key) {
        Some(entry) => with_path(entry, path),
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
            authorities: match section.entry("tls_ca") {
                Some(entry) => authorities(&entry),
                None => inherited.authorities.clone(),
            },
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

/// Reads the authorities of a file. None is trusted while it is faulty and has no last good ones: its
/// pool has no server then, and all others continue.
fn authorities(entry: &Entry<'_>) -> Option<Authorities> {
    let path = entry.read(Entry::path)?;
    let read = entry.part(&path, (Need::Optional, Kept::OnDisk), |bytes| {
        Authorities::of_pem(&path, bytes).map_err(ValueError::refused)
    });
    match read {
        Some(authorities) => Some(authorities),
        None => entry.read(|_| Authorities::none().map_err(ValueError::refused)),
    }
}

/// Returns true if a certificate can have this name.
pub fn is_name(name: &str) -> bool {
    ServerName::try_from(name).is_ok()
}
