//! The responses of the last minute, so that a retry gets the same one and is counted once, and a
//! call that was not let through can be taken back.

use serde::{Deserialize, Serialize};

use crate::json;
use crate::key::SecretId;
use crate::label::Label;
use crate::meter::message::known_label;
use crate::meter::{LeaseTerms, MeterRequest, MeterResponse, Verdict};
use crate::quota::{MARGIN_MS, ReservedUnits};
use crate::time::{UnixMillis, UtcDay};

/// Time for which a response is kept, in milliseconds: as long as a request may be sent again.
const KEEP_MS: u64 = 5_000;
/// Time for which it is known that a call was counted or withdrawn, in milliseconds: as long as the
/// call may be in the window.
const KEEP_COUNTED_MS: u64 = 65_000;
/// Maximum number of responses that are kept beyond [`KEEP_MS`], for withdrawals.
const CAPACITY: usize = 32;
/// Maximum number of responses. Calls of a burst all ask at the same time, and a retry whose response was
/// dropped is counted a second time.
const MAX_RESPONSES: usize = 128;

/// The numbers of a packed response: the milliseconds since the one before, the holder if it is another one, the sequence number, the
/// extra time, and the code of the tool.
const NUMBERS: usize = 5;
/// In place of a holder: the one of the response before. Lease caches have random numbers.
const NO_HOLDER: u64 = 0;

/// The responses of the last minute, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ResponseCache(Vec<CachedResponse>);

/// The part of a response that a retry gets again. A denial is kept too: the lease cache may have
/// it already when the same request is repeated, and a lease that came with a second response would
/// be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedResponse {
    at: UnixMillis,
    holder: u64,
    seq: u32,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease: Option<LeaseTerms>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recheck_ms: Option<u64>,
    /// Time in milliseconds that the call has to be let through, beyond what every call has.
    #[serde(default, skip_serializing_if = "json::is_zero")]
    extra_ms: u64,
    /// True if its call was withdrawn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    withdrawn: bool,
    day: UtcDay,
    /// The units that are reserved for the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    units: Option<u32>,
    /// The label by which an admitted call is tallied.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_label")]
    tool: Option<Label>,
    /// The named secret to which an admitted call is charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<SecretId>,
}

/// A call that was counted.
pub(super) struct Counted {
    pub(super) at: UnixMillis,
    pub(super) day: UtcDay,
    pub(super) tool: Option<Label>,
    pub(super) secret: Option<SecretId>,
    pub(super) units: Option<ReservedUnits>,
}

impl ResponseCache {
    /// Drops what is too old to be requested again or withdrawn.
    pub(super) fn expire(&mut self, now: UnixMillis) {
        self.0.retain(|cached| now.since(cached.at) < cached.keep_ms());
    }

    /// Returns the response to this request, if it is a retry or was withdrawn.
    pub(super) fn find(&self, request: &MeterRequest) -> Option<CachedResponse> {
        self.0.iter().find(|cached| cached.is_to(request.holder, request.seq)).copied()
    }

    /// Keeps a response. Drops the oldest ones if there are too many, denials first.
    pub(super) fn store(
        &mut self,
        request: &MeterRequest,
        response: &MeterResponse,
        secret: Option<SecretId>,
        now: UnixMillis,
    ) {
        let &MeterResponse { verdict, lease, recheck_ms, day, reserved, .. } = response;
        let units = reserved.map(|reserved| reserved.units);
        let &MeterRequest { holder, seq, admit_within_ms, tool, .. } = request;
        let extra_ms = admit_within_ms.saturating_sub(MARGIN_MS);
        let withdrawn = false;
        let at = now;
        self.push(CachedResponse {
            at,
            holder,
            seq,
            verdict,
            lease,
            recheck_ms,
            extra_ms,
            withdrawn,
            day,
            units,
            tool,
            secret,
        });
    }

    /// Withdraws the call of a request, which may not have arrived yet. Returns how it was counted,
    /// or `None` if it was not, or was withdrawn before.
    pub(super) fn withdraw(&mut self, holder: u64, seq: u32, now: UnixMillis) -> Option<Counted> {
        if let Some(cached) = self.0.iter_mut().find(|cached| cached.is_to(holder, seq)) {
            // Withdrawals are repeated until they are acknowledged. Each gives its call back once.
            let counted = cached.verdict == Verdict::Allow && !cached.withdrawn;
            cached.withdrawn = true;
            let &mut CachedResponse { day, tool, secret, .. } = cached;
            let (at, units) = (cached.counted_at(), cached.reserved());
            return counted.then_some(Counted { at, day, tool, secret, units });
        }
        self.push(CachedResponse {
            at: now,
            holder,
            seq,
            // The request may be on its way still, and must find that its call was taken back.
            verdict: Verdict::Noted,
            lease: None,
            recheck_ms: None,
            extra_ms: 0,
            withdrawn: true,
            day: now.day(),
            units: None,
            tool: None,
            secret: None,
        });
        None
    }

    /// Gives the call of a retry the longer time of the two copies. Returns the moments at which it
    /// was counted and is to be counted, with its units, or `None` if nothing changes.
    pub(super) fn extend(&mut self, request: &MeterRequest) -> Option<(UnixMillis, UnixMillis, u32)> {
        let cached = self.0.iter_mut().find(|cached| cached.is_to(request.holder, request.seq))?;
        let extra_ms = request.admit_within_ms.saturating_sub(MARGIN_MS);
        // The copies arrive in any order. The longer of both times must hold.
        if cached.verdict != Verdict::Allow || extra_ms <= cached.extra_ms {
            return None;
        }
        let before = cached.counted_at();
        cached.extra_ms = extra_ms;
        Some((before, cached.counted_at(), cached.units.unwrap_or(0)))
    }

