//! The bodies of requests about domains.

use serde::{Deserialize, Serialize};
use shared::{
    fields::{Fields, TypeError, text},
    problem::Problem,
};
use thiserror::Error;

use crate::{
    codes,
    domains::{DomainHosts, HostError, HostName},
    page::PageId,
};

/// What a client writes of a domain that it adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainInput {
    pub(super) host: HostName,
    pub(super) page: Option<PageId>,
    pub(super) target: String,
}

#[derive(Debug, Error)]
enum InputError {
    #[error(transparent)]
    Type(#[from] TypeError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("must be the id of a page, `pg_` and 17 letters or digits")]
    Page,
}

impl DomainInput {
    /// Reads the body of `POST /domains`. `hosts` are those of the service, which no account can have.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every fault.
    pub fn read(body: &[u8], hosts: &DomainHosts) -> Result<Self, Problem> {
        let mut fields = Fields::read(body)?;
        let host = fields.required("host", |value| {
            let host = HostName::parse(text(value)?)?;
            hosts.check(&host)?;
            Ok::<_, InputError>(host)
        });
        let page = fields.nullable("page_id", read_page);
        fields.finish()?;
        let missing = || Problem::new(codes::FIELDS_INVALID, "host is missing");
        Ok(Self { host: host.ok_or_else(missing)?, page, target: hosts.target().to_owned() })
    }

    /// Reads the body of `PATCH /domains/{id}`: the page that the domain shows from now on.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn read_patch(body: &str) -> Result<Option<PageId>, Problem> {
        let mut fields = Fields::read(body.as_bytes())?;
        // Left out, it would read as null, and the domain would show nothing.
        if !fields.contains("page_id") {
            fields.add_error("page_id", "is missing; it is the id of a page, or null".to_owned());
        }
        let page = fields.nullable("page_id", read_page);
        fields.finish().map(|()| page)
    }
}

fn read_page(value: &serde_json::Value) -> Result<PageId, InputError> {
    PageId::parse(text(value)?).ok_or(InputError::Page)
}
