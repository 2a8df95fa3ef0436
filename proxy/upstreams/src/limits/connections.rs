//! The number of open connections per address. It is exact, because a wrong refusal shuts a client
//! out.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// A sharded table of connection counts by network.
#[derive(Debug, Default)]
pub(super) struct AddressTable {
    /// No count is 0. Ordered: clients choose their addresses, and a hash that they cannot guess costs more.
    shards: [Mutex<BTreeMap<u128, u32>>; SHARDS],
}

/// One connection of an address. Dropping it releases the slot.
#[derive(Debug)]
pub struct AddressPermit {
    table: Arc<AddressTable>,
    network: u128,
}

const SHARDS: usize = 16;

impl AddressTable {
    /// Reserves a connection. Returns `None` if the network has `limit` already.
    pub(super) fn try_acquire(self: &Arc<Self>, network: u128, limit: u32) -> Option<AddressPermit> {
        let mut counts = self.shard(network)?.lock();
        let count = counts.entry(network).or_default();
        if *count >= limit {
            return None;
        }
        *count += 1;
        Some(AddressPermit { table: Arc::clone(self), network })
    }

    fn shard(&self, network: u128) -> Option<&Mutex<BTreeMap<u128, u32>>> {
        // The last bits of an IPv4 address, or of the /64 of an IPv6 address.
        let shard = (network ^ (network >> 64)) % SHARDS as u128;
        usize::try_from(shard).ok().and_then(|shard| self.shards.get(shard))
    }

    fn release(&self, network: u128) {
        let Some(shard) = self.shard(network) else { return };
        let mut counts = shard.lock();
        match counts.get_mut(&network) {
            Some(count) if *count > 1 => *count -= 1,
            // Without entries of 0, the table is no larger than the number of clients that are
            // connected.
            _ => drop(counts.remove(&network)),
        }
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        self.table.release(self.network);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn held(table: &AddressTable) -> usize {
        table.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    #[test]
    fn address_at_its_limit_gets_a_slot_when_a_connection_closes() {
        let table = Arc::new(AddressTable::default());
        let mut open: Vec<_> = (0..5).map_while(|_| table.try_acquire(1, 3)).collect();
        assert_eq!(open.len(), 3);
        assert!(table.try_acquire(2, 3).is_some());
        open.pop();
        open.extend(table.try_acquire(1, 3));
        assert_eq!(open.len(), 3);
        assert!(table.try_acquire(1, 3).is_none());
        drop(open);
        assert_eq!(held(&table), 0, "an address without a connection is removed");
    }

    #[test]
    fn count_is_exact_under_concurrency() {
        let table = Arc::new(AddressTable::default());
        let open_and_close = || {
            for _ in 0..1_000 {
                let open: Vec<_> = (0..5).map_while(|_| table.try_acquire(1, 10)).collect();
                assert!(open.len() <= 5);
            }
        };
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(open_and_close))));
        assert_eq!(held(&table), 0);
        let open: Vec<_> = (0..20).map_while(|_| table.try_acquire(1, 10)).collect();
        assert_eq!(open.len(), 10);
    }
}
