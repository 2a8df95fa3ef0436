//! The reader of the environment, and the names that it has.

use shared::origin::{Origins, OriginsError};
use shared::prices::{PriceError, Prices};
use shared::secret::SecretError;
use shared::url::Address;
use wasm_bindgen::JsCast;
use worker::Env;
use worker::js_sys::Reflect;

use crate::runtime::calls::FetchBinding;
use crate::runtime::log;

pub(super) const KEYS: &str = "KEYS";
pub(super) const METER: &str = "METER";
pub(super) const SAMPLE: &str = "ACCESS_LOG_SAMPLE";
pub(super) const MAX_BODY: &str = "MAX_BODY_BYTES";
pub(super) const KEY_CHANGES: &str = "KEY_CHANGES";
pub(super) const STATUS_HISTORY: &str = "STATUS_HISTORY";
pub(super) const PAGES: &str = "PAGES";
pub(super) const ACCOUNT: &str = "ACCOUNT";
pub(super) const SLUG: &str = "SLUG";
pub(super) const REPORTS: &str = "REPORTS";
pub(super) const STATS: &str = "STATS";
pub(super) const SALT: &str = "SALT";
pub(super) const ENCRYPTION: &str = "WEBHOOK_ENCRYPTION_SECRET";
pub(super) const PRODUCT_SOURCE: &str = "PRODUCT_SOURCE";
pub(super) const WEBHOOKS: &str = "WEBHOOKS";
pub(super) const EVENTS: &str = "EVENTS";
pub(super) const IMAGES: &str = "IMAGES";
pub(super) const PUBLIC_URL: &str = "PUBLIC_URL";
pub(super) const ORIGIN_URLS: &str = "ORIGIN_URLS";
pub(super) const PAGES_HOST: &str = "PAGES_HOST";
pub(super) const DOMAINS_TARGET: &str = "DOMAINS_TARGET";
pub(super) const DNS_URL: &str = "DNS_URL";
pub(super) const PRICES: &str = "PRICES";
pub(super) const ALLOW_PRIVATE_FETCH: &str = "ALLOW_PRIVATE_FETCH";

