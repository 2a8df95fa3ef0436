//! Random worlds of the objects. `SIM_SEED=n` plays one of them and prints its trace; `TIME=seconds` plays
//! new ones for so long.

mod account;
mod choices;
mod client;
mod domains;
mod durable;
mod events;
mod hooks;
mod places;
mod products;
mod runtime;
mod slug;
mod slugs;
mod source;
mod stats;

use std::{
    env, thread,
    time::{Duration, Instant},
};

use choices::{Choices, shrink};
use runtime::Sim;

const SEEDS: u64 = 10_000;
/// Tries to find a simpler world that fails.
const TRIES: usize = 3_000;

/// A kind of world, and the time from which it has no faults, in milliseconds.
struct Kind {
    name: &'static str,
    calm_at: u64,
    run: fn(&Sim),
}

const KINDS: [Kind; 4] = [
    Kind { name: "slugs", calm_at: slugs::CALM_AT, run: slugs::run },
    Kind { name: "products", calm_at: products::CALM_AT, run: products::run },
    Kind { name: "domains", calm_at: domains::CALM_AT, run: domains::run },
    Kind { name: "events", calm_at: events::CALM_AT, run: events::run },
];

impl Kind {
    fn of_seed(seed: u64) -> &'static Self {
        &KINDS[usize::try_from(seed % KINDS.len() as u64).unwrap()]
    }

    /// Returns what a world broke, its choices and its trace.
    fn play(
        &self,
        choices: Choices,
        lost_commit: u64,
        is_traced: bool,
    ) -> (Vec<String>, Vec<u64>, Vec<String>) {
        let sim = Sim::new(choices, lost_commit, self.calm_at, is_traced);
        (self.run)(&sim);
        sim.finish()
    }

    fn play_seed(&self, seed: u64) -> Vec<String> {
        self.play(Choices::of_seed(seed), 0, false).0
    }

    /// Returns the simplest world that fails like that of the seed.
    fn explain(&self, seed: u64) -> String {
        let (broken, choices, _) = self.play(Choices::of_seed(seed), 0, false);
        let fails = |list: &[u64]| !self.play(Choices::scripted(list.to_vec()), 0, false).0.is_empty();
        let simplest = shrink(choices, TRIES, fails);
        let (_, _, trace) = self.play(Choices::scripted(simplest), 0, true);
        format!("SIM_SEED={seed} ({}): {}\n{}", self.name, broken.join("; "), trace.join("\n"))
    }
}

/// Plays worlds on all cores. Returns the seeds of those that fail, and the number that was played.
fn play_all(seeds: impl Fn(u64) -> Option<u64> + Sync) -> (Vec<u64>, u64) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<_> = thread::scope(|scope| {
        let play = |first: u64| {
            let (mut failed, mut played) = (Vec::new(), 0);
            for seed in (first..).step_by(threads).map_while(&seeds) {
                played += 1;
                if !Kind::of_seed(seed).play_seed(seed).is_empty() {
                    failed.push(seed);
                }
            }
            (failed, played)
        };
        let started: Vec<_> = (0..threads as u64).map(|first| scope.spawn(move || play(first))).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let played = results.iter().map(|(_, played)| played).sum();
    (results.into_iter().flat_map(|(failed, _)| failed).collect(), played)
}

#[test]
fn random_world_of_objects_breaks_no_promise() {
    let number = |name: &str| env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    if let Some(seed) = number("SIM_SEED") {
        let (broken, _, trace) = Kind::of_seed(seed).play(Choices::of_seed(seed), 0, true);
        println!("{}", trace.join("\n"));
        assert!(broken.is_empty(), "{}", Kind::of_seed(seed).explain(seed));
        return;
    }
    let (mut failed, played) = match number("TIME") {
        None => play_all(|seed| (seed < number("SIM_SEEDS").unwrap_or(SEEDS)).then_some(seed)),
        Some(seconds) => {
            let (start, length) = (Instant::now(), Duration::from_secs(seconds));
            let first =
                std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() << 24;
            println!("seeds from {first}");
            play_all(|nth| (start.elapsed() < length).then_some(first + nth))
        }
    };
    failed.sort_unstable();
    println!("{played} worlds, {} failed", failed.len());
    let shown = failed.iter().take(3).map(|seed| Kind::of_seed(*seed).explain(*seed));
    assert!(
        failed.is_empty(),
        "{} of {played} worlds failed: {failed:?}\n{}",
        failed.len(),
        shown.collect::<Vec<_>>().join("\n\n")
    );
}

/// The simulator is worth what it finds: the platform promises that no commit is lost, and a world in which
/// one is must fail.
#[test]
fn lost_commit_is_found_in_every_kind_of_world() {
    for kind in &KINDS {
        let broken = (0..400).filter(|seed| !kind.play(Choices::of_seed(*seed), 30, false).0.is_empty());
        assert!(broken.count() > 0, "{}", kind.name);
    }
}

#[test]
fn seed_reproduces_its_world_of_objects() {
    for kind in &KINDS {
        let [one, other] = [(), ()].map(|()| kind.play(Choices::of_seed(7), 0, true).2);
        assert!(one.len() > 10 && one == other, "{}", kind.name);
    }
}
