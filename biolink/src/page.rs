//! Bio-link pages: what a page is, and the rules for everything in it.
//!
//! [`document`] has the types of what visitors see. A document that was read is valid: every
//! address in it may be linked to, every text is within its limit. The REST API over it is in
//! [`pages_api`](crate::pages_api).

pub mod document;
mod html;
mod image_file;
mod image_url;
mod parameters;
mod qr;
mod read;
mod report;
mod robots;
mod slug;
mod vcard;
mod via;
mod web_url;

pub use crate::ids::{DomainId, IdSource, ImageId, LinkId, PageId, PartId, ProductId, SourceId};
pub use document::{Link, PageDocument};
pub use html::{PageView, confirm, gone, not_found, problem_notice, render, report_form, report_received};
pub use image_file::{IMAGE_TYPES, ImageFile, MAX_IMAGE_BYTES, image_headers};
pub use image_url::ImageUrl;
pub use parameters::with_parameters;
pub(crate) use parameters::{decoded_parameters, passed_on, reached_by};
pub use qr::{Correction, LogoName, QrOptions, qr_pdf, qr_png, qr_svg};
pub(crate) use read::{
    InvalidValue, boolean, check_size, is_visible, moment, name_of, parse_metadata, plain_text,
};
pub use read::{MAX_DOCUMENT, PageInput, Reader, StatusChange};
pub use read::{MAX_LINKS, MAX_METADATA, MAX_PRODUCTS, MAX_SOCIALS, MAX_TAGS, READ_ONLY};
pub use report::{AbuseReport, MAX_REPORT_DETAILS, ReportReason};
pub use robots::robots_txt;
pub use slug::{Slug, SlugError};
pub use vcard::card;
pub use via::Via;
pub use web_url::{UrlError, WebUrl};
pub(crate) use web_url::{
    UrlParts, host_to_ascii, is_domain_name, is_ip_address, is_private_name, is_public_host,
};
