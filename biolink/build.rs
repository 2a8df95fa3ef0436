//! Writes the style of the operator's own pages with the tokens that it uses, so that the worker has neither the others nor
//! what picks them.

use std::path::Path;
use std::{env, fs, io};

#[path = "../portal/src/docs/tokens.rs"]
mod tokens;

/// The rules that need the tokens.
const STYLE: &str = include_str!("src/page/html/notice.css");

#[allow(clippy::print_stdout, reason = "the language of build scripts")]
fn main() -> io::Result<()> {
    for file in [
        "build.rs",
        "src/page/html/notice.css",
        "../portal/src/docs/tokens.rs",
        "../portal/web/src/tokens.css",
    ] {
        println!("cargo::rerun-if-changed={file}");
    }
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    let style = format!("{}{}", tokens::tokens_of(&[STYLE]), STYLE.replace('\n', ""));
    fs::write(Path::new(&folder).join("notice.css"), style)
}
