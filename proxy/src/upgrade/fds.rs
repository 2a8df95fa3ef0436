//! Open files as part of a message (`SCM_RIGHTS`).

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// More files than this are never passed at once.
const MOST: usize = 8;
/// Longer messages are never sent.
const LONGEST: usize = 4_096;

/// Sends a short text and files with it.
pub(super) fn send(to: impl AsFd, text: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if text.len() > LONGEST || !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let sent = sendmsg(to, &[IoSlice::new(text)], &mut control, SendFlags::NOSIGNAL)?;
    if sent < text.len() { Err(io::ErrorKind::WriteZero.into()) } else { Ok(()) }
}

/// Receives what [`send`] sent.
pub(super) fn receive(from: impl AsFd) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut text = vec![0; LONGEST];
    let received =
        recvmsg(from, &mut [IoSliceMut::new(&mut text)], &mut control, RecvFlags::CMSG_CLOEXEC)?.bytes;
    text.truncate(received);
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            files.extend(passed);
        }
    }
    Ok((text, files))
}
