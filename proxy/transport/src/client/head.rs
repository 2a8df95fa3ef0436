//! Reads the head of a request within its limits of time and size. Bytes that cannot become a
//! request are refused immediately.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use memchr::memchr_iter;
use memchr::memmem::Finder;
use once_cell::sync::Lazy;
use shared::problem::{Problem, codes};
use shared::request::MAX_HEADER_BYTES;
use shared::route::MAX_TARGET;

use super::ClientStream;
use crate::http2::PREFACE;
use crate::idle_clients::IdleClients;
use crate::limits::Limit;

/// The outcome of reading the head of a request.
#[derive(Debug)]
pub(crate) enum HeadRead {
    /// The head is complete.
    Complete,
    /// The client sent the preface of HTTP/2, which is allowed. It stays buffered.
    Http2,
    /// The bytes are not a request. The connection ends with this problem.
    Refused(Box<Problem>),
    /// The client sent nothing for longer than this limit.
    TimedOut(Limit),
    /// The client has closed the connection, or another one needs its file descriptor.
    Closed,
}

/// The end of a head.
static END: Lazy<Finder<'static>> = Lazy::new(|| Finder::new(b"\r\n\r\n"));
/// Maximum length of the request line and the header lines.
const MAX_HEAD: usize = MAX_TARGET + MAX_HEADER_BYTES + 128;

impl ClientStream {
    /// Reads the head of the next request. Until its first byte arrives, the connection holds no
    /// buffer, and is one of `idle_clients` if it has carried a request before.
    pub(crate) async fn read_head(&mut self, idle_clients: &IdleClients) -> HeadRead {
        self.drop_request();
        // A request that has started to arrive has the time of a head.
        let mut has_begun = !self.buffer.is_empty();
        let is_idle = self.is_reused && !has_begun;
        self.arm(if is_idle { self.options.idle_timeout } else { self.options.header_timeout });
        // The first request of a new connection may be on its way, so only one that has served a
        // request is closed when file descriptors run out.
        let mut waiting = self.is_reused.then(|| idle_clients.wait());
        let read = poll_fn(|context| match self.poll_head(context, &mut has_begun) {
            Poll::Pending if has_begun => {
                // A request that has begun is not idle. Closed for its descriptor, it would be
                // lost.
                waiting = None;
                Poll::Pending
            }
            Poll::Pending => match &mut waiting {
                Some(waiting) => waiting.poll(context).map(|()| HeadRead::Closed),
                None => Poll::Pending,
            },
            read => read,
        })
        .await;
        self.is_reused = true;
        match read {
            // Each of its requests has its own deadline.
            HeadRead::Http2 => self.disarm(),
            _ => self.arm(self.options.idle_timeout),
        }
        read
    }

    /// Returns the limit of the wait for the first byte of a request.
    const fn first_limit(&self) -> Limit {
        if self.is_reused { Limit::IdleTimeout } else { Limit::HeaderTimeout }
    }

    /// Drops the bytes that were replayed. Bytes after them belong to the next request.
    fn drop_request(&mut self) {
        self.buffer.drain(..self.replayed.min(self.buffer.len()));
        if self.buffer.is_empty() {
            // Frees the allocation too: most connections only wait.
            self.buffer = Vec::new();
        }
        self.replayed = 0;
        self.head_length = 0;
    }

    /// Polls for the head. `has_begun` means that a byte of the request has arrived, even of an
    /// empty line before it.
    fn poll_head(&mut self, context: &mut Context<'_>, has_begun: &mut bool) -> Poll<HeadRead> {
        loop {
            if let Some(read) = self.find_head() {
                return Poll::Ready(read);
            }
            match ready!(self.poll_more(context)) {
                Ok(0) | Err(_) if *has_begun && self.timeout().is_some() => {
                    let problem =
                        Problem::new(codes::REQUEST_TIMEOUT, "the headers were not complete in time");
                    return Poll::Ready(HeadRead::Refused(Box::new(problem)));
                }
                // No 408 without a begun request: a client that sends one just now would take it
                // for the response to that request.
                Ok(0) | Err(_) if self.timeout().is_some() => {
                    return Poll::Ready(HeadRead::TimedOut(self.first_limit()));
                }
                Ok(0) | Err(_) => return Poll::Ready(HeadRead::Closed),
                // Armed by the first byte alone. Renewed by empty lines, as it once was, the time
                // for a head never ended.
                Ok(_) if !std::mem::replace(has_begun, true) => self.arm(self.options.header_timeout),
                Ok(_) => {}
            }
        }
    }

    /// Looks for a head in the buffer. Returns `None` if more bytes are needed.
    fn find_head(&mut self) -> Option<HeadRead> {
        // Empty lines before a request are ignored (RFC 9112, section 2.2).
        while self.buffer.starts_with(b"\r\n") {
            self.buffer.drain(..2);
        }
        // Only the first bytes of a connection can be the preface (RFC 9113, section 3.4).
        if self.options.h2c && !self.is_reused && may_be_preface(&self.buffer) {
            return (self.buffer.len() >= PREFACE.len()).then_some(HeadRead::Http2);
        }
        let refused = |problem| Some(HeadRead::Refused(Box::new(problem)));
        match END.find(&self.buffer) {
            Some(end) => {
                self.head_length = end + 4;
                Some(HeadRead::Complete)
            }
            None if self.buffer.len() > MAX_HEAD => refused(Problem::new(
                codes::HEADERS_TOO_LARGE,
                format!("the headers are larger than the limit of {MAX_HEADER_BYTES} bytes"),
            )),
            // A TLS handshake on a plain port, for example, has no end of a head. Waited for, it
            // would hold the connection until the timeout.
            None if is_malformed(&self.buffer) => {
                refused(Problem::new(codes::HEADER_MALFORMED, "the bytes are not an HTTP/1.1 request"))
            }
            None => None,
        }
    }
}

