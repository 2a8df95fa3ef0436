#![no_main]

#[path = "../../proxy/transport/src/framing.rs"]
#[allow(dead_code, reason = "the transport has more uses for it")]
mod framing;
#[path = "../../proxy/transport/src/request_head.rs"]
#[allow(dead_code, unreachable_pub, reason = "the transport has more uses for it")]
mod request_head;

use framing::{ChunkState, Framing, Part};
use libfuzzer_sys::fuzz_target;

/// The result of decoding the bytes of a chunked body.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Decoded {
    /// The body, and the number of bytes that it had with its framing.
    Whole(Vec<u8>, usize),
    NeedsMore,
    Malformed,
}
use Decoded::{Malformed, NeedsMore, Whole};

fuzz_target!(|input: (u8, &[u8])| check(input.0, input.1));

/// Oracle: [`decoded`], written from RFC 9112, section 7.1, and the same body in one piece. In pieces of
/// any size, both find the same body and the same end.
///
/// An error may be found before a line is complete, and a line may be too long for us.
fn check(piece: u8, sent: &[u8]) {
    let (ours, theirs) = (taken(sent, usize::from(piece).max(1)), decoded(sent));
    let long = sent.split(|b| *b == b'\n').any(|line| line.len() > 256);
    let agreed = match (&ours, &theirs) {
        (Malformed, NeedsMore) => true,
        (Malformed, Whole(..)) => long,
        (ours, theirs) => ours == theirs,
    };
    assert!(agreed, "{:?}: ours {ours:?}, theirs {theirs:?}", sent.escape_ascii().to_string());
    let whole = taken(sent, sent.len().max(1));
    assert!(
        whole == ours || long,
        "{:?}: {whole:?} in one piece, {ours:?} in pieces",
        sent.escape_ascii().to_string()
    );
}

/// Decodes with [`Framing`], in pieces of so many bytes.
fn taken(sent: &[u8], piece: usize) -> Decoded {
    let mut framing = Framing::Chunked(ChunkState::Size);
    let (mut held, mut body, mut used) = (Vec::new(), Vec::new(), 0);
    for bytes in sent.chunks(piece) {
        held.extend_from_slice(bytes);
        loop {
            let Ok(Part { skip, data }) = framing.take(&held) else { return Malformed };
            body.extend_from_slice(&held[skip..skip + data]);
            held.drain(..skip + data);
            used += skip + data;
            if framing.is_over() {
                return Whole(body, used);
            }
            if data == 0 {
                break;
            }
        }
    }
    NeedsMore
}

/// Decodes as the RFC says it, with strict line ends.
fn decoded(sent: &[u8]) -> Decoded {
    let (mut rest, mut body) = (sent, Vec::new());
    loop {
        let line = match line(&mut rest) {
            Ok(line) => line,
            Err(other) => return other,
        };
        let Some(size) = size(line) else { return Malformed };
        if size == 0 {
            break;
        }
        let Some((data, after)) = usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size))
        else {
            return NeedsMore;
        };
        body.extend_from_slice(data);
        rest = after;
        match line_after_data(&mut rest) {
            Ok(()) => {}
            Err(other) => return other,
        }
    }
    loop {
        match line(&mut rest) {
            Ok([]) => return Whole(body, sent.len() - rest.len()),
            Ok(trailer) if is_field(trailer) => {}
            Ok(_) => return Malformed,
            Err(other) => return other,
        }
    }
}

fn line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Decoded> {
    let end = rest.iter().position(|b| matches!(b, b'\r' | b'\n')).ok_or(NeedsMore)?;
    match (rest[end], rest.get(end + 1)) {
        (b'\r', Some(b'\n')) => {
            let line = &rest[..end];
            *rest = &rest[end + 2..];
            Ok(line)
        }
        (b'\r', None) => Err(NeedsMore),
        _ => Err(Malformed),
    }
}

fn line_after_data(rest: &mut &[u8]) -> Result<(), Decoded> {
    if line(rest)?.is_empty() { Ok(()) } else { Err(Malformed) }
}

/// `chunk-size [ chunk-ext ]`, where an extension has spaces and tabs before its semicolon, and no
/// control character.
fn size(line: &[u8]) -> Option<u64> {
    let text: String = line.iter().map(|&b| char::from(b)).collect();
    let digits = text.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    let (digits, extension) = text.split_at(text.len() - digits.len());
    let extension = extension.trim_start_matches([' ', '\t']);
    let sound = extension.is_empty() || extension.starts_with(';');
    let plain = extension.chars().all(|c| c == '\t' || !c.is_ascii_control());
    (sound && plain && digits.len() <= 16).then(|| u64::from_str_radix(digits, 16).ok())?
}

/// `field-name ":" OWS field-value OWS`
fn is_field(line: &[u8]) -> bool {
    let Some(colon) = line.iter().position(|b| *b == b':') else { return false };
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    colon > 0
        && line[..colon].iter().all(is_token)
        && line[colon..].iter().all(|b| *b == b'\t' || !b.is_ascii_control())
}
