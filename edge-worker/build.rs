//! Writes the OpenAPI descriptions at build time, because the code that generates them is ten times
//! their size.

use std::{env, fs, path::Path};

use shared::openapi;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var("OUT_DIR")?;
    let folder = Path::new(&folder);
    fs::write(folder.join("openapi.json"), openapi::text())?;
    fs::write(folder.join("biolink.json"), openapi::biolink::text())?;
    Ok(())
}