/// Returns true if these bytes begin with the preface of HTTP/2, or it can begin with them.
fn may_be_preface(bytes: &[u8]) -> bool {
    bytes.starts_with(PREFACE) || (PREFACE.starts_with(bytes) && !bytes.is_empty())
}

/// Returns true if these bytes cannot begin a request: the first is not a letter, or there is a
/// bare line feed.
fn is_malformed(bytes: &[u8]) -> bool {
    let bare = |at: usize| at.checked_sub(1).and_then(|before| bytes.get(before)) != Some(&b'\r');
    bytes.first().is_some_and(|first| !first.is_ascii_alphabetic() && *first != b'\r')
        || memchr_iter(b'\n', bytes).any(bare)
}

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::Instant;

    use shared::problem::Code;

    use super::*;
    use crate::clock::Monotonic;
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
        match stream.read_head(&IdleClients::default()).await {
            HeadRead::Refused(problem) => problem.code(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn head_in_pieces_is_replayed_with_the_body() {
        let (mut client, mut stream) = connected();
        let sent = b"\r\nPOST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
        let writer = tokio::spawn(async move {
            for byte in sent {
                client.write_all(&[*byte]).await.unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            client
        });
        assert!(matches!(stream.read_head(&IdleClients::default()).await, HeadRead::Complete));
        assert_eq!(stream.head_length, sent.len() - 5);
        let mut read = vec![0; sent.len() - 2];
        stream.read_exact(&mut read).await.unwrap();
        assert_eq!(read, sent[2..]);
        drop(writer.await);
        assert!(matches!(stream.read_head(&IdleClients::default()).await, HeadRead::Closed));
    }

    #[tokio::test(start_paused = true)]
    async fn dripping_head_and_idle_connection_time_out() {
        let (mut client, mut stream) = connected();
        let begun = Instant::now();
        let writer = tokio::spawn(async move {
            client.write_all(b"GET / HTTP/1.1\r\nA: ").await.unwrap();
            while client.write_all(b"a").await.is_ok() && begun.elapsed() < Duration::from_secs(30) {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        assert_eq!(refusal(&mut stream).await, codes::REQUEST_TIMEOUT);
        assert!((20..22).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        writer.abort();

        let (mut client, mut stream) = connected();
        client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        assert!(matches!(stream.read_head(&IdleClients::default()).await, HeadRead::Complete));
        stream.read_exact(&mut [0; 27]).await.unwrap();
        let begun = Instant::now();
        assert!(matches!(
            stream.read_head(&IdleClients::default()).await,
            HeadRead::TimedOut(Limit::IdleTimeout)
        ));
        assert!((60..62).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    }

    /// Polls a future once. Returns true if it is pending.
    async fn is_pending(mut future: Pin<&mut impl Future>) -> bool {
        poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
    }

    #[tokio::test]
    async fn connection_is_idle_between_two_requests() {
        let idle_clients = IdleClients::default();
        let later = Monotonic::now().plus(Duration::from_secs(10));
        let (_client, mut stream) = connected();
        let mut new = pin!(stream.read_head(&idle_clients));
        assert!(is_pending(new.as_mut()).await);
        assert!(!idle_clients.close_oldest(later));
        let (mut client, mut stream) = connected();
        stream.is_reused = true;
        let mut begun = pin!(stream.read_head(&idle_clients));
        assert!(is_pending(begun.as_mut()).await);
        client.write_all(b"GET").await.unwrap();
        assert!(is_pending(begun.as_mut()).await);
        assert!(!idle_clients.close_oldest(later));
        let (_other, mut stream) = connected();
        stream.is_reused = true;
        let mut idle = pin!(stream.read_head(&idle_clients));
        assert!(is_pending(idle.as_mut()).await);
        assert!(idle_clients.close_oldest(later));
        assert!(matches!(idle.await, HeadRead::Closed));
        assert!(is_pending(begun).await && is_pending(new).await);
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_that_cannot_become_a_request_are_refused_at_once() {
        for sent in [&b"\x16\x03\x01\x02\x00"[..], b"GET / HTTP/1.1\nHost"] {
            let (mut client, mut stream) = connected();
            client.write_all(sent).await.unwrap();
            assert_eq!(refusal(&mut stream).await, codes::HEADER_MALFORMED, "{sent:?}");
        }
        let (mut client, mut stream) = connected();
        client.write_all(b"GET / HTTP/1.1\r\nA: ").await.unwrap();
        client.write_all(&b"a".repeat(MAX_HEAD)).await.unwrap();
        assert_eq!(refusal(&mut stream).await, codes::HEADERS_TOO_LARGE);
    }
}
