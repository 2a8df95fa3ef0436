//! Who has a slug. There is one state for each slug, so that two accounts never have the same.
//!
//! Why: docs/decisions/pages.md, "A slug is claimed in two steps, and the claim is written down
//! before".

use serde::{Deserialize, Serialize};
use shared::{key::KeyId, time::UnixMillis};

use crate::page::{IdSource, PageId, Slug};

/// The page that has a slug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its account.
    pub account: KeyId,
    /// The page.
    pub page: PageId,
}

/// Time after which a claim that was on its way is not taken any more, in milliseconds.
const CLAIM_LIFE_MS: u64 = 300_000;
/// Time for which the end of a claim is remembered, in milliseconds. Clocks may be ten minutes apart.
const ENDED_KEEP_MS: u64 = 900_000;
/// Ends of claims that are remembered.
const MAX_ENDED: usize = 200;

/// The state of one slug.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct SlugState {
    holding: Holding,
    /// Claims that have ended, and when. One of them that arrives late, or twice, gets nothing.
    ended: Vec<(u64, UnixMillis)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Holding {
    /// Anyone may claim it.
    #[default]
    Free,
    /// A page has it, or is about to.
    Owned {
        owner: Owner,
        /// Claims that have not ended. The slug is owned as long as there is one.
        claims: Vec<u64>,
        /// What it goes back to if all claims end.
        before: Option<Reservation>,
    },
    /// A page had it. Only its account may claim it.
    Reserved(Reservation),
}

/// A slug that was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reservation {
    /// The page that had it, and may still redirect from it.
    pub owner: Owner,
    /// The moment from which anyone may claim it.
    pub until: UnixMillis,
}

/// A message about a slug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlugMessage {
    /// A page wants it. The same claim again gets the same reply.
    Claim {
        /// The page.
        owner: Owner,
        /// The number of the claim.
        claim: u64,
        /// The moment at which the account made it; `None` for one that the account repeats until
        /// there is a reply.
        #[serde(default)]
        at: Option<UnixMillis>,
    },
    /// A claim is taken back, because the page did not get to use it. It may not have arrived yet.
    Cancel {
        /// The page.
        owner: Owner,
        /// The number of the claim.
        claim: u64,
    },
    /// The page has another slug now, or is deleted. A claim that it made since holds.
    Release {
        /// The page.
        owner: Owner,
        /// The number of the claim by which it had the slug.
        claim: u64,
        /// The moment until which only its account may claim the slug.
        until: UnixMillis,
    },
    /// Whether an account could claim it.
    Peek {
        /// The account.
        account: KeyId,
    },
    /// Who has it.
    Locate,
}

/// The reply to a [`SlugMessage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlugReply {
    /// To a claim, and to a peek: it can be had.
    Granted,
    /// To a claim, and to a peek: it cannot.
    Taken,
    /// To what needs no reply, and to a claim that has ended before it arrived.
    Noted,
    /// To [`SlugMessage::Locate`]: the page that has it, or had it last while it is reserved.
    Owner(Option<Owner>),
}

impl SlugState {
    /// Handles a message.
    pub fn handle(&mut self, message: SlugMessage, now: UnixMillis) -> SlugReply {
        // Here, because no alarm wakes a slug: a reservation ends when somebody asks.
        if matches!(self.holding, Holding::Reserved(reservation) if reservation.until <= now) {
            self.holding = Holding::Free;
        }
        match message {
            SlugMessage::Claim { claim, at, .. } if self.has_ended(claim, at, now) => SlugReply::Noted,
            SlugMessage::Claim { owner, claim, .. } => self.claim(owner, claim),
            SlugMessage::Cancel { owner, claim } => {
                self.end(owner, claim, now);
                SlugReply::Noted
            }
            SlugMessage::Release { owner, claim, until } => {
                if let Holding::Owned { owner: other, before, .. } = &mut self.holding
                    && *other == owner
                {
                    // Set even if another claim still holds: it counts once the last of them has
                    // ended.
                    *before = Some(Reservation { owner, until });
                }
                self.end(owner, claim, now);
                SlugReply::Noted
            }
            SlugMessage::Peek { account } if self.is_open_to(account) => SlugReply::Granted,
            SlugMessage::Peek { .. } => SlugReply::Taken,
            SlugMessage::Locate => SlugReply::Owner(self.owner()),
        }
    }

    /// Returns true if a page has it, or is about to.
    #[must_use]
    pub const fn is_owned(&self) -> bool {
        matches!(self.holding, Holding::Owned { .. })
    }

