//! How many connections each address has open: exact, since one that is refused wrongly is a client that gets nothing.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use parking_lot::Mutex;

/// The connections of every address that has one.
#[derive(Debug)]
pub(super) struct Connections {
    /// Counts of networks, in parts that are locked each for itself. None is 0.
    parts: Vec<Mutex<HashMap<u128, u32>>>,
    hasher: RandomState,
}

/// A connection that is counted until this is dropped, also by a panic.
#[derive(Debug)]
pub struct Counted {
    connections: Arc<Connections>,
    network: u128,
}

const PARTS: usize = 16;

impl Default for Connections {
    fn default() -> Self {
        Self {
            parts: std::iter::repeat_with(Mutex::default).take(PARTS).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl Connections {
    /// Counts one more; `None` when the network has `most` already.
    pub(super) fn enter(self: &Arc<Self>, network: u128, most: u32) -> Option<Counted> {
        let mut counts = self.part(network)?.lock();
        let count = counts.entry(network).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Counted { connections: Arc::clone(self), network })
    }

    fn part(&self, network: u128) -> Option<&Mutex<HashMap<u128, u32>>> {
        let part = self.hasher.hash_one(network) % PARTS as u64;
        usize::try_from(part).ok().and_then(|part| self.parts.get(part))
    }

    fn leave(&self, network: u128) {
        let Some(part) = self.part(network) else { return };
        let mut counts = part.lock();
        match counts.get_mut(&network) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.remove(&network)),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.connections.leave(self.network);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn held(connections: &Connections) -> usize {
        connections.parts.iter().map(|part| part.lock().len()).sum()
    }

    #[test]
    fn an_address_has_so_many_connections_and_each_end_makes_room() {
        let connections = Arc::new(Connections::default());
        let mut open: Vec<_> = (0..5).map_while(|_| connections.enter(1, 3)).collect();
        assert_eq!(open.len(), 3);
        assert!(connections.enter(2, 3).is_some());
        open.pop();
        open.extend(connections.enter(1, 3));
        assert_eq!(open.len(), 3);
        assert!(connections.enter(1, 3).is_none());
        drop(open);
        assert_eq!(held(&connections), 0, "who has left is forgotten");
    }

    #[test]
    fn the_count_is_exact_however_many_come_at_once() {
        let connections = Arc::new(Connections::default());
        let come_and_go = || {
            for _ in 0..1_000 {
                let open: Vec<_> = (0..5).map_while(|_| connections.enter(1, 10)).collect();
                assert!(open.len() <= 5);
            }
        };
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(come_and_go))));
        assert_eq!(held(&connections), 0);
        let open: Vec<_> = (0..20).map_while(|_| connections.enter(1, 10)).collect();
        assert_eq!(open.len(), 10);
    }
}
