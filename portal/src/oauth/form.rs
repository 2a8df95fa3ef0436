//! Parameters as browsers send them: `application/x-www-form-urlencoded`.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::OAuthError;

/// The parameters of a request: of its query, or of its body.
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Reads parameters.
    ///
    /// # Errors
    /// Returns `invalid_request` for one that comes twice, which RFC 6749, section 3.1, forbids. A `resource` may
    /// (RFC 8707, section 2).
    pub fn read(text: &str) -> Result<Self, OAuthError> {
        let mut found: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name), decoded(value));
            if name != "resource" && found.iter().any(|(other, _)| *other == name) {
                return Err(OAuthError::new("invalid_request", "a parameter comes twice"));
            }
            found.push((name, value));
        }
        Ok(Self(found))
    }

    /// Returns a parameter; `None` if it is left out or empty, which is the same (RFC 6749, section 3.1).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Returns each value of a parameter.
    pub(super) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(own, value)| own == name && !value.is_empty()).map(|(_, value)| &**value)
    }

    /// Returns a parameter that a request must have.
    pub(super) fn required(&self, name: &'static str) -> Result<&str, OAuthError> {
        self.get(name)
            .ok_or_else(|| OAuthError::new("invalid_request", format!("the parameter {name} is missing")))
    }
}

/// Returns an address with further parameters.
pub(super) fn with_parameters(address: &str, parameters: &[(&str, &str)]) -> String {
    let mut text = address.to_owned();
    let mut separator = if address.contains('?') { '&' } else { '?' };
    for (name, value) in parameters {
        text.push(separator);
        text.push_str(name);
        text.push('=');
        text.extend(utf8_percent_encode(value, NON_ALPHANUMERIC));
        separator = '&';
    }
    text
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}
