//! The names of endpoints, events and deliveries.
//!
//! Why: docs/decisions/webhooks.md, "Receivers drop repeats by the id of each event".

use shared::id;

id! {
    /// The name of an endpoint, `whe_` and 17 of `[0-9A-Za-z]`.
    EndpointId "whe_" 12
}
id! {
    /// The name of an event, `evt_` and 22 of `[0-9A-Za-z]`. It begins with the event's sequence
    /// number, so that ids sort by age and a store finds the event by its number. The rest is random.
    EventId "evt_" 16
}
id! {
    /// The name of a delivery, `dlv_` and 22 of `[0-9A-Za-z]`: its number, then random bytes.
    DeliveryId "dlv_" 16
}
id! {
    /// The name of a batch, `bat_` and 22 of `[0-9A-Za-z]`: the number of its delivery, then
    /// random bytes.
    BatchId "bat_" 16
}

/// The largest number of an event or a delivery: the largest that JavaScript has exactly, so that a
/// store can look for every number that an id has.
pub const MAX_NUMBER: u64 = (1 << 53) - 1;

macro_rules! numbered {
    ($($name:ident)*) => {$(
        impl $name {
            /// Returns the id with this number. `entropy` makes it impossible to guess.
            pub fn numbered(number: u64, entropy: [u8; 8]) -> Self {
                let mut bytes = [0; 16];
                for (to, from) in bytes.iter_mut().zip(number.to_be_bytes().iter().chain(&entropy)) {
                    *to = *from;
                }
                Self(bytes)
            }

            /// Returns its number, at most [`MAX_NUMBER`]. A store must compare the whole id with the
            /// one that it has.
            pub fn number(&self) -> u64 {
                // An id comes from a client. A greater number is none that the database could look
                // for.
                self.0.first_chunk().copied().map_or(0, u64::from_be_bytes).min(MAX_NUMBER)
            }
        }
    )*};
}

numbered! { EventId DeliveryId BatchId }

impl From<DeliveryId> for BatchId {
    /// Returns the name of the batch that a delivery carries.
    fn from(delivery: DeliveryId) -> Self {
        Self(delivery.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_has_its_number_and_sorts_by_it() {
        let id = EventId::numbered(4812, [7; 8]);
        let text = id.to_string();
        assert_eq!(text.len(), 26);
        assert!(text.starts_with("evt_000000001F"), "{text}");
        assert_eq!(EventId::parse(&text).map(|id| id.number()), Some(4812));
        let later = EventId::numbered(4813, [0; 8]);
        assert!(id < later && text < later.to_string());
        assert_ne!(id, EventId::numbered(4812, [8; 8]));
    }

    #[test]
    fn number_of_a_drawn_id_is_one_that_stores_can_look_for() {
        for number in [MAX_NUMBER + 1, u64::MAX] {
            assert_eq!(DeliveryId::numbered(number, [255; 8]).number(), MAX_NUMBER);
        }
        assert_eq!(EventId::numbered(MAX_NUMBER, [0; 8]).number(), MAX_NUMBER);
    }

    #[test]
    fn id_of_another_kind_is_refused() {
        let event = EventId::numbered(1, [1; 8]).to_string();
        assert_eq!(DeliveryId::parse(&event), None);
        assert_eq!(EventId::parse(&event[..25]), None);
        assert_eq!(EventId::parse("evt_zzzzzzzzzzzzzzzzzzzzzz"), None, "more than 64 bits");
        let endpoint = EndpointId::new([7; 12]).to_string();
        assert_eq!((EndpointId::parse(&endpoint), endpoint.len()), (Some(EndpointId::new([7; 12])), 21));
    }
}
