//! A counter as bytes, for the process that replaces this one.

use thiserror::Error;

use super::{Counter, minute::Minute, today::Today};
use crate::{key::KeyId, meter::Tally, time::UnixMillis, tool::Tool};

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
        put_u32(out, current.day);
        put_u32(out, current.day_used);
        put_u64(out, current.last_used.0);
        put_count(out, buckets.len());
        for (bucket, count) in buckets {
            put_u64(out, bucket);
            put_u32(out, count);
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
        let (day, day_used) = (take_u32(bytes)?, take_u32(bytes)?);
        let last_used = UnixMillis(take_u64(bytes)?);
        let mut minute = Minute::default();
        for _ in 0..take_u16(bytes)? {
            minute.add_to(take_u64(bytes)?, take_u32(bytes)?);
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
                for (tool, status, calls) in few.iter() {
                    out.push(tool.code());
                    put_u16(out, status);
                    put_u16(out, calls);
                }
            }
            Self::Many(tally) => {
                out.push(Self::MANY);
                put_count(out, tally.by_tool.len());
                for (tool, calls) in &tally.by_tool {
                    out.push(tool.code());
                    put_u32(out, *calls);
                }
                put_count(out, tally.by_status.len());
                for (status, calls) in &tally.by_status {
                    put_u16(out, *status);
                    put_u32(out, *calls);
                }
            }
        }
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let [kind] = take(bytes)?;
        let places = take_u16(bytes)?;
        let mut today = Self::default();
        match (kind, &mut today) {
            (Self::FEW, Self::Few(few)) => {
                for _ in 0..places {
                    let ([tool], status, calls) = (take(bytes)?, take_u16(bytes)?, take_u16(bytes)?);
                    // A tool that only another version knows is left out.
                    if let Some(tool) = Tool::from_code(tool) {
                        few.add(tool, status, calls)?;
                    }
                }
                Some(today)
            }
            (Self::MANY, _) => {
                let mut tally = Tally::default();
                for _ in 0..places {
                    let ([tool], calls) = (take(bytes)?, take_u32(bytes)?);
                    if let Some(tool) = Tool::from_code(tool) {
                        tally.by_tool.insert(tool, calls);
                    }
                }
                for _ in 0..take_u16(bytes)? {
                    let (status, calls) = (take_u16(bytes)?, take_u32(bytes)?);
                    tally.by_status.insert(status, calls);
                }
                Some(Self::Many(Box::new(tally)))
            }
            _ => None,
        }
    }
}

fn put_u16(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Writes the number of entries that follow: buckets of a minute and statuses of a tally are few by
/// their own bounds.
fn put_count(out: &mut Vec<u8>, count: usize) {
    put_u16(out, u16::try_from(count).unwrap_or(u16::MAX));
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk::<N>()?;
    *bytes = rest;
    Some(*first)
}

fn take_u16(bytes: &mut &[u8]) -> Option<u16> {
    take(bytes).map(u16::from_le_bytes)
}

fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes).map(u32::from_le_bytes)
}

fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes).map(u64::from_le_bytes)
}
