//! The examples of images.

use biolink::page::{ImageFile, ImageId};
use biolink::route::{PagesEndpoint, PagesTarget};
use serde_json::json;

use super::{Exchange, NOW, Store};

/// The image of the examples.
pub(in super::super) const IMAGE: ImageId = ImageId::new([7; 12]);

/// Returns the example of an endpoint. The body of an upload is a file, which is no example.
pub(super) fn exchange(store: &mut Store, endpoint: PagesEndpoint) -> Exchange {
    let file =
        ImageFile { id: IMAGE, media_type: "image/png".to_owned(), width: 512, height: 512, bytes: 48_213 };
    let uploaded = store.call(PagesEndpoint::UploadImage, PagesTarget::Account, Some(json!(file)));
    store.account.image_stored(&IMAGE, NOW);
    match endpoint {
        PagesEndpoint::UploadImage => Exchange { request: None, ..uploaded },
        PagesEndpoint::ListImages => store.call(endpoint, PagesTarget::Account, None),
        _ => store.call(endpoint, PagesTarget::Image(IMAGE), None),
    }
}
