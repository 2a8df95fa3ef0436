//! An ordered map in one list.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// A map by rising key. Each type of `BTreeMap` adds 6 KB to the worker, and each type of this one a tenth. Adding and removing move
/// what comes after, so that it is for small maps, for small values, and for keys that rise.
///
/// Why: docs/decisions/edge.md, "New types are not sorted or collected into maps without need".
///
/// ```
/// use shared::sorted_map::SortedMap;
///
/// let mut calls = SortedMap::from([("qr", 2), ("image", 1)]);
/// *calls.get_or_default("pdf") += 4;
/// calls.retain(|_, calls| *calls > 1);
/// assert_eq!(calls.iter().collect::<Vec<_>>(), [(&"pdf", &4), (&"qr", &2)]);
/// assert_eq!(calls.remove("image"), None);
/// assert_eq!(calls.get("qr"), Some(&2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> SortedMap<K, V> {
    /// Returns an empty map.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the number of keys.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there is no key.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the keys and values by rising key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Returns the values by rising key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Returns the values by rising key, to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Keeps the keys and values of which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        self.0.retain(|(key, value)| keep(key, value));
    }

    /// Removes the first key, if there is one.
    pub fn remove_first(&mut self) {
        if !self.0.is_empty() {
            self.0.remove(0);
        }
    }

    /// Returns the place of a key, or the one that it would have.
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        // What comes last comes most often: numbers that rise.
        match self.0.last() {
            Some((last, _)) if last.borrow() < key => Err(self.0.len()),
            _ => self.0.binary_search_by(|(known, _)| known.borrow().cmp(key)),
        }
    }

    /// Returns the value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.0.get(self.place(key).ok()?).map(|(_, value)| value)
    }

    /// Returns the value of a key, to change it.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.place(key).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// Returns true if the key is there.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Removes a key. Returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|at| self.0.remove(at).1)
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Sets the value of a key. Returns the one it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(at) => self.0.get_mut(at).map(|(_, known)| std::mem::replace(known, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Returns the value of a key, the default if it had none.
    pub fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.get_or_insert_with(key, V::default)
    }

    /// Returns the value of a key. If it had none, it gets that of `make`.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let Ok(value) = self.get_or_try_insert_with(key, || Ok::<_, Infallible>(make()));
        value
    }

    /// Returns the value of a key. If it had none, it gets that of `make`.
    ///
    /// # Errors
    /// Returns the error of `make`.
    #[allow(clippy::indexing_slicing, reason = "the place was just found or filled")]
    pub fn get_or_try_insert_with<E>(
        &mut self,
        key: K,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<&mut V, E> {
        let at = match self.place(&key) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (key, make()?));
                at
            }
        };
        Ok(&mut self.0[at].1)
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(members: [(K, V); N]) -> Self {
        members.into_iter().collect()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Self {
        let mut map = Self::new();
        for (key, value) in members {
            map.insert(key, value);
        }
        map
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for SortedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<K, V>(PhantomData<(K, V)>);
        impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Members<K, V> {
            type Value = SortedMap<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut map = SortedMap::new();
                while let Some((key, value)) = access.next_entry()? {
                    map.insert(key, value);
                }
                Ok(map)
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The oracle is the map of the standard library.
        #[test]
        fn steps_have_the_results_of_a_btree_map(steps in prop::collection::vec((0u8..6, 0u8..20, any::<u8>()), 0..60)) {
            let (mut map, mut model) = (SortedMap::new(), BTreeMap::new());
            for (step, key, value) in steps {
                match step {
                    0 | 1 => prop_assert_eq!(map.insert(key, value), model.insert(key, value)),
                    2 => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    3 => {
                        *map.get_or_default(key) = value;
                        *model.entry(key).or_default() = value;
                    }
                    4 => {
                        map.retain(|key, known| *known > value || *key < 10);
                        model.retain(|key, known| *known > value || *key < 10);
                    }
                    _ => {
                        map.remove_first();
                        model.pop_first();
                    }
                }
                prop_assert!(map.iter().eq(&model));
                prop_assert_eq!((map.len(), map.is_empty()), (model.len(), model.is_empty()));
                prop_assert_eq!(map.get(&key), model.get(&key));
                prop_assert_eq!(map.get_mut(&key).copied(), model.get(&key).copied());
                prop_assert_eq!(map.contains_key(&key), model.contains_key(&key));
            }
            let text = serde_json::to_string(&model).unwrap();
            prop_assert_eq!(serde_json::to_string(&map).unwrap(), text.clone());
            prop_assert_eq!(serde_json::from_str::<SortedMap<u8, u8>>(&text).unwrap(), map.clone());
            prop_assert!(map.into_iter().eq(model));
        }
    }

    #[test]
    fn last_of_equal_keys_counts_in_any_order() {
        let map = serde_json::from_str::<SortedMap<u8, u8>>(r#"{"3":1,"1":2,"3":4,"2":5}"#).unwrap();
        assert_eq!(map, [(1, 2), (2, 5), (3, 4)].into());
    }
}
