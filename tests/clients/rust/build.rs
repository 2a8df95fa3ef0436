//! Generates a client from each description in the folder that `DESCRIPTIONS` names (scripts/clients.sh).

use std::{env, error::Error, fs, path::Path};

use progenitor_impl::{GenerationSettings, Generator, InterfaceStyle};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=DESCRIPTIONS");
    let (folder, out) = (env::var("DESCRIPTIONS")?, env::var("OUT_DIR")?);
    for name in ["gateway", "biolink"] {
        let file = Path::new(&folder).join(name).with_extension("json");
        println!("cargo::rerun-if-changed={}", file.display());
        let description = serde_json::from_slice(&fs::read(&file)?)?;
        let mut settings = GenerationSettings::default();
        settings.with_interface(InterfaceStyle::Builder);
        let client = Generator::new(&settings).generate_tokens(&description)?;
        fs::write(Path::new(&out).join(name).with_extension("rs"), client.to_string())?;
    }
    Ok(())
}
