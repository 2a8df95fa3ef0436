//! A domain of an account: how it is proved, and when that is checked.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shared::{key::KeyId, time::UnixMillis};

use super::HostName;
use crate::page::{DomainId, PageId, Slug};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
/// Time after which a check that was begun is made again, if it led to nothing.
const RETRY_MS: u64 = 5 * MINUTE_MS;
/// Time after which a domain that is not proved is checked by itself no more.
const GIVE_UP_MS: u64 = 7 * DAY_MS;
/// Time for which the proof of an active domain may be missing.
const GRACE_MS: u64 = DAY_MS;

/// A host name of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// Its id.
    pub id: DomainId,
    /// The account that has it.
    pub account: KeyId,
    /// The host.
    pub host: HostName,
    /// The page that it shows; `None` for none.
    pub page: Option<PageId>,
    /// The content of the record.
    pub token: String,
    /// The name to which the host points.
    pub target: String,
    /// The moment at which it was added.
    pub created_at: UnixMillis,
    /// The number of the claim by which the account has the host; `None` if it has not.
    pub claim: Option<u64>,
    /// Whether `served` was sent to the store of visitors.
    #[serde(default)]
    pub is_told: bool,
    /// The slug that visitors are served. `None` without a published page.
    pub served: Option<Slug>,
    /// The last check, and how it ended.
    pub checked: Option<(UnixMillis, Proof)>,
    /// The moment since which the proof of an active domain is missing.
    pub missing_since: Option<UnixMillis>,
    /// The next check; `None` if there is none by itself.
    pub next_check: Option<UnixMillis>,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The record is there.
    Proved,
    /// It is not.
    Missing,
    /// It is there, and another account has the host.
    Taken,
    /// The resolver, or the object that knows who has the host, did not say.
    Unknown,
}

/// A check that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The domain.
    pub id: DomainId,
    /// Its host.
    pub host: HostName,
    /// The text of a record that proves it.
    pub expected: String,
    /// The number of the claim to make if it is proved; `None` if the account has the host.
    pub claim: Option<u64>,
}

impl Domain {
    /// Returns a domain that was added now. It is checked immediately.
    pub const fn added(
        (account, id): (KeyId, DomainId),
        host: HostName,
        page: Option<PageId>,
        token: String,
        target: String,
        now: UnixMillis,
    ) -> Self {
        Self {
            id,
            account,
            host,
            page,
            token,
            target,
            created_at: now,
            claim: None,
            is_told: false,
            served: None,
            checked: None,
            missing_since: None,
            next_check: Some(now),
        }
    }

    /// Returns true if visitors see its page.
    pub const fn is_active(&self) -> bool {
        self.claim.is_some()
    }

    /// Returns the text of the record that proves it.
    pub fn proof(&self) -> String {
        format!("utg-verify={}", self.token)
    }

    /// Begins a check. It is made again if it leads to nothing.
    pub fn begin_check(&mut self, claim: u64, now: UnixMillis) -> Check {
        // Set before the lookup: a check that never ends must not be the last one.
        self.next_check = Some(now.plus(RETRY_MS));
        let claim = (!self.is_active()).then_some(claim);
        Check { id: self.id, host: self.host.clone(), expected: self.proof(), claim }
    }

    /// Takes in how a check ended. Returns the claim to give back if the domain is active no more.
    pub fn end_check(&mut self, proof: Proof, now: UnixMillis) -> Option<u64> {
        self.checked = Some((now, proof));
        if !self.is_active() {
            let age = now.since(self.created_at);
            self.next_check = match age {
                // Otherwise a domain that was never set up would be looked up every hour for ever.
                _ if age >= GIVE_UP_MS => None,
                _ if age < HOUR_MS => Some(now.plus(RETRY_MS)),
                _ => Some(now.plus(HOUR_MS)),
            };
            return None;
        }
        match proof {
            Proof::Proved => {
                self.missing_since = None;
                self.next_check = Some(now.plus(DAY_MS));
                None
            }
            // A resolver that does not say takes no domain away.
            Proof::Unknown | Proof::Taken => {
                self.next_check = Some(now.plus(HOUR_MS));
                None
            }
            Proof::Missing => {
                // The first miss. Each later one would otherwise begin the day of grace again.
                let since = *self.missing_since.get_or_insert(now);
                self.next_check = Some(now.plus(HOUR_MS));
                if now.since(since) < GRACE_MS {
                    return None;
                }
                self.missing_since = None;
                self.next_check = None;
                // So that the store of visitors is told that the domain shows nothing any more.
                self.is_told = false;
                self.claim.take()
            }
        }
    }

