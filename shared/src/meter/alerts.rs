//! The alerts of a key: which of them are due, each once.
//!
//! The alerts that were not delivered yet are an outbox: they are stored with the state that caused
//! them, and leave it when the webhooks of the account have them. So an alert is neither lost nor
//! caused twice, whatever restarts or is repeated. Keys without the plan that has webhooks have no
//! outbox.
//!
//! Every key lists its last alerts. The shell stores each in its own row, with the state.
//!
//! Why: docs/decisions/webhooks.md, "A meter tells each alert once, from an outbox in its state".

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::json;
use crate::key::{BiolinkPlan, KeyId, KeyRecord, KeyStatus, NamedSecret, SecretId};
use crate::policy::Window;
use crate::quota::{UnitUsage, Usage};
use crate::time::{UnixMillis, UtcDay};

/// Parts of a quota at which the holder is alerted, in percent.
pub const THRESHOLDS: [u8; 3] = [50, 80, 100];
/// Days before an expiry at which the holder is alerted, the last one first.
pub const EXPIRY_DAYS: [u8; 2] = [1, 7];
/// Time for which an alert is delivered again, in milliseconds. It is dropped then.
const KEEP_MS: u64 = DAY_MS;
const DAY_MS: u64 = 86_400_000;
/// Maximum number of alerts that wait. A day has fewer.
const CAPACITY: usize = 64;

/// Something that the holder of a key may want to act on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// The moment at which the meter noticed.
    pub at: UnixMillis,
    /// The cause.
    pub cause: AlertCause,
}

/// The message that brings alerts of a key to the webhooks of its account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyAlerts {
    /// The key.
    pub key: KeyId,
    /// The alerts.
    pub alerts: Vec<Alert>,
}

impl KeyAlerts {
    /// Returns the message, as the webhooks read it among their others.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub fn to_message(&self) -> Result<String, serde_json::Error> {
        json::to_string(&BTreeMap::from([("alert", self)]))
    }
}

/// The cause of an alert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertCause {
    /// A part of the day's calls is used, or of the units of a day or a month.
    QuotaThreshold {
        /// The quota.
        #[serde(default = "calls_of_a_day", skip_serializing_if = "is_calls_of_a_day")]
        window: Window,
        /// The day, or the first day of the month.
        day: UtcDay,
        /// One of [`THRESHOLDS`].
        percent: u8,
        /// Calls or units that are counted.
        used: u32,
        /// Calls or units that there are.
        limit: u32,
    },
    /// A call was refused for want of quota: the first one of an hour.
    QuotaExceeded {
        /// The quota that was used up.
        window: Window,
    },
    /// The key, or a named secret of it, expires soon.
    KeyExpiring {
        /// The id and the name of the secret; `None` is the key.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        secret: Option<(SecretId, String)>,
        /// The moment from which it is refused.
        expires_at: UnixMillis,
        /// One of [`EXPIRY_DAYS`].
        days: u8,
    },
}

impl Alert {
    /// Returns the id, by which a repeated alert of a key is known.
    pub fn id(&self, key: KeyId) -> String {
        match &self.cause {
            AlertCause::QuotaThreshold { window: Window::Day, day, percent, .. } => {
                format!("{key}:{}:{percent}", day.0)
            }
            AlertCause::QuotaThreshold { window, day, percent, .. } => {
                format!("{key}:{}:{}:{percent}", day.0, window.as_str())
            }
            AlertCause::QuotaExceeded { .. } => format!("{key}:{}:exceeded", self.at.hour()),
            AlertCause::KeyExpiring { secret, expires_at, days } => {
                let secret = secret.as_ref().map(|(id, _)| id.to_string()).unwrap_or_default();
                format!("{key}:{secret}:{}:{days}", expires_at.0)
            }
        }
    }
}

/// The alerts of a key that were caused, and those of them that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Alerts {
    /// The day in which calls have last reached a threshold, and a bit for each of [`THRESHOLDS`] that they
    /// have reached in it.
    #[serde(skip_serializing_if = "json::is_zero")]
    day_calls: (UtcDay, u8),
    /// The same of the units of a day.
    #[serde(skip_serializing_if = "json::is_zero")]
    day_units: (UtcDay, u8),
    /// The same of the units of a month, which its first day names.
    #[serde(skip_serializing_if = "json::is_zero")]
    month_units: (UtcDay, u8),
    /// The hour of the last refusal that was an alert, from the epoch.
    refused_hour: u64,
    /// The moment until which expiries have caused their alerts.
    expiries_until: UnixMillis,
    outbox: Vec<Alert>,
    /// The alerts of the last message, for the shell to list.
    #[serde(skip)]
    raised: Vec<Alert>,
}