    fn has_ended(&self, claim: u64, at: Option<UnixMillis>, now: UnixMillis) -> bool {
        at.is_some_and(|at| now.since(at) >= CLAIM_LIFE_MS)
            || self.ended.iter().any(|(ended, _)| *ended == claim)
    }

    fn claim(&mut self, owner: Owner, claim: u64) -> SlugReply {
        match &mut self.holding {
            Holding::Owned { owner: other, claims, .. } if *other == owner => {
                // A claim whose reply was lost comes again.
                if !claims.contains(&claim) {
                    claims.push(claim);
                }
                SlugReply::Granted
            }
            Holding::Free => {
                self.holding = Holding::Owned { owner, claims: vec![claim], before: None };
                SlugReply::Granted
            }
            Holding::Reserved(reservation) if reservation.owner.account == owner.account => {
                let before = Some(*reservation);
                self.holding = Holding::Owned { owner, claims: vec![claim], before };
                SlugReply::Granted
            }
            Holding::Owned { .. } | Holding::Reserved(_) => SlugReply::Taken,
        }
    }

    /// Ends a claim, and remembers it: it may arrive after its end.
    fn end(&mut self, owner: Owner, claim: u64, now: UnixMillis) {
        self.ended.retain(|(other, at)| *other != claim && now.since(*at) < ENDED_KEEP_MS);
        // An account that renames without end must not make the row grow without end.
        let surplus = (self.ended.len() + 1).saturating_sub(MAX_ENDED);
        self.ended.drain(..surplus);
        // Also of a claim that is not known: it may be on its way.
        self.ended.push((claim, now));
        let Holding::Owned { owner: other, claims, before } = &mut self.holding else { return };
        // An end that comes late must not take the slug from whoever has it now.
        if *other != owner {
            return;
        }
        claims.retain(|held| *held != claim);
        if claims.is_empty() {
            self.holding = before.map_or(Holding::Free, Holding::Reserved);
        }
    }

    fn is_open_to(&self, account: KeyId) -> bool {
        match &self.holding {
            Holding::Free => true,
            Holding::Reserved(reservation) => reservation.owner.account == account,
            Holding::Owned { .. } => false,
        }
    }

    const fn owner(&self) -> Option<Owner> {
        match &self.holding {
            Holding::Free => None,
            Holding::Owned { owner, .. } => Some(*owner),
            Holding::Reserved(reservation) => Some(reservation.owner),
        }
    }
}

/// The stored form of a [`SlugState`]. Versions from before ends of claims were remembered read it too:
/// to them, a free slug is one whose reservation is over.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Free,
    Owned {
        owner: Owner,
        claims: Vec<u64>,
        before: Option<Reservation>,
        #[serde(default)]
        ended: Vec<(u64, UnixMillis)>,
    },
    Reserved {
        #[serde(flatten)]
        reservation: Reservation,
        #[serde(default)]
        ended: Vec<(u64, UnixMillis)>,
    },
}

impl From<Stored> for SlugState {
    fn from(stored: Stored) -> Self {
        let (holding, ended) = match stored {
            Stored::Free => (Holding::Free, Vec::new()),
            Stored::Owned { owner, claims, before, ended } => {
                (Holding::Owned { owner, claims, before }, ended)
            }
            Stored::Reserved { reservation, ended } if reservation.until == UnixMillis(0) => {
                (Holding::Free, ended)
            }
            Stored::Reserved { reservation, ended } => (Holding::Reserved(reservation), ended),
        };
        Self { holding, ended }
    }
}

impl From<SlugState> for Stored {
    fn from(SlugState { holding, ended }: SlugState) -> Self {
        match holding {
            Holding::Free if ended.is_empty() => Self::Free,
            Holding::Free => {
                let nobody = Owner { account: KeyId::new([0; 12]), page: PageId::new([0; 12]) };
                Self::Reserved { reservation: Reservation { owner: nobody, until: UnixMillis(0) }, ended }
            }
            Holding::Owned { owner, claims, before } => Self::Owned { owner, claims, before, ended },
            Holding::Reserved(reservation) => Self::Reserved { reservation, ended },
        }
    }
}

