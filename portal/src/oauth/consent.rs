//! The decision of a key's holder about a client.

use biolink::webhooks::Nonce;
use serde::{Deserialize, Serialize};
use serde_json::json;
use shared::fields::{Fields, text};
use shared::key::{Connection, KeyEntropy, NamedSecret, Scopes, VerifiedKey};
use shared::keys_api::NewSecret;
use shared::problem::{Problem, codes};
use shared::response::Response;
use shared::time::UnixMillis;

use super::form::with_parameters;
use super::grant::Grant;
use super::sealed::{seal, unseal};
use super::{CODE_MS, CONSENT_MS, Client, Form, Issuer, OAuthError, digest, redirect_uri, scope};

const USAGE: &str = "oauth-consent";
/// The longest `state`, in bytes. It stands in addresses.
const MAX_STATE: usize = 1_024;
/// Characters of a challenge: SHA-256 in base64url.
const CHALLENGE_LEN: usize = 43;

/// What a client asks a holder for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// Digest of the client's id.
    client: String,
    name: String,
    /// The host of its metadata document, which only its owner writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site: Option<String>,
    redirect_uri: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    challenge: String,
    scopes: Scopes,
    until: UnixMillis,
}

/// What a holder has decided.
pub enum Decision {
    /// The client gets nothing.
    Deny(Consent),
    /// The client gets a secret.
    Approve(Consent, NewSecret),
}

impl Consent {
    /// Reads a request of a client. Nothing is sent back to its address before a holder has decided, so that this host
    /// leads nowhere else (RFC 9700, section 4.11.2): what is wrong is shown to whoever has opened it.
    ///
    /// # Errors
    /// Returns what is wrong with the request.
    pub fn read(form: &Form, client: &Client, issuer: Issuer<'_>) -> Result<Self, OAuthError> {
        let (id, redirect) = (form.required("client_id")?, form.required("redirect_uri")?);
        if !client.has_redirect(redirect) {
            return Err(OAuthError::new(
                "invalid_request",
                "redirect_uri is not one that the client has registered",
            ));
        }
        if form.required("response_type")? != "code" {
            return Err(OAuthError::new("unsupported_response_type", "response_type must be code"));
        }
        let challenge = form.required("code_challenge")?;
        let is_digest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let is_s256 = challenge.len() == CHALLENGE_LEN && challenge.bytes().all(is_digest);
        if form.get("code_challenge_method") != Some("S256") || !is_s256 {
            let detail = "code_challenge must be a SHA-256 in base64url, and code_challenge_method S256";
            return Err(OAuthError::new("invalid_request", detail));
        }
        if !form.all("resource").all(|resource| issuer.is_own(resource)) {
            return Err(OAuthError::new(
                "invalid_target",
                "resource must be the address of /mcp of this gateway",
            ));
        }
        let state = form.get("state");
        if state.is_some_and(|state| state.len() > MAX_STATE) {
            return Err(OAuthError::new("invalid_request", "state has more than 1024 bytes"));
        }
        Ok(Self {
            client: digest(id),
            name: client.name.clone(),
            site: id.contains("://").then(|| redirect_uri::host(id).to_owned()),
            redirect_uri: redirect.to_owned(),
            state: state.map(str::to_owned),
            challenge: challenge.to_owned(),
            scopes: scope::parse(form.get("scope").unwrap_or_default()),
            until: issuer.now.plus(CONSENT_MS),
        })
    }

    /// Returns the redirect to the view in which the holder decides. The nonce must be random.
    pub fn ask(&self, issuer: Issuer<'_>, nonce: &Nonce) -> Response {
        let request = seal(self, USAGE, issuer.keys, nonce);
        Response::redirect(303, with_parameters("/console/connect", &[("request", &request)]))
    }

    /// Reads what [`Self::ask`] has handed over.
    ///
    /// # Errors
    /// Returns `fields-invalid` if it was changed or has ended.
    pub fn open(request: &str, issuer: Issuer<'_>) -> Result<Self, Problem> {
        let open = unseal(request, USAGE, issuer.keys).filter(|consent: &Self| issuer.now < consent.until);
        let ended = "this request to connect has ended; go back to the agent and connect again";
        open.ok_or_else(|| Problem::new(codes::FIELDS_INVALID, ended))
    }

    /// Returns what the holder is shown.
    pub fn describe(&self) -> Response {
        let body = json!({
            "client": {
                "name": self.name,
                "site": self.site,
                "redirect_host": redirect_uri::host(&self.redirect_uri),
                "is_local": redirect_uri::is_loopback(&self.redirect_uri),
            },
            "scopes": {
                "tools": self.scopes.tools(),
                "biolink": self.scopes.biolink(),
            },
            "expires_at": self.until.to_rfc3339(),
        });
        Response::json(body.to_string())
    }

    /// Reads a decision: `request`, and `deny`, or what a secret has: `name`, `scopes`, perhaps `expires_at`.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every error.
    pub fn decide(body: &[u8], issuer: Issuer<'_>) -> Result<Decision, Problem> {
        let mut fields = Fields::read(body)?;
        let request = fields.required("request", |value| text(value).map(str::to_owned));
        let denies = fields.optional("deny", |value| value.as_bool().ok_or("must be true or false"));
        let secret = match denies {
            Some(true) => None,
            _ => NewSecret::take(&mut fields, issuer.now),
        };
        if let Some(withheld) = secret.as_ref().and_then(|secret| scope::withheld(secret.scopes())) {
            fields.add_error(
                "scopes",
                format!("must not have {withheld}: an agent gets tools, and pages up to write"),
            );
        }
        fields.finish()?;
        let consent = Self::open(&request.unwrap_or_default(), issuer)?;
        Ok(match secret {
            Some(secret) => Decision::Approve(consent, secret),
            None => Decision::Deny(consent),
        })
    }

    /// Returns the secret of a client that the holder of `key` has agreed to, and where its browser goes with the code.
    /// Both are made of what was drawn. The nonce must be random.
    pub fn approve(
        &self,
        secret: NewSecret,
        key: &VerifiedKey,
        drawn: &KeyEntropy,
        nonce: &Nonce,
        issuer: Issuer<'_>,
    ) -> (NamedSecret, Response) {
        let until = issuer.now.plus(CODE_MS);
        let secret =
            NamedSecret { connection: Some(Connection::Code { until }), ..secret.make(drawn, issuer.now) };
        let grant = Grant { key: key.id, secret: secret.id, hash: secret.hash, client: self.client.clone() };
        let code = grant.code(&self.redirect_uri, &self.challenge, until, issuer, nonce);
        let response = self.respond(&[("code", &code)], issuer);
        (secret, response)
    }

    /// Returns where the browser goes after a refusal.
    pub fn deny(&self, issuer: Issuer<'_>) -> Response {
        self.respond(&[("error", "access_denied")], issuer)
    }

    fn respond(&self, outcome: &[(&str, &str)], issuer: Issuer<'_>) -> Response {
        let mut parameters = outcome.to_vec();
        parameters.extend(self.state.as_deref().map(|state| ("state", state)));
        // RFC 9207: a client of several servers must know whose code it is.
        parameters.push(("iss", issuer.base));
        let to = with_parameters(&self.redirect_uri, &parameters);
        Response::json(json!({ "redirect_to": to }).to_string())
    }
}
