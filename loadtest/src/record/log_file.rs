//! The raw log of a run: a header, all calls, and a trailer.
//!
//! The file begins with `utgload3`. Frames follow: a type (1 header, 2 calls, 3 trailer), the size
//! in four little-endian bytes, and the content. Header and trailer are JSON. A log without a
//! trailer is that of a run that was killed, and still has its calls.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use shared::problem::{Code, codes};
use thiserror::Error;

use super::CallRecord;
use super::packed::{RECORD_BYTES, pack, unpack};

const MAGIC: &[u8; 8] = b"utgload3";
const HEADER: u8 = 1;
const CALLS: u8 = 2;
const TRAILER: u8 = 3;
/// The maximum size of a frame that is read.
const MAX_FRAME_BYTES: usize = 64 << 20;

/// The reason why a raw log cannot be written or read.
#[derive(Debug, Error)]
pub(crate) enum LogError {
    /// The file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not a raw log.
    #[error("{}: not a raw log of this version of loadtest: {reason}", path.display())]
    Format {
        /// The path.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Header<T> {
    /// The problem codes by number, so that a later version reads an earlier log.
    codes: Vec<String>,
    run: T,
}

/// A raw log that is being written.
pub(crate) struct LogWriter {
    path: PathBuf,
    file: BufWriter<File>,
    packed: Vec<u8>,
}

impl LogWriter {
    /// Creates the file and writes the header.
    pub(crate) fn create(path: &Path, run: &impl Serialize) -> Result<Self, LogError> {
        let error = |source| LogError::Io { path: path.to_owned(), source };
        let file = BufWriter::new(File::create(path).map_err(error)?);
        let mut writer = Self { path: path.to_owned(), file, packed: Vec::new() };
        writer.file.write_all(MAGIC).map_err(error)?;
        let codes = codes::TABLE.iter().map(|code| code.as_str().to_owned()).collect();
        writer.write_json(HEADER, &Header { codes, run })?;
        Ok(writer)
    }

    /// Appends calls.
    pub(crate) fn write(&mut self, records: &[CallRecord]) -> Result<(), LogError> {
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        for record in records {
            pack(record, &mut packed);
        }
        // The buffer is taken and put back, because it cannot be borrowed while the file is
        // written.
        let written = self.frame(CALLS, &packed);
        self.packed = packed;
        written
    }

    /// Writes what is buffered to the file, so that a run that is killed leaves it.
    pub(crate) fn flush(&mut self) -> Result<(), LogError> {
        self.file.flush().map_err(|source| LogError::Io { path: self.path.clone(), source })
    }

    /// Writes the trailer and ends the file.
    pub(crate) fn finish(mut self, trailer: &impl Serialize) -> Result<(), LogError> {
        self.write_json(TRAILER, trailer)?;
        self.flush()
    }

    fn write_json(&mut self, kind: u8, value: &impl Serialize) -> Result<(), LogError> {
        let text = serde_json::to_vec(value)
            .map_err(|error| LogError::Io { path: self.path.clone(), source: error.into() })?;
        self.frame(kind, &text)
    }

    fn frame(&mut self, kind: u8, content: &[u8]) -> Result<(), LogError> {
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let mut write = || {
            self.file.write_all(&[kind])?;
            self.file.write_all(&size.to_le_bytes())?;
            self.file.write_all(content)
        };
        write().map_err(|source| LogError::Io { path: self.path.clone(), source })
    }
}

/// A raw log that is being read.
pub(crate) struct LogReader<T> {
    path: PathBuf,
    file: BufReader<File>,
    codes: Vec<Option<Code>>,
    /// The header's description of the run.
    pub(crate) run: T,
}

impl<T: DeserializeOwned> LogReader<T> {
    /// Opens a raw log and reads its header.
    pub(crate) fn open(path: &Path) -> Result<Self, LogError> {
        let error = |source| LogError::Io { path: path.to_owned(), source };
        let mut file = BufReader::new(File::open(path).map_err(error)?);
        let format = |reason: &str| LogError::Format { path: path.to_owned(), reason: reason.to_owned() };
        let mut magic = Vec::new();
        (&mut file).take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(error)?;
        // A run that is killed within its first second has written nothing yet.
        if magic.is_empty() {
            return Err(format("the file is empty"));
        }
        if magic != MAGIC {
            return Err(format("the file does not begin with `utgload3`"));
        }
        // A killed run may have left half of it. Unlike half a frame of calls, nothing can be read
        // without it.
        let header = read_frame(&mut file).map_err(|_cut| format("the file ends within its header"))?;
        let (kind, content) = header.ok_or_else(|| format("the file has no header"))?;
        if kind != HEADER {
            return Err(format("the first frame is not a header"));
        }
        let header: Header<T> =
            serde_json::from_slice(&content).map_err(|error| format(&error.to_string()))?;
        // A code that this version does not know keeps its number, or all after it would shift.
        let codes = header.codes.iter().map(|code| codes::parse(code)).collect();
        Ok(Self { path: path.to_owned(), file, codes, run: header.run })
    }