    /// Drops every response but those of counted calls, because the record that they were decided
    /// by has changed.
    pub(super) fn clear(&mut self) {
        self.0.retain(|cached| cached.verdict == Verdict::Allow || cached.withdrawn);
    }

    /// Splits the responses for the store: those that numbers hold, [`NUMBERS`] each, and the rest. A burst leaves 128, of which each
    /// call would write 9 KB with names.
    pub(super) fn packed(&self) -> (Self, Vec<u64>) {
        let (mut rest, mut packed) = (Vec::new(), Vec::with_capacity(self.0.len() * NUMBERS));
        let (mut before, mut last_holder) = (UnixMillis(0), NO_HOLDER);
        for cached in &self.0 {
            let Some(tool) = cached.code_if_plain(before) else {
                rest.push(*cached);
                continue;
            };
            let &CachedResponse { at, holder, seq, extra_ms, .. } = cached;
            let changed = if holder == last_holder { NO_HOLDER } else { holder };
            packed.extend([at.since(before), changed, seq.into(), extra_ms, tool.into()]);
            (before, last_holder) = (at, holder);
        }
        (Self(rest), packed)
    }

    /// Puts the packed responses of a stored state among the rest. Their order within a millisecond means nothing.
    pub(super) fn unpack(&mut self, packed: &[u64]) {
        let (mut at, mut holder) = (UnixMillis(0), NO_HOLDER);
        for numbers in packed.chunks_exact(NUMBERS) {
            let &[since, changed, seq, extra_ms, tool] = numbers else { continue };
            at = at.plus(since);
            if changed != NO_HOLDER {
                holder = changed;
            }
            let cached = CachedResponse {
                at,
                holder,
                seq: u32::try_from(seq).unwrap_or(u32::MAX),
                verdict: Verdict::Allow,
                lease: None,
                recheck_ms: None,
                extra_ms,
                withdrawn: false,
                day: at.day(),
                units: None,
                tool: u8::try_from(tool).ok().and_then(Label::from_code),
                secret: None,
            };
            // `push` counts what is old from the front, so the list must stay in the order of time.
            let place = self.0.iter().rposition(|other| other.at <= at).map_or(0, |before| before + 1);
            self.0.insert(place, cached);
        }
    }

    fn push(&mut self, cached: CachedResponse) {
        let now = cached.at;
        self.0.push(cached);
        let old = self.0.iter().take_while(|cached| now.since(cached.at) >= KEEP_MS).count();
        // Only those that no retry can ask for. In a burst of 400 calls, younger ones were dropped,
        // and their second copies counted again.
        let surplus = self.0.len().saturating_sub(CAPACITY).min(old);
        self.0.drain(..surplus);
        if self.0.len() > MAX_RESPONSES {
            // A denial that is asked for again changes nothing, while an admitted call would be
            // counted twice.
            let denied = self.0.iter().position(CachedResponse::is_denial);
            self.0.remove(denied.unwrap_or(0));
        }
    }
}

impl CachedResponse {
    /// Returns the response with the decision that was made before.
    pub(super) fn apply(self, response: MeterResponse) -> MeterResponse {
        let Self { verdict, lease, recheck_ms, day, .. } = self;
        MeterResponse { verdict, lease, recheck_ms, day, reserved: self.reserved(), ..response }
    }

    /// Returns the code of the tool, or 0, if the numbers of a packed response after `before` hold all of this one.
    fn code_if_plain(&self, before: UnixMillis) -> Option<u8> {
        // Field by field: a new one does not compile until it is packed or refused here.
        let &Self {
            at,
            holder,
            seq: _,
            verdict,
            lease,
            recheck_ms,
            extra_ms: _,
            withdrawn,
            day,
            units,
            tool,
            secret,
        } = self;
        let is_admitted = verdict == Verdict::Allow && !withdrawn && holder != NO_HOLDER;
        let is_bare = lease.is_none() && recheck_ms.is_none() && units.is_none() && secret.is_none();
        let is_plain = is_admitted && is_bare && day == at.day() && at >= before;
        is_plain.then(|| tool.map_or(0, Label::code))
    }

    /// Returns the units that are reserved for the call.
    fn reserved(&self) -> Option<ReservedUnits> {
        self.units.map(|units| ReservedUnits { at: self.counted_at(), day: self.day, units })
    }

    /// Returns true if the call of the request was withdrawn, so that it must not be counted.
    pub(super) const fn is_withdrawn(&self) -> bool {
        self.withdrawn
    }

    /// Returns true if nothing was counted, lent or withdrawn.
    fn is_denial(&self) -> bool {
        self.verdict != Verdict::Allow && self.lease.is_none() && !self.withdrawn
    }

    fn is_to(&self, holder: u64, seq: u32) -> bool {
        (self.holder, self.seq) == (holder, seq)
    }

    fn keep_ms(&self) -> u64 {
        if self.verdict == Verdict::Allow || self.withdrawn { KEEP_COUNTED_MS } else { KEEP_MS }
    }

    /// Returns the moment at which the call is counted.
    const fn counted_at(&self) -> UnixMillis {
        self.at.plus(self.extra_ms)
    }
}
