//! What a connection's client has sent, until it may be a request: each head is waited for whole and within bounds before
//! anything is done about it, and what cannot be one is told apart as soon as it can be.

use std::task::{Context, Poll, ready};

use memchr::{memchr_iter, memmem::Finder};
use once_cell::sync::Lazy;
use shared::{
    problem::{Code, Problem},
    request::MAX_HEADER_BYTES,
    route::MAX_TARGET,
};

use super::{Awaited, ClientStream};
use crate::{http2::PREFACE, limits::Limit};

/// The outcome of waiting for the head of a request.
#[derive(Debug)]
pub enum RequestHead {
    /// All of what may be a head.
    Complete,
    /// The beginning of HTTP/2, which is allowed: it is played back.
    Http2,
    /// Something else: the connection ends with this problem.
    Refused(Box<Problem>),
    /// The client sent nothing for longer than this limit allows.
    TimedOut(Limit),
    /// The client has closed the connection.
    Closed,
}

/// The end of a head.
static END: Lazy<Finder<'static>> = Lazy::new(|| Finder::new(b"\r\n\r\n"));
/// The request line and the header lines, with their ends.
const MAX_HEAD: usize = MAX_TARGET + MAX_HEADER_BYTES + 128;

impl ClientStream {
    /// Reads the head of the next request. While nothing has come, nothing is held for it.
    pub async fn read_head(&mut self) -> RequestHead {
        self.forget_request();
        // A request of which some has come is waited for like any other that has begun.
        let mut begun = !self.bytes.is_empty();
        let first = if self.used && !begun { self.options.idle_timeout } else { self.options.header_timeout };
        self.wait_for(Awaited::Request, first);
        let arrival = std::future::poll_fn(|context| self.poll_head(context, &mut begun)).await;
        self.used = true;
        match arrival {
            // Its requests have times of their own.
            RequestHead::Http2 => self.deadline.wait_no_more(),
            _ => self.wait_for(Awaited::Request, self.options.idle_timeout),
        }
        arrival
    }

    /// What bounds the wait for the first byte of a request.
    const fn first_limit(&self) -> Limit {
        if self.used { Limit::IdleTimeout } else { Limit::HeaderTimeout }
    }

    /// Drops what was played back; bytes beyond it are the beginning of the next request.
    fn forget_request(&mut self) {
        self.bytes.drain(..self.played.min(self.bytes.len()));
        if self.bytes.is_empty() {
            self.bytes = Vec::new();
        }
        self.played = 0;
        self.head_length = 0;
        self.deadline.forgive();
    }

    /// `begun`: something of the request has come, if only an empty line before it, so that its time runs.
    fn poll_head(&mut self, context: &mut Context<'_>, begun: &mut bool) -> Poll<RequestHead> {
        loop {
            if let Some(arrival) = self.look() {
                return Poll::Ready(arrival);
            }
            match ready!(self.poll_more(context)) {
                Ok(0) | Err(_) if *begun && self.overdue().is_some() => {
                    let problem = Problem::new(Code::RequestTimeout, "the headers were not complete in time");
                    return Poll::Ready(RequestHead::Refused(Box::new(problem)));
                }
                Ok(0) | Err(_) if self.overdue().is_some() => {
                    return Poll::Ready(RequestHead::TimedOut(self.first_limit()));
                }
                Ok(0) | Err(_) => return Poll::Ready(RequestHead::Closed),
                Ok(_) if !std::mem::replace(begun, true) => {
                    self.wait_for(Awaited::Request, self.options.header_timeout);
                }
                Ok(_) => {}
            }
        }
    }

    /// What the bytes so far come to; `None` while the head is not complete.
    fn look(&mut self) -> Option<RequestHead> {
        // An empty line before a request is to be overlooked (RFC 9112 section 2.2).
        while self.bytes.starts_with(b"\r\n") {
            self.bytes.drain(..2);
        }
        if self.options.h2c && !self.used && may_be_preface(&self.bytes) {
            return (self.bytes.len() >= PREFACE.len()).then_some(RequestHead::Http2);
        }
        let refused = |problem| Some(RequestHead::Refused(Box::new(problem)));
        match END.find(&self.bytes) {
            Some(end) => {
                self.head_length = end + 4;
                Some(RequestHead::Complete)
            }
            None if self.bytes.len() > MAX_HEAD => refused(Problem::new(
                Code::HeadersTooLarge,
                format!("the headers have more than {MAX_HEADER_BYTES} bytes"),
            )),
            None if is_no_request(&self.bytes) => {
                refused(Problem::new(Code::HeaderMalformed, "this is no HTTP/1.1 request"))
            }
            None => None,
        }
    }
}

