//! The 40 bytes that a call takes in the raw log.

use std::time::Duration;

use bytes::Buf as _;
use shared::problem::{Code, codes};

use super::{CallError, CallOutcome, CallRecord};

/// The size of a record in bytes.
pub(super) const RECORD_BYTES: usize = 40;

const RETRY_AFTER: u8 = 1;

/// Appends a record. Times have a resolution of 1 µs, and lag and duration at most 71 minutes.
///
/// | bytes | field |
/// |---|---|
/// | 0 | due, µs |
/// | 8 | send lag, µs |
/// | 12 | share of the send lag in which no connection was free, µs |
/// | 16 | from sent to done, µs |
/// | 20 | size of the body |
/// | 24 | key |
/// | 28 | limit per minute |
/// | 32 | request |
/// | 34 | status, or 0 if the call failed |
/// | 36 | number of the problem code from 1, or of the error |
/// | 37 | flags |
pub(super) fn pack(record: &CallRecord, into: &mut Vec<u8>) {
    into.extend(u64::try_from(record.due.as_micros()).unwrap_or(u64::MAX).to_le_bytes());
    into.extend(micros(record.send_lag()).to_le_bytes());
    into.extend(micros(record.waited).to_le_bytes());
    into.extend(micros(record.done.saturating_sub(record.sent)).to_le_bytes());
    let (bytes, quota, status, code, flags) = match record.outcome {
        CallOutcome::Completed { status, code, retry_after, bytes, minute_quota } => {
            let code = code.map_or(0, |code| number(codes::TABLE, &code) + 1);
            (bytes, minute_quota, status, code, u8::from(retry_after) * RETRY_AFTER)
        }
        CallOutcome::Failed(error) => (0, 0, 0, number(&CallError::ALL, &error), 0),
    };
    into.extend(bytes.to_le_bytes());
    into.extend(record.key.to_le_bytes());
    into.extend(quota.to_le_bytes());
    into.extend(record.request.to_le_bytes());
    into.extend(status.to_le_bytes());
    into.extend([code, flags, 0, 0]);
}

/// Reads a record. Returns `None` if it is not one. `codes` are the problem codes by number.
pub(super) fn unpack(bytes: &[u8; RECORD_BYTES], codes: &[Option<Code>]) -> Option<CallRecord> {
    let mut fields = bytes.as_slice();
    let due = Duration::from_micros(fields.try_get_u64_le().ok()?);
    let mut number = || fields.try_get_u32_le().ok();
    let sent = due + Duration::from_micros(number()?.into());
    let waited = Duration::from_micros(number()?.into());
    let done = sent + Duration::from_micros(number()?.into());
    let (size, key, minute_quota) = (number()?, number()?, number()?);
    let (request, status) = (fields.try_get_u16_le().ok()?, fields.try_get_u16_le().ok()?);
    let (code, flags) = (fields.try_get_u8().ok()?, fields.try_get_u8().ok()?);
    let outcome = if status == 0 {
        CallOutcome::Failed(*CallError::ALL.get(usize::from(code))?)
    } else {
        let code = match code {
            0 => None,
            number => *codes.get(usize::from(number) - 1)?,
        };
        CallOutcome::Completed {
            status,
            code,
            retry_after: flags & RETRY_AFTER != 0,
            bytes: size,
            minute_quota,
        }
    };
    Some(CallRecord { request, key, due, sent, waited, done, outcome })
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

fn number<T: PartialEq>(all: &[T], one: &T) -> u8 {
    let at = all.iter().position(|other| other == one);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::NO_KEY;

    fn round_trip(outcome: CallOutcome) {
        let at = Duration::from_micros;
        let record = CallRecord {
            request: 7,
            key: NO_KEY,
            due: at(5_000_000_001),
            sent: at(5_000_000_100),
            waited: at(90),
            done: at(5_000_900_000),
            outcome,
        };
        let mut bytes = Vec::new();
        pack(&record, &mut bytes);
        let codes: Vec<_> = codes::TABLE.iter().copied().map(Some).collect();
        assert_eq!(unpack(bytes.as_slice().try_into().unwrap(), &codes), Some(record));
    }

    #[test]
    fn packed_record_is_read_back_unchanged() {
        for code in codes::TABLE.iter().copied().map(Some).chain([None]) {
            round_trip(CallOutcome::Completed {
                status: 429,
                code,
                retry_after: code.is_some(),
                bytes: 3_000_000_000,
                minute_quota: 500,
            });
        }
        for error in CallError::ALL {
            round_trip(CallOutcome::Failed(error));
        }
    }
}
