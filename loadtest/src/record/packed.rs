//! The 52 bytes that a call takes in the raw log.

use std::time::Duration;

use bytes::Buf as _;
use shared::problem::{Code, codes};

use strum::VariantArray as _;

use super::{CallError, CallOutcome, CallRecord, CheckKind, StreamTiming};

/// The size of a record in bytes.
pub(super) const RECORD_BYTES: usize = 52;

const RETRY_AFTER: u8 = 1;
const STREAM: u8 = 2;

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
/// | 38 | number of the check that failed from 1, or 0 |
/// | 39 | 0 |
/// | 40 | events of a stream |
/// | 44 | from sent to the first event, µs |
/// | 48 | longest time between two events, µs |
pub(super) fn pack(record: &CallRecord, into: &mut Vec<u8>) {
    into.extend(u64::try_from(record.due.as_micros()).unwrap_or(u64::MAX).to_le_bytes());
    // Differences fit in four bytes, where times since the start of a long run would not.
    into.extend(micros(record.send_lag()).to_le_bytes());
    into.extend(micros(record.waited).to_le_bytes());
    into.extend(micros(record.done.saturating_sub(record.sent)).to_le_bytes());
    let (bytes, quota, status, code, flags, check, stream) = match record.outcome {
        CallOutcome::Completed { status, code, retry_after, bytes, minute_quota, failed_check, stream } => {
            let code = code.map_or(0, |code| number(codes::TABLE, &code) + 1);
            let check = failed_check.map_or(0, |check| number(CheckKind::VARIANTS, &check) + 1);
            let flags = u8::from(retry_after) * RETRY_AFTER + u8::from(stream.is_some()) * STREAM;
            (bytes, minute_quota, status, code, flags, check, stream.unwrap_or_default())
        }
        CallOutcome::Failed(error) => {
            (0, 0, 0, number(&CallError::ALL, &error), 0, 0, StreamTiming::default())
        }
    };
    into.extend(bytes.to_le_bytes());
    into.extend(record.key.to_le_bytes());
    into.extend(quota.to_le_bytes());
    into.extend(record.request.to_le_bytes());
    into.extend(status.to_le_bytes());
    into.extend([code, flags, check, 0]);
    into.extend(stream.events.to_le_bytes());
    into.extend(micros(stream.first).to_le_bytes());
    into.extend(micros(stream.gap).to_le_bytes());
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
    let (check, _) = (fields.try_get_u8().ok()?, fields.try_get_u8().ok()?);
    let mut number = || fields.try_get_u32_le().ok();
    let events = number()?;
    let micros = |number: u32| Duration::from_micros(number.into());
    let stream = StreamTiming { events, first: micros(number()?), gap: micros(number()?) };
    // No response has status 0, so it needs no flag of its own.
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
            failed_check: match check {
                0 => None,
                number => Some(*CheckKind::VARIANTS.get(usize::from(number) - 1)?),
            },
            stream: (flags & STREAM != 0).then_some(stream),
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
                failed_check: None,
                stream: None,
            });
        }
        let gap = Duration::from_micros(70);
        let streams = [None, Some(StreamTiming { events: 9, first: Duration::from_micros(5), gap })];
        for (&check, stream) in CheckKind::VARIANTS.iter().zip(streams.into_iter().cycle()) {
            round_trip(CallOutcome::Completed {
                status: 200,
                code: None,
                retry_after: false,
                bytes: 0,
                minute_quota: 0,
                failed_check: Some(check),
                stream,
            });
        }
        for error in CallError::ALL {
            round_trip(CallOutcome::Failed(error));
        }
    }
}
