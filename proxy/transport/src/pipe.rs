//! Pipes, through which the kernel moves a body from one connection to another without copying it.
//! Only Linux can.
//!
//! Why: docs/decisions/proxy.md, "Large bodies are spliced".

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::connection_limit::{Permit, Semaphore};
use crate::thread::{self, THREADS};

/// Maximum number of empty pipes that a thread keeps.
const MAX_KEPT: usize = 16;

/// A pipe, and the number of bytes in it. Dropping it drops the bytes.
#[derive(Debug)]
pub(crate) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    held: usize,
    _permit: Permit,
}

/// A pool of empty pipes, bounded because each pipe is two file descriptors.
#[derive(Debug)]
pub(crate) struct PipePool {
    threads: [Mutex<Vec<Pipe>>; THREADS],
    semaphore: Arc<Semaphore>,
}

impl PipePool {
    /// Returns a pool of at most `limit` pipes, those in use included.
    pub(crate) fn new(limit: usize) -> Self {
        Self { threads: <_>::default(), semaphore: Semaphore::new(limit) }
    }

    /// Returns an empty pipe, or `None` if none is left.
    pub(crate) fn take(&self) -> Option<Pipe> {
        let kept = self.own().and_then(|list| list.lock().pop());
        kept.or_else(|| {
            let permit = self.semaphore.try_acquire()?;
            let (read, write) = open().ok()?;
            Some(Pipe { read, write, held: 0, _permit: permit })
        })
    }

    /// Keeps a pipe for the next body, if it is empty.
    pub(crate) fn keep(&self, pipe: Pipe) {
        if let Some(mut list) = self.own().map(|list| list.lock())
            // Bytes left in a pipe would become part of the next body, which is of another client.
            && pipe.held == 0
            && list.len() < MAX_KEPT
        {
            list.push(pipe);
        }
    }

    fn own(&self) -> Option<&Mutex<Vec<Pipe>>> {
        self.threads.get(thread::own() % THREADS)
    }
}

impl Pipe {
    /// Returns the number of bytes in the pipe.
    pub(crate) const fn held(&self) -> usize {
        self.held
    }

    /// Moves up to `max` bytes from a socket into the pipe, which must be empty: a full one would
    /// look like a socket without bytes. Returns their number, or 0 at the end of the connection.
    pub(crate) fn fill(&mut self, from: impl AsFd, max: u64) -> io::Result<usize> {
        let moved = splice(from, &self.write, usize::try_from(max).unwrap_or(usize::MAX).min(MAX_SPLICE))?;
        self.held += moved;
        Ok(moved)
    }

    /// Moves bytes from the pipe into a socket. Returns their number.
    pub(crate) fn drain(&mut self, to: impl AsFd) -> io::Result<usize> {
        let moved = splice(&self.read, to, self.held)?;
        self.held = self.held.saturating_sub(moved);
        Ok(moved)
    }

    /// Moves all bytes from the pipe into a buffer.
    pub(crate) fn read_to(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        let begin = buffer.len();
        buffer.resize(begin + self.held, 0);
        while let Some(space) = buffer.get_mut(begin..).filter(|_| self.held > 0) {
            let end = space.len().saturating_sub(self.held);
            let read = rustix::io::read(&self.read, space.get_mut(end..).unwrap_or_default())?;
            self.held = self.held.saturating_sub(read);
        }
        Ok(())
    }
}

#[cfg(test)]
impl Pipe {
    /// Moves these bytes into the pipe, as from a socket that is simulated.
    pub(crate) fn hold(&mut self, bytes: &[u8]) {
        let written = rustix::io::write(&self.write, bytes).unwrap();
        assert_eq!(written, bytes.len(), "a pipe of Linux holds 64 KiB");
        self.held += written;
    }

    /// Takes all bytes out of the pipe.
    pub(crate) fn take_all(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.read_to(&mut bytes).unwrap();
        bytes
    }
}

/// Maximum number of bytes of one system call. The pipe takes fewer.
const MAX_SPLICE: usize = 1 << 20;

/// Returns true if an error says that this system, or this kind of socket, cannot be spliced.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let refusals = [Errno::INVAL, Errno::NOSYS, Errno::PERM, Errno::OPNOTSUPP];
    error.raw_os_error().is_some_and(|code| refusals.contains(&Errno::from_raw_os_error(code)))
}

#[cfg(target_os = "linux")]
fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    use rustix::pipe::{PipeFlags, pipe_with};
    Ok(pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?)
}

#[cfg(target_os = "linux")]
fn splice(from: impl AsFd, to: impl AsFd, max: usize) -> io::Result<usize> {
    use rustix::io::retry_on_intr;
    use rustix::pipe::SpliceFlags;
    // Without NONBLOCK, a splice can block on the pipe, and with it every call of this thread.
    let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
    let (from, to) = (from.as_fd(), to.as_fd());
    Ok(retry_on_intr(|| rustix::pipe::splice(from, None, to, None, max, flags))?)
}

#[cfg(not(target_os = "linux"))]
fn open() -> io::Result<(OwnedFd, OwnedFd)> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn splice(_from: impl AsFd, _to: impl AsFd, _max: usize) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn bytes_of_a_pipe_are_moved_or_copied_in_order() {
        let (pool, (mut client, server)) = (PipePool::new(1), UnixStream::pair().unwrap());
        server.set_nonblocking(true).unwrap();
        let mut pipe = pool.take().unwrap();
        assert_eq!(pipe.fill(&server, 5).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        client.write_all(b"abcdefgh").unwrap();
        assert_eq!((pipe.fill(&server, 5).unwrap(), pipe.held()), (5, 5));
        // As after a refusal to move the rest.
        let mut copied = b"before ".to_vec();
        pipe.read_to(&mut copied).unwrap();
        assert_eq!((copied.as_slice(), pipe.held()), (&b"before abcde"[..], 0));
        pipe.fill(&server, 5).unwrap();
        assert_eq!((pipe.drain(&server).unwrap(), pipe.held()), (3, 0));
        let mut moved = [0; 3];
        client.read_exact(&mut moved).unwrap();
        assert_eq!(&moved, b"fgh");
        drop(client);
        assert_eq!(pipe.fill(&server, 5).unwrap(), 0);
    }

    #[test]
    fn pool_bounds_all_pipes_and_keeps_empty_ones() {
        let (pool, (mut client, server)) = (PipePool::new(2), UnixStream::pair().unwrap());
        let (first, mut second) = (pool.take().unwrap(), pool.take().unwrap());
        assert!(pool.take().is_none());
        client.write_all(b"of another body").unwrap();
        second.fill(&server, 100).unwrap();
        pool.keep(second);
        pool.keep(first);
        let [one, two] = [pool.take().unwrap(), pool.take().unwrap()];
        assert_eq!((one.held(), two.held(), pool.take().is_none()), (0, 0, true));
    }

    #[test]
    fn only_what_a_system_does_not_support_is_a_refusal() {
        for (code, refused) in [(22, true), (38, true), (1, true), (95, true), (32, false), (104, false)] {
            assert_eq!(is_refusal(&io::Error::from_raw_os_error(code)), refused, "{code}");
        }
    }
}
