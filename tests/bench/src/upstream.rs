//! The server behind every peer: it costs as little as a server can, so that the proxies are what is measured.

use std::io;
use std::net::SocketAddr;

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::message::content_length;

/// The action that is answered with [`BIG`] bytes.
pub(crate) const BIG_ACTION: &str = "big";
/// A body of one mebibyte.
pub(crate) const BIG: usize = 1 << 20;

const SMALL: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 97\r\n\r\n\
    {\"status\":\"done\",\"result\":\"the answer of a tool that has nothing to think about\",\"took_ms\":0.00}\n";

/// Listens on a free port of loopback and answers everything, on tasks of the runtime it is called in.
pub(crate) async fn start() -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A connection that breaks is the proxy's doing; its calls are counted where they were made.
            tokio::spawn(async move { drop(serve(stream).await) });
        }
    });
    Ok(address)
}

async fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut bytes = vec![0; 64 << 10];
    let mut held = 0;
    let big = format!("HTTP/1.1 200 OK\r\nContent-Length: {BIG}\r\n\r\n{}", "x".repeat(BIG)).into_bytes();
    loop {
        let Some(end) = memmem::find(bytes.get(..held).unwrap_or_default(), b"\r\n\r\n") else {
            match stream.read(bytes.get_mut(held..).unwrap_or_default()).await? {
                0 => return Ok(()),
                read => held += read,
            }
            continue;
        };
        let head = bytes.get(..end).unwrap_or_default();
        let is_big = first_line(head).windows(BIG_ACTION.len()).any(|part| part == BIG_ACTION.as_bytes());
        let mut body = content_length(head).unwrap_or(0);
        let come = held - end - 4;
        if come > body {
            bytes.copy_within(end + 4 + body..held, 0);
            held = come - body;
            body = 0;
        } else {
            body -= come;
            held = 0;
        }
        while body > 0 {
            let read = stream.read(&mut bytes).await?;
            if read == 0 {
                return Ok(());
            }
            body = body.saturating_sub(read);
        }
        stream.write_all(if is_big { &big } else { SMALL }).await?;
    }
}

fn first_line(head: &[u8]) -> &[u8] {
    head.split(|&byte| byte == b'\r').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::SMALL;

    #[test]
    fn the_small_answer_is_as_long_as_it_says() {
        let body = SMALL.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        assert_eq!(SMALL.len() - body, 97);
    }
}