/// Whether these bytes begin HTTP/2, or are the beginning of what does.
fn may_be_preface(bytes: &[u8]) -> bool {
    bytes.starts_with(PREFACE) || (PREFACE.starts_with(bytes) && !bytes.is_empty())
}

/// Whether no more bytes can make a request of these: one that is no letter at the beginning, or a bare line feed.
fn is_no_request(bytes: &[u8]) -> bool {
    let bare = |at: usize| at.checked_sub(1).and_then(|before| bytes.get(before)) != Some(&b'\r');
    bytes.first().is_some_and(|first| !first.is_ascii_alphabetic() && *first != b'\r')
        || memchr_iter(b'\n', bytes).any(bare)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
        time::Instant,
    };

    use super::*;
    use crate::limits::ClientOptions;

    const OPTIONS: ClientOptions = ClientOptions {
        header_timeout: Duration::from_secs(20),
        idle_timeout: Duration::from_secs(60),
        min_upload_rate: 1_024,
        min_download_rate: 1_024,
        requests_per_connection: 1,
        streams_per_connection: 1,
        h2c: false,
        max_body: 1 << 20,
    };

    fn connected() -> (DuplexStream, ClientStream) {
        let (client, server) = duplex(1 << 20);
        (client, ClientStream::new(Box::new(server), false, OPTIONS))
    }

    async fn refusal(stream: &mut ClientStream) -> Code {
        match stream.read_head().await {
            RequestHead::Refused(problem) => problem.code(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_in_pieces_is_played_back_whole_with_what_follows_it() {
        let (mut client, mut stream) = connected();
        let sent = b"\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
        let writer = tokio::spawn(async move {
            for byte in sent {
                client.write_all(&[*byte]).await.unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            client
        });
        assert!(matches!(stream.read_head().await, RequestHead::Complete));
        assert!(stream.head().starts_with(b"POST /a HTTP/1.1\r\n") && stream.head().ends_with(b"3\r\n\r\n"));
        let mut read = vec![0; sent.len() - 2];
        stream.read_exact(&mut read).await.unwrap();
        assert_eq!(read, sent[2..]);
        drop(writer.await);
        assert!(matches!(stream.read_head().await, RequestHead::Closed));
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_twenty_seconds_however_it_drips_and_an_idle_connection_sixty() {
        let (mut client, mut stream) = connected();
        let begun = Instant::now();
        let writer = tokio::spawn(async move {
            client.write_all(b"GET / HTTP/1.1\r\nA: ").await.unwrap();
            while client.write_all(b"a").await.is_ok() && begun.elapsed() < Duration::from_secs(30) {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        assert_eq!(refusal(&mut stream).await, Code::RequestTimeout);
        assert!((20..22).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        writer.abort();

        let (mut client, mut stream) = connected();
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        assert!(matches!(stream.read_head().await, RequestHead::Complete));
        stream.read_exact(&mut [0; 27]).await.unwrap();
        let begun = Instant::now();
        assert!(matches!(stream.read_head().await, RequestHead::TimedOut(Limit::IdleTimeout)));
        assert!((60..62).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn what_cannot_become_a_request_is_refused_without_waiting() {
        for sent in [&b"\x16\x03\x01\x02\x00"[..], b"GET / HTTP/1.1\nHost"] {
            let (mut client, mut stream) = connected();
            client.write_all(sent).await.unwrap();
            assert_eq!(refusal(&mut stream).await, Code::HeaderMalformed, "{sent:?}");
        }
        let (mut client, mut stream) = connected();
        client.write_all(b"GET / HTTP/1.1\r\nA: ").await.unwrap();
        client.write_all(&b"a".repeat(MAX_HEAD)).await.unwrap();
        assert_eq!(refusal(&mut stream).await, Code::HeadersTooLarge);
    }
}