impl Alerts {
    /// Returns true if none was ever caused.
    pub(super) fn is_unused(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the alerts that wait, the oldest first.
    pub(super) fn waiting(&self) -> &[Alert] {
        &self.outbox
    }

    /// Takes the alerts that were caused since they were last taken, the oldest first.
    pub(super) fn take_raised(&mut self) -> Vec<Alert> {
        std::mem::take(&mut self.raised)
    }

    /// Returns the moment at which there is something to deliver; `None` if nothing will be without
    /// another message.
    pub(super) fn due(&self, record: &KeyRecord) -> Option<UnixMillis> {
        match self.outbox.first() {
            Some(first) => Some(first.at),
            // Without a receiver nobody is woken: an alarm for each key that expires would cost its
            // object a start.
            None => self.next_expiry(record).filter(|_| has_receiver(record)),
        }
    }

    /// Removes alerts that were delivered, and those that were not taken for a day.
    pub(super) fn remove(&mut self, delivered: &[Alert], now: UnixMillis) {
        // A webhook that is gone for good must not fill the state of its key for ever.
        self.outbox.retain(|alert| !delivered.contains(alert) && now.since(alert.at) < KEEP_MS);
    }

    /// Records a call that was refused for want of quota.
    pub(super) fn record_denial(&mut self, record: &KeyRecord, window: Window, now: UnixMillis) {
        // A key over its limit is refused thousands of times. One alert an hour says it.
        if now.hour() > self.refused_hour {
            self.refused_hour = now.hour();
            self.raise(record, now, AlertCause::QuotaExceeded { window });
        }
    }

    /// Adds what is due by the calls and units that are counted, and by the time.
    pub(super) fn update(
        &mut self,
        record: &KeyRecord,
        (usage, units): (&Usage, &UnitUsage),
        now: UnixMillis,
    ) {
        let (day, (_, calls)) = (usage.day(), usage.used());
        self.record_thresholds(record, (Window::Day, record.policy().day, calls), day, now);
        if !record.limits.units.is_none() {
            let (limits, spent) = (record.limits.units, units.spent());
            self.record_thresholds(record, (Window::UnitsDay, limits.day, spent.day), day, now);
            let month = day.month().0;
            self.record_thresholds(record, (Window::UnitsMonth, limits.month, spent.month), month, now);
        }
        self.record_expiries(record, now);
    }

    /// Records the thresholds that a quota has reached in the period that begins with `day`.
    fn record_thresholds(
        &mut self,
        record: &KeyRecord,
        (window, limit, used): (Window, Option<NonZeroU32>, u32),
        day: UtcDay,
        now: UnixMillis,
    ) {
        let Some(limit) = limit.map(NonZeroU32::get) else { return };
        let (since, told) = *self.told(window);
        let before = if day == since { told } else { 0 };
        let mut reached = before;
        for (at, percent) in THRESHOLDS.into_iter().enumerate() {
            // In 64 bits: a limit of a billion times a hundred is more than 32 have.
            let is_reached = u64::from(used) * 100 >= u64::from(limit) * u64::from(percent);
            // Counts go down again by refunds, and a threshold that is reached twice is no second
            // alert.
            if is_reached && reached & (1 << at) == 0 {
                reached |= 1 << at;
                let cause = AlertCause::QuotaThreshold { window, day, percent, used, limit };
                self.raise(record, now, cause);
            }
        }
        if reached != before {
            *self.told(window) = (day, reached);
        }
    }

    /// Returns the first day of the last period in which a quota has reached a threshold, and which.
    const fn told(&mut self, window: Window) -> &mut (UtcDay, u8) {
        match window {
            Window::Minute | Window::Day | Window::UnitsMinute => &mut self.day_calls,
            Window::UnitsDay => &mut self.day_units,
            Window::UnitsMonth => &mut self.month_units,
        }
    }

    fn record_expiries(&mut self, record: &KeyRecord, now: UnixMillis) {
        if self.next_expiry(record).is_none_or(|next| now < next) {
            return;
        }
        for expiry in expiries(record).filter(|expiry| now < expiry.at) {
            // Of several that are due, the last one says it all.
            let due = expiry.alerts().find(|(_, at)| self.expiries_until < *at && *at <= now);
            if let Some((days, _)) = due {
                let secret = expiry.secret.map(|secret| (secret.id, secret.name.clone()));
                self.raise(record, now, AlertCause::KeyExpiring { secret, expires_at: expiry.at, days });
            }
        }
        // A moment up to now never causes its alert again, even if the expiry was moved and moved
        // back.
        self.expiries_until = now;
    }

    /// Returns the moment of the next alert of an expiry.
    fn next_expiry(&self, record: &KeyRecord) -> Option<UnixMillis> {
        let moments = expiries(record).flat_map(Expiry::alerts).map(|(_, at)| at);
        moments.filter(|at| self.expiries_until < *at).min()
    }

    fn raise(&mut self, record: &KeyRecord, at: UnixMillis, cause: AlertCause) {
        let alert = Alert { at, cause };
        if has_receiver(record) {
            if self.outbox.len() >= CAPACITY {
                // The state is one row of limited size. The newest say more.
                self.outbox.remove(0);
            }
            self.outbox.push(alert.clone());
        }
        self.raised.push(alert);
    }
}

/// The end of a key, or of a named secret.
#[derive(Clone, Copy)]
struct Expiry<'a> {
    secret: Option<&'a NamedSecret>,
    at: UnixMillis,
    /// The moment at which the key or the secret was made.
    since: UnixMillis,
}

impl Expiry<'_> {
    /// Returns the moments of its alerts, the last one first. One that had passed when the secret was
    /// made does not count, so that a secret for an hour causes no alert.
    fn alerts(self) -> impl Iterator<Item = (u8, UnixMillis)> {
        let moments =
            EXPIRY_DAYS.into_iter().map(move |days| (days, self.at.minus(u64::from(days) * DAY_MS)));
        moments.filter(move |(_, at)| self.since < *at)
    }
}

fn expiries(record: &KeyRecord) -> impl Iterator<Item = Expiry<'_>> {
    let own = record.expires_at.map(|at| Expiry { secret: None, at, since: record.issued_at });
    let named = record.secrets.iter().filter_map(|secret| {
        Some(Expiry { secret: Some(secret), at: secret.expires_at?, since: secret.created_at })
    });
    // A key that is disabled or revoked is of no use any more, whenever it expires.
    own.into_iter().chain(named).filter(|_| record.status == KeyStatus::Active)
}

const fn calls_of_a_day() -> Window {
    Window::Day
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
const fn is_calls_of_a_day(window: &Window) -> bool {
    matches!(window, Window::Day)
}

/// Returns true if the account can have webhooks.
fn has_receiver(record: &KeyRecord) -> bool {
    record.biolink_plan == BiolinkPlan::Business
}
