//! Codes and refresh tokens, and the tokens that they are exchanged for.

use biolink::webhooks::Nonce;
use serde::{Deserialize, Serialize};
use serde_json::json;
use shared::key::{ApiKey, KeyId, KeyRecord, SecretHash, SecretId, VerifiedKey};
use shared::meter::SecretChange;
use shared::response::Response;
use shared::time::UnixMillis;

use super::sealed::{seal, unseal};
use super::{Form, Issuer, OAuthError, TOKEN_MS, digest, scope};

const CODE: &str = "oauth-code";
const REFRESH: &str = "oauth-refresh";

/// The right to draw the next text of a secret: whoever has the one that is in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The key.
    #[serde(rename = "k")]
    pub key: KeyId,
    /// The secret.
    #[serde(rename = "s")]
    pub secret: SecretId,
    /// The hash of its text.
    #[serde(rename = "h")]
    pub(super) hash: SecretHash,
    /// Digest of the client's id.
    #[serde(rename = "c")]
    pub(super) client: String,
}

/// A code: a grant, and what whoever presents it must know.
#[derive(Serialize, Deserialize)]
struct Code {
    grant: Grant,
    redirect_uri: String,
    challenge: String,
    until: UnixMillis,
}

/// A request for a token.
pub struct Presented(Grant);

impl Grant {
    /// Returns the code for it.
    pub(super) fn code(
        self,
        redirect_uri: &str,
        challenge: &str,
        until: UnixMillis,
        issuer: Issuer<'_>,
        nonce: &Nonce,
    ) -> String {
        let (redirect_uri, challenge) = (redirect_uri.to_owned(), challenge.to_owned());
        seal(&Code { grant: self, redirect_uri, challenge, until }, CODE, issuer.keys, nonce)
    }

    /// Reads a refresh token.
    pub fn of_refresh_token(text: &str, issuer: Issuer<'_>) -> Option<Self> {
        unseal(text, REFRESH, issuer.keys)
    }
}

impl Presented {
    /// Reads a request for a token.
    ///
    /// # Errors
    /// Returns the error of OAuth for what is wrong with it.
    pub fn read(form: &Form, issuer: Issuer<'_>) -> Result<Self, OAuthError> {
        let grant = match form.required("grant_type")? {
            "authorization_code" => read_code(form, issuer)?,
            "refresh_token" => Grant::of_refresh_token(form.required("refresh_token")?, issuer)
                .ok_or_else(OAuthError::invalid_grant)?,
            _ => {
                let detail = "grant_type must be authorization_code or refresh_token";
                return Err(OAuthError::new("unsupported_grant_type", detail));
            }
        };
        if digest(form.required("client_id")?) != grant.client {
            return Err(OAuthError::new("invalid_grant", "it was given to another client"));
        }
        if !form.all("resource").all(|resource| issuer.is_own(resource)) {
            return Err(OAuthError::new(
                "invalid_target",
                "resource must be the address of /mcp of this gateway",
            ));
        }
        Ok(Self(grant))
    }

    /// Returns the key.
    pub const fn key(&self) -> &KeyId {
        &self.0.key
    }

    /// Returns the change by which its meter draws the next text, of which this is the secret part.
    pub fn exchange(&self, drawn: &[u8; 16], issuer: Issuer<'_>) -> SecretChange {
        let Grant { secret: id, hash: from, .. } = self.0;
        SecretChange::Exchange { id, from, to: SecretHash::of(drawn), until: issuer.now.plus(TOKEN_MS) }
    }

    /// Returns the response with the token, if the meter has drawn it. The nonce must be random.
    ///
    /// # Errors
    /// Returns `invalid_grant` if what was presented was used before, by which the connection has ended.
    pub fn respond(
        self,
        record: &KeyRecord,
        (token, verified): (&ApiKey, &VerifiedKey),
        issuer: Issuer<'_>,
        nonce: &Nonce,
    ) -> Result<Response, OAuthError> {
        let usable = record.check(verified, issuer.now);
        usable.map_err(|_| OAuthError::invalid_grant())?;
        let until = issuer.now.plus(TOKEN_MS);
        let own = record.secrets.iter().find(|secret| secret.id == self.0.secret);
        let until = own.and_then(|secret| secret.expires_at).map_or(until, |end| end.min(until));
        let grant = Grant { hash: verified.secret, ..self.0 };
        let body = json!({
            "access_token": token.reveal(),
            "token_type": "Bearer",
            "expires_in": until.since(issuer.now) / 1000,
            "refresh_token": seal(&grant, REFRESH, issuer.keys, nonce),
            "scope": scope::text(record.scopes(verified, issuer.now)),
        });
        Ok(Response::json(body.to_string()))
    }
}

fn read_code(form: &Form, issuer: Issuer<'_>) -> Result<Grant, OAuthError> {
    let code: Code =
        unseal(form.required("code")?, CODE, issuer.keys).ok_or_else(OAuthError::invalid_grant)?;
    if code.until <= issuer.now {
        return Err(OAuthError::invalid_grant());
    }
    // OAuth 2.1 has none here, and earlier clients repeat it.
    if form.get("redirect_uri").is_some_and(|uri| uri != code.redirect_uri) {
        return Err(OAuthError::new(
            "invalid_grant",
            "redirect_uri is not the one of the request for the code",
        ));
    }
    let verifier = form.required("code_verifier")?;
    let is_unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let is_verifier = (43..=128).contains(&verifier.len()) && verifier.bytes().all(is_unreserved);
    if !is_verifier || digest(verifier) != code.challenge {
        return Err(OAuthError::new("invalid_grant", "code_verifier is not the one of code_challenge"));
    }
    Ok(code.grant)
}
