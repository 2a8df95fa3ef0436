//! A parser of responses as a client reads them. It shares no code with the proxy.

use memchr::memmem;

/// A response.
#[derive(Clone, Debug, Default)]
pub(super) struct Got {
    pub(super) status: u16,
    /// The number of its call.
    pub(super) id: Option<usize>,
    /// The number of the upstream's reply, or `None` if it is the product's own.
    pub(super) reply: Option<usize>,
    pub(super) body: Vec<u8>,
    pub(super) is_complete: bool,
    /// Whether the connection is closed after it.
    pub(super) close: bool,
    /// Whether only the end of the connection ends it.
    pub(super) until_close: bool,
}

/// A parser of the responses of one connection.
#[derive(Debug, Default)]
pub(super) struct Parser {
    bytes: Vec<u8>,
    at: usize,
    rest: Rest,
    pub(super) responses: Vec<Got>,
    /// Number of informational responses.
    pub(super) informational: usize,
}

/// The next part of a response.
#[derive(Debug, Default, PartialEq, Eq)]
enum Rest {
    #[default]
    Head,
    Length(usize),
    ChunkSize,
    Chunk(usize),
    ChunkEnd,
    Trailers,
    UntilClose,
}

impl Parser {
    /// Returns the number of complete responses.
    pub(super) fn complete(&self) -> usize {
        self.responses.iter().filter(|got| got.is_complete).count()
    }

    /// Parses the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.bytes.extend_from_slice(bytes);
        while self.step()? {}
        self.bytes.drain(..self.at);
        self.at = 0;
        Ok(())
    }

    /// Ends the connection.
    pub(super) fn end(&mut self) {
        if self.rest == Rest::UntilClose {
            self.complete_response();
        }
    }

    fn complete_response(&mut self) {
        self.rest = Rest::Head;
        self.responses.last_mut().unwrap().is_complete = true;
    }

    /// Parses one part. Returns false if more bytes are needed.
    fn step(&mut self) -> Result<bool, String> {
        let left = &self.bytes[self.at..];
        match self.rest {
            Rest::Head => {
                let Some(end) = memmem::find(left, b"\r\n\r\n") else { return Ok(false) };
                let head = String::from_utf8_lossy(&left[..end]).into_owned();
                self.at += end + 4;
                self.read_head(&head)?;
            }
            Rest::Length(0) => self.complete_response(),
            Rest::Length(length) | Rest::Chunk(length) => {
                let now = left.len().min(length);
                if now == 0 {
                    return Ok(false);
                }
                self.responses.last_mut().unwrap().body.extend_from_slice(&left[..now]);
                self.at += now;
                self.rest = match self.rest {
                    Rest::Length(_) => Rest::Length(length - now),
                    _ if now == length => Rest::ChunkEnd,
                    _ => Rest::Chunk(length - now),
                };
            }
            Rest::UntilClose => {
                let now = left.len();
                if now == 0 {
                    return Ok(false);
                }
                self.responses.last_mut().unwrap().body.extend_from_slice(left);
                self.at += now;
            }
            Rest::ChunkSize | Rest::ChunkEnd | Rest::Trailers => {
                let Some(end) = memmem::find(left, b"\r\n") else { return Ok(false) };
                let line = String::from_utf8_lossy(&left[..end]).into_owned();
                self.at += end + 2;
                match self.rest {
                    Rest::ChunkEnd if line.is_empty() => self.rest = Rest::ChunkSize,
                    Rest::Trailers if line.is_empty() => self.complete_response(),
                    Rest::ChunkSize => {
                        let size = usize::from_str_radix(&line, 16);
                        let size = size.map_err(|_| format!("the size of a chunk is {line:?}"))?;
                        self.rest = if size == 0 { Rest::Trailers } else { Rest::Chunk(size) };
                    }
                    _ => return Err(format!("a chunk ends with {line:?}")),
                }
            }
        }
        Ok(true)
    }

    fn read_head(&mut self, head: &str) -> Result<(), String> {
        let mut lines = head.split("\r\n");
        let first = lines.next().unwrap();
        let status = first.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
        let status: u16 = status.ok_or_else(|| format!("a response begins with {first:?}"))?;
        if status < 200 {
            self.informational += 1;
            return Ok(());
        }
        let mut got = Got { status, ..Got::default() };
        let (mut length, mut is_chunked) = (None, false);
        for line in lines {
            let (name, value) = line.split_once(": ").ok_or_else(|| format!("a header is {line:?}"))?;
            match name.to_ascii_lowercase().as_str() {
                "x-id" => got.id = value.parse().ok(),
                "x-reply" => got.reply = value.parse().ok(),
                "content-length" => length = Some(value.parse().unwrap()),
                "transfer-encoding" => is_chunked = true,
                "connection" => got.close = value == "close",
                _ => {}
            }
        }
        self.rest = match (status, length, is_chunked) {
            (204 | 304, ..) => Rest::Length(0),
            (_, None, true) => Rest::ChunkSize,
            (_, Some(length), false) => Rest::Length(length),
            (_, None, false) => Rest::UntilClose,
            (_, Some(_), true) => return Err("a response has two framings".to_owned()),
        };
        got.until_close = self.rest == Rest::UntilClose;
        self.responses.push(got);
        Ok(())
    }
}
