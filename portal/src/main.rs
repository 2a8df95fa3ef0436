//! Writes what is rendered when the service is built: `portal assets FOLDER` the static assets of the edge
//! worker, and `portal documents FILE` what a proxy in direct mode serves.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io};

use portal::documents;
use portal::rendering::render_all;
use shared::time::UnixMillis;

fn main() -> io::Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (kind, path) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    match kind.to_str() {
        Some("assets") => render_all(built())
            .iter()
            .try_for_each(|(asset, text)| write(&Path::new(&path).join(&*asset.file()), text.as_bytes())),
        Some("documents") => {
            write(Path::new(&path), &serde_json::to_vec(&documents::of_direct_mode(built()))?)
        }
        _ => Err(io::Error::other("usage: portal assets FOLDER, or portal documents FILE")),
    }
}

/// Returns the time of the build, or the one that stands for it so that a build can be repeated.
fn built() -> UnixMillis {
    let epoch = env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    UnixMillis(epoch.unwrap_or_else(now) * 1_000)
}

fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, text)
}
