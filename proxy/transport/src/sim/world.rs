//! A world: what the client and the upstreams do, and how their connections behave. It is drawn
//! from a seed.

use std::time::Duration;

use tokio::time::sleep;

use super::rng::Rng;
use super::wire::{Mood, Splicing};
use crate::hooks::Timeouts;
use crate::limits::ClientOptions;

/// A world.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) protocol: Protocol,
    /// Whether nothing goes wrong: every call must succeed, and soon.
    pub(super) is_fair: bool,
    pub(super) options: ClientOptions,
    pub(super) timeouts: Timeouts,
    /// Whether a call continues when its client leaves.
    pub(super) must_finish: bool,
    /// Number of pipes.
    pub(super) pipes: usize,
    pub(super) client: Client,
    pub(super) client_mood: Mood,
    pub(super) upstream_mood: Mood,
    pub(super) calls: Vec<Call>,
    /// What happens to each connection attempt, in their order. Later ones succeed.
    pub(super) dials: Vec<Dial>,
}

/// The protocol of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    /// With a window of so many bytes for each stream.
    Http2 {
        window: u32,
    },
}

/// The client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Client {
    /// Whether requests are sent before the response to the one before.
    pub(super) is_pipelined: bool,
    pub(super) reads: Pace,
    pub(super) writes: Pace,
    /// The client resets or closes the connection after so many bytes of responses.
    pub(super) leaves_after: Option<(usize, Leave)>,
    /// It does so after so many milliseconds, whatever has come: from its first request on, or over HTTP/2
    /// from each. An upstream is silent meanwhile.
    pub(super) leaves_at: Option<(u64, Leave)>,
}

/// The size of bodies, and of the pieces in which they come. Small pieces of large bodies take long to
/// simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Tiny,
    Small,
    Large,
}

/// How a party ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    Close,
    Reset,
    /// It stays and does nothing any more.
    Silence,
}

/// The speed of a party.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// Maximum number of bytes of one operation.
    pub(super) piece: usize,
    /// Milliseconds after so many bytes.
    pub(super) pause: u64,
    /// It stops after so many bytes.
    pub(super) stops_after: Option<usize>,
}

/// A connection attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dial {
    Connect,
    Refuse,
    Never,
}

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) is_post: bool,
    pub(super) is_http10: bool,
    pub(super) body: Body,
    pub(super) expects_continue: bool,
    pub(super) close: bool,
    /// Length of a header that fills the head.
    pub(super) filler: usize,
    /// Milliseconds that the product waits before it decides, and in a queue.
    pub(super) wait: u64,
    pub(super) queue: u64,
    /// What the product does, if the call is not forwarded.
    pub(super) own: Option<Own>,
    /// What upstreams do with each attempt. The last one is repeated.
    pub(super) replies: Vec<Reply>,
}

/// What the product does with a call that it does not forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// It responds without the body.
    Ignore,
    /// It reads the body first.
    Read { max: usize },
}

/// A body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) length: usize,
    pub(super) framing: BodyFraming,
}

/// The framing of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyFraming {
    None,
    Length,
    /// In chunks of at most so many bytes.
    Chunks {
        size: usize,
        trailers: bool,
    },
    UntilClose,
}

impl Call {
    /// Returns the reply that the client gets if nothing goes wrong: a 503 to the first attempt of a GET is
    /// not passed on.
    pub(super) fn fair_reply(&self) -> &Reply {
        self.replies.iter().find(|reply| reply.status != 503).unwrap_or(&self.replies[0])
    }
}

/// What an upstream does with a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply {
    pub(super) reads: Pace,
    /// It responds when it has read so many bytes of the body.
    pub(super) early: Option<usize>,
    /// Milliseconds before it responds.
    pub(super) delay: u64,
    pub(super) status: u16,
    pub(super) is_http10: bool,
    pub(super) informational: bool,
    pub(super) body: Body,
    pub(super) writes: Pace,
    /// It leaves after so many bytes of the response, its head included.
    pub(super) leaves_after: Option<(usize, Leave)>,
    /// It sends bytes after the response.
    pub(super) has_extra: bool,
    /// It states that it closes the connection.
    pub(super) close: bool,
    /// Whether it closes the connection after the response, without saying so.
    pub(super) closes_silently: bool,
}

