//! Bio-link pages: what a page is, and the rules for everything in it.
//!
//! [`document`] has the types of what visitors see. A document that was read is valid: every
//! address in it may be linked to, every text is within its limit. The REST API over it is in
//! [`pages_api`](crate::pages_api).

pub mod document;
mod html;
mod id;
mod read;
mod slug;
mod web_url;

pub use document::{Link, PageDocument};
pub use html::{PageView, confirm, render};
pub use id::{IdSource, LinkId, PageId, ProductId};
pub use read::{MAX_DOCUMENT, PageInput, Reader, StatusChange};
pub(crate) use read::{MAX_LINKS, check_size};
pub use slug::{Slug, SlugError};
pub use web_url::{UrlError, WebUrl};
