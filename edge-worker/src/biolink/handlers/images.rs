//! Images that accounts upload: stores and serves their files.

use biolink::page::{IMAGE_TYPES, ImageFile, ImageId, MAX_IMAGE_BYTES, image_headers};
use biolink::pages_api::{account_unavailable, image_not_found, images_unavailable, page_gone};
use shared::key::KeyId;
use shared::method::Method;
use shared::problem::Problem;
use shared::response::Response;

use crate::biolink::pages_client;
use crate::context::RequestContext;
use crate::respond::ClientResponse;
use crate::runtime::bucket::{Bucket, BucketError};
use crate::runtime::streamed_response::StreamedResponse;
use crate::runtime::{body, log};

/// A file that is to be stored.
pub(super) struct Upload<'a> {
    bucket: &'a Bucket,
    content: Vec<u8>,
    file: ImageFile,
}

/// Reads the body of an upload, whose type its content says.
///
/// # Errors
/// `not-configured`, and those of the body.
pub(super) async fn read<'a>(context: &RequestContext<'a>, account: KeyId) -> Result<Upload<'a>, Problem> {
    let bucket = context.bindings.images()?;
    let content = body::read_as(context.request, &context.head, &IMAGE_TYPES, MAX_IMAGE_BYTES).await?;
    let (file, content) = ImageFile::read(&account, &content)?;
    Ok(Upload { bucket, content, file })
}

impl Upload<'_> {
    /// Returns what the account is to know of the file, as the body of the call.
    ///
    /// # Errors
    /// Never: a file's description always serializes.
    pub(super) fn description(&self) -> Result<Vec<u8>, Problem> {
        serde_json::to_vec(&self.file).map_err(|_| account_unavailable())
    }

    /// Stores the file, which the account has noted.
    ///
    /// # Errors
    /// `images-unavailable`, also if the image was deleted meanwhile, or `pages-unavailable`.
    pub(super) async fn store(&self, context: &RequestContext<'_>, account: KeyId) -> Result<(), Problem> {
        let id = &self.file.id;
        let stored = self.bucket.put(&id.to_string(), &self.content, &self.file.media_type).await;
        stored.map_err(|error| unavailable(context, &error))?;
        // After the file. The account deletes what it has noted and never heard of again.
        match pages_client::image_stored(context, account, id).await? {
            true => Ok(()),
            false => Err(images_unavailable()),
        }
    }
}

/// Serves a file. A client that has it gets no bytes again, once the bucket says that it is still there.
pub(crate) async fn serve(context: &RequestContext<'_>, id: &ImageId) -> Result<ClientResponse, Problem> {
    let bucket = context.bindings.images()?;
    let headers = image_headers(id);
    let known = Response::<Vec<u8>> { status: 200, headers: headers.clone(), body: Vec::new() };
    let known = known.if_none_match(context.request.header("if-none-match").map(str::as_bytes).into_iter());
    let is_known = known.status == 304;
    // The bucket is asked even then: it says whether the image was hidden since.
    let is_head = is_known || context.request.method == Method::Head.as_str();
    let found = bucket.get(&id.to_string(), is_head).await.map_err(|error| unavailable(context, &error))?;
    let response = found.ok_or_else(image_not_found)?;
    if response.status() == 410 {
        return Err(page_gone());
    }
    if is_known {
        return Ok(ClientResponse::Own(known));
    }
    let response = StreamedResponse::new(response).map_err(|_| images_unavailable())?;
    Ok(ClientResponse::Streamed { response, headers })
}

/// Returns the file of the image that a QR code is to have in its middle, if it has one.
///
/// # Errors
/// `not-configured`, and `images-unavailable`.
pub(super) async fn logo(context: &RequestContext<'_>, id: &ImageId) -> Result<Option<Vec<u8>>, Problem> {
    let read = context.bindings.images()?.read(&id.to_string()).await;
    read.map_err(|error| unavailable(context, &error))
}

fn unavailable(context: &RequestContext<'_>, error: &BucketError) -> Problem {
    log::error(log::Event("image store failed"), Some(context.request.id), &[("error", error)]);
    images_unavailable()
}