    /// Returns the domain as the API shows it.
    pub fn describe(&self) -> Value {
        let checked = self.checked.map(|(at, proof)| json!({ "at": at.to_rfc3339(), "result": proof }));
        json!({
            "object": "domain",
            "id": self.id,
            "host": self.host,
            "url": format!("https://{}", self.host),
            "page_id": self.page,
            "status": if self.is_active() { "active" } else { "pending" },
            "dns": [
                { "type": "TXT", "name": self.host.record(), "value": self.proof() },
                { "type": "CNAME", "name": self.host, "value": self.target },
            ],
            "last_check": checked,
            "missing_since": self.missing_since.map(UnixMillis::to_rfc3339),
            "next_check_at": self.next_check.map(UnixMillis::to_rfc3339),
            "created_at": self.created_at.to_rfc3339(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

    fn domain() -> Domain {
        let host = HostName::parse("ada.example").unwrap();
        Domain::added(
            (KeyId::new([2; 12]), DomainId::new([1; 12])),
            host,
            None,
            "abc".to_owned(),
            "c.example".to_owned(),
            NOW,
        )
    }

    #[test]
    fn pending_domain_is_checked_less_and_less_often() {
        let mut domain = domain();
        for (age, wait) in [(0, Some(RETRY_MS)), (HOUR_MS, Some(HOUR_MS)), (GIVE_UP_MS, None)] {
            let now = NOW.plus(age);
            let check = domain.begin_check(7, now);
            assert_eq!((check.claim, check.expected.as_str()), (Some(7), "utg-verify=abc"));
            assert_eq!(domain.next_check, Some(now.plus(RETRY_MS)), "a check that is lost is made again");
            assert_eq!(domain.end_check(Proof::Missing, now), None);
            assert_eq!(domain.next_check, wait.map(|wait| now.plus(wait)), "{age}");
        }
    }

    #[test]
    fn active_domain_is_lost_when_its_proof_is_missing_for_a_day() {
        let mut domain = Domain { claim: Some(7), ..domain() };
        assert_eq!(domain.begin_check(8, NOW).claim, None, "it has the host already");
        assert_eq!(domain.end_check(Proof::Proved, NOW), None);
        assert_eq!(domain.next_check, Some(NOW.plus(DAY_MS)));
        let first = NOW.plus(DAY_MS);
        assert_eq!(domain.end_check(Proof::Missing, first), None);
        assert_eq!(domain.next_check, Some(first.plus(HOUR_MS)));
        assert_eq!(domain.end_check(Proof::Unknown, first.plus(GRACE_MS)), None, "nothing was said");
        let mut found = domain.clone();
        assert_eq!(found.end_check(Proof::Proved, first.plus(GRACE_MS)), None);
        assert_eq!(found.missing_since, None);
        assert_eq!(domain.end_check(Proof::Missing, first.plus(GRACE_MS - 1)), None);
        assert_eq!(domain.end_check(Proof::Missing, first.plus(GRACE_MS)), Some(7));
        assert!(!domain.is_active());
    }

    #[test]
    fn unknown_check_never_takes_a_domain_away() {
        let mut domain = Domain { claim: Some(7), ..domain() };
        for day in 0..30 {
            let now = NOW.plus(day * DAY_MS);
            assert_eq!(domain.end_check(Proof::Unknown, now), None);
            assert_eq!(domain.next_check, Some(now.plus(HOUR_MS)));
        }
    }
}
