//! Accepts the connections of clients. Pingora's own accept loop leaves every connection with the
//! reactor of its one thread, which then wakes the tasks of all others.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use pingora::apps::ServerApp;
use pingora::protocols::Stream;
use pingora::server::ShutdownWatch;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Handle, Id};
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
    let (listener, own) = (TcpListener::from_std(listener)?, Handle::current().id());
    let mut end = shutdown.clone();
    let served = Arc::new((Arc::new(app), shutdown));
    let accepting = async {
        loop {
            match poll_fn(|context| listener.poll_accept(context)).await {
                Ok((stream, address)) => spawn(&served, stream, address, own),
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

/// Serves a connection on one of the runtime's threads. `own` is the thread that has accepted it.
fn spawn<A: ServerApp + Send + Sync + 'static>(
    served: &Arc<(Arc<A>, ShutdownWatch)>,
    stream: TcpStream,
    address: SocketAddr,
    own: Id,
) {
    let (served, thread) = (Arc::clone(served), pingora_runtime::current_handle());
    let stream = if thread.id() == own {
        Ok(stream)
    } else {
        // Woken by the reactor of the thread that serves it.
        let _entered = thread.enter();
        stream.into_std().and_then(TcpStream::from_std)
    };
    // A client that is gone by now needs no response.
    let Ok(stream) = stream else { return };
    // Boxed before the task is made, which copies what it holds.
    let mut next = Some(Box::new(Socket::new(stream, address)) as Stream);
    thread.spawn(async move {
        keep_near();
        let (app, shutdown) = &*served;
        while let Some(stream) = next {
            next = app.process_new(stream, shutdown).await;
        }
    });
}
