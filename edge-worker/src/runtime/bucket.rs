//! Files in an R2 bucket, each at most a few megabytes.

use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{Promise, Reflect, Uint8Array};
use worker::{Env, web_sys};

use crate::runtime::{calls, promise};

/// Timeout of an operation, in milliseconds.
const TIMEOUT_MS: u64 = 20_000;

/// An R2 bucket.
#[derive(Clone)]
pub(crate) struct Bucket(JsValue);

/// A failure of a bucket.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BucketError {
    #[error(transparent)]
    Failed(#[from] worker::Error),
    #[error("no response within {TIMEOUT_MS} ms")]
    TimedOut,
}

impl From<BucketError> for worker::Error {
    fn from(error: BucketError) -> Self {
        Self::RustError(error.to_string())
    }
}

impl Bucket {
    /// Returns the bucket that is bound under a name.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn bound(env: &Env, name: &str) -> worker::Result<Self> {
        let bound = Reflect::get(env, &name.into()).ok().filter(JsValue::is_object);
        bound.map(Self).ok_or_else(|| "no R2 bucket is bound".into())
    }

    /// Returns a file as a response with its media type, without its body if only the headers are
    /// wanted; `None` if there is none. A file that is hidden is a response with status 410.
    ///
    /// # Errors
    /// If the bucket fails or does not respond in time. The last also holds for the other operations,
    /// which may have been done even so.
    pub(crate) async fn get(
        &self,
        name: &str,
        is_head: bool,
    ) -> Result<Option<web_sys::Response>, BucketError> {
        Ok(within(calls::read_file(&self.0, name, is_head)).await?.dyn_into().ok())
    }

    /// Returns the bytes of a file; `None` if there is none, or it is hidden.
    pub(crate) async fn read(&self, name: &str) -> Result<Option<Vec<u8>>, BucketError> {
        let found = self.get(name, false).await?.filter(|response| response.status() == 200);
        let Some(response) = found else { return Ok(None) };
        let content = within(response.array_buffer().map_err(worker::Error::from)?).await?;
        Ok(Some(Uint8Array::new(&content).to_vec()))
    }

    /// Stores a file with its media type.
    pub(crate) async fn put(&self, name: &str, content: &[u8], media_type: &str) -> Result<(), BucketError> {
        within(calls::write_file(&self.0, name, &Uint8Array::from(content), media_type)).await.map(drop)
    }

    /// Deletes a file, if it is there.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), BucketError> {
        // As in KV.
        within(calls::delete_text(&self.0, name)).await.map(drop)
    }

    /// Hides a file, or shows it again, if it is there.
    pub(crate) async fn mark(&self, name: &str, is_hidden: bool) -> Result<(), BucketError> {
        within(calls::mark_file(&self.0, name, is_hidden)).await.map(drop)
    }
}

async fn within(operation: Promise) -> Result<JsValue, BucketError> {
    let settled = promise::timeout(TIMEOUT_MS, promise::settled(operation)).await;
    Ok(settled.ok_or(BucketError::TimedOut)?.map_err(worker::Error::from)?)
}
