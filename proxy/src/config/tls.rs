//! `[server.tls]`: certificates are read with the file, so that what is wrong with them is said with all other faults.

use super::section::{Entry, Section};
use crate::tls::{MinVersion, ServerTls, pem};

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
        other => Err(format!("`{other}` is no version of TLS that is safe; write \"1.2\" or \"1.3\"")),
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
