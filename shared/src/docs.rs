//! `GET /docs` and the pages below it, `GET /problems/{code}` and the start page: the reference for
//! people, made from the tables that the gateway works by. maud escapes what is put into pages.

mod guides;
mod landing;
mod layout;
mod model;
mod problem_page;
mod reference;
mod script;
mod snippet;
mod text;

pub use landing::landing;
pub(crate) use layout::{Page, Section, respond};
pub use problem_page::problem_page;
pub use reference::{reference, serve, text};
pub use script::script;

#[cfg(test)]
mod tests;
