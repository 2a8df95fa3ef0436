//! The choices of a world: drawn from a seed, or read again from a list. A list that is made shorter or
//! smaller gives a simpler world, because 0 always means that nothing happens.

use tests::sim::Rng;

/// The source of all choices of one world.
pub(super) struct Choices {
    rng: Rng,
    script: Option<Vec<u64>>,
    taken: Vec<u64>,
}

impl Choices {
    pub(super) fn of_seed(seed: u64) -> Self {
        Self { rng: Rng::new(seed), script: None, taken: Vec::new() }
    }

    /// Returns choices that are read from a list. After its end all are 0.
    pub(super) fn scripted(script: Vec<u64>) -> Self {
        Self { rng: Rng::new(0), script: Some(script), taken: Vec::new() }
    }

    /// Returns a number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let chosen = match &self.script {
            Some(script) => script.get(self.taken.len()).copied().unwrap_or(0).min(bound.saturating_sub(1)),
            None => self.rng.range(0, bound),
        };
        self.taken.push(chosen);
        chosen
    }

    /// Returns true with a probability in per mille.
    pub(super) fn chance(&mut self, per_mille: u64) -> bool {
        per_mille > 0 && self.below(1_000) >= 1_000 - per_mille.min(1_000)
    }

    pub(super) fn into_taken(self) -> Vec<u64> {
        self.taken
    }
}

/// Returns the simplest list for which `fails` holds that it finds within so many tries: blocks are left
/// out or become 0, the large ones first.
pub(super) fn shrink(mut list: Vec<u64>, tries: usize, fails: impl Fn(&[u64]) -> bool) -> Vec<u64> {
    let mut left = tries;
    let mut size = list.len().div_ceil(2);
    while size > 0 && left > 0 {
        let (mut at, before) = (0, list.clone());
        while at < list.len() && left > 0 {
            let end = (at + size).min(list.len());
            let shorter: Vec<u64> = [&list[..at], &list[end..]].concat();
            let mut smaller = list.clone();
            smaller[at..end].fill(0);
            let candidates = [shorter, smaller];
            let found = candidates.into_iter().find(|candidate| {
                left = left.saturating_sub(1);
                *candidate != list && fails(candidate)
            });
            match found {
                Some(simpler) if simpler.len() < list.len() => list = simpler,
                Some(simpler) => {
                    list = simpler;
                    at = end;
                }
                None => at = end,
            }
        }
        if size > 1 || list == before {
            size /= 2;
        }
    }
    list
}