impl Mood {
    fn with_capacity_of_at_most(self, bytes: usize) -> Self {
        Self { capacity: self.capacity.min(bytes), ..self }
    }
}

impl Pace {
    /// As fast as the connection allows.
    pub(super) const FAST: Self = Self { piece: 1 << 20, pause: 0, stops_after: None };

    /// Pauses if a piece was read since the last pause. `read` is the number of bytes so far.
    pub(super) async fn wait(&self, read: usize, paused_at: &mut usize) {
        // They come in pieces of any length.
        if self.pause > 0 && read >= *paused_at + self.piece {
            *paused_at = read;
            sleep(Duration::from_millis(self.pause)).await;
        }
    }
}

impl World {
    /// Returns the world of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let is_fair = rng.chance(55);
        let protocol = match rng.chance(20) {
            true => Protocol::Http2 { window: rng.pick(&[1_000, 65_535, 200_000]) },
            false => Protocol::Http1,
        };
        let count = rng.pick(&[1, 1, 2, 3, 4]);
        let scale = rng.pick(&[Scale::Tiny, Scale::Tiny, Scale::Small, Scale::Large, Scale::Large]);
        let mut calls: Vec<_> =
            (0..count).map(|at| call(&mut rng, protocol, is_fair, scale, at + 1 == count)).collect();
        if is_fair && calls.iter().any(|call| call.is_post) {
            // A POST that meets a connection which is just being closed fails.
            calls
                .iter_mut()
                .flat_map(|call| &mut call.replies)
                .for_each(|reply| reply.closes_silently = false);
        }
        let min_rate = rng.pick(&[0, 1_024, 1_024]);
        let mut world = Self {
            protocol,
            is_fair,
            options: ClientOptions {
                header_timeout: Duration::from_secs(20),
                idle_timeout: IDLE_TIMEOUT,
                min_upload_rate: min_rate,
                min_download_rate: min_rate,
                requests_per_connection: 100,
                streams_per_connection: 100,
                h2c: protocol != Protocol::Http1,
                max_body: 10 << 20,
            },
            timeouts: Timeouts {
                response: RESPONSE_TIMEOUT,
                attempt: (!is_fair && rng.chance(30)).then_some(Duration::from_secs(5)),
                pause: rng.pick(&[PAUSE_TIMEOUT / 3, PAUSE_TIMEOUT]),
            },
            must_finish: false,
            pipes: rng.pick(&[0, 1, 2, 8, 8, 8]),
            client: Client {
                is_pipelined: rng.chance(50),
                // A client of HTTP/2 says only after half of its window that it has taken anything, and one
                // stream takes the connection's window from the others.
                reads: match client_pace(&mut rng, is_fair, scale, &[(3_000, 2_000), (40_000, 30_000)]) {
                    Pace { pause: 2_000.., .. } if protocol != Protocol::Http1 => Pace::FAST,
                    pace => pace,
                },
                // A flood of small frames closes a connection of HTTP/2.
                writes: match client_pace(&mut rng, is_fair, scale, &[(3_000, 2_000)]) {
                    Pace { piece: ..300, .. } if protocol != Protocol::Http1 => Pace::FAST,
                    pace => pace,
                },
                leaves_after: (!is_fair && rng.chance(20))
                    .then(|| (length(&mut rng, scale), leave(&mut rng))),
                leaves_at: None,
            },
            // More would take a slow client longer than the proxy waits for its next request.
            client_mood: mood(&mut rng, scale).with_capacity_of_at_most(32 << 10),
            upstream_mood: mood(&mut rng, scale),
            calls,
            dials: if is_fair { Vec::new() } else { (0..4).map(|_| dial(&mut rng)).collect() },
        };
        if !is_fair && rng.chance(20) {
            world.add_early_leave(&mut rng);
        }
        world
    }

    /// Lets the client leave while its upstreams are silent.
    fn add_early_leave(&mut self, rng: &mut Rng) {
        let leave = rng.pick(&[Leave::Close, Leave::Reset]);
        self.client.leaves_after = None;
        self.client.leaves_at = Some((rng.pick(&[0, 1, 50, 1_000, 5_000]), leave));
        self.must_finish = rng.chance(15);
        let replies = self.calls.iter_mut().flat_map(|call| &mut call.replies);
        replies.for_each(|reply| reply.delay = 30_000);
        if rng.chance(30) {
            // The beginning of a body waits in the proxy.
            let replies = self.calls.iter_mut().flat_map(|call| &mut call.replies);
            replies.for_each(|reply| reply.reads.stops_after = Some(0));
        }
    }
}

pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
pub(super) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(35);
pub(super) const PAUSE_TIMEOUT: Duration = Duration::from_secs(60);

fn call(rng: &mut Rng, protocol: Protocol, is_fair: bool, scale: Scale, is_last: bool) -> Call {
    let is_post = rng.chance(50);
    // A GET with a body is sent again with it. Over HTTP/2 the client of this simulator sends none.
    let has_body = is_post || (protocol == Protocol::Http1 && rng.chance(20));
    let body = if has_body {
        let framing = match rng.range(0, 3) {
            0 => BodyFraming::Chunks { size: rng.pick(&[1_000, 20_000, 200_000]), trailers: rng.chance(20) },
            _ => BodyFraming::Length,
        };
        Body { length: length(rng, scale), framing }
    } else {
        Body { length: 0, framing: BodyFraming::None }
    };
    let is_http10 = is_last && rng.chance(8) && !matches!(body.framing, BodyFraming::Chunks { .. });
    let own = rng.chance(8).then(|| rng.pick(&[Own::Ignore, Own::Read { max: 100_000 }]));
    let attempts = if is_fair { 1 } else { 3 };
    let mut replies: Vec<_> = (0..attempts).map(|_| reply(rng, is_fair, scale, body.length)).collect();
    // A retry with the body that was sent before. A longer one is not kept.
    if is_fair && !is_post && scale != Scale::Large && rng.chance(30) {
        let refused = Reply { status: 503, early: None, ..reply(rng, is_fair, scale, body.length) };
        replies.insert(0, refused);
    }
    Call {
        is_post,
        is_http10,
        body,
        expects_continue: is_post && !is_http10 && rng.chance(10),
        close: is_last && rng.chance(20),
        filler: if scale == Scale::Tiny { rng.pick(&[0, 0, 10, 100]) } else { rng.pick(&[0, 1_000, 9_000]) },
        wait: if rng.chance(10) { rng.pick(&[1, 100]) } else { 0 },
        queue: if rng.chance(10) { rng.pick(&[1, 100]) } else { 0 },
        own,
        replies,
    }
}

fn reply(rng: &mut Rng, is_fair: bool, scale: Scale, sent: usize) -> Reply {
    let framing = match rng.range(0, 8) {
        0 | 1 => {
            BodyFraming::Chunks { size: rng.pick(&[1, 1_000, 20_000, 200_000]), trailers: rng.chance(30) }
        }
        2 => BodyFraming::UntilClose,
        _ => BodyFraming::Length,
    };
    let status = if rng.chance(80) { 200 } else { rng.pick(&[201, 204, 304, 404]) };
    let status = if !is_fair && rng.chance(10) { 503 } else { status };
    let body = match status {
        204 | 304 => Body { length: 0, framing: BodyFraming::None },
        _ => Body { length: length(rng, scale), framing },
    };
    // Chunks of one byte are for small bodies.
    let body = match body.framing {
        BodyFraming::Chunks { size: 1, trailers } if body.length > 2_000 => {
            Body { framing: BodyFraming::Chunks { size: 5_000, trailers }, ..body }
        }
        _ => body,
    };
    Reply {
        reads: pace(rng, is_fair, scale),
        early: rng.chance(10).then(|| rng.range(0, sent + 1)),
        delay: if rng.chance(20) { rng.pick(&[1, 50, 2_000]) } else { 0 },
        status,
        is_http10: rng.chance(5) && !matches!(body.framing, BodyFraming::Chunks { .. }),
        informational: rng.chance(10),
        body,
        writes: pace(rng, is_fair, scale),
        leaves_after: (!is_fair && rng.chance(35)).then(|| {
            let at = if rng.chance(40) { rng.range(0, 200) } else { length(rng, scale) };
            (at, leave(rng))
        }),
        // After a body that ends with the connection, they are a part of it.
        has_extra: !is_fair && body.framing != BodyFraming::UntilClose && rng.chance(15),
        close: rng.chance(10),
        closes_silently: rng.chance(10),
    }
}

