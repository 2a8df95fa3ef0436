//! What only a start can change.

use super::{Authority, Callers, Config};

impl Config {
    /// Takes what cannot be changed while a proxy runs from the configuration it was started with; the keys under which
    /// this one says something else.
    #[must_use]
    pub fn keep_fixed(&mut self, running: &Self) -> Vec<&'static str> {
        let server = &mut self.server;
        let kept = [
            keep(
                "idle_upstream_connections",
                &mut self.idle_upstream_connections,
                &running.idle_upstream_connections,
            ),
            keep("server.listen", &mut server.listen, &running.server.listen),
            keep("server.admin", &mut server.admin, &running.server.admin),
            keep("server.threads", &mut server.threads, &running.server.threads),
            keep("server.upgrade_socket", &mut server.upgrade_socket, &running.server.upgrade_socket),
        ];
        let callers = self.callers.keep_fixed(&running.callers);
        kept.into_iter().flatten().chain(callers).collect()
    }
}

impl Callers {
    fn keep_fixed(&mut self, running: &Self) -> Vec<&'static str> {
        match (&mut *self, running) {
            (Self::Edge(read), Self::Edge(running)) => {
                keep("grants.replay_capacity", &mut read.replay_capacity, &running.replay_capacity)
                    .into_iter()
                    .collect()
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
                state.into_iter().chain(changes).collect()
            }
            (read, running) => {
                read.clone_from(running);
                vec!["keys.direct"]
            }
        }
    }
}

/// Puts the running value in the place of the one that was read; the key, when they differ.
fn keep<T: Clone + PartialEq>(key: &'static str, read: &mut T, running: &T) -> Option<&'static str> {
    if read == running {
        return None;
    }
    read.clone_from(running);
    Some(key)
}
