//! Images that an account has uploaded. Their files are in their own store.
//!
//! An image is noted, with a [`Task`] that deletes its file later, before the file is stored. The task is
//! dropped once the file is known to be stored. So no file is left that no account knows, whatever fails.

use serde_json::{Map, Value, json};
use shared::{
    problem::{FieldError, Problem},
    response::Response,
    time::UnixMillis,
};

use super::{
    Account, Call, Operation, Task,
    stored_image::{ImageFate, StoredImage},
};
use crate::{
    page::{ImageFile, ImageId, ImageUrl},
    pages_api::{
        problems::{image_limit_reached, image_unknown, images_unavailable},
        suspension::page_suspended,
    },
    policy,
};

/// Time within which the file of an image is stored, or never, in milliseconds: 15 minutes.
const STORE_MS: u64 = 900_000;

impl Account {
    /// Returns what is to happen to the file of an image, for a task about it.
    pub fn image_fate(&self, id: &ImageId) -> ImageFate {
        match self.image(id) {
            None => ImageFate::Drop,
            Some(_) if self.suspended.is_some() => ImageFate::Hide,
            Some(_) => ImageFate::Show,
        }
    }

    /// Takes in that the file of an image is stored. Returns false if the image was deleted meanwhile:
    /// the file will be deleted too.
    pub fn image_stored(&mut self, id: &ImageId, now: UnixMillis) -> bool {
        let Some(image) = self.images.iter_mut().find(|image| image.file.id == *id) else {
            // The file was stored after its deletion was done, and nobody would delete it again.
            self.outbox.add(Task::DropImage(*id), now);
            return false;
        };
        image.is_stored = true;
        self.outbox.keep_image(*id);
        true
    }

    /// Performs an operation on the images.
    // 2 KB: kept out of `run`.
    #[inline(never)]
    pub(super) fn call_images(&mut self, call: &Call, now: UnixMillis) -> Result<Response, Problem> {
        match &call.operation {
            Operation::AddImage(file) => self.add_image(call, file, now),
            Operation::ReadImage(id) => self.read_image(id, &call.base),
            Operation::DeleteImage(id) => self.delete_image(call, id, now),
            _ => Ok(self.list_images(&call.base)),
        }
    }

    fn list_images(&self, base: &str) -> Response {
        let data: Vec<_> = self.stored_images().map(|image| image.describe(base)).collect();
        Response::json(json!({ "object": "list", "data": data }).to_string())
    }

    fn read_image(&self, id: &ImageId, base: &str) -> Result<Response, Problem> {
        let image = self.image(id).ok_or_else(|| image_unknown(id))?;
        Ok(Response::json(image.describe(base).to_string()))
    }

    /// Notes an image whose file is about to be stored. One that is there already stays as it is.
    fn add_image(&mut self, call: &Call, file: &ImageFile, now: UnixMillis) -> Result<Response, Problem> {
        if self.suspended.is_some() {
            return Err(page_suspended());
        }
        // The id is a digest of the file, so that a repeated upload finds it.
        if let Some(image) = self.image(&file.id) {
            return Ok(Response::json(image.describe(&call.base).to_string()));
        }
        // The file may be deleted at any moment, this one too.
        if self.outbox.is_dropping(file.id, now) {
            return Err(images_unavailable());
        }
        // Before they are counted: uploads that broke off must not fill the account.
        self.forget_lost_images(now);
        let used: u64 = self.images.iter().map(|image| u64::from(image.file.bytes)).sum();
        let is_full = u32::try_from(self.images.len()).unwrap_or(u32::MAX) >= policy::IMAGES;
        if is_full || used.saturating_add(file.bytes.into()) > policy::IMAGE_BYTES {
            return Err(image_limit_reached());
        }
        let image = StoredImage { file: file.clone(), created_at: now, is_stored: false };
        let body = image.describe(&call.base).to_string();
        if call.dry_run {
            return Ok(Response::json(body));
        }
        self.images.push(image);
        // Noted before the file is stored. It is dropped again once the account knows that it is.
        self.outbox.add(Task::DropImage(file.id), now.plus(STORE_MS));
        Ok(Response::created(body, format!("/images/{}", file.id)))
    }

