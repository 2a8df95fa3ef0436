//! File descriptors passed over a Unix socket (`SCM_RIGHTS`).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Maximum number of file descriptors in a message.
const MAX_FDS: usize = 8;
/// Maximum length of a message in bytes.
const MAX_TEXT: usize = 4_096;

/// A closed socket is an error, not a signal. Elsewhere the flag is missing, and Rust's runtime ignores
/// the signal.
#[cfg(target_os = "linux")]
const SEND: SendFlags = SendFlags::NOSIGNAL;
#[cfg(not(target_os = "linux"))]
const SEND: SendFlags = SendFlags::empty();

/// A child process does not inherit what is received. Elsewhere the flag is missing, and the proxy
/// starts no child.
#[cfg(target_os = "linux")]
const RECEIVE: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
const RECEIVE: RecvFlags = RecvFlags::empty();

/// Sends a short text together with file descriptors.
pub(super) fn send(to: impl AsFd, text: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if text.len() > MAX_TEXT || !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let sent = sendmsg(to, &[IoSlice::new(text)], &mut control, SEND)?;
    // The sockets went with the first part and cannot be sent again. The new process refuses half a
    // line.
    if sent < text.len() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(()) }
}

/// Receives one message of [`send`].
pub(super) fn receive(from: impl AsFd) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut text = vec![0; MAX_TEXT];
    let received = recvmsg(from, &mut [IoSliceMut::new(&mut text)], &mut control, RECEIVE)?.bytes;
    text.truncate(received);
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            fds.extend(passed);
        }
    }
    Ok((text, fds))
}
