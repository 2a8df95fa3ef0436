//! Load balancing algorithms: round robin, least connections and rendezvous hashing. Pure
//! functions.

/// An upstream that may get the call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// The index of the upstream in the pool.
    pub(super) index: usize,
    /// More than 0. Reduced during a slow start.
    pub(super) weight: u64,
    /// Number of calls in flight.
    pub(super) in_flight: usize,
    /// A hash of the upstream's name, the same in every process.
    pub(super) seed: u64,
}

/// Selects by smooth weighted round robin: the candidate with the most credit gets the call, so
/// that calls of a heavy upstream are spread evenly. `credits` has an entry for each upstream of
/// the pool.
pub(super) fn round_robin(credits: &mut [i64], candidates: impl Iterator<Item = Candidate>) -> Option<usize> {
    let (mut total, mut best): (i64, Option<(i64, usize)>) = (0, None);
    for candidate in candidates {
        let weight = i64::try_from(candidate.weight).unwrap_or(i64::MAX);
        let credit = credits.get_mut(candidate.index)?;
        *credit = credit.saturating_add(weight);
        total = total.saturating_add(weight);
        if best.is_none_or(|(highest, _)| *credit > highest) {
            best = Some((*credit, candidate.index));
        }
    }
    let (_, index) = best?;
    let credit = credits.get_mut(index)?;
    *credit = credit.saturating_sub(total);
    Some(index)
}

/// Selects the candidate with the fewest calls in flight for its weight. Equal ones take turns by
/// smooth weighted round robin, as in nginx. So do those that are idle, whatever their weights:
/// otherwise a heavy one that is idle would always be the next.
pub(super) fn least_connections<I: Iterator<Item = Candidate>>(
    credits: &mut [i64],
    candidates: impl Fn() -> I,
) -> Option<usize> {
    // Multiplied crosswise, because a quotient of small integers would make most loads equal.
    let load = |of: &Candidate, weight: u64| of.in_flight as u128 * u128::from(weight);
    let by_load = |a: &Candidate, b: &Candidate| load(a, b.weight).cmp(&load(b, a.weight));
    let least = candidates().min_by(by_load)?;
    let equal = candidates().filter(|candidate| by_load(candidate, &least).is_le());
    // The calls in flight may have changed since they were compared.
    round_robin(credits, equal).or(Some(least.index))
}

/// Selects by weighted rendezvous hashing: a key keeps its upstream while that is a candidate. If
/// an upstream leaves, only its own keys move.
#[allow(clippy::cast_precision_loss, reason = "53 bits of a hash suffice")]
pub(super) fn key_hash(key: &[u8], candidates: impl Iterator<Item = Candidate>) -> Option<usize> {
    let key = seed(key);
    let score = |candidate: &Candidate| {
        let hash = mixed(key ^ mixed(candidate.seed)) >> 11;
        // Never 0 or 1, whose logarithm would be infinite or zero.
        let share = (hash as f64 + 0.5) / (1u64 << 53) as f64;
        candidate.weight as f64 / -share.ln()
    };
    let best = candidates.map(|candidate| (score(&candidate), candidate.index));
    best.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, index)| index)
}

/// Returns the FNV-1a hash of some bytes, which is the same in every process.
pub(super) fn seed(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mixed(bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// Mixes the bits of a number (SplitMix64).
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
        let candidate = |(index, weight): (usize, &u64)| Candidate {
            index,
            weight: *weight,
            in_flight: 0,
            seed: seed(format!("10.0.0.{index}:9100").as_bytes()),
        };
        weights.iter().enumerate().map(candidate).collect()
    }

    #[test]
    fn round_robin_follows_weights_and_spreads_turns() {
        let candidates = candidates(&[5, 1, 1]);
        let mut credits = [0; 3];
        let turns: Vec<_> =
            (0..7).filter_map(|_| round_robin(&mut credits, candidates.iter().copied())).collect();
        assert_eq!(turns, [0, 0, 1, 0, 2, 0, 0]);
        assert_eq!(credits, [0; 3]);
    }

    #[test]
    fn least_connections_follows_weights_and_rotates_ties() {
        let mut busy = candidates(&[1, 3]);
        let mut credits = [0; 2];
        for _ in 0..400 {
            let index = least_connections(&mut credits, || busy.iter().copied()).unwrap();
            busy[index].in_flight += 1;
        }
        let counts: Vec<_> = busy.iter().map(|candidate| candidate.in_flight).collect();
        assert_eq!(counts, [100, 300]);
        let (idle, mut credits) = (candidates(&[1, 1, 1]), [0; 3]);
        let turns: Vec<_> =
            (0..6).filter_map(|_| least_connections(&mut credits, || idle.iter().copied())).collect();
        assert_eq!(turns, [0, 1, 2, 0, 1, 2]);
    }

    /// Plays `calls` calls, at most `at_once` of them at a time, which end in a random order. Returns how
    /// many each candidate got.
    fn shares(weights: &[u64], at_once: usize, calls: usize) -> Vec<usize> {
        let mut random = fastrand::Rng::with_seed(at_once as u64);
        let mut candidates = candidates(weights);
        let (mut credits, mut counts) = (vec![0; weights.len()], vec![0; weights.len()]);
        let mut in_flight = Vec::new();
        for _ in 0..calls {
            if in_flight.len() == at_once {
                let ended: usize = in_flight.swap_remove(random.usize(..at_once));
                candidates[ended].in_flight -= 1;
            }
            let index = least_connections(&mut credits, || candidates.iter().copied()).unwrap();
            candidates[index].in_flight += 1;
            counts[index] += 1;
            in_flight.push(index);
        }
        counts
    }

    #[test]
    fn least_connections_shares_calls_that_end_by_weight() {
        assert_eq!(shares(&[1, 3, 1, 1], 1, 120), [20, 60, 20, 20]);
        assert_eq!(shares(&[1, 100], 1, 1_010), [10, 1_000]);
        for at_once in [2, 3, 5, 8, 20, 100] {
            let counts = shares(&[1, 3, 1, 1], at_once, 6_000);
            // The idle ones come first, so few calls at once are shared more evenly.
            assert!((1_500..=3_100).contains(&counts[1]), "{at_once}: {counts:?}");
            for light in [0, 2, 3] {
                assert!((900..=1_550).contains(&counts[light]), "{at_once}: {counts:?}");
            }
        }
    }

    #[test]
    fn key_hash_spreads_by_weight_and_moves_only_keys_of_a_lost_upstream() {
        let all = candidates(&[1, 1, 2]);
        let mut counts = [0u32; 3];
        for key in 0..40_000u32 {
            let index = key_hash(&key.to_be_bytes(), all.iter().copied()).unwrap();
            counts[index] += 1;
            let without = key_hash(&key.to_be_bytes(), all.iter().copied().filter(|c| c.index != 1)).unwrap();
            assert!(index == 1 || without == index);
        }
        for (count, share) in counts.iter().zip([10_000u32, 10_000, 20_000]) {
            assert!(count.abs_diff(share) < share / 20, "{counts:?}");
        }
    }

    #[test]
    fn no_candidate_selects_nothing() {
        assert_eq!(round_robin(&mut [0; 2], std::iter::empty()), None);
        assert_eq!(least_connections(&mut [0; 2], std::iter::empty), None);
        assert_eq!(key_hash(b"a", std::iter::empty()), None);
    }
}
