//! Writes the API's description once, while building: what makes it weighs ten times what it makes.

use std::{env, fs, path::Path};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let description = shared::openapi::text();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("openapi.json"), description)?;
    Ok(())
}
