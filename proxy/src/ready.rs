//! The health check of a container: whether the proxy of a configuration on this machine is ready.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Timeout of connecting, sending and reading, each.
const TIMEOUT: Duration = Duration::from_secs(2);
const REQUEST: &[u8] = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
const READY: &[u8] = b"HTTP/1.1 200 ";

/// Returns true if `/readyz` of the admin listener is 200.
///
/// # Errors
/// If the listener cannot be reached or closes the connection before its status.
pub fn is_ready(admin: SocketAddr) -> io::Result<bool> {
    let mut connection = TcpStream::connect_timeout(&admin, TIMEOUT)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.set_write_timeout(Some(TIMEOUT))?;
    connection.write_all(REQUEST)?;
    let mut status = [0; READY.len()];
    connection.read_exact(&mut status)?;
    Ok(status == READY)
}
