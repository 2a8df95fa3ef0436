//! An isolate's memory of the origins that responded lately.

use super::{AVOID_MS, CONFIRMED_MS, OriginError, Origins};
use crate::time::UnixMillis;

/// An isolate's memory of which origins are reachable, by index in the list.
#[derive(Clone, Debug, Default)]
pub struct Reachability(Vec<(usize, LastSeen)>);

#[derive(Clone, Copy, Debug)]
enum LastSeen {
    Reached(UnixMillis),
    Unreached(UnixMillis),
}

impl Reachability {
    /// Records a response of the origin at `index`.
    pub fn record_reached(&mut self, index: usize, now: UnixMillis) {
        self.set(index, LastSeen::Reached(now));
    }

    /// Records a failed call. If the failure does not show that the origin is out of reach, the
    /// origin only has to be probed before the next POST.
    pub fn record_failure(&mut self, index: usize, error: OriginError, now: UnixMillis) {
        if error.is_unreachable() {
            self.set(index, LastSeen::Unreached(now));
        } else {
            self.forget(index);
        }
    }

    /// Returns true if the origin responded within the last [`CONFIRMED_MS`] and no call to it has
    /// failed since.
    pub fn is_confirmed(&self, index: usize, now: UnixMillis) -> bool {
        let confirms =
            |seen: &LastSeen| matches!(seen, LastSeen::Reached(at) if now.since(*at) < CONFIRMED_MS);
        self.0.iter().any(|(other, seen)| *other == index && confirms(seen))
    }

    /// Returns the indexes of `origins` in the order to ask them: best first, those that were
    /// lately out of reach last. All are in it, since the memory may be wrong; a single one is in
    /// it twice, since a connection kept open may have been closed just before it was used. See
    /// [`has_other_origin`].
    pub fn order(&self, origins: &Origins, now: UnixMillis) -> Vec<usize> {
        let avoids = |seen: &LastSeen| matches!(seen, LastSeen::Unreached(at) if now.since(*at) < AVOID_MS);
        let is_avoided = |index: &usize| self.0.iter().any(|(other, seen)| other == index && avoids(seen));
        let (avoided, mut order): (Vec<usize>, Vec<usize>) = (0..origins.all().len()).partition(is_avoided);
        order.extend(avoided);
        if let &[only] = order.as_slice() {
            order.push(only);
        }
        order
    }

    fn set(&mut self, index: usize, seen: LastSeen) {
        self.forget(index);
        self.0.push((index, seen));
    }

    fn forget(&mut self, index: usize) {
        self.0.retain(|(other, _)| *other != index);
    }
}

/// Returns true if another origin follows at `nth` in an [order](Reachability::order). A single one
/// is followed by itself only, so a call has no reason to give it up early.
pub fn has_other_origin(order: &[usize], nth: usize) -> bool {
    let mut rest = order.iter().skip(nth);
    let tried = rest.next();
    rest.any(|next| Some(next) != tried)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreachable_origin_is_tried_last_for_a_while() {
        let origins = Origins::parse("http://a,http://b,http://c", false).unwrap();
        let mut seen = Reachability::default();
        seen.record_failure(0, OriginError::Refused, UnixMillis(1_000));
        assert_eq!(seen.order(&origins, UnixMillis(1_000 + AVOID_MS - 1)), [1, 2, 0]);
        assert_eq!(seen.order(&origins, UnixMillis(1_000 + AVOID_MS)), [0, 1, 2]);
        seen.record_failure(0, OriginError::TimedOut, UnixMillis(9_000));
        seen.record_reached(0, UnixMillis(9_000));
        assert_eq!(seen.order(&origins, UnixMillis(9_001)), [0, 1, 2]);
        let single = Origins::parse("http://a", false).unwrap();
        assert_eq!(seen.order(&single, UnixMillis(9_001)), [0, 0]);
    }

    #[test]
    fn single_origin_has_no_other_to_go_to() {
        let seen = Reachability::default();
        let others = |list: &str| {
            let order = seen.order(&Origins::parse(list, false).unwrap(), UnixMillis(0));
            (0..order.len()).map(|nth| has_other_origin(&order, nth)).collect::<Vec<_>>()
        };
        assert_eq!(others("http://a"), [false, false]);
        assert_eq!(others("http://a,http://b"), [true, false]);
    }

    #[test]
    fn origin_is_confirmed_until_a_call_fails_or_time_passes() {
        let mut seen = Reachability::default();
        assert!(!seen.is_confirmed(0, UnixMillis(1_000)), "nothing is known yet");
        seen.record_reached(0, UnixMillis(1_000));
        assert!(seen.is_confirmed(0, UnixMillis(1_000 + CONFIRMED_MS - 1)));
        assert!(!seen.is_confirmed(0, UnixMillis(1_000 + CONFIRMED_MS)));
        for failure in [OriginError::Lost, OriginError::Refused] {
            seen.record_reached(0, UnixMillis(2_000));
            seen.record_failure(0, failure, UnixMillis(2_000));
            assert!(!seen.is_confirmed(0, UnixMillis(2_001)), "{failure:?}");
        }
    }
}
