//! Clients: who asks for a token.

use biolink::webhooks::Nonce;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::catalog::visible;
use shared::problem::{Problem, codes};
use shared::response::Response;
use shared::secret::MacKeys;

use super::sealed::{seal, unseal};
use super::{Issuer, OAuthError, redirect_uri};

/// The largest metadata document of a client, in bytes.
pub const MAX_CLIENT_METADATA: usize = 16 * 1024;
const USAGE: &str = "oauth-client";
const MAX_NAME: usize = 60;
/// The most redirect addresses, and the bytes of them together: a client id stands in addresses.
const MAX_URIS: usize = 10;
const MAX_URI_BYTES: usize = 2_048;

/// A client, as it describes itself. None of it is proved but where it is sent back to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// The name that it gives itself, in visible characters.
    #[serde(rename = "n")]
    pub(super) name: String,
    #[serde(rename = "r")]
    redirect_uris: Vec<String>,
}

/// The id of a client.
pub enum ClientId<'a> {
    /// One that was registered here.
    Registered(Client),
    /// The address of a metadata document.
    Document(&'a str),
}

impl<'a> ClientId<'a> {
    /// Reads an id; `None` for one that was not given here.
    pub fn read(text: &'a str, keys: &MacKeys) -> Option<Self> {
        if text.contains("://") {
            Some(Self::Document(text))
        } else {
            unseal(text, USAGE, keys).map(Self::Registered)
        }
    }
}

impl Client {
    /// Registers a client: returns what it is from now on (RFC 7591, section 3.2.1). The nonce must be random.
    ///
    /// # Errors
    /// Returns `invalid_client_metadata` or `invalid_redirect_uri`.
    pub fn register(body: &[u8], issuer: Issuer<'_>, nonce: &Nonce) -> Result<Response, OAuthError> {
        let metadata = metadata(body).ok_or_else(|| malformed("the body must be a JSON object"))?;
        let client = Self::read(&metadata, "Agent")?;
        let body = json!({
            "client_id": seal(&client, USAGE, issuer.keys, nonce),
            "client_id_issued_at": issuer.now.seconds(),
            "client_name": client.name,
            "redirect_uris": client.redirect_uris,
            // Whatever was asked for: a secret of a client that anyone may register proves nothing.
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
        });
        Ok(Response { status: 201, ..Response::json(body.to_string()) })
    }

    /// Reads the metadata document of a client.
    ///
    /// # Errors
    /// Returns `fields-invalid`.
    pub fn of_document(address: &str, body: &[u8]) -> Result<Self, Problem> {
        let invalid = |detail: &str| {
            Problem::new(
                codes::FIELDS_INVALID,
                format!("the metadata document of the client is invalid: {detail}"),
            )
        };
        let metadata = metadata(body).ok_or_else(|| invalid("it must be a JSON object"))?;
        if text(&metadata, "client_id") != Some(address) {
            return Err(invalid("its client_id must be its own address"));
        }
        if !matches!(text(&metadata, "token_endpoint_auth_method"), None | Some("none")) {
            return Err(invalid("token_endpoint_auth_method must be none"));
        }
        Self::read(&metadata, redirect_uri::host(address)).map_err(|error| invalid(error.description()))
    }

    fn read(metadata: &Value, unnamed: &str) -> Result<Self, OAuthError> {
        let uris =
            metadata.get("redirect_uris").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let uris: Vec<_> = uris.iter().map(|uri| uri.as_str().unwrap_or_default().to_owned()).collect();
        let bytes: usize = uris.iter().map(String::len).sum();
        if uris.is_empty() || uris.len() > MAX_URIS || bytes > MAX_URI_BYTES {
            return Err(refused_uris("redirect_uris must have 1 to 10 addresses, of 2048 bytes together"));
        }
        if !uris.iter().all(|uri| redirect_uri::is_allowed(uri)) {
            return Err(refused_uris(
                "each of redirect_uris must be an https address, or an http address of localhost, 127.0.0.1 or [::1], without fragment",
            ));
        }
        let name = visible(text(metadata, "client_name").unwrap_or_default()).into_owned();
        let name: Vec<_> = name.split_whitespace().collect();
        let name: String = name.join(" ").chars().take(MAX_NAME).collect();
        let name = if name.is_empty() { unnamed.to_owned() } else { name };
        Ok(Self { name, redirect_uris: uris })
    }

    /// Returns true if the client has registered an address.
    pub(super) fn has_redirect(&self, uri: &str) -> bool {
        redirect_uri::is_allowed(uri) && self.redirect_uris.iter().any(|own| redirect_uri::is_same(own, uri))
    }
}

fn metadata(body: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(body).ok().filter(Value::is_object)
}

fn text<'a>(metadata: &'a Value, name: &str) -> Option<&'a str> {
    metadata.get(name).and_then(Value::as_str)
}

fn malformed(description: &'static str) -> OAuthError {
    OAuthError::new("invalid_client_metadata", description)
}

fn refused_uris(description: &'static str) -> OAuthError {
    OAuthError::new("invalid_redirect_uri", description)
}
