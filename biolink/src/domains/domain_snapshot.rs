//! The value at the edge for each domain, which visitors are served by.

use serde::{Deserialize, Serialize};
use shared::{json, key::KeyId};

use super::HostName;
use crate::page::Slug;

/// The page that visitors of a domain see. It is stored under [`DomainSnapshot::key`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainSnapshot {
    /// The account that has the domain.
    pub account: KeyId,
    /// The slug of its page; `None` for a domain without one.
    pub slug: Option<Slug>,
}

impl DomainSnapshot {
    /// Returns the name under which it is stored.
    pub fn key(host: &HostName) -> String {
        format!("host:{host}")
    }

    /// Reads a stored snapshot; `None` if it cannot be read.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_str(text).ok()
    }

    /// Returns the snapshot as it is stored.
    pub fn to_json(&self) -> String {
        // Plain strings always serialize.
        json::to_string(self).unwrap_or_default()
    }
}