/// An error in one binding. It never contains a secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum BindingError {
    #[error("{name}: {error}")]
    Unavailable { name: &'static str, error: worker::Error },
    #[error("{name} is not a binding with `fetch`")]
    NoFetcher { name: &'static str },
    #[error("{name} {reason}")]
    Secret { name: &'static str, reason: SecretError },
    #[error("{name} {reason}")]
    Origins { name: &'static str, reason: OriginsError },
    #[error("{name} {reason}")]
    Price { name: &'static str, reason: PriceError },
    #[error("{name} must be {expected}, not `{value}`")]
    Value { name: &'static str, expected: &'static str, value: String },
}

/// A reader of one part of the environment that collects errors.
pub(super) struct Reader<'a> {
    env: &'a Env,
    consequence: &'static str,
    errors: Vec<BindingError>,
}

impl<'a> Reader<'a> {
    /// Returns a reader of the part whose errors have this consequence.
    pub(super) const fn new(env: &'a Env, consequence: &'static str) -> Self {
        Self { env, consequence, errors: Vec::new() }
    }

    /// Returns the reader of what pages need.
    pub(super) fn of_pages(env: &'a Env) -> Self {
        let mut reader = Self::new(env, "no route of bio-link pages is served");
        reader.optional(ALLOW_PRIVATE_FETCH, "1 or 0", read_switch);
        reader
    }

    /// Logs the errors. Returns true if there are none.
    pub(super) fn finish(&self) -> bool {
        for error in &self.errors {
            log::error(
                log::Event("invalid configuration"),
                None,
                &[("error", error), ("consequence", &self.consequence)],
            );
        }
        self.errors.is_empty()
    }

    fn text(&self, name: &str) -> Option<String> {
        variable(self.env, name)
    }

    pub(super) fn binding<T>(
        &mut self,
        name: &'static str,
        find: impl FnOnce(&Env) -> worker::Result<T>,
    ) -> Option<T> {
        let found = find(self.env).map_err(|error| BindingError::Unavailable { name, error });
        self.keep(found)
    }

    /// Returns the binding of this name, and logs its error: nothing else has this consequence.
    pub(super) fn only<T>(
        mut self,
        name: &'static str,
        find: impl FnOnce(&Env) -> worker::Result<T>,
    ) -> Option<T> {
        let found = self.binding(name, find);
        self.finish();
        found
    }

    /// Returns the binding of this name if it has its own `fetch`.
    pub(super) fn fetcher(&mut self, name: &'static str) -> Option<FetchBinding> {
        // Absence is no error: both bindings of this kind are optional.
        let bound = Reflect::get(self.env, &name.into()).ok().filter(|value| !value.is_undefined())?;
        // A variable of that name would pass the cast below, and throw at the first call.
        let has_fetch = Reflect::get(&bound, &"fetch".into()).is_ok_and(|fetch| fetch.is_function());
        self.keep(if has_fetch { Ok(bound.unchecked_into()) } else { Err(BindingError::NoFetcher { name }) })
    }

    pub(super) fn secret<T>(
        &mut self,
        name: &'static str,
        parse: impl FnOnce(&str) -> Result<T, SecretError>,
    ) -> Option<T> {
        let parsed = parse(&self.text(name).unwrap_or_default());
        self.keep(parsed.map_err(|reason| BindingError::Secret { name, reason }))
    }

    pub(super) fn origins(&mut self, name: &'static str, may_be_private: bool) -> Option<Origins> {
        let text = self.text(name).unwrap_or_default();
        let parsed = Origins::parse(&text, may_be_private);
        self.keep(parsed.map_err(|reason| BindingError::Origins { name, reason }))
    }

    /// Returns the prices, none if the variable is absent. A call that is not charged by a mistake of the
    /// list would exceed budgets, so a mistake is an error.
    pub(super) fn prices(&mut self, name: &'static str) -> Option<Prices> {
        match self.text(name).map(|text| Prices::from_json(&text)) {
            None => Some(Prices::default()),
            Some(Ok(prices)) => Some(prices),
            Some(Err(reasons)) => {
                self.errors.extend(reasons.into_iter().map(|reason| BindingError::Price { name, reason }));
                None
            }
        }
    }

    pub(super) fn optional<T>(
        &mut self,
        name: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(name)?;
        let value = text.trim();
        let error = || BindingError::Value { name, expected, value: value.to_owned() };
        self.keep(parse(value).ok_or_else(error))
    }

    /// Returns the variable, or `default` if it is absent. `None` if it is bad.
    pub(super) fn value<T>(
        &mut self,
        name: &'static str,
        expected: &'static str,
        default: T,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        match self.text(name) {
            Some(_) => self.optional(name, expected, parse),
            None => Some(default),
        }
    }

    /// Returns the value, or keeps the error and returns `None`.
    fn keep<T>(&mut self, read: Result<T, BindingError>) -> Option<T> {
        read.map_err(|error| self.errors.push(error)).ok()
    }
}

/// Returns a variable or secret, or `None` if it is empty or absent.
pub(super) fn variable(env: &Env, name: &str) -> Option<String> {
    // An empty variable is how deployments often say that there is none.
    env.var(name).ok().map(|value| value.to_string()).filter(|text| !text.trim().is_empty())
}

pub(super) const PUBLIC_URL_FORM: &str = "a URL without query, such as https://api.example.com";

/// Returns a base URL without its last slash, or `None` if the text is no URL or has a character that would
/// have to be escaped in HTML or JSON.
pub(super) fn read_public_url(text: &str) -> Option<String> {
    let address = Address::parse(text).filter(Address::is_plain)?;
    // The URL goes into HTML and JSON as it is.
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'-' | b'_' | b'~');
    address.target.bytes().all(is_plain).then(|| text.trim_end_matches('/').to_owned())
}

pub(super) fn read_switch(text: &str) -> Option<bool> {
    match text {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    }
}
