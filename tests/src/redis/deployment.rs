//! Servers with replicas, of each kind that `valkey.kind` knows. Only users of their access control lists
//! may do anything.

use super::{
    access::{self, PASSWORD, USER},
    reply::{send, try_send},
    server::{MASTER, Server},
};
use crate::wait::{PATIENCE, wait_for};

/// The kind of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A primary and its replica. The replica is named to the proxy first.
    Single,
    /// A Sentinel, a primary and two replicas.
    Sentinel,
    /// Three primaries with a replica each.
    Cluster,
}

/// Running servers of one kind, without persistence. They are killed when they are dropped.
pub struct Deployment {
    kind: Kind,
    /// The primaries, and then the replicas in their order.
    servers: Vec<Server>,
    sentinel: Option<Server>,
}

const SLOTS: usize = 16_384;

impl Deployment {
    /// Starts servers with the user that the document describes.
    ///
    /// # Panics
    /// If no server is installed: `scripts/system-packages.sh servers` does that.
    pub fn start(kind: Kind) -> Self {
        let list = access::list(&access::documented());
        let count = match kind {
            Kind::Single => 2,
            Kind::Sentinel => 3,
            Kind::Cluster => 6,
        };
        let servers = (0..count).map(|_| Server::start(kind, &list)).collect();
        let mut deployment = Self { kind, servers, sentinel: None };
        match kind {
            Kind::Single => deployment.replicate(),
            Kind::Sentinel => {
                deployment.replicate();
                deployment.sentinel = Some(Server::watch(deployment.servers[0].port));
            }
            Kind::Cluster => deployment.form_cluster(),
        }
        deployment
    }

    /// Returns the section of a configuration that names the servers and the user.
    pub fn section(&self) -> String {
        let (servers, rest) = match self.kind {
            Kind::Single => (self.ports().into_iter().rev().collect(), String::new()),
            Kind::Sentinel => {
                let sentinel = self.sentinel.iter().map(|sentinel| sentinel.port).collect();
                (sentinel, format!("kind = \"sentinel\"\nmaster = {MASTER:?}\nreplicas = 1\n"))
            }
            Kind::Cluster => (self.ports(), "kind = \"cluster\"\nreplicas = 1\n".to_owned()),
        };
        let servers: Vec<_> = servers.into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
        format!("servers = {servers:?}\nuser = {USER:?}\npassword = {PASSWORD:?}\n{rest}")
    }

    /// Returns the ports of the servers, those of primaries first.
    pub fn ports(&self) -> Vec<u16> {
        self.servers.iter().map(|server| server.port).collect()
    }

    /// Sends a command to a server, as its administrator. Returns the texts of the reply.
    pub fn send(&self, server: usize, command: &[&str]) -> Vec<String> {
        send(self.servers[server].port, command)
    }

    /// Gives other permissions to the proxy's user at a server.
    pub fn permit(&self, server: usize, permissions: &[String]) {
        let password = format!(">{PASSWORD}");
        let mut command = vec!["ACL", "SETUSER", USER, "reset", "on", &password];
        command.extend(permissions.iter().map(String::as_str));
        assert_eq!(self.send(server, &command), ["OK"]);
    }

    /// Returns what the servers and the Sentinel have denied so far to anybody: the command or the key,
    /// with the port.
    pub fn denied(&self) -> Vec<String> {
        let servers = self.servers.iter().chain(&self.sentinel);
        let logs = servers.map(|server| (server.port, send(server.port, &["ACL", "LOG"])));
        logs.flat_map(|(port, log)| {
            let fields = log.windows(2).filter(|pair| pair[0] == "object");
            fields.map(|pair| format!("{port}: {}", pair[1])).collect::<Vec<_>>()
        })
        .collect()
    }

