//! Texts in a KV namespace. The crate worker's store converts every option through serde, and brings
//! code for values that are not texts.

use wasm_bindgen::{JsCast, JsValue};
use worker::Env;
use worker::js_sys::{Array, Promise, Reflect};

use crate::runtime::{calls, promise};

/// A KV namespace.
#[derive(Clone)]
pub(crate) struct KvStore(JsValue);

/// A failure of KV.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KvError {
    #[error(transparent)]
    Failed(#[from] worker::Error),
    #[error("no response within {ms} ms")]
    TimedOut { ms: u64 },
}

impl From<KvError> for worker::Error {
    fn from(error: KvError) -> Self {
        match error {
            KvError::Failed(error) => error,
            KvError::TimedOut { .. } => Self::RustError(error.to_string()),
        }
    }
}

/// Texts whose names begin with a prefix, in the order of their names.
pub(crate) struct Listing {
    pub(crate) texts: Vec<String>,
    /// Position of what follows. `None` at the end.
    pub(crate) cursor: Option<String>,
}

impl KvStore {
    /// Returns the namespace that is bound under a name.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn bound(env: &Env, name: &str) -> worker::Result<Self> {
        let bound = Reflect::get(env, &name.into()).ok().filter(JsValue::is_object);
        bound.map(Self).ok_or_else(|| "no KV namespace is bound".into())
    }

    /// Returns the text stored under a name. A location may respond from its own copy for `cache_s`
    /// seconds, at least 30.
    ///
    /// # Errors
    /// If KV fails.
    pub(crate) async fn get(&self, name: &str, cache_s: u32) -> Result<Option<String>, KvError> {
        Ok(settled(calls::read_text(&self.0, name, cache_s)).await?.as_string())
    }

    /// Stores a text under a name, for `lifetime_s` seconds if it is given, at least 60.
    ///
    /// # Errors
    /// If KV fails. The text may be stored even so.
    pub(crate) async fn put(&self, name: &str, text: &str, lifetime_s: Option<u32>) -> Result<(), KvError> {
        settled(calls::write_text(&self.0, name, text, lifetime_s)).await.map(drop)
    }

    /// Removes what is stored under a name.
    ///
    /// # Errors
    /// If KV fails. It may be removed even so.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), KvError> {
        settled(calls::delete_text(&self.0, name)).await.map(drop)
    }

    /// Returns up to `limit` texts, at most 100, from a cursor on. What was written a moment ago may
    /// be left out.
    ///
    /// # Errors
    /// If KV fails.
    pub(crate) async fn list(&self, prefix: &str, limit: u32, cursor: &str) -> Result<Listing, KvError> {
        let listed = settled(calls::list_texts(&self.0, prefix, limit, cursor)).await?;
        let listed: Array = listed.unchecked_into();
        let mut texts = listed.iter().filter_map(|text| text.as_string());
        let cursor = texts.next().filter(|cursor| !cursor.is_empty());
        Ok(Listing { texts: texts.collect(), cursor })
    }
}

/// Returns the output of an operation, if it comes within `ms` milliseconds.
///
/// # Errors
/// If KV fails or does not respond in time. It may have done the operation even so.
pub(crate) async fn within<T>(
    ms: u64,
    operation: impl Future<Output = Result<T, KvError>>,
) -> Result<T, KvError> {
    promise::timeout(ms, operation).await.ok_or(KvError::TimedOut { ms })?
}

async fn settled(promise: Promise) -> Result<JsValue, KvError> {
    promise::settled(promise).await.map_err(|error| KvError::Failed(error.into()))
}