    fn delete_image(&mut self, call: &Call, id: &ImageId, now: UnixMillis) -> Result<Response, Problem> {
        self.image(id).ok_or_else(|| image_unknown(id))?;
        if !call.dry_run {
            self.images.retain(|image| image.file.id != *id);
            self.outbox.add(Task::DropImage(*id), now);
        }
        Ok(Response::no_content())
    }

    /// Deletes all images.
    pub(super) fn drop_images(&mut self, now: UnixMillis) {
        for image in std::mem::take(&mut self.images) {
            self.outbox.add(Task::DropImage(image.file.id), now);
        }
    }

    /// Has all images shown, or hidden if the account is suspended.
    pub(super) fn mark_images(&mut self, now: UnixMillis) {
        for image in &self.images {
            self.outbox.add(Task::MarkImage(image.file.id), now);
        }
    }

    /// Forgets images whose files were never stored, before their files are dropped.
    pub fn forget_lost_images(&mut self, now: UnixMillis) {
        self.images.retain(|image| image.is_stored || now.since(image.created_at) < STORE_MS);
    }

    pub(super) fn describe_image_usage(&self) -> Value {
        let bytes: u64 = self.images.iter().map(|image| u64::from(image.file.bytes)).sum();
        json!({
            "used": self.images.len(),
            "limit": policy::IMAGES,
            "bytes_used": bytes,
            "bytes_limit": policy::IMAGE_BYTES,
        })
    }

    /// Returns the lines of the export about images.
    pub(super) fn export_images(&self, base: &str) -> String {
        self.stored_images().map(|image| format!("{}\n", image.describe(base))).collect()
    }

    /// Reads the addresses of images in a body: those of the account's own become paths. Returns an error
    /// for each of an image that the account does not have. Images are objects with the member `url`.
    pub(super) fn check_images(&self, members: &mut Map<String, Value>, base: &str) -> Vec<FieldError> {
        let mut faults = Vec::new();
        for_each_url(members, "#", &mut |pointer, url| {
            faults.extend(self.check_image(url, base).map(|detail| FieldError { pointer, detail }));
        });
        faults
    }

    fn check_image(&self, url: &mut String, base: &str) -> Option<String> {
        // Responses show whole addresses, which clients send back.
        let id = ImageUrl::own(url.strip_prefix(base).unwrap_or(url))?;
        *url = ImageUrl::Own(id).to_string();
        self.image(&id).is_none().then(|| format!("names {id}, which is no image of this account"))
    }

    fn image(&self, id: &ImageId) -> Option<&StoredImage> {
        self.images.iter().find(|image| image.file.id == *id)
    }

    fn stored_images(&self) -> impl Iterator<Item = &StoredImage> {
        self.images.iter().filter(|image| image.is_stored)
    }
}

/// Calls `visit` with the pointer and the text of each member `url` of an object below `place`.
pub(in crate::pages_api) fn for_each_url(
    members: &mut Map<String, Value>,
    place: &str,
    visit: &mut dyn FnMut(String, &mut String),
) {
    for (name, value) in members.iter_mut().filter(|(name, _)| *name != "metadata") {
        let place = format!("{place}/{name}");
        match value {
            Value::Object(inner) => {
                if let Some(Value::String(url)) = inner.get_mut("url") {
                    visit(format!("{place}/url"), url);
                }
                for_each_url(inner, &place, visit);
            }
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    if let Some(item) = item.as_object_mut() {
                        for_each_url(item, &format!("{place}/{at}"), visit);
                    }
                }
            }
            _ => {}
        }
    }
}
