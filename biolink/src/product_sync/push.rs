//! What a shop pushes: signed changes, or a signed hint that something changed.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::{
    secret::{MacKey, equal},
    time::UnixMillis,
};
use thiserror::Error;

use super::SourceSettings;
use crate::{
    product_feed::{
        FeedProduct, PriceRules, ProductError, ShopEvent, read_push as read_items, shopify_event,
        woocommerce_event,
    },
    webhooks::{HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP, SignatureError, WebhookSecret, verify},
};

const SHOPIFY_SIGNATURE: &str = "x-shopify-hmac-sha256";
const SHOPIFY_TOPIC: &str = "x-shopify-topic";
const SHOPIFY_ID: &str = "x-shopify-webhook-id";
const WOOCOMMERCE_SIGNATURE: &str = "x-wc-webhook-signature";
const WOOCOMMERCE_TOPIC: &str = "x-wc-webhook-topic";
const WOOCOMMERCE_ID: &str = "x-wc-webhook-delivery-id";

/// The headers of a push that are looked at.
pub const PUSH_HEADERS: [&str; 9] = [
    HEADER_ID,
    HEADER_TIMESTAMP,
    HEADER_SIGNATURE,
    SHOPIFY_SIGNATURE,
    SHOPIFY_TOPIC,
    SHOPIFY_ID,
    WOOCOMMERCE_SIGNATURE,
    WOOCOMMERCE_TOPIC,
    WOOCOMMERCE_ID,
];

/// A push as it arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PushRequest {
    /// Those of [`PUSH_HEADERS`] that it has.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: String,
}

/// The content of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// Something changed.
    Ping,
    /// These products changed.
    Changes {
        /// Products that are new or changed.
        upserts: Vec<FeedProduct>,
        /// Names of products that are gone.
        deletes: Vec<String>,
        /// The reasons why other products, or parts of these, cannot be shown.
        errors: Vec<ProductError>,
    },
    /// It is about something else.
    Other,
}

/// A push that is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PushError {
    /// No header has a signature.
    #[error(
        "the push is not signed: send webhook-signature (Standard Webhooks), X-Shopify-Hmac-SHA256 or X-WC-Webhook-Signature"
    )]
    Unsigned,
    /// The signature of Standard Webhooks is refused.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The secret of the source is not one of Standard Webhooks.
    #[error(
        "the secret of the source does not begin with whsec_, so only Shopify and WooCommerce can sign with it"
    )]
    OtherSecret,
    /// The signature is not that of the body under the secret.
    #[error("the signature in {header} is not that of the body under the secret of the source")]
    Mismatch {
        /// The header.
        header: &'static str,
    },
    /// The body is not JSON.
    #[error("the body is not JSON")]
    Malformed,
    /// Its prices have no currency.
    #[error("prices of {shop} have no currency; set `currency` of the source")]
    NoCurrency {
        /// The shop's software.
        shop: &'static str,
    },
}

impl PushError {
    /// Returns true if the push is not from the shop.
    pub const fn is_unsigned(&self) -> bool {
        matches!(self, Self::Unsigned | Self::Signature(_) | Self::OtherSecret | Self::Mismatch { .. })
    }
}

