//! Writes the OpenAPI description at build time, because the code that generates it is ten times
//! its size.

use std::{env, fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let description = shared::openapi::text();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("openapi.json"), description)?;
    Ok(())
}
