//! Calls one peer: as fast as it answers, or at a fixed rate.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use async_channel::{Receiver, Sender};
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio::time::sleep;

use crate::message::{Credential, Requests, Shape, content_length, status};

/// What is called, and how.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    pub(crate) address: SocketAddr,
    pub(crate) credential: Credential,
    pub(crate) shape: Shape,
    pub(crate) expected: u16,
    pub(crate) connections: usize,
}

/// What callers share: how many answers came, what was wrong first, and for a fixed rate when calls are due.
#[derive(Default)]
struct Common {
    answered: Cell<u64>,
    fault: RefCell<Option<String>>,
    /// Until then answers may differ: the first call of a limit passes.
    begun: Cell<bool>,
    over: Cell<bool>,
    /// The moments at which calls were due, for whichever connection is free.
    due: Option<Receiver<Instant>>,
    latencies: RefCell<Vec<u32>>,
}

/// One slice of calls.
pub(crate) struct Slice {
    /// Answers within it.
    pub(crate) answered: u64,
    /// How long it was.
    pub(crate) time: Duration,
    /// From when a call was due until its answer was there, in microseconds, sorted; only at a fixed rate.
    pub(crate) latencies: Vec<u32>,
}

const WARM_UP: Duration = Duration::from_millis(150);

impl Calls {
    /// Calls for a slice of time, warm-up apart; `observe` is called when it begins and when it ends, while calls go on.
    /// With a gap, calls are due that far apart whatever the answers do.
    ///
    /// # Errors
    /// The first answer that was not the expected one, or the first connection that failed.
    pub(crate) async fn run(
        &self,
        time: Duration,
        gap: Option<Duration>,
        mut observe: impl AsyncFnMut() -> io::Result<()>,
    ) -> io::Result<Slice> {
        let tasks = LocalSet::new();
        let due = gap.map(|gap| {
            let (sender, receiver) = async_channel::unbounded();
            tasks.spawn_local(pace(gap, sender));
            receiver
        });
        let common = Rc::new(Common { due, ..Common::default() });
        for number in 0..self.connections {
            let (common, calls) = (Rc::clone(&common), self.clone());
            tasks.spawn_local(async move {
                if let Err(error) = calls.connection(&common, number).await {
                    common.fault.borrow_mut().get_or_insert(error.to_string());
                }
            });
        }
        let slice = tasks
            .run_until(async {
                sleep(WARM_UP).await;
                common.begun.set(true);
                observe().await?;
                common.latencies.borrow_mut().clear();
                let (before, begun) = (common.answered.get(), Instant::now());
                sleep(time).await;
                let (answered, time) = (common.answered.get() - before, begun.elapsed());
                let mut latencies = common.latencies.take();
                observe().await?;
                common.over.set(true);
                let _was_open = common.due.as_ref().map(Receiver::close);
                latencies.sort_unstable();
                Ok::<_, io::Error>(Slice { answered, time, latencies })
            })
            .await?;
        tasks.await;
        match common.fault.take() {
            Some(fault) => Err(io::Error::other(fault)),
            None => Ok(slice),
        }
    }

    async fn connection(&self, common: &Common, number: usize) -> io::Result<()> {
        let mut requests =
            Requests::new(self.credential.clone(), self.shape, start() + 1_009 * number as u64);
        let mut connection = Connection::open(self.address).await?;
        let (mut request, mut last) = (Vec::new(), None);
        while !common.over.get() {
            let due = match &common.due {
                None => None,
                Some(due) => match due.recv().await {
                    Ok(due) => Some(due),
                    Err(_closed) => break,
                },
            };
            requests.next(&mut request);
            if last.is_some() && self.shape.close {
                connection = Connection::open(self.address).await?;
            }
            let found = connection.call(&request).await?;
            // A limit lets a few calls pass whenever its minute has moved on.
            let passed = found == 200 && self.expected == 429;
            if found != self.expected && !passed && common.begun.get() {
                return Err(io::Error::other(format!("answered {found}, expected {}", self.expected)));
            }
            common.answered.set(common.answered.get() + 1);
            if let Some(due) = due {
                let micros = due.elapsed().as_micros().try_into().unwrap_or(u32::MAX);
                common.latencies.borrow_mut().push(micros);
            }
            last = Some(found);
        }
        Ok(())
    }
}

/// A number far from those that were given before: no two connections use the same request ids, for a grant is good once.
fn start() -> u64 {
    thread_local! {
        static START: Cell<u64> = const { Cell::new(1) };
    }
    START.with(|start| {
        start.set(start.get() + (1 << 32));
        start.get()
    })
}

/// Says when calls are due, until nobody listens. It spins: a timer of the runtime is a millisecond coarse.
async fn pace(gap: Duration, due: Sender<Instant>) {
    let mut next = Instant::now();
    while !due.is_closed() {
        while next <= Instant::now() {
            if due.try_send(next).is_err() {
                return;
            }
            next += gap;
        }
        tokio::task::yield_now().await;
    }
}

/// Connections that make one call each and are then left idle, until they are dropped.
pub(crate) async fn idle(calls: &Calls, count: usize) -> io::Result<Vec<Connection>> {
    let mut held = Vec::with_capacity(count);
    let mut request = Vec::new();
    let mut requests = Requests::new(calls.credential.clone(), calls.shape, start());
    for _ in 0..count {
        let mut connection = Connection::open(calls.address).await?;
        requests.next(&mut request);
        let found = connection.call(&request).await?;
        if found != calls.expected {
            return Err(io::Error::other(format!("answered {found}, expected {}", calls.expected)));
        }
        held.push(connection);
    }
    Ok(held)
}

/// One call after another, each on a connection of its own that is closed before the next.
pub(crate) async fn one_by_one(calls: &Calls, count: usize) -> io::Result<()> {
    for _ in 0..count {
        drop(idle(calls, 1).await?);
    }
    Ok(())
}

/// One POST with a body of so many bytes.
pub(crate) async fn stream(calls: &Calls, bytes: u64) -> io::Result<()> {
    let piece = vec![b'7'; 64 << 10];
    let mut connection = Connection::open(calls.address).await?;
    let mut head = Vec::new();
    Requests::new(calls.credential.clone(), calls.shape, start()).next_head(bytes, &mut head);
    connection.stream.write_all(&head).await?;
    for _ in 0..bytes / piece.len() as u64 {
        connection.stream.write_all(&piece).await?;
    }
    match connection.call(&[]).await? {
        found if found == calls.expected => Ok(()),
        found => Err(io::Error::other(format!("a body of {bytes} bytes was answered {found}"))),
    }
}

/// A connection to a peer.
pub(crate) struct Connection {
    stream: TcpStream,
    bytes: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, bytes: vec![0; 32 << 10] })
    }

    /// Sends a request and reads its answer; the status.
    async fn call(&mut self, request: &[u8]) -> io::Result<u16> {
        self.stream.write_all(request).await?;
        let mut held = 0;
        let (end, length, status) = loop {
            let read = self.stream.read(self.bytes.get_mut(held..).unwrap_or_default()).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            held += read;
            let come = self.bytes.get(..held).unwrap_or_default();
            if let Some(end) = memmem::find(come, b"\r\n\r\n") {
                let head = come.get(..end).unwrap_or_default();
                break (end + 4, content_length(head).unwrap_or(0), status(head));
            }
        };
        let mut missing = length.saturating_sub(held - end);
        while missing > 0 {
            let read = self.stream.read(&mut self.bytes).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            missing = missing.saturating_sub(read);
        }
        Ok(status)
    }
}
