//! Buffers the beginning of a body before an upstream is chosen, so that a slow client holds no
//! slot of a tool.
//!
//! Why: docs/decisions/proxy.md, "Bodies up to 64 KiB are buffered before a call takes a slot".

use shared::problem::Problem;

use super::exchange::ExchangeError;
use super::outcome::Outcome;
use super::request::RequestFraming;
use super::respond::refuse;
use super::retry;
use crate::client::ClientStream;
use crate::clock;
use crate::framing::{Framing, FramingError};
use crate::hooks::Phases;
use crate::record::Record;

/// Maximum number of bytes that are buffered before an upstream is chosen.
const MAX_BUFFERED: usize = 64 << 10;

/// A scan of a body that is still arriving.
#[derive(Debug)]
struct Scan {
    framing: Framing,
    /// The number of bytes that were scanned, including framing.
    scanned: usize,
    /// The number of bytes of the body among them.
    length: u64,
}

impl Scan {
    const fn new(body: Framing) -> Self {
        Self { framing: body, scanned: 0, length: 0 }
    }

    /// Scans the bytes that have arrived since. Returns true if the body is complete.
    fn advance(&mut self, buffered: &[u8]) -> Result<bool, FramingError> {
        loop {
            let part = self.framing.take(buffered.get(self.scanned..).unwrap_or_default())?;
            self.scanned += part.skip + part.data;
            self.length += part.data as u64;
            if part.data == 0 {
                return Ok(self.framing.is_over());
            }
        }
    }
}

/// Returns true if the whole body was read with its head, and its length is allowed.
pub(super) fn is_complete(body: Framing, buffered: &[u8], allows: impl FnOnce(u64) -> bool) -> bool {
    match body {
        Framing::Length(length) => buffered.len() as u64 >= length,
        Framing::Chunked(_) => {
            let mut scan = Scan::new(body);
            scan.advance(buffered) == Ok(true) && allows(scan.length)
        }
        Framing::UntilClose | Framing::Stream { .. } => false,
    }
}

/// Buffers a body until it is complete or the buffer is full. `check` refuses a body that is too
/// long.
///
/// # Errors
/// Returns an error if the body is refused or cut off. Nothing was sent to an upstream then.
async fn buffer(
    client: &mut ClientStream,
    body: Framing,
    check: impl Fn(u64) -> Result<(), Box<Problem>>,
) -> Result<(), ExchangeError> {
    let mut scan = Scan::new(body);
    client.arm_upload();
    loop {
        let is_complete = scan.advance(client.buffered()).map_err(|_| ExchangeError::ClientMalformed)?;
        // The line with its size refuses a chunk before its bytes are received.
        check(scan.length.saturating_add(scan.framing.announced())).map_err(ExchangeError::BodyRefused)?;
        let room = MAX_BUFFERED.saturating_sub(client.buffered().len());
        if is_complete || room == 0 {
            return Ok(());
        }
        let missing = match scan.framing {
            Framing::Length(left) => usize::try_from(left).map_or(room, |left| left.min(room)),
            // The end of a chunked body is not known, so bytes of the next request may come along.
            // They stay buffered.
            Framing::Chunked(_) | Framing::UntilClose | Framing::Stream { .. } => room,
        };
        match client.buffer_more(missing).await {
            Ok(0) if scan.framing.end() => return Ok(()),
            Ok(0) => return Err(ExchangeError::ClientClosed),
            Ok(_) => {}
            Err(_) => return Err(ExchangeError::of_client(client)),
        }
    }
}

/// Buffers the body of a call before an upstream is chosen. Sends `100 Continue` first if the
/// client expects it, because `Expect` is not forwarded.
///
/// # Errors
/// Returns the outcome of a call that was refused, or whose client has disconnected.
pub(crate) async fn await_body<P: Phases>(
    phases: &P,
    client: &mut ClientStream,
    call: &P::Call,
    record: &mut Record<P::Log>,
    request: RequestFraming,
) -> Result<(), Outcome> {
    let started_at = clock::instant();
    if request.expects_continue && !request.is_http10 && client.send_continue().await.is_err() {
        return Err(Outcome::client_closed());
    }
    let check = |length| phases.request_body_filter(call, length);
    let buffered = buffer(client, request.body, check).await;
    record.buffering = clock::instant().duration_since(started_at);
    let Err(error) = buffered else { return Ok(()) };
    error.record(phases);
    match retry::client_problem(client, error) {
        Some(problem) => {
            let request = request.continued().after_read(false);
            Err(refuse(phases, client, call, record, &problem, request).await)
        }
        None => {
            // An upload that was cut off is distinguished from a client that left while it waited. Only bytes of
            // the body count: the buffer has sizes of chunks too, and perhaps the next request.
            let mut scan = Scan::new(request.body);
            if scan.advance(client.buffered()).is_ok() {
                record.received = scan.length;
            }
            Err(Outcome::client_closed())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::ChunkState;

    const CHUNKED: Framing = Framing::Chunked(ChunkState::Size);

    #[test]
    fn body_is_complete_only_if_all_of_it_was_read() {
        for (body, buffered, complete) in [
            (Framing::NONE, &b""[..], true),
            (Framing::Length(3), b"ab", false),
            (Framing::Length(3), b"abc", true),
            (Framing::Length(3), b"abcGET /", true),
            (CHUNKED, b"", false),
            (CHUNKED, b"3\r\nabc\r\n", false),
            (CHUNKED, b"3\r\nabc\r\n0\r\n\r\n", true),
            (CHUNKED, b"4\r\nabcd\r\n0\r\n\r\n", false),
            (CHUNKED, b"3\r\nabcd\r\n0\r\n\r\n", false),
        ] {
            assert_eq!(is_complete(body, buffered, |length| length <= 3), complete, "{body:?} {buffered:?}");
        }
    }
}
