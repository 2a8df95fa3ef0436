//! The records that two processes exchange during an upgrade.

use std::io;
use std::pin::pin;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

/// One change that the other process must know, in a fixed size. Its meaning depends on the mode.
pub type SyncRecord = [u8; 16];

/// The record after the last one of the old process's state. No other record equals it: a request
/// would be of the far future, and no counter event has this kind.
pub const END: SyncRecord = [u8::MAX; size_of::<SyncRecord>()];
/// Maximum number of records that wait to be sent. Beyond it, records are dropped.
pub const QUEUE: usize = 1 << 16;

/// Passes each received record to `apply`. Returns at [`END`].
///
/// # Errors
/// Returns an error if the other process closes the connection first.
pub async fn receive(from: &mut (impl AsyncRead + Unpin), apply: impl Fn(SyncRecord)) -> io::Result<()> {
    let mut record = SyncRecord::default();
    loop {
        from.read_exact(&mut record).await?;
        if record == END {
            return Ok(());
        }
        apply(record);
    }
}

/// Sends each record of the queue. Returns when `last` has completed and the queue is empty.
///
/// # Errors
/// Returns an error if the other process closes the connection first.
pub async fn send(
    mut queue: mpsc::Receiver<SyncRecord>,
    to: &mut (impl AsyncWrite + Unpin),
    last: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut last = pin!(last);
    let mut is_last = false;
    loop {
        tokio::select! {
            record = queue.recv() => match record {
                Some(record) => to.write_all(&record).await?,
                None => return Ok(()),
            },
            () = &mut last, if !is_last => {
                is_last = true;
                // Closed and read to its end: what was counted last must reach the new process
                // before this one exits.
                queue.close();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn queued_records_are_sent_before_send_returns() {
        // Capacity for one record: the others are still queued when `last` completes.
        let (mut here, mut there) = tokio::io::duplex(size_of::<SyncRecord>());
        let (queue, queued) = mpsc::channel(QUEUE);
        let records: Vec<SyncRecord> = (0..100).map(|n| [n; 16]).collect();
        for record in &records {
            queue.try_send(*record).unwrap();
        }
        let sender = tokio::spawn(async move {
            send(queued, &mut here, std::future::ready(())).await.unwrap();
        });
        let mut received = Vec::new();
        there.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, records.as_flattened());
        sender.await.unwrap();
        assert!(queue.try_send([0; 16]).is_err(), "the queue is closed");
    }
}