/// Returns slugs that are like a taken one, for the caller to see which of them can be had.
#[must_use]
pub fn suggestions(slug: &Slug, ids: &mut IdSource) -> Vec<Slug> {
    let base: String = slug.as_str().chars().take(30).collect();
    let base = base.trim_end_matches(['.', '_', '-']);
    let number = || {
        let [a, b, ..] = ids.draw();
        u16::from_be_bytes([a, b]) % 900 + 100
    };
    let drawn = std::iter::repeat_with(number).take(2).map(|number| format!("{base}{number}"));
    let named = [format!("{base}2"), format!("{base}-page"), format!("the-{base}")];
    named
        .into_iter()
        .chain(drawn)
        .filter_map(|text| Slug::parse(&text).ok())
        .filter(|slug| !slug.is_withdrawn())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn owner(account: u8, page: u8) -> Owner {
        Owner { account: KeyId::new([account; 12]), page: PageId::new([page; 12]) }
    }

    fn claim(state: &mut SlugState, owner: Owner, claim: u64, now: UnixMillis) -> SlugReply {
        state.handle(SlugMessage::Claim { owner, claim, at: Some(NOW) }, now)
    }

    #[test]
    fn two_accounts_never_get_one_slug() {
        let mut state = SlugState::default();
        assert_eq!(claim(&mut state, owner(1, 1), 7, NOW), SlugReply::Granted);
        assert_eq!(claim(&mut state, owner(1, 1), 7, NOW), SlugReply::Granted, "the same claim again");
        assert_eq!(claim(&mut state, owner(2, 2), 8, NOW), SlugReply::Taken);
        assert_eq!(claim(&mut state, owner(1, 2), 9, NOW), SlugReply::Taken, "another page of the account");
        assert_eq!(state.handle(SlugMessage::Locate, NOW), SlugReply::Owner(Some(owner(1, 1))));
    }

    #[test]
    fn freed_slug_is_reserved_for_its_account_until_then() {
        let mut state = SlugState::default();
        claim(&mut state, owner(1, 1), 7, NOW);
        let until = NOW.plus(1_000);
        state.handle(SlugMessage::Release { owner: owner(2, 2), claim: 7, until }, NOW);
        assert_eq!(claim(&mut state, owner(2, 2), 8, NOW), SlugReply::Taken, "only the owner releases");
        state.handle(SlugMessage::Release { owner: owner(1, 1), claim: 7, until }, NOW);
        assert_eq!(claim(&mut state, owner(2, 2), 8, NOW), SlugReply::Taken);
        assert_eq!(state.handle(SlugMessage::Locate, NOW), SlugReply::Owner(Some(owner(1, 1))));
        assert_eq!(claim(&mut state.clone(), owner(1, 3), 9, NOW), SlugReply::Granted);
        assert_eq!(state.handle(SlugMessage::Locate, until), SlugReply::Owner(None));
        assert_eq!(claim(&mut state, owner(2, 2), 8, until), SlugReply::Granted);
    }

    #[test]
    fn claim_that_was_taken_back_leaves_no_trace() {
        let mut state = SlugState::default();
        claim(&mut state, owner(1, 1), 1, NOW);
        claim(&mut state, owner(1, 1), 2, NOW);
        let cancel = |claim| SlugMessage::Cancel { owner: owner(1, 1), claim };
        state.handle(cancel(1), NOW);
        assert_eq!(claim(&mut state, owner(2, 2), 3, NOW), SlugReply::Taken, "the other claim holds");
        state.handle(cancel(2), NOW);
        assert_eq!(state.holding, Holding::Free);
        claim(&mut state, owner(1, 1), 4, NOW);
        state.handle(SlugMessage::Release { owner: owner(1, 1), claim: 4, until: NOW.plus(10) }, NOW);
        let reserved = state.clone();
        claim(&mut state, owner(1, 9), 5, NOW);
        state.handle(SlugMessage::Cancel { owner: owner(1, 9), claim: 5 }, NOW);
        assert_eq!(state.holding, reserved.holding, "back to what it was");
    }

    #[test]
    fn claim_that_arrives_after_its_end_gets_nothing() {
        let mut state = SlugState::default();
        let cancel = SlugMessage::Cancel { owner: owner(1, 1), claim: 1 };
        state.handle(cancel, NOW);
        assert_eq!(claim(&mut state, owner(1, 1), 1, NOW.plus(120_000)), SlugReply::Noted);
        assert_eq!(claim(&mut state, owner(2, 2), 2, NOW.plus(120_000)), SlugReply::Granted);
        let release = SlugMessage::Release { owner: owner(2, 2), claim: 2, until: NOW.plus(120_001) };
        state.handle(release, NOW.plus(120_000));
        assert_eq!(claim(&mut state, owner(2, 2), 2, NOW.plus(150_000)), SlugReply::Noted);
        let (late, again) = (NOW.plus(CLAIM_LIFE_MS), NOW.plus(120_000 + ENDED_KEEP_MS));
        assert_eq!(claim(&mut state.clone(), owner(3, 3), 3, late), SlugReply::Noted, "nobody waits for it");
        let repeated = SlugMessage::Claim { owner: owner(1, 1), claim: 0, at: None };
        assert_eq!(state.handle(repeated, again), SlugReply::Granted);
        state.handle(cancel, again);
        assert_eq!(state.ended, [(1, again)], "older ends are forgotten");
    }

    #[test]
    fn each_of_many_ended_claims_is_remembered() {
        let mut state = SlugState::default();
        let count = MAX_ENDED as u64;
        for number in 0..=count {
            for _ in 0..2 {
                state.handle(SlugMessage::Cancel { owner: owner(1, 1), claim: number }, NOW);
            }
        }
        assert_eq!(state.ended.len(), MAX_ENDED);
        for number in 1..=count {
            assert_eq!(claim(&mut state, owner(1, 1), number, NOW), SlugReply::Noted, "{number}");
        }
        assert_eq!(claim(&mut state, owner(1, 1), 0, NOW), SlugReply::Granted, "the oldest one is forgotten");
    }

    #[test]
    fn stored_state_is_read_by_the_version_before_and_back() {
        let old = r#""free""#;
        assert_eq!(serde_json::from_str::<SlugState>(old).unwrap(), SlugState::default());
        assert_eq!(serde_json::to_string(&SlugState::default()).unwrap(), old);
        let mut state = SlugState::default();
        state.handle(SlugMessage::Cancel { owner: owner(1, 1), claim: 1 }, NOW);
        let stored = serde_json::to_value(&state).unwrap();
        assert_eq!(stored["reserved"]["until"], 0, "free for a version that does not know ends");
        assert_eq!(serde_json::from_value::<SlugState>(stored).unwrap(), state);
    }

    #[test]
    fn page_that_takes_its_slug_back_keeps_it() {
        for late in [false, true] {
            let mut state = SlugState::default();
            claim(&mut state, owner(1, 1), 1, NOW);
            let release = SlugMessage::Release { owner: owner(1, 1), claim: 1, until: NOW.plus(10) };
            if !late {
                state.handle(release, NOW);
            }
            assert_eq!(claim(&mut state, owner(1, 1), 2, NOW), SlugReply::Granted);
            state.handle(release, NOW);
            assert_eq!(claim(&mut state, owner(2, 2), 3, NOW.plus(20)), SlugReply::Taken, "late: {late}");
            state.handle(SlugMessage::Cancel { owner: owner(1, 1), claim: 2 }, NOW);
            assert_eq!(claim(&mut state, owner(2, 2), 3, NOW), SlugReply::Taken, "reserved; late: {late}");
        }
    }

    #[test]
    fn suggestions_are_slugs_that_differ_from_the_taken_one() {
        for text in ["ada", "a.b-c_d", &"x".repeat(40), "ada-lovelace-the-first-programmer"] {
            let slug = Slug::parse(text).unwrap();
            let found = suggestions(&slug, &mut IdSource::new([1; 16]));
            assert!(found.len() >= 3 && !found.contains(&slug), "{found:?}");
        }
        for seed in 0..50 {
            let found = suggestions(&Slug::parse("ada").unwrap(), &mut IdSource::new([seed; 16]));
            let numbers: Vec<u32> =
                found.iter().filter_map(|slug| slug.as_str().strip_prefix("ada")?.parse().ok()).collect();
            let [2, drawn @ ..] = &*numbers else { panic!("{found:?}") };
            assert!(drawn.len() == 2 && drawn.iter().all(|it| (100..1_000).contains(it)), "{found:?}");
        }
    }

    proptest! {
        /// Whatever is sent, a slug never changes hands without a release or a cancel by the one
        /// who has it.
        #[test]
        fn owner_changes_only_by_the_owners_own_messages(
            steps in proptest::collection::vec((0u8..4, 1u8..4, 0u64..4), 1..60)
        ) {
            let mut state = SlugState::default();
            for (kind, who, number) in steps {
                let (who, before) = (owner(who, who), state.owner());
                let message = match kind {
                    0 | 1 => SlugMessage::Claim { owner: who, claim: number, at: None },
                    2 => SlugMessage::Cancel { owner: who, claim: number },
                    _ => SlugMessage::Release { owner: who, claim: number, until: NOW.plus(1_000) },
                };
                let reply = state.handle(message, NOW);
                if reply == SlugReply::Granted {
                    prop_assert_eq!(state.owner(), Some(who));
                }
                if let Some(before) = before && state.owner() != Some(before) {
                    prop_assert_eq!(before.account, who.account);
                }
                let stored = serde_json::to_string(&state).unwrap();
                prop_assert_eq!(&serde_json::from_str::<SlugState>(&stored).unwrap(), &state);
            }
        }
    }
}
