//! A separate Redis for a test, as a process. Valkey takes its place if it is installed.

mod access;
mod deployment;
mod reply;
mod server;

use std::{
    collections::hash_map::RandomState,
    fs,
    hash::{BuildHasher as _, Hasher as _},
    io::{Read as _, Write as _},
    iter,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::Command,
};

use tempfile::TempDir;

use self::access::{PASSWORD, USER};
pub use self::{
    access::documented,
    deployment::{Deployment, Kind},
};
use crate::{
    process::Process,
    tls::Authority,
    wait::{PATIENCE, wait_for},
};

/// A running `redis-server` without persistence. It is killed when it is dropped.
pub struct Redis {
    process: Process,
    port: u16,
    folder: TempDir,
    is_secured: bool,
}

impl Redis {
    /// Starts an empty server on a port that was free.
    ///
    /// # Panics
    /// If `redis-server` is not installed: `scripts/system-packages.sh servers` does that.
    pub fn start() -> Self {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        Self { process: serve(port, folder.path()), port, folder, is_secured: false }
    }

    /// Starts an empty server that speaks TLS only, to one user of its access control list, who may do
    /// what conf/README.md says.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn start_secured() -> Self {
        let (folder, port, authority) = (tempfile::tempdir().unwrap(), free_port(), Authority::generate());
        let identity = authority.identity("127.0.0.1");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let mut command = command(folder.path());
        command.args(["--port", "0", "--tls-port", &port.to_string(), "--tls-auth-clients", "no"]);
        command.args(["--tls-ca-cert-file", &file("ca.pem", &authority.pem)]);
        command.args(["--tls-cert-file", &file("server.pem", &identity.certificate)]);
        command.args(["--tls-key-file", &file("server.key", &identity.key)]);
        command.args(["--aclfile", &file("users.acl", &access::list(&documented()))]);
        Self { process: start(&mut command), port, folder, is_secured: true }
    }

    /// Kills the server immediately, with all that it had in memory.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts an empty server at the address of the one that was killed.
    pub fn restart(&mut self) {
        self.process = serve(self.port, self.folder.path());
    }

    /// Stops the server amid whatever it does (`STOP`), or continues it (`CONT`).
    pub fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    /// Starts a server with a copy of all data, which is a separate master from then on.
    pub fn split(&self) -> Self {
        let other = Self::start();
        other.send(&format!("REPLICAOF 127.0.0.1 {}", self.port));
        wait_for(PATIENCE, || other.send("INFO replication").contains("master_link_status:up").then_some(()));
        other.send("REPLICAOF NO ONE");
        other
    }

    /// Sends a command. Returns the replies to it and to `QUIT`.
    fn send(&self, command: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes()).unwrap();
        let mut replies = String::new();
        stream.read_to_string(&mut replies).unwrap();
        replies
    }

    /// Returns the address of the server.
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// Returns the section of a configuration that names this server.
    pub fn section(&self) -> String {
        let servers = format!("servers = [\"127.0.0.1:{}\"]\n", self.port);
        match self.is_secured {
            false => servers,
            true => {
                let authority = self.folder.path().join("ca.pem");
                format!(
                    "{servers}tls = true\ntls_ca = {authority:?}\nuser = {USER:?}\npassword = {PASSWORD:?}\n"
                )
            }
        }
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.process.kill();
    }
}

fn serve(port: u16, folder: &Path) -> Process {
    start(command(folder).arg("--port").arg(port.to_string()))
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new(access::program());
    command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"]).arg(folder);
    command
}

fn start(command: &mut Command) -> Process {
    Process::start(command, |line| line.contains("Ready to accept connections").then_some(())).0
}

/// Returns a port that nobody listens on. No connection that a test opens takes it meanwhile: systems take
/// the ports of those from 32768 on.
pub fn free_port() -> u16 {
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let mut ports = iter::repeat_with(|| {
        let random = RandomState::new().build_hasher().finish();
        10_000 + u16::try_from(random % 22_000).unwrap()
    });
    ports.find(is_free).unwrap()
}
