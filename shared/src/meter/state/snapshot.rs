//! The whole state, for the key's holder and for administrators.

use super::Meter;
use crate::meter::{MeterRequest, MeterResponse, MeterSnapshot};
use crate::time::UnixMillis;

impl Meter {
    /// Returns everything that is known of the key, if the request's key may be used.
    pub(super) fn read(&mut self, request: MeterRequest, now: UnixMillis) -> MeterSnapshot {
        let response = self.respond(&MeterRequest { want: false, rate: 0, ..request }, now);
        self.snapshot(response)
    }

    /// Returns everything that is known of the key, whatever its state, for an administrator.
    pub(super) fn show(&self, now: UnixMillis) -> Option<MeterSnapshot> {
        let record = self.record.as_ref()?;
        let quota = self.quota(now);
        Some(self.snapshot(MeterResponse { quota, ..MeterResponse::noted(record.version, self.usage.day()) }))
    }

    fn snapshot(&self, response: MeterResponse) -> MeterSnapshot {
        let (minute_used, day_used) = self.usage.used();
        let limited = self.record.as_ref().filter(|record| !record.limits.units.is_none());
        MeterSnapshot {
            response,
            record: self.record.clone(),
            minute_used,
            day_used,
            units: limited.map(|_| self.units.spent()),
            reserved: self.leases.iter().fold(0, |sum, lease| sum.saturating_add(lease.left)),
            tally: self.tally.clone(),
            last_used: self.last_used,
            refusals: None,
            hours: Vec::new(),
            calls: None,
            alerts: Vec::new(),
        }
    }
}