    /// Reads the file to its end and gives each call to `take`. Returns the trailer, if there is
    /// one.
    pub(crate) fn read<R: DeserializeOwned>(
        mut self,
        mut take: impl FnMut(CallRecord),
    ) -> Result<Option<R>, LogError> {
        let path = self.path;
        let format = |reason: String| LogError::Format { path: path.clone(), reason };
        // A killed run leaves half a frame at the end.
        while let Some((kind, content)) = read_frame(&mut self.file).unwrap_or(None) {
            match kind {
                CALLS => {
                    let (records, _) = content.as_chunks::<RECORD_BYTES>();
                    for bytes in records {
                        take(
                            unpack(bytes, &self.codes)
                                .ok_or_else(|| format("a call is damaged".to_owned()))?,
                        );
                    }
                }
                TRAILER => {
                    return serde_json::from_slice(&content)
                        .map(Some)
                        .map_err(|error| format(format!("trailer: {error}")));
                }
                other => return Err(format(format!("unknown frame type {other}"))),
            }
        }
        Ok(None)
    }
}

fn read_frame(file: &mut impl Read) -> io::Result<Option<(u8, Vec<u8>)>> {
    let mut head = [0; 5];
    match file.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let [kind, size @ ..] = head;
    let size = usize::try_from(u32::from_le_bytes(size)).unwrap_or(usize::MAX);
    // The size is read before the content is: a damaged one would ask for 4 GiB.
    if size > MAX_FRAME_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {size} bytes")));
    }
    let mut content = vec![0; size];
    file.read_exact(&mut content)?;
    Ok(Some((kind, content)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::{CallError, CallOutcome};

    fn records() -> Vec<CallRecord> {
        let record = |n: u64| {
            let due = Duration::from_millis(n);
            let outcome = CallOutcome::Failed(CallError::TimedOut);
            CallRecord { request: 0, key: 3, due, sent: due, waited: Duration::ZERO, done: due, outcome }
        };
        (0..100).map(record).collect()
    }

    fn read(path: &Path) -> (String, Vec<CallRecord>, Option<u32>) {
        let reader: LogReader<String> = LogReader::open(path).unwrap();
        let (run, mut calls) = (reader.run.clone(), Vec::new());
        let trailer = reader.read(|record| calls.push(record)).unwrap();
        (run, calls, trailer)
    }

    #[test]
    fn log_is_read_back_and_survives_a_killed_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.bin");
        let mut writer = LogWriter::create(&path, &"the run").unwrap();
        for part in records().chunks(33) {
            writer.write(part).unwrap();
        }
        writer.finish(&7).unwrap();
        assert_eq!(read(&path), ("the run".to_owned(), records(), Some(7)));
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        assert_eq!(read(&path), ("the run".to_owned(), records(), None));
        let error = |content: &[u8]| {
            std::fs::write(&path, content).unwrap();
            LogReader::<String>::open(&path).err().unwrap().to_string()
        };
        for (content, named) in [
            (&b"{\"scenario\": 1}"[..], "does not begin with"),
            (b"", "the file is empty"),
            (&whole[..8], "no header"),
            (&whole[..20], "ends within its header"),
        ] {
            let error = error(content);
            assert!(error.contains("not a raw log") && error.contains(named), "{error}");
        }
    }
}
