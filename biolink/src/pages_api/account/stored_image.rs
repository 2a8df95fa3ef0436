//! An image as its account knows it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::time::UnixMillis;

use crate::page::{ImageFile, ImageUrl};

/// An image of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredImage {
    pub(super) file: ImageFile,
    pub(super) created_at: UnixMillis,
    /// Whether the file is known to be stored.
    pub(super) is_stored: bool,
}

/// What is to happen to the file of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFate {
    /// Visitors see it.
    Show,
    /// Visitors do not see it while the account is suspended.
    Hide,
    /// It is deleted.
    Drop,
}

impl StoredImage {
    /// Returns the image as the API shows it.
    pub(super) fn describe(&self, base: &str) -> Value {
        let ImageFile { id, media_type, width, height, bytes } = &self.file;
        json!({
            "object": "image",
            "id": id,
            "url": ImageUrl::Own(*id).absolute(base),
            "type": media_type,
            "width": width,
            "height": height,
            "bytes": bytes,
            "created_at": self.created_at.to_rfc3339(),
        })
    }
}