/// Returns a length near one of the thresholds.
fn length(rng: &mut Rng, scale: Scale) -> usize {
    let base = match scale {
        Scale::Tiny => rng.pick(&[0, 1, 10, 100, 1_000]),
        Scale::Small => rng.pick(&[1_000, 4 << 10, 16 << 10, 20_000]),
        Scale::Large => rng.pick(&[64 << 10, 64 << 10, 65 << 10, 100_000, 128 << 10, 200_000, 300_000]),
    };
    (base + rng.range(0, 3)).saturating_sub(1)
}

/// Returns the pace of a client, some of which are hardly faster than the minimum rate for minutes.
fn client_pace(rng: &mut Rng, is_fair: bool, scale: Scale, slow: &[(usize, u64)]) -> Pace {
    if scale == Scale::Large && rng.chance(15) {
        // Some pause for longer than an upstream may.
        let (piece, pause) = rng.pick(slow);
        return Pace { piece, pause, stops_after: None };
    }
    pace(rng, is_fair, scale)
}

fn pace(rng: &mut Rng, is_fair: bool, scale: Scale) -> Pace {
    if rng.chance(50) {
        return Pace::FAST;
    }
    let (piece, pause) = match scale {
        Scale::Tiny => (rng.pick(&[1, 10, 100]), rng.pick(&[0, 1])),
        // The last one is hardly faster than the minimum rate.
        Scale::Small => rng.pick(&[(300, 0), (300, 10), (3_000, 1), (3_000, 2_000)]),
        Scale::Large => rng.pick(&[(3_000, 1), (20_000, 0), (20_000, 10), (65_536, 100)]),
    };
    Pace { piece, pause, stops_after: (!is_fair && rng.chance(15)).then(|| length(rng, scale)) }
}

fn mood(rng: &mut Rng, scale: Scale) -> Mood {
    let is_tls = rng.chance(25);
    let (piece, capacity) = match scale {
        Scale::Tiny => (rng.pick(&[1, 7, 50, 1 << 20]), rng.pick(&[10, 100, 64 << 10])),
        Scale::Small => (rng.pick(&[300, 3_000, 1 << 20]), rng.pick(&[1_000, 4 << 10, 64 << 10])),
        Scale::Large => {
            (rng.pick(&[5_000, 64 << 10, 1 << 20]), rng.pick(&[5_000, 64 << 10, 64 << 10, 200_000]))
        }
    };
    Mood {
        stall: rng.pick(&[0, 0, 5, 30]),
        piece,
        capacity,
        held: if is_tls { 16 << 10 } else { 0 },
        splice: match rng.range(0, 10) {
            _ if is_tls => Splicing::None,
            0 => Splicing::RefusedAfter(0),
            1 => Splicing::RefusedAfter(rng.range(1, 12)),
            _ => Splicing::Allowed,
        },
    }
}

fn leave(rng: &mut Rng) -> Leave {
    rng.pick(&[Leave::Close, Leave::Reset, Leave::Silence])
}

fn dial(rng: &mut Rng) -> Dial {
    match rng.range(0, 20) {
        0 => Dial::Refuse,
        1 => Dial::Never,
        _ => Dial::Connect,
    }
}
