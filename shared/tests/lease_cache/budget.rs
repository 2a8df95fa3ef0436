//! The local budget of all caches of a key together, whatever happens to their messages.

use std::num::NonZeroU32;

use proptest::prelude::*;
use shared::key::KeyRecord;
use shared::lease_cache::{Admission, LeaseCache, Step};
use shared::meter::{Message, Meter, MeterRequest, MeterResponse, Reply};
use shared::policy::LimitOverrides;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;

use crate::{NOON, key};

const CACHES: usize = 6;

/// A call, and the fate of the request that it may send.
#[derive(Clone, Debug)]
struct CallStep {
    cache: usize,
    gap_ms: u64,
    fate: Fate,
    /// Whether another cache takes the place of this one before, as after a crash.
    is_new: bool,
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    /// The request is lost.
    Lost,
    /// The response is lost.
    Unheard,
    /// The response comes after the call was given up, behind later ones.
    Late,
    /// The response comes in time.
    Heard,
}

fn step() -> impl Strategy<Value = CallStep> {
    let fate = prop_oneof![4 => Just(Fate::Lost), 1 => Just(Fate::Unheard), 1 => Just(Fate::Late), 3 => Just(Fate::Heard)];
    let gap_ms = prop_oneof![5 => 0..500_u64, 1 => 0..20_000_u64];
    (0..CACHES, gap_ms, fate, prop::bool::weighted(0.03)).prop_map(|(cache, gap_ms, fate, is_new)| CallStep {
        cache,
        gap_ms,
        fate,
        is_new,
    })
}

fn ask(meter: &mut Meter, request: &MeterRequest, now: UnixMillis) -> MeterResponse {
    match meter.handle(Message::Ask(request.clone()), now) {
        Reply::Ask(response) => response,
        other => panic!("{other:?}"),
    }
}

/// Returns the most moments in any minute.
fn fullest_minute(moments: &[u64]) -> usize {
    let within =
        |end: u64| moments.iter().filter(|&&at| (end.saturating_sub(60_000)..=end).contains(&at)).count();
    moments.iter().map(|&end| within(end)).max().unwrap_or(0)
}

proptest! {
    #[test]
    fn caches_together_admit_a_quarter_minute_at_most(
        minute in 1..200_u32,
        steps in prop::collection::vec(step(), 1..600),
    ) {
        let key = key(Tier::Pro, 1);
        let limits = LimitOverrides { minute: NonZeroU32::new(minute), ..LimitOverrides::NONE };
        let record = KeyRecord { version: 1, limits, ..KeyRecord::provisional(&key) };
        let new = |id: u64| {
            let mut cache = LeaseCache::new(id);
            cache.learn(record.clone());
            cache
        };
        let mut caches: Vec<_> = (0..CACHES).map(|place| new(place as u64)).collect();
        let mut late: Vec<Vec<(MeterRequest, UnixMillis, MeterResponse)>> = vec![Vec::new(); CACHES];
        let (mut meter, mut now, mut admitted) = (Meter::default(), NOON, Vec::new());
        for (number, CallStep { cache: place, gap_ms, fate, is_new }) in steps.into_iter().enumerate() {
            now = now.plus(gap_ms);
            if is_new {
                caches[place] = new(1_000 + number as u64);
                late[place].clear();
            }
            let cache = &mut caches[place];
            let admission = match (cache.call(&key, Tool::Qr, now), fate) {
                (Step::Decided(admission, renewal), fate) => {
                    if let (Some(request), Fate::Heard) = (renewal, fate) {
                        let response = ask(&mut meter, &request, now);
                        cache.handle_response(&request, now, &response, now);
                    }
                    Some(admission)
                }
                (Step::Ask(request, _), Fate::Heard) => {
                    let response = ask(&mut meter, &request, now);
                    cache.handle_response(&request, now, &response, now)
                }
                (Step::Ask(request, _), Fate::Lost) => cache.handle_failure(&request, now),
                (Step::Ask(request, _), Fate::Unheard) => {
                    ask(&mut meter, &request, now);
                    cache.handle_failure(&request, now)
                }
                (Step::Ask(request, _), Fate::Late) => {
                    let response = ask(&mut meter, &request, now);
                    let admission = cache.handle_failure(&request, now);
                    late[place].push((request, now, response));
                    admission
                }
            };
            if number % 7 == 0 {
                for (request, sent, response) in late[place].drain(..).rev() {
                    prop_assert_eq!(cache.handle_response(&request, sent, &response, now), None);
                }
            }
            if let Some(Admission::Allow { degraded: true, .. }) = admission {
                admitted.push(now.0);
            }
        }
        let budget = minute as usize / 4;
        prop_assert!(fullest_minute(&admitted) <= budget, "{} of {budget}", fullest_minute(&admitted));
    }
}
