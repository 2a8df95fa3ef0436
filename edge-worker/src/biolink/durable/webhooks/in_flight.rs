//! Deliveries whose attempt has not ended.

use biolink::webhooks::EndpointId;
use biolink::webhooks_api::Delivery;
use shared::sorted_map::SortedMap;

/// The numbers of deliveries that are in flight, for each endpoint.
#[derive(Default)]
pub(super) struct InFlight(SortedMap<EndpointId, SortedMap<u64, ()>>);

impl InFlight {
    /// Returns the number of an endpoint.
    pub(super) fn of(&self, endpoint: &EndpointId) -> usize {
        self.0.get(endpoint).map_or(0, SortedMap::len)
    }

    /// Returns the number of all endpoints.
    pub(super) fn total(&self) -> usize {
        self.0.values().map(SortedMap::len).sum()
    }

    /// Adds a delivery. Returns false if it is in flight already.
    pub(super) fn begin(&mut self, delivery: &Delivery) -> bool {
        self.0.get_or_default(delivery.endpoint).insert(delivery.id.number(), ()).is_none()
    }

    /// Removes a delivery, whose attempt has ended.
    pub(super) fn end(&mut self, delivery: &Delivery) {
        if let Some(numbers) = self.0.get_mut(&delivery.endpoint) {
            numbers.remove(&delivery.id.number());
        }
    }
}
