//! One request over a connection of its own, which tells whether a server is well.

use std::{io, pin::pin};

use http::{Request, Uri, uri::Scheme};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    fault::Fault,
    greeting::{Greeted, greet},
};

/// Sends a GET of this path. Returns the status of the response. Its body is not read.
///
/// # Errors
/// If the server does not speak HTTP/2, or closes the connection before it responds.
pub async fn ask<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    scheme: Scheme,
    authority: &str,
    path: &str,
    agent: &str,
) -> io::Result<u16> {
    let Greeted { mut send, mut connection, .. } = greet(stream).await?;
    let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build();
    let request =
        Request::get(uri.map_err(io::Error::other)?).header("user-agent", agent).header("accept", "*/*");
    let request = request.body(()).map_err(io::Error::other)?;
    let mut answered = pin!(async {
        let (answer, _body) = send.send_request(request, true)?;
        answer.await
    });
    let answer = tokio::select! {
        biased;
        answer = &mut answered => answer,
        _ended = &mut connection => {
            // What came before the end is an answer all the same.
            drop(connection);
            answered.await
        }
    };
    answer.map(|answer| answer.status().as_u16()).map_err(|error| Fault::of(&error).into())
}
