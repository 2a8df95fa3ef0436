//! Generates the client from the description in the file that `OPENAPI` names (scripts/clients.sh).

use std::{env, error::Error, fs, path::Path};

use progenitor_impl::{GenerationSettings, Generator, InterfaceStyle};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=OPENAPI");
    let file = env::var("OPENAPI")?;
    println!("cargo::rerun-if-changed={file}");
    let description = serde_json::from_slice(&fs::read(&file)?)?;
    let mut settings = GenerationSettings::default();
    settings.with_interface(InterfaceStyle::Builder);
    let client = Generator::new(&settings).generate_tokens(&description)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("client.rs"), client.to_string())?;
    Ok(())
}