impl PushRequest {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Returns true for the unsigned request with which WooCommerce tries an address.
    pub fn is_trial(&self) -> bool {
        let id = self.body.strip_prefix("webhook_id=");
        id.is_some_and(|id| (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// Verifies a push under the secret of its source, and reads it. Returns its name, by which it is
/// recognized when it comes again. `rules` say how its prices are read.
///
/// # Errors
/// Returns an error if it is not signed, or cannot be read.
pub fn read_push(
    request: &PushRequest,
    secret: &str,
    settings: &SourceSettings,
    rules: PriceRules<'_>,
    now: UnixMillis,
) -> Result<(Option<String>, Pushed), PushError> {
    let name = |kind: &str, id: &str| request.header(id).map(|id| format!("{kind} {}", short(id)));
    if request.header(HEADER_SIGNATURE).is_some() {
        let secret = WebhookSecret::parse(secret).map_err(|_| PushError::OtherSecret)?;
        let id = verify(|name| request.header(name), request.body.as_bytes(), &[secret], now)?;
        return Ok((Some(format!("standard {}", short(id))), own(&request.body, rules)?));
    }
    if let Some(signature) = request.header(SHOPIFY_SIGNATURE) {
        // Before the body is read: nothing of an unsigned text is parsed.
        check(SHOPIFY_SIGNATURE, signature, secret, &request.body)?;
        return Ok((name("shopify", SHOPIFY_ID), shopify(request, settings, rules.currency)?));
    }
    if let Some(signature) = request.header(WOOCOMMERCE_SIGNATURE) {
        check(WOOCOMMERCE_SIGNATURE, signature, secret, &request.body)?;
        return Ok((name("woocommerce", WOOCOMMERCE_ID), woocommerce(request, rules.currency)?));
    }
    Err(PushError::Unsigned)
}

/// Checks the HMAC-SHA256 of a body under a secret, both as a shop has them.
fn check(header: &'static str, signature: &str, secret: &str, body: &str) -> Result<(), PushError> {
    let expected = MacKey::from_bytes(secret.as_bytes()).sign(&[body.as_bytes()]);
    // Text that is no Base64 is a signature of nothing, and fails below like any other.
    let given = STANDARD.decode(signature.trim()).unwrap_or_default();
    if equal(&expected, &given) { Ok(()) } else { Err(PushError::Mismatch { header }) }
}

fn own(body: &str, rules: PriceRules<'_>) -> Result<Pushed, PushError> {
    // A signed push without a body says that something changed.
    if body.trim().is_empty() {
        return Ok(Pushed::Ping);
    }
    let body = parse(body)?;
    // A shop without our format can still say that something has changed.
    if body.get("upsert").is_none() && body.get("delete").is_none() {
        return Ok(Pushed::Ping);
    }
    let (read, deletes) = read_items(&body, rules);
    let (mut upserts, mut errors) = (Vec::new(), Vec::new());
    for product in read {
        match product {
            Ok((product, note)) => {
                upserts.push(product);
                errors.extend(note);
            }
            Err(error) => errors.push(error),
        }
    }
    Ok(Pushed::Changes { upserts, deletes, errors })
}

fn shopify(
    request: &PushRequest,
    settings: &SourceSettings,
    currency: Option<&str>,
) -> Result<Pushed, PushError> {
    let topic = request.header(SHOPIFY_TOPIC).unwrap_or_default();
    let currency = currency.ok_or(PushError::NoCurrency { shop: "Shopify" })?;
    Ok(changes(shopify_event(topic, &parse(&request.body)?, settings.base(), currency)))
}

fn woocommerce(request: &PushRequest, currency: Option<&str>) -> Result<Pushed, PushError> {
    let topic = request.header(WOOCOMMERCE_TOPIC).unwrap_or_default();
    let currency = currency.ok_or(PushError::NoCurrency { shop: "WooCommerce" })?;
    Ok(changes(woocommerce_event(topic, &parse(&request.body)?, currency)))
}

/// Returns the changes of a webhook about one product.
fn changes(event: Result<Option<ShopEvent>, ProductError>) -> Pushed {
    let (mut upserts, mut deletes, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    match event {
        Ok(Some(ShopEvent::Upsert(product, note))) => {
            upserts.push(*product);
            errors.extend(note);
        }
        Ok(Some(ShopEvent::Delete(id))) => deletes.push(id),
        Ok(None) => return Pushed::Other,
        Err(error) => errors.push(error),
    }
    Pushed::Changes { upserts, deletes, errors }
}

fn parse(body: &str) -> Result<Value, PushError> {
    serde_json::from_str(body).map_err(|_| PushError::Malformed)
}

fn short(id: &str) -> String {
    id.chars().take(100).collect()
}

#[cfg(test)]
mod tests;
