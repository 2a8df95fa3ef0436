//! Writes the static assets of the edge worker into a folder: `site FOLDER`.

use std::{env, fs, io, path::Path};

use shared::asset::Asset;

fn main() -> io::Result<()> {
    let folder = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: site FOLDER"))?;
    Asset::all().try_for_each(|asset| write(Path::new(&folder), asset))
}

fn write(folder: &Path, asset: Asset) -> io::Result<()> {
    let path = folder.join(&*asset.file());
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(path, asset.render())
}
