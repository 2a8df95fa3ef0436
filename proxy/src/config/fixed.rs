//! What only a start can change.

use super::Config;

impl Config {
    /// Takes what cannot be changed while a proxy runs from the configuration it was started with; the keys under which
    /// this one says something else.
    #[must_use]
    pub fn keep_fixed(&mut self, running: &Self) -> Vec<&'static str> {
        let (server, grants) = (&mut self.server, &mut self.grants);
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
            keep("grants.replay_capacity", &mut grants.replay_capacity, &running.grants.replay_capacity),
        ];
        kept.into_iter().flatten().collect()
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
