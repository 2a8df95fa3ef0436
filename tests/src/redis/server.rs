//! A server or a Sentinel of a deployment, as a process.

use std::{fs, process::Command};

use tempfile::TempDir;

use super::{
    access::{self, ADMIN, PASSWORD},
    command,
    deployment::Kind,
    free_port,
    reply::send,
    start,
};
use crate::{
    process::Process,
    wait::{PATIENCE, wait_for},
};

/// The name by which a Sentinel knows its primary.
pub(super) const MASTER: &str = "limits";

/// A running server or Sentinel.
pub(super) struct Server {
    pub(super) process: Process,
    pub(super) port: u16,
    folder: TempDir,
}

impl Server {
    /// Starts a server with these users.
    pub(super) fn start(kind: Kind, list: &str) -> Self {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let users = folder.path().join("users.acl");
        fs::write(&users, list).unwrap();
        let mut settings = format!(
            "port {port}\naclfile {}\nmasteruser {ADMIN}\nmasterauth {PASSWORD}\nrepl-diskless-sync-delay 0\n",
            users.display()
        );
        if kind == Kind::Cluster {
            // Replicas take over soon, however long they have been without their primary.
            settings += &format!(
                "cluster-enabled yes\ncluster-port {}\ncluster-node-timeout 3000\n\
                 cluster-replica-validity-factor 0\n",
                free_port()
            );
        }
        fs::write(folder.path().join("server.conf"), settings).unwrap();
        Self { process: serve(&folder), port, folder }
    }

    /// Starts a Sentinel that watches a primary, and waits until it knows both replicas.
    pub(super) fn watch(primary: u16) -> Self {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let settings = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nuser {ADMIN} on >{PASSWORD} ~* &* +@all\n\
             sentinel monitor {MASTER} 127.0.0.1 {primary} 1\n\
             sentinel auth-user {MASTER} {ADMIN}\nsentinel auth-pass {MASTER} {PASSWORD}\n\
             sentinel down-after-milliseconds {MASTER} 3000\nsentinel failover-timeout {MASTER} 5000\n",
            folder.path().display()
        );
        let file = folder.path().join("sentinel.conf");
        fs::write(&file, settings).unwrap();
        let mut command = Command::new(access::program());
        command.arg(&file).arg("--sentinel");
        let (process, ()) = Process::start(&mut command, |line| line.contains("+monitor").then_some(()));
        wait_for(PATIENCE, || {
            let known = send(port, &["SENTINEL", "REPLICAS", MASTER]);
            let names = known.iter().filter(|text| *text == "name").count();
            (names == 2).then_some(())
        });
        Self { process, port, folder }
    }

    /// Starts the server again at its address, without data, and with what it knew of its cluster.
    pub(super) fn restart(&mut self) {
        self.process = serve(&self.folder);
    }
}

fn serve(folder: &TempDir) -> Process {
    let mut command = command(folder.path());
    start(command.arg("--include").arg(folder.path().join("server.conf")))
}
