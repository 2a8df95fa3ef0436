//! A counter as bytes, for the process that replaces this one.

use bytes::{Buf as _, BufMut as _};
use thiserror::Error;

use super::Counter;
use super::minute::Minute;
use super::today::Today;
use crate::key::KeyId;
use crate::label::Label;
use crate::meter::Tally;
use crate::time::UnixMillis;

/// An error of bytes that are not counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the last {unread} bytes do not begin with a counter")]
pub struct CounterError {
    /// Bytes from the first one that cannot be read.
    pub unread: usize,
}

impl Counter {
    /// Adds the counter of a key to `out`, if anything of it counts still at `now`: a call of the
    /// last minute, or of today.
    pub fn write(&self, id: &KeyId, now: UnixMillis, out: &mut Vec<u8>) {
        let mut current = self.clone();
        current.roll(now);
        let buckets = current.minute.buckets();
        if buckets.is_empty() && current.last_used.day() < now.day() {
            return;
        }
        out.extend_from_slice(id.as_bytes());
        out.put_u32_le(current.day);
        out.put_u32_le(current.day_used);
        out.put_u64_le(current.last_used.0);
        put_count(out, buckets.len());
        for (bucket, count) in buckets {
            out.put_u64_le(bucket);
            out.put_u32_le(count);
        }
        current.today.write(out);
    }

    /// Takes the first counter off `bytes`; `None` at their end.
    ///
    /// # Errors
    /// Returns an error if they are not what [`Counter::write`] has written.
    pub fn read_next(bytes: &mut &[u8]) -> Result<Option<(KeyId, Self)>, CounterError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let unread = bytes.len();
        Self::take(bytes).map(Some).ok_or(CounterError { unread })
    }

    fn take(bytes: &mut &[u8]) -> Option<(KeyId, Self)> {
        let id = KeyId::new(take(bytes)?);
        let (day, day_used) = (bytes.try_get_u32_le().ok()?, bytes.try_get_u32_le().ok()?);
        let last_used = UnixMillis(bytes.try_get_u64_le().ok()?);
        let mut minute = Minute::default();
        for _ in 0..bytes.try_get_u16_le().ok()? {
            minute.add_to(bytes.try_get_u64_le().ok()?, bytes.try_get_u32_le().ok()?);
        }
        let today = Today::take(bytes)?;
        Some((id, Self { minute, today, last_used, day, day_used }))
    }
}

impl Today {
    const FEW: u8 = 0;
    const MANY: u8 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Few(few) => {
                out.push(Self::FEW);
                put_count(out, few.iter().count());
                for (label, status, calls) in few.iter() {
                    out.push(label.code());
                    out.put_u16_le(status);
                    out.put_u16_le(calls);
                }
            }
            Self::Many(tally) => {
                out.push(Self::MANY);
                put_count(out, tally.by_tool.len());
                for (label, calls) in tally.by_tool.iter() {
                    out.push(label.code());
                    out.put_u32_le(*calls);
                }
                put_count(out, tally.by_status.len());
                for (status, calls) in tally.by_status.iter() {
                    out.put_u16_le(*status);
                    out.put_u32_le(*calls);
                }
            }
        }
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let [kind] = take(bytes)?;
        let places = bytes.try_get_u16_le().ok()?;
        let mut today = Self::default();
        match (kind, &mut today) {
            (Self::FEW, Self::Few(few)) => {
                for _ in 0..places {
                    let ([label], status, calls) =
                        (take(bytes)?, bytes.try_get_u16_le().ok()?, bytes.try_get_u16_le().ok()?);
                    // What only another version counts by is left out.
                    if let Some(label) = Label::from_code(label) {
                        few.add(label, status, calls)?;
                    }
                }
                Some(today)
            }
            (Self::MANY, _) => {
                let mut tally = Tally::default();
                for _ in 0..places {
                    let ([label], calls) = (take(bytes)?, bytes.try_get_u32_le().ok()?);
                    if let Some(label) = Label::from_code(label) {
                        tally.by_tool.insert(label, calls);
                    }
                }
                for _ in 0..bytes.try_get_u16_le().ok()? {
                    let (status, calls) = (bytes.try_get_u16_le().ok()?, bytes.try_get_u32_le().ok()?);
                    tally.by_status.insert(status, calls);
                }
                Some(Self::Many(Box::new(tally)))
            }
            _ => None,
        }
    }
}

/// Writes the number of entries that follow: buckets of a minute and statuses of a tally are few by
/// their own bounds.
fn put_count(out: &mut Vec<u8>, count: usize) {
    out.put_u16_le(u16::try_from(count).unwrap_or(u16::MAX));
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}
