//! The documents for people and programs, and the files of the console: rendered when the service was built, read
//! when the proxy starts, and kept compressed with gzip, since they are the same for all clients.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;
use parking_lot::Mutex;
use shared::document::Document;
use shared::headers::tokens;
use shared::response::Response;

/// A document that contains its address changes with the `Host` of the request, which any client
/// can choose. So it is compressed again at most once in this time.
const MIN_AGE: Duration = Duration::from_secs(1);
/// The file with the documents, seen from the folder of the program: `/usr/share` beside `/usr/bin`.
const FILE: &str = "../share/utg-proxy/documents.json";
/// The path of the console's page, which is the document of each of its views.
const CONSOLE: &str = "/console";
/// Paths below the console that are no view: its files, and what its app calls at an edge.
const NO_VIEWS: [&str; 5] = ["assets", "licenses", "session", "sessions", "preview"];

/// The documents by their paths.
#[derive(Debug, Default)]
pub(super) struct Documents {
    by_path: HashMap<String, Arc<Document>>,
    compressed: Mutex<HashMap<String, Compressed>>,
}

#[derive(Debug)]
struct Compressed {
    plain: Vec<u8>,
    gzip: Arc<[u8]>,
    begun: Instant,
}

/// A response. It may hold a key and must not be printed.
pub struct Reply {
    /// The status, headers and text.
    pub response: Response,
    /// The body in place of the text, in the content coding that the headers name if there is one.
    pub bytes: Option<Arc<[u8]>>,
}

impl From<Response> for Reply {
    fn from(response: Response) -> Self {
        Self { response, bytes: None }
    }
}

impl Reply {
    fn of_bytes(response: Response<Vec<u8>>, bytes: Arc<[u8]>) -> Self {
        let Response { status, headers, .. } = response;
        Self { response: Response { status, headers, body: String::new() }, bytes: Some(bytes) }
    }
}

impl Documents {
    /// Reads the documents that were installed with the program. Without them it serves none.
    pub(super) fn installed() -> Self {
        let file = match file() {
            Ok(file) => file,
            Err(error) => {
                log::warn!("documents missing: error={error}");
                return Self::default();
            }
        };
        Self::read(&file).unwrap_or_else(|error| {
            log::warn!("documents missing: file={} error={error}", file.display());
            Self::default()
        })
    }

    fn read(file: &Path) -> io::Result<Self> {
        let documents: Vec<Document> = serde_json::from_slice(&fs::read(file)?)?;
        Ok(documents.into())
    }

    /// Returns the document of a path. No file is opened for a request, so a path names one of these or nothing.
    pub(super) fn find(&self, path: &str) -> Option<Arc<Document>> {
        let view = || self.by_path.get(CONSOLE).filter(|_| is_view(path));
        self.by_path.get(path).or_else(view).cloned()
    }

    /// Returns the response with the document of `path`, compressed if the client accepts gzip.
    pub(super) fn reply<'a>(
        &self,
        path: &str,
        mut response: Response<Vec<u8>>,
        accept_encoding: impl Iterator<Item = &'a [u8]>,
        now: Instant,
    ) -> Reply {
        let plain = std::mem::take(&mut response.body);
        if plain.is_empty() || !accepts_gzip(accept_encoding) {
            return Reply::of_bytes(response, plain.into());
        }
        match self.compressed(path, &plain, now) {
            Some(gzip) => Reply::of_bytes(response.with_headers([("content-encoding", "gzip")]), gzip),
            None => Reply::of_bytes(response, plain.into()),
        }
    }

    /// Returns the gzip-compressed document. Returns `None` if another text of it was compressed
    /// less than [`MIN_AGE`] ago.
    fn compressed(&self, path: &str, plain: &[u8], now: Instant) -> Option<Arc<[u8]>> {
        let mut kept = self.compressed.lock();
        match kept.get(path) {
            Some(known) if known.plain == plain => return Some(Arc::clone(&known.gzip)),
            Some(known) if now.saturating_duration_since(known.begun) < MIN_AGE => return None,
            Some(_) | None => {}
        }
        let gzip: Arc<[u8]> = gzip(plain)?.into();
        let known = Compressed { plain: plain.to_vec(), gzip: Arc::clone(&gzip), begun: now };
        kept.insert(path.to_owned(), known);
        Some(gzip)
    }
}

impl From<Vec<Document>> for Documents {
    fn from(documents: Vec<Document>) -> Self {
        let by_path = documents.into_iter().map(|document| (document.path.clone(), Arc::new(document)));
        Self { by_path: by_path.collect(), compressed: Mutex::default() }
    }
}

/// Returns the path of the installed documents.
fn file() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    Ok(program.with_file_name(FILE))
}

/// Returns true for the address of a view of the console: the app reads the address itself.
fn is_view(path: &str) -> bool {
    let below = path.strip_prefix(CONSOLE).and_then(|rest| rest.strip_prefix('/'));
    below.is_some_and(|below| {
        let first = below.split('/').next().unwrap_or_default();
        !NO_VIEWS.contains(&first) && !below.split('/').any(|segment| segment.starts_with('.'))
    })
}

