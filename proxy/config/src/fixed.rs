//! The settings that need a restart.

use transport::downstream::Transport;

use super::{Authority, Callers, Config};

impl Config {
    /// Replaces the settings that need a restart by those of the running configuration. Returns the
    /// keys whose values differ.
    #[must_use]
    pub fn keep_fixed(&mut self, running: &Self) -> Vec<&'static str> {
        let server = &mut self.server;
        let kept = [
            keep(
                "idle_upstream_connections",
                &mut self.idle_upstream_connections,
                &running.idle_upstream_connections,
            ),
            keep("log.file", &mut self.log_file, &running.log_file),
            keep("server.listen", &mut server.listen, &running.server.listen),
            keep("server.admin", &mut server.admin, &running.server.admin),
            keep("server.threads", &mut server.threads, &running.server.threads),
            keep("server.transport", &mut server.transport, &running.server.transport),
            keep("server.upgrade_socket", &mut server.upgrade_socket, &running.server.upgrade_socket),
            keep("server.admin_socket", &mut server.admin_socket, &running.server.admin_socket),
            keep("server.admin_changes", &mut server.admin_changes, &running.server.admin_changes),
        ];
        if server.transport == Transport::Relay {
            // What only the transport of the file can do waits with it.
            self.pools.iter_mut().for_each(|pool| pool.settings.http2 = false);
        }
        let callers = self.callers.keep_fixed(&running.callers);
        kept.into_iter().flatten().chain(callers).collect()
    }
}

impl Callers {
    fn keep_fixed(&mut self, running: &Self) -> Vec<&'static str> {
        match (&mut *self, running) {
            (Self::Edge(read), Self::Edge(running)) => {
                let capacity =
                    keep("grants.replay_capacity", &mut read.replay_capacity, &running.replay_capacity);
                let store = keep("grants.replay_store", &mut read.store, &running.store);
                capacity.into_iter().chain(store).collect()
            }
            (Self::Clients(read), Self::Clients(running)) => {
                let state = keep("keys.state", &mut read.state, &running.state);
                let changes = match (&mut read.authority, &running.authority) {
                    (Authority::Here { .. }, Authority::Here { .. }) => None,
                    (Authority::Edge(read), Authority::Edge(running)) => {
                        keep("keys.changes", &mut read.edge, &running.edge)
                    }
                    (read, running) => {
                        read.clone_from(running);
                        Some("keys.changes")
                    }
                };
                let meters = keep("limits.authority", &mut read.meters, &running.meters);
                state.into_iter().chain(changes).chain(meters).collect()
            }
            (read, running) => {
                read.clone_from(running);
                vec!["keys.direct"]
            }
        }
    }
}

/// Replaces a value by the running one. Returns the key if they differ.
fn keep<T: Clone + PartialEq>(key: &'static str, read: &mut T, running: &T) -> Option<&'static str> {
    if read == running {
        return None;
    }
    read.clone_from(running);
    Some(key)
}
