//! Accepts the connections of clients. Pingora's own accept loop leaves every connection with the
//! reactor of its one thread, which then wakes the tasks of all others.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pingora::apps::ServerApp;
use pingora::protocols::Stream;
use pingora::server::ShutdownWatch;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::failure::is_out_of_files;
use crate::socket::Socket;
use crate::timer::keep_near;

/// Time after which accepting is tried again if no file descriptor is left.
const OUT_OF_FILES_PAUSE: Duration = Duration::from_secs(1);

/// Accepts connections until `shutdown` is true, and serves each on one of the runtime's threads.
///
/// # Errors
/// Returns an error if the listener cannot be registered with the runtime.
pub async fn accept<A: ServerApp + Send + Sync + 'static>(
    listener: std::net::TcpListener,
    app: A,
    shutdown: ShutdownWatch,
) -> io::Result<()> {
    let (app, listener) = (Arc::new(app), TcpListener::from_std(listener)?);
    let mut end = shutdown.clone();
    let accepting = async {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => spawn(&app, stream, address, shutdown.clone()),
                Err(error) => {
                    log::error!("connection not accepted: error=\"{error}\"");
                    // The connection stays in the backlog, so the next accept fails immediately:
                    // without a pause the loop spins and fills the log.
                    if is_out_of_files(&error) {
                        sleep(OUT_OF_FILES_PAUSE).await;
                    }
                }
            }
        }
    };
    // `biased`: what is in the backlog is accepted before the shutdown is looked at. Closing the
    // socket would reset it.
    tokio::select! { biased; () = accepting => {}, _ended = end.wait_for(|end| *end) => {} }
    Ok(())
}

/// Serves a connection on one of the runtime's threads.
fn spawn<A: ServerApp + Send + Sync + 'static>(
    app: &Arc<A>,
    stream: TcpStream,
    address: SocketAddr,
    shutdown: ShutdownWatch,
) {
    let (app, thread) = (Arc::clone(app), pingora_runtime::current_handle());
    let is_elsewhere = thread.id() != Handle::current().id();
    thread.spawn(async move {
        keep_near();
        // Woken by the reactor of the thread that serves it.
        let stream = if is_elsewhere { stream.into_std().and_then(TcpStream::from_std) } else { Ok(stream) };
        // A client that is gone by now needs no response.
        let mut next = stream.ok().map(|stream| Box::new(Socket::new(stream, address)) as Stream);
        while let Some(stream) = next {
            next = app.process_new(stream, &shutdown).await;
        }
    });
}