fn gzip(plain: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::default());
    encoder.write_all(plain).ok()?;
    encoder.finish().ok()
}

/// Returns true if `Accept-Encoding` allows gzip (RFC 9110, section 12.5.3). Without the header the
/// response is plain, which every client understands.
fn accepts_gzip<'a>(values: impl Iterator<Item = &'a [u8]>) -> bool {
    let (mut named, mut any) = (None, None);
    for coding in values.flat_map(tokens) {
        let mut parts = coding.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let name = parts.next().unwrap_or_default();
        let allowed = !parts.any(is_zero_weight);
        if name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip") {
            named = Some(allowed);
        } else if name == b"*" {
            any = Some(allowed);
        }
    }
    named.or(any).unwrap_or(false)
}

/// Returns true if a parameter is `q=0`, with up to three decimals.
fn is_zero_weight(parameter: &[u8]) -> bool {
    match parameter {
        [b'q' | b'Q', b'=', weight @ ..] => {
            !weight.is_empty() && weight.iter().all(|byte| matches!(byte, b'0' | b'.'))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use flate2::read::GzDecoder;
    use shared::document::SERVER;

    #[test]
    fn gzip_is_negotiated_by_name_weight_and_wildcard() {
        let accepts = |value: &str| accepts_gzip([value.as_bytes()].into_iter());
        for value in ["gzip", "br, GZIP;q=0.5", "x-gzip", "*", "deflate, *;q=0.1", "gzip;q=0.001, *;q=0"] {
            assert!(accepts(value), "{value}");
        }
        for value in ["", "identity", "br", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "gzipped"] {
            assert!(!accepts(value), "{value}");
        }
        assert!(!accepts_gzip(std::iter::empty()));
    }

    #[test]
    fn document_is_compressed_once_per_text_and_second() {
        let text = Response::public("text/html", format!("<p>{SERVER}</p>"));
        let document = Document::of("/docs", text.into_bytes());
        let (documents, now) = (Documents::from(vec![document]), Instant::now());
        let text = |server: &str| documents.find("/docs").unwrap().respond(server);
        let reply = |server: &str, at| documents.reply("/docs", text(server), [&b"gzip"[..]].into_iter(), at);
        let (first, second) = (reply("https://a.test", now), reply("https://a.test", now));
        let (first_gzip, second_gzip) = (first.bytes.unwrap(), second.bytes.unwrap());
        assert!(Arc::ptr_eq(&first_gzip, &second_gzip));
        let mut read = String::new();
        GzDecoder::new(&first_gzip[..]).read_to_string(&mut read).unwrap();
        assert_eq!(read, "<p>https://a.test</p>");
        assert_eq!(first.response.header("content-encoding"), Some("gzip"));
        let soon = reply("https://b.test", now + MIN_AGE / 2);
        assert_eq!(soon.response.header("content-encoding"), None);
        assert_eq!(&soon.bytes.unwrap()[..], b"<p>https://b.test</p>");
        let later = reply("https://b.test", now + MIN_AGE).bytes.unwrap();
        let mut read = String::new();
        GzDecoder::new(&later[..]).read_to_string(&mut read).unwrap();
        assert_eq!(read, "<p>https://b.test</p>");
    }

    #[test]
    fn view_of_the_console_has_its_page_and_a_missing_file_nothing() {
        let of = |path: &str| Document::of(path, Response::page("text/html", path.as_bytes().to_vec()));
        let documents = Documents::from(vec![of("/console"), of("/console/assets/a.js")]);
        let found = |path: &str| documents.find(path).map(|document| document.path.clone());
        for view in [
            "/console",
            "/console/",
            "/console/developers/usage",
            "/console/admin/keys/key_1.a",
            "/console/x",
        ] {
            assert_eq!(found(view).as_deref(), Some("/console"), "{view}");
        }
        assert_eq!(found("/console/assets/a.js").as_deref(), Some("/console/assets/a.js"));
        for missing in [
            "/consoles",
            "/console/assets/b.js",
            "/console/assets",
            "/console/licenses/a.txt",
            "/console/session",
            "/console/sessions/a",
            "/console/preview",
            "/console/.env",
            "/console/a/../b",
        ] {
            assert_eq!(found(missing), None, "{missing}");
        }
        assert_eq!(Documents::default().find("/console/x"), None);
    }

    #[test]
    fn documents_that_cannot_be_read_are_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("documents.json");
        assert!(Documents::read(&file).is_err());
        fs::write(&file, "[{\"path\": \"/\"}]").unwrap();
        assert!(Documents::read(&file).is_err());
        let document = Document::of("/", Response::public("text/html", Vec::new()));
        fs::write(&file, serde_json::to_vec(&[document]).unwrap()).unwrap();
        assert!(Documents::read(&file).unwrap().find("/").is_some());
    }
}
