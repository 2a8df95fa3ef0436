//! A link to a server that is far away: bytes arrive later, in their order.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
    time::sleep_until,
};

/// A relay on loopback that delays each byte in both directions. It ends when it is dropped.
pub struct SlowLink {
    pub address: SocketAddr,
    accepting: JoinHandle<()>,
}

impl SlowLink {
    /// Starts a relay to a server, with this time for a round trip.
    pub async fn start(to: SocketAddr, round_trip: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(relay(client, to, round_trip / 2));
            }
        });
        Self { address, accepting }
    }
}

impl Drop for SlowLink {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn relay(client: TcpStream, to: SocketAddr, way: Duration) {
    let Ok(server) = TcpStream::connect(to).await else { return };
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
    }
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::join!(carry(from_client, to_server, way), carry(from_server, to_client, way));
}

async fn carry(mut from: impl AsyncReadExt + Unpin, mut to: impl AsyncWriteExt + Unpin, way: Duration) {
    let (sent, mut arriving) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    let read = async move {
        let mut bytes = vec![0; 65_536];
        while let Ok(count @ 1..) = from.read(&mut bytes).await {
            let _end = sent.send((Instant::now() + way, bytes[..count].to_vec()));
        }
    };
    let write = async move {
        while let Some((at, bytes)) = arriving.recv().await {
            // The length of the way. No condition is waited for.
            sleep_until(at.into()).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
        let _end = to.shutdown().await;
    };
    tokio::join!(read, write);
}
