//! Which batches a page's store has received.

use serde::{Deserialize, Serialize};

/// The batches that were received, as chains: each is a run of batches of one isolate that follow each
/// other. So a batch that comes again is known, and one that is missing shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Received(Vec<Chain>);

/// Isolate, the batch before the first one (0 if there is none), the first and the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Chain(String, u64, u64, u64);

impl Received {
    /// Returns true if the batch was received.
    pub fn contains(&self, isolate: &str, number: u64) -> bool {
        self.0.iter().any(|Chain(of, _, first, last)| of == isolate && (*first..=*last).contains(&number))
    }

    /// Adds a batch, which follows `previous`.
    pub fn insert(&mut self, isolate: &str, previous: u64, number: u64) {
        self.join(Chain(isolate.to_owned(), previous, number, number));
    }

    /// Adds what another store received.
    pub fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|chain| self.join(chain.clone()));
    }

    /// Returns the number of places at which batches are missing.
    pub fn gaps(&self) -> usize {
        self.0.iter().filter(|Chain(_, before, ..)| *before != 0).count()
    }

    /// Takes it that nothing is missing before what was received: that is too old to be known.
    pub fn close(&mut self) {
        self.0.iter_mut().for_each(|Chain(_, before, ..)| *before = 0);
    }

    fn join(&mut self, Chain(isolate, mut before, mut first, mut last): Chain) {
        // 0 is no batch: two first batches must not be taken for followers of each other.
        while let Some(at) =
            self.0.iter().position(|Chain(of, _, _, end)| before != 0 && *of == isolate && *end == before)
        {
            let earlier = self.0.swap_remove(at);
            (before, first) = (earlier.1, earlier.2);
        }
        // Batches overtake each other on the way, so that a later chain may be there already.
        while let Some(at) = self.0.iter().position(|Chain(of, start, ..)| *of == isolate && *start == last) {
            last = self.0.swap_remove(at).3;
        }
        self.0.push(Chain(isolate, before, first, last));
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn any_order_and_repetition_is_one_chain(steps in vec(1..9u64, 1..30), order in any::<u64>(), again in vec(any::<prop::sample::Index>(), 0..9)) {
            let mut numbers = vec![0];
            steps.iter().for_each(|step| numbers.push(numbers.last().unwrap() + step));
            let mut batches: Vec<_> = numbers.windows(2).map(|pair| (pair[0], pair[1])).collect();
            batches.sort_by_key(|(_, number)| number.wrapping_mul(order | 1));
            let mut received = Received::default();
            for (previous, number) in &batches {
                prop_assert!(!received.contains("a", *number));
                received.insert("a", *previous, *number);
                prop_assert!(received.contains("a", *number) && !received.contains("b", *number));
            }
            prop_assert!(again.iter().all(|index| received.contains("a", index.get(&batches).1)));
            prop_assert_eq!((received.0.len(), received.gaps()), (1, 0));
        }

        #[test]
        fn batch_that_is_missing_is_a_gap(count in 2..20u64, missing in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
            let missing = missing.index(usize::try_from(count).unwrap() - 1) as u64 + 1;
            let numbers: Vec<u64> = (1..=count).filter(|number| *number != missing).collect();
            // As two stores have it.
            let (one, two) = numbers.split_at(at.index(numbers.len()));
            let store = |numbers: &[u64]| {
                let mut store = Received::default();
                numbers.iter().for_each(|number| store.insert("a", number - 1, *number));
                store
            };
            let mut received = store(two);
            received.extend(&store(one));
            prop_assert_eq!(received.gaps(), 1);
            prop_assert!(!received.contains("a", missing));
            received.insert("a", missing - 1, missing);
            prop_assert_eq!(received.gaps(), 0);
        }
    }

    #[test]
    fn closed_store_misses_nothing_before() {
        let mut received = Received::default();
        received.insert("a", 7, 9);
        assert_eq!(received.gaps(), 1);
        received.close();
        received.insert("a", 9, 12);
        assert_eq!((received.gaps(), received.contains("a", 12)), (0, true));
    }
}
