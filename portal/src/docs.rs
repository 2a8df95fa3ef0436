//! `GET /docs` and the pages below it, `GET /problems/{code}` and the start page: the reference for
//! people, made from the tables that the gateway works by. maud escapes what is put into pages.

mod changelog;
mod discovery;
mod guides;
mod highlight;
mod host;
mod landing;
mod language;
mod layout;
mod markdown;
mod model;
mod problem_page;
mod reference;
mod room;
mod script;
mod search;
mod snippet;
mod status_page;
mod text;
mod tools_page;

pub use changelog::changelog_feed;
pub(crate) use discovery::{CATALOG_LINK, CATALOG_TYPE};
pub use discovery::{SERVICE_LINKS, api_catalog, llms_txt};
pub use host::Host;
pub use landing::landing;
pub(crate) use layout::{MARK, respond};
pub use problem_page::problem_page;
pub use reference::{
    markdown, markdown_pages, pages, reference, respond_markdown, search_index, serve, text,
};
pub use script::script;
pub use status_page::{incident_feed, status_page, status_template};
pub use tools_page::{tools_page, tools_template};

#[cfg(test)]
mod tests;
