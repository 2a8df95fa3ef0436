//! HTTP/2 towards tools. Connections are shared by many calls; each call has a part of one, which
//! is to the relay as a connection in HTTP/1.1 that serves once. So retries, deadlines, framing and
//! failures are what they are for any other.

mod answer;
mod connection;
mod driver;
mod fault;
mod flight;
mod frames;
mod greeting;
mod lines;
mod probe;
mod request;
mod stream;

use http::uri::Scheme;
use pingora_core::protocols::Stream;

pub use fault::Fault;
pub use flight::{Made, Shareable};
pub use greeting::Unfriendly;
pub use lines::{Carrier, Lines, Unmade};
pub use probe::ask;

/// Greets a server that is to speak HTTP/2.
///
/// # Errors
/// When it does not, or goes away.
pub(crate) async fn greet(stream: Stream, scheme: Scheme) -> Result<Made, Unfriendly> {
    let greeted = greeting::greet(stream).await?;
    Ok(Made::Http2(Box::new(Shareable { greeted, scheme })))
}
