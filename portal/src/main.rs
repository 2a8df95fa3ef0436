//! Writes what is rendered when the service is built: `portal assets FOLDER` the static assets of the edge
//! worker, and `portal documents FILE` what a proxy in direct mode serves.

use std::path::Path;
use std::{env, fs, io};

use portal::documents;
use portal::rendering::render_all;

fn main() -> io::Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (kind, path) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    match kind.to_str() {
        Some("assets") => render_all()
            .iter()
            .try_for_each(|(asset, text)| write(&Path::new(&path).join(&*asset.file()), text.as_bytes())),
        Some("documents") => write(Path::new(&path), &serde_json::to_vec(&documents::of_direct_mode())?),
        _ => Err(io::Error::other("usage: portal assets FOLDER, or portal documents FILE")),
    }
}

fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}
