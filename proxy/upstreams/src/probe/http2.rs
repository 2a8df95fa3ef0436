//! A request over a separate HTTP/2 connection, which shows whether a server is healthy.

use std::io;
use std::pin::pin;

use http::uri::Scheme;
use http::{Request, Uri};
use tokio::io::{AsyncRead, AsyncWrite};

/// Sends a GET of this path. Returns the status of the response. Its body is not read.
///
/// # Errors
/// Returns an error if the server does not speak HTTP/2, or closes the connection before it responds.
pub(super) async fn ask<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    scheme: Scheme,
    authority: &str,
    path: &str,
    agent: &str,
) -> io::Result<u16> {
    let (mut send, mut connection) = h2::client::handshake(stream).await.map_err(described)?;
    let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build();
    let request =
        Request::get(uri.map_err(io::Error::other)?).header("user-agent", agent).header("accept", "*/*");
    let request = request.body(()).map_err(io::Error::other)?;
    let mut response = pin!(async {
        let (response, _body) = send.send_request(request, true)?;
        response.await
    });
    let response = tokio::select! {
        biased;
        response = &mut response => response,
        _closed = &mut connection => {
            // What came before the end is a response all the same.
            drop(connection);
            response.await
        }
    };
    response.map(|response| response.status().as_u16()).map_err(described)
}

fn described(error: h2::Error) -> io::Error {
    match error.is_library() {
        true => io::Error::other("the response is not HTTP/2"),
        false => io::Error::other(error),
    }
}
