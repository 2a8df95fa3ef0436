//! `GET /docs` and the pages below it, `GET /problems/{code}` and the start page: the reference for
//! people, made from the tables that the gateway works by. maud escapes what is put into pages.

mod changelog;
#[cfg(feature = "biolink")]
mod discovery;
#[cfg(feature = "biolink")]
mod guides;
mod highlight;
mod host;
#[cfg(feature = "biolink")]
mod landing;
mod language;
mod layout;
mod markdown;
#[cfg(feature = "biolink")]
mod model;
#[cfg(feature = "biolink")]
mod problem_page;
#[cfg(feature = "biolink")]
mod reference;
mod room;
#[cfg(feature = "biolink")]
mod script;
#[cfg(feature = "biolink")]
mod search;
#[cfg(feature = "biolink")]
mod snippet;
mod status_page;
mod text;
mod tokens;
mod tools_page;

pub use changelog::changelog_feed;
#[cfg(feature = "biolink")]
pub use discovery::{api_catalog, llms_txt};
pub use host::Host;
#[cfg(feature = "biolink")]
pub use landing::landing;
#[cfg(feature = "biolink")]
pub(crate) use layout::MARK;
pub use layout::SERVICE_LINKS;
pub(crate) use layout::{CATALOG_LINK, CATALOG_TYPE, respond, respond_markdown};
#[cfg(feature = "biolink")]
pub use problem_page::problem_page;
#[cfg(feature = "biolink")]
pub use reference::{markdown, markdown_pages, pages, reference, search_index, serve, text};
#[cfg(feature = "biolink")]
pub use script::script;
pub use status_page::{incident_feed, status_page, status_template};
pub use tools_page::{tools_page, tools_template};

#[cfg(test)]
mod tests;