    /// Moves the slot of a key away from the primary that has it: it sends who asks for a value that it
    /// lacks to another one, with `ASK`.
    pub fn begin_migration(&self, key: &str) {
        let slot = self.send(0, &["CLUSTER", "KEYSLOT", key]).remove(0);
        let from = slot.parse::<usize>().unwrap() * 3 / SLOTS;
        let to = (from + 1) % 3;
        let id = |server: usize| self.send(server, &["CLUSTER", "MYID"]).remove(0);
        assert_eq!(self.send(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]), ["OK"]);
        assert_eq!(self.send(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]), ["OK"]);
    }

    /// Kills the primary, and waits until a replica has taken its place. Of a cluster, each primary
    /// hands over to its replica first, and then one is killed and comes back as a replica.
    pub fn fail_over(&mut self) {
        match self.kind {
            Kind::Single => {
                self.wait_until_copied(0);
                self.servers.remove(0);
                assert_eq!(self.send(0, &["REPLICAOF", "NO", "ONE"]), ["OK"]);
            }
            Kind::Sentinel => {
                self.wait_until_copied(0);
                self.servers.remove(0);
                let sentinel = self.sentinel.as_ref().unwrap().port;
                let primary = wait_for(PATIENCE, || {
                    let named = send(sentinel, &["SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER]);
                    self.servers.iter().position(|server| named.last() == Some(&server.port.to_string()))
                });
                self.servers.swap(0, primary);
                self.wait_until_replicated(0, 1);
            }
            Kind::Cluster => {
                for primary in 0..3 {
                    wait_for(PATIENCE, || {
                        // Refused while the replica is not connected.
                        let replica = &self.servers[primary + 3];
                        send(replica.port, &["CLUSTER", "FAILOVER"]);
                        (role(replica.port) == "master").then_some(())
                    });
                    self.servers.swap(primary, primary + 3);
                    self.wait_until_replicated(primary, primary + 3);
                }
                self.wait_until_copied(0);
                self.kill_and_restart(0);
            }
        }
    }

    /// Kills a primary of a cluster, and starts it again once its replica has taken its place.
    fn kill_and_restart(&mut self, primary: usize) {
        let replica = primary + 3;
        self.servers[primary].process.kill();
        wait_for(PATIENCE, || (role(self.servers[replica].port) == "master").then_some(()));
        self.servers.swap(primary, replica);
        self.servers[replica].restart();
        self.wait_until_replicated(primary, replica);
        self.wait_until_agreed();
    }

    fn replicate(&self) {
        let primary = self.servers[0].port.to_string();
        for replica in 1..self.servers.len() {
            assert_eq!(self.send(replica, &["REPLICAOF", "127.0.0.1", &primary]), ["OK"]);
            self.wait_until_replicated(0, replica);
        }
    }

    fn form_cluster(&self) {
        for (index, server) in self.servers.iter().enumerate() {
            let epoch = (index + 1).to_string();
            assert_eq!(send(server.port, &["CLUSTER", "SET-CONFIG-EPOCH", &epoch]), ["OK"]);
        }
        for primary in 0..3 {
            let (first, next) = (primary * SLOTS / 3, (primary + 1) * SLOTS / 3);
            let range = [first.to_string(), (next - 1).to_string()];
            assert_eq!(self.send(primary, &["CLUSTER", "ADDSLOTSRANGE", &range[0], &range[1]]), ["OK"]);
        }
        for server in &self.servers[1..] {
            let bus = send(server.port, &["CONFIG", "GET", "cluster-port"])[1].clone();
            let meet = ["CLUSTER", "MEET", "127.0.0.1", &server.port.to_string(), &bus];
            assert_eq!(self.send(0, &meet), ["OK"]);
        }
        for replica in 3..6 {
            let primary = self.send(replica - 3, &["CLUSTER", "MYID"])[0].clone();
            wait_for(PATIENCE, || {
                // Refused until the node has heard of its primary.
                (self.send(replica, &["CLUSTER", "REPLICATE", &primary]) == ["OK"]).then_some(())
            });
        }
        (0..3).for_each(|primary| self.wait_until_replicated(primary, primary + 3));
        self.wait_until_agreed();
    }

    /// Waits until every node of a cluster names the same primaries, with all replicas.
    fn wait_until_agreed(&self) {
        let ports: Vec<_> = self.ports().iter().map(u16::to_string).collect();
        wait_for(PATIENCE, || {
            let agreed = self.servers.iter().all(|server| {
                let is_ok = send(server.port, &["CLUSTER", "INFO"])[0].contains("cluster_state:ok");
                let slots = send(server.port, &["CLUSTER", "SLOTS"]);
                // Its range comes before the address of each primary.
                let first = |at: usize| slots.get(at.saturating_sub(2)).is_some_and(|text| is_slot(text));
                let is_primary =
                    |port: &String| slots.iter().enumerate().any(|(at, text)| text == port && first(at - 1));
                is_ok && ports.iter().all(|port| slots.contains(port)) && ports[..3].iter().all(is_primary)
            });
            agreed.then_some(())
        });
    }

    /// Waits until a server is a replica that follows another one.
    fn wait_until_replicated(&self, primary: usize, replica: usize) {
        let port = self.servers[primary].port.to_string();
        wait_for(PATIENCE, || {
            // A Sentinel that gives it another primary ends its connections.
            let role = try_send(self.servers[replica].port, &["ROLE"]).ok()?;
            (role[0] == "slave" && role[2] == port && role[3] == "connected").then_some(())
        });
    }

    /// Waits until the replicas have all that a primary has.
    fn wait_until_copied(&self, primary: usize) {
        wait_for(PATIENCE, || {
            let role = self.send(primary, &["ROLE"]);
            // The offset, and then address, port and offset of each replica.
            role[2..].chunks(3).all(|replica| replica[2] == role[1]).then_some(())
        });
    }
}

/// Returns true if a text of `CLUSTER SLOTS` is a slot rather than an address.
fn is_slot(text: &str) -> bool {
    text.parse::<usize>().is_ok_and(|slot| slot < SLOTS)
}

/// Returns the role that a server gives itself. Empty while it does not reply.
fn role(port: u16) -> String {
    try_send(port, &["ROLE"]).ok().and_then(|role| role.first().cloned()).unwrap_or_default()
}
