//! Which of several upstreams gets the next call: decided from numbers alone.

/// An upstream that may get the call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Its place in the pool.
    pub(super) place: usize,
    /// More than 0; while it starts slowly, less than it will be.
    pub(super) weight: u64,
    /// Calls it has under way.
    pub(super) in_flight: usize,
    /// What tells it from others in every process alike.
    pub(super) seed: u64,
}

/// Each in turn, as often as its weight says, and not twice in a row where that can be helped: the one that is owed the
/// most gets the call. `owed` has an entry for each place.
pub(super) fn in_turn(owed: &mut [i64], candidates: impl Iterator<Item = Candidate>) -> Option<usize> {
    let (mut total, mut best): (i64, Option<(i64, usize)>) = (0, None);
    for candidate in candidates {
        let weight = i64::try_from(candidate.weight).unwrap_or(i64::MAX);
        let owed = owed.get_mut(candidate.place)?;
        *owed = owed.saturating_add(weight);
        total = total.saturating_add(weight);
        if best.is_none_or(|(most, _)| *owed > most) {
            best = Some((*owed, candidate.place));
        }
    }
    let (_, place) = best?;
    let owed = owed.get_mut(place)?;
    *owed = owed.saturating_sub(total);
    Some(place)
}

/// The one with the fewest calls for its weight; among equals, another one each `turn`, of a pool of `size`.
pub(super) fn least_busy(
    turn: usize,
    size: usize,
    candidates: impl Iterator<Item = Candidate>,
) -> Option<usize> {
    let load = |of: &Candidate, weight: u64| (of.in_flight as u128 + 1) * u128::from(weight);
    let rank = |of: &Candidate| (of.place + size - turn.checked_rem(size).unwrap_or(0)).checked_rem(size);
    candidates
        .min_by(|a, b| load(a, b.weight).cmp(&load(b, a.weight)).then_with(|| rank(a).cmp(&rank(b))))
        .map(|candidate| candidate.place)
}

/// The same one for the same key as long as it is there; when it goes, only its own keys move (rendezvous hashing).
#[allow(clippy::cast_precision_loss, reason = "53 bits tell upstreams apart")]
pub(super) fn by_key(key: &[u8], candidates: impl Iterator<Item = Candidate>) -> Option<usize> {
    let key = seed(key);
    let score = |candidate: &Candidate| {
        let hash = mixed(key ^ mixed(candidate.seed)) >> 11;
        let share = (hash as f64 + 0.5) / (1u64 << 53) as f64;
        candidate.weight as f64 / -share.ln()
    };
    let best = candidates.map(|candidate| (score(&candidate), candidate.place));
    best.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, place)| place)
}

/// A number for some bytes that is the same in every process (FNV-1a).
pub(super) fn seed(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mixed(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Spreads what differs in one bit over all (SplitMix64).
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(weights: &[u64]) -> Vec<Candidate> {
        let candidate = |(place, weight): (usize, &u64)| Candidate {
            place,
            weight: *weight,
            in_flight: 0,
            seed: seed(format!("10.0.0.{place}:9100").as_bytes()),
        };
        weights.iter().enumerate().map(candidate).collect()
    }

    #[test]
    fn round_robin_follows_weights_and_spreads_turns() {
        let candidates = candidates(&[5, 1, 1]);
        let mut owed = [0; 3];
        let turns: Vec<_> = (0..7).filter_map(|_| in_turn(&mut owed, candidates.iter().copied())).collect();
        assert_eq!(turns, [0, 0, 1, 0, 2, 0, 0]);
        assert_eq!(owed, [0; 3]);
    }

    #[test]
    fn least_connections_follows_weights_and_rotates_ties() {
        let mut busy = candidates(&[1, 3]);
        let mut counts = [0usize; 2];
        for turn in 0..400 {
            let place = least_busy(turn, 2, busy.iter().copied()).unwrap();
            busy[place].in_flight += 1;
            counts[place] += 1;
        }
        assert_eq!(counts, [100, 300]);
        let idle = candidates(&[1, 1, 1]);
        let turns: Vec<_> = (0..6).filter_map(|turn| least_busy(turn, 3, idle.iter().copied())).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn keys_spread_by_weight_and_only_those_of_a_lost_upstream_move() {
        let all = candidates(&[1, 1, 2]);
        let mut counts = [0u32; 3];
        for key in 0..40_000u32 {
            let place = by_key(&key.to_be_bytes(), all.iter().copied()).unwrap();
            counts[place] += 1;
            let without = by_key(&key.to_be_bytes(), all.iter().copied().filter(|c| c.place != 1)).unwrap();
            assert!(place == 1 || without == place);
        }
        for (count, share) in counts.iter().zip([10_000u32, 10_000, 20_000]) {
            assert!(count.abs_diff(share) < share / 20, "{counts:?}");
        }
    }

    #[test]
    fn nobody_is_chosen_of_none() {
        assert_eq!(in_turn(&mut [0; 2], std::iter::empty()), None);
        assert_eq!(least_busy(3, 0, std::iter::empty()), None);
        assert_eq!(by_key(b"a", std::iter::empty()), None);
    }
}
