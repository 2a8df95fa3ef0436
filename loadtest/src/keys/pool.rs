//! A pool of keys.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use hyper::header::HeaderValue;
use rand_distr::{Distribution, Zipf};

use super::KeysError;
use crate::random;
use crate::scenario::{KeyOrder, KeysSpec};

/// The keys of a pool. All share one buffer, because there may be a million.
#[derive(Debug)]
pub(crate) struct KeyPool {
    order: Order,
    keys: RwLock<Vec<PooledKey>>,
    turns: AtomicU64,
}

#[derive(Clone, Debug)]
struct PooledKey {
    text: Bytes,
    number: u32,
}

/// A key for a call.
#[derive(Clone, Debug)]
pub(crate) struct PickedKey {
    /// The key. It is marked sensitive, so that `Debug` does not print it.
    pub(crate) value: HeaderValue,
    /// The number of the key. A rotated key has that of its predecessor, because they share a limit.
    pub(crate) number: u32,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    Turns,
    Zipf(Zipf<f64>),
}

/// The bits of a key's number that count within its pool.
const NUMBER_BITS: u32 = 22;

impl KeyPool {
    /// Returns pool number `number`.
    pub(super) fn new(number: u32, spec: &KeysSpec, keys: &[String]) -> Result<Self, KeysError> {
        let invalid = || KeysError::NotHeader { pool: spec.name.clone() };
        let buffer = Bytes::from(keys.concat());
        let (mut pooled, mut at) = (Vec::with_capacity(keys.len()), 0);
        for (nth, key) in (0_u32..).zip(keys) {
            HeaderValue::from_str(key).map_err(|_invalid| invalid())?;
            pooled.push(PooledKey {
                text: buffer.slice(at..at + key.len()),
                number: number << NUMBER_BITS | nth,
            });
            at += key.len();
        }
        let order = match spec.order {
            KeyOrder::Turns => Order::Turns,
            KeyOrder::Zipf => {
                let error = || KeysError::Exponent { pool: spec.name.clone(), exponent: spec.exponent };
                let valid = (0.0..=10.0).contains(&spec.exponent);
                let zipf = Zipf::new(keys.len().max(1) as f64, spec.exponent).map_err(|_invalid| error())?;
                Order::Zipf(if valid { zipf } else { return Err(error()) })
            }
        };
        Ok(Self { order, keys: RwLock::new(pooled), turns: AtomicU64::new(0) })
    }

    /// Returns the key of call number `nth`.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1 to the number of keys"
    )]
    pub(crate) fn pick(&self, nth: u64) -> Option<PickedKey> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let at = match self.order {
            Order::Turns => {
                // A counter of its own and not the number of the call, in which other requests and
                // shards leave gaps: some keys would get more calls than others.
                let turn = self.turns.fetch_add(1, Ordering::Relaxed);
                usize::try_from(turn % keys.len().max(1) as u64).unwrap_or(0)
            }
            Order::Zipf(zipf) => zipf.sample(&mut random::at(0x21bf, nth)) as usize - 1,
        };
        keys.get(at).map(PooledKey::pick)
    }

    /// Returns the first key.
    pub(crate) fn first(&self) -> Option<PickedKey> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).first().map(PooledKey::pick)
    }

    /// Adds the key that replaces the first one and shares its limit.
    pub(crate) fn add_rotated(&self, key: &str) {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        // The limit moves with a rotation, so both keys are one in the certificate of limits.
        let number = keys.first().map_or(0, |first| first.number);
        keys.push(PooledKey { text: Bytes::from(key.to_owned()), number });
    }
}

impl PooledKey {
    fn pick(&self) -> PickedKey {
        let value = HeaderValue::from_maybe_shared(self.text.clone());
        let mut value = value.unwrap_or_else(|_checked_before| HeaderValue::from_static(""));
        // The value is not shown where headers are printed for debugging.
        value.set_sensitive(true);
        PickedKey { value, number: self.number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(spec: &str, count: usize) -> KeyPool {
        let spec: KeysSpec = toml::from_str(&format!("name = \"k\"\n{spec}")).unwrap();
        let keys: Vec<String> = (0..count).map(|n| format!("key-{n}")).collect();
        KeyPool::new(3, &spec, &keys).unwrap()
    }

    #[test]
    fn keys_are_used_in_turn_and_never_printed() {
        let pool = pool("", 3);
        let texts: Vec<_> =
            (0..4).map(|nth| pool.pick(nth).unwrap().value.to_str().unwrap().to_owned()).collect();
        assert_eq!(texts, ["key-0", "key-1", "key-2", "key-0"]);
        assert!(!format!("{:?}", pool.pick(0).unwrap()).contains("key-"));
        pool.add_rotated("key-new");
        let numbers: Vec<u32> = (0..4).map(|nth| pool.pick(nth).unwrap().number & 0xff).collect();
        assert_eq!(numbers.iter().filter(|&&number| number == 0).count(), 2);
    }

    #[test]
    fn zipf_order_uses_the_first_keys_most() {
        let pool = pool("order = \"zipf\"\nexponent = 1.0", 1000);
        let mut uses = vec![0; 1000];
        (0..10_000).for_each(|nth| uses[pool.pick(nth).unwrap().number as usize & 0xfff] += 1);
        // The harmonic number of 1,000 is 7.49, so the first key has 13.4 % and the tenth 1.3 %.
        assert!((1200..=1470).contains(&uses[0]), "{}", uses[0]);
        assert!((90..=180).contains(&uses[9]), "{}", uses[9]);
        assert!(uses.iter().filter(|&&count| count > 0).count() > 600);
    }
}
