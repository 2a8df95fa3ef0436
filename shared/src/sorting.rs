//! Sorting, with one copy of the standard library's sort for all types.
//!
//! Why: docs/decisions/edge.md, "New types are not sorted or collected into maps without need".

use std::cmp::Ordering;

/// Sorts a list. Equal items stay in their order.
///
/// ```
/// let mut words = ["pear", "fig", "apple", "kiwi"];
/// shared::sorting::sort_by_key(&mut words, |word| word.len());
/// assert_eq!(words, ["fig", "pear", "kiwi", "apple"]);
/// ```
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// Sorts a list. Equal items stay in their order.
pub fn sort_by<T>(items: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let at = |place: usize| items.get(place);
    let mut order = sorted_places(items.len(), &|one, other| match (at(one), at(other)) {
        (Some(one), Some(other)) => compare(one, other),
        _ => Ordering::Equal,
    });
    // Each place gets its item, and the one it had waits at the place where that came from.
    for start in 0..items.len() {
        let mut to = start;
        while let Some(from) =
            order.get_mut(to).map(|from| std::mem::replace(from, to)).filter(|from| *from != start)
        {
            items.swap(to, from);
            to = from;
        }
    }
}

/// Returns the places of `length` items in their order. Not generic: it has the sort.
fn sorted_places(length: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..length).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The oracle is the sort of the standard library.
        #[test]
        fn list_is_sorted_as_the_standard_library_does(
            items in prop::collection::vec((0u8..20, any::<u16>()), 0..200),
        ) {
            let (mut sorted, mut expected) = (items.clone(), items);
            sort_by_key(&mut sorted, |(key, _)| *key);
            expected.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(&sorted, &expected);
            sort_by(&mut sorted, |one, other| other.cmp(one));
            expected.sort_by(|one, other| other.cmp(one));
            prop_assert_eq!(sorted, expected);
        }
    }
}
