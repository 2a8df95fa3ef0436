//! Writes what is rendered when the service is built: `portal assets FOLDER` the static assets of the edge
//! worker, and `portal documents FILE CONSOLE` what a proxy in direct mode serves, with the console that was built in a
//! folder.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io};

use portal::documents::{of_console, of_direct_mode};
use portal::rendering::render_all;
use shared::document::Document;
use shared::time::UnixMillis;

fn main() -> io::Result<()> {
    let mut arguments = env::args_os().skip(1);
    let (kind, path) = (arguments.next().unwrap_or_default(), arguments.next().unwrap_or_default());
    match kind.to_str() {
        Some("assets") => render_all(built())
            .iter()
            .try_for_each(|(asset, text)| write(&Path::new(&path).join(&*asset.file()), text.as_bytes())),
        Some("documents") => {
            let mut documents = of_direct_mode(built());
            documents.extend(console(Path::new(&arguments.next().unwrap_or_default()))?);
            write(Path::new(&path), &serde_json::to_vec(&documents)?)
        }
        _ => Err(io::Error::other("usage: portal assets FOLDER, or portal documents FILE CONSOLE")),
    }
}

/// Returns the documents of the console that was built in a folder.
fn console(folder: &Path) -> io::Result<Vec<Document>> {
    let mut documents = Vec::new();
    for file in files_below(folder)? {
        let name = file.strip_prefix(folder).ok().and_then(Path::to_str).unwrap_or_default();
        documents.extend(of_console(name, fs::read(&file)?));
    }
    if documents.is_empty() {
        let text = format!("no console in `{}`; expected what scripts/build-web.sh builds", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    Ok(documents)
}

/// Returns the files in a folder and in those below it, in the order of their names.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    let mut files = Vec::new();
    for path in entries {
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
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
