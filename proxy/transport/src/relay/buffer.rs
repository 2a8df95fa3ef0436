//! The beginning of a body is buffered before a slot of its tool is taken and a server connected: a client that sends
//! slowly holds up nobody but its own key.

use super::{
    exchange::Broken,
    framing::{self, Framing},
};
use shared::problem::Problem;

use crate::client::ClientStream;

/// Bodies up to this length are complete before a tool is called; of longer ones so much has come.
const BUFFERED: usize = 64 << 10;

/// A look at a body, as far as it has come.
#[derive(Debug)]
struct Scan {
    framing: Framing,
    /// Bytes that were looked at, with those of the framing.
    seen: usize,
    /// Bytes of the body among them.
    length: u64,
}

impl Scan {
    const fn new(body: Framing) -> Self {
        Self { framing: body, seen: 0, length: 0 }
    }

    /// Looks at what has come since. Returns whether the body is complete.
    fn look(&mut self, buffered: &[u8]) -> Result<bool, framing::Broken> {
        loop {
            let part = self.framing.take(buffered.get(self.seen..).unwrap_or_default())?;
            self.seen += part.skip + part.data;
            self.length += part.data as u64;
            if part.data == 0 {
                return Ok(self.framing.is_over());
            }
        }
    }
}

/// Returns true if the body has come with its head and `allows` its length, so that nothing is to be waited for.
pub(super) fn is_complete(body: Framing, buffered: &[u8], allows: impl FnOnce(u64) -> bool) -> bool {
    match body {
        Framing::Length(length) => buffered.len() as u64 >= length,
        Framing::Chunked(_) => {
            let mut scan = Scan::new(body);
            scan.look(buffered) == Ok(true) && allows(scan.length)
        }
        Framing::UntilClose => false,
    }
}

/// Buffers a body until it is complete or longer than what is buffered. `check` refuses what is too long.
///
/// # Errors
/// Returns why it cannot be: then nothing was sent to an upstream.
pub(super) async fn buffer(
    client: &mut ClientStream,
    body: Framing,
    check: impl Fn(u64) -> Result<(), Box<Problem>>,
) -> Result<(), Broken> {
    let mut scan = Scan::new(body);
    client.arm_upload();
    loop {
        let is_complete = scan.look(client.buffered()).map_err(|_| Broken::ClientMalformed)?;
        check(scan.length).map_err(Broken::BodyRefused)?;
        let room = BUFFERED.saturating_sub(client.buffered().len());
        if is_complete || room == 0 {
            return Ok(());
        }
        let missing = match scan.framing {
            Framing::Length(left) => usize::try_from(left).map_or(room, |left| left.min(room)),
            Framing::Chunked(_) | Framing::UntilClose => room,
        };
        match client.buffer_more(missing).await {
            Ok(0) => return Err(Broken::ClientLeft),
            Ok(_) => {}
            Err(_) => return Err(Broken::of(client)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::framing::Chunks;

    const CHUNKED: Framing = Framing::Chunked(Chunks::Size);

    #[test]
    fn body_is_complete_only_when_all_of_it_has_come() {
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
