//! Distinct visitors of one page and day.
//!
//! Why: docs/decisions/analytics.md, "A visitor counts once per page and UTC day".

use super::rows::class;

/// Bits of the actions of a visitor: the places of a [`Distinct`].
const SEEN: u64 = 0b0001;
const CLICKED: u64 = 0b0010;
const SCANNED: u64 = 0b0100;
const CONFIRMED: u64 = 0b1000;
const BITS: u32 = 4;
const BIT_MASK: u64 = (1 << BITS) - 1;

/// The number of distinct visitors who were seen, clicked and scanned, and of confirmed views.
pub(super) type Distinct = [u64; BITS as usize];

/// An open-addressing hash set of pairs of a visitor and an id, which stands for a value of a group
/// or for a bucket.
///
/// A pair is known by 60 bits, so that an entry is small: among two million, two are taken for one
/// with a probability of 2 in a million. The set is exact up to a limit. From there on it is a sample
/// (adaptive sampling, Wegman): each time that it is full, it keeps half of the pairs, and each counts
/// for twice as many.
#[derive(Clone, Debug)]
pub(super) struct DistinctSet {
    /// The pair, and in the lowest bits what the visitor did. An entry without such a bit is free.
    entries: Vec<u64>,
    /// The id of each entry. Empty until there is another id than 0.
    ids: Vec<u32>,
    len: usize,
    limit: usize,
    /// A pair is kept if as many of the bits of [`sample_mask`] are 0.
    level: u32,
    /// By id.
    counts: Vec<[u32; BITS as usize]>,
}

/// The entries of a set that holds nothing yet.
const FIRST_LEN: usize = 1 << 10;
/// A table with fewer entries is enlarged by more than one with many.
const SMALL_LEN: usize = 1 << 16;

impl DistinctSet {
    /// Returns a set that is exact up to `limit` pairs, at least 1,024.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            entries: vec![0; FIRST_LEN],
            ids: Vec::new(),
            len: 0,
            limit: limit.max(FIRST_LEN),
            level: 0,
            counts: Vec::new(),
        }
    }

    /// Records an event of a class. Visitor 0 means none.
    ///
    /// The functions that it calls are inlined even where code is compiled for size: it runs for each event of a report.
    pub(super) fn insert(&mut self, visitor: u64, id: u32, class: u8) {
        let bits = match class {
            class::VIEW => SEEN,
            class::CLICK => SEEN | CLICKED,
            class::SCAN => SEEN | SCANNED,
            class::CONFIRM => CONFIRMED,
            _ => return,
        };
        // The lowest bits say what the visitor did, and they are the ones that are mixed worst.
        let pair = mix(visitor, id) & !BIT_MASK;
        // Whether a pair is in the sample depends on the pair alone, so that one which comes again
        // is decided alike.
        if visitor != 0 && pair & sample_mask(self.level) == 0 {
            self.insert_pair(pair, id, bits);
        }
    }

    #[inline(always)]
    fn insert_pair(&mut self, pair: u64, id: u32, bits: u64) {
        let mut place = self.place(pair);
        let new = loop {
            let Some(entry) = self.entries.get_mut(place) else {
                place = 0;
                continue;
            };
            if *entry & BIT_MASK == 0 {
                *entry = pair | bits;
                self.keep_id(place, id);
                self.len += 1;
                break bits;
            }
            if *entry & !BIT_MASK == pair {
                let new = bits & !*entry;
                *entry |= bits;
                break new;
            }
            place += 1;
        };
        if new != 0 {
            self.count(id, new);
            // At most half is used, or two thirds of the largest table, so that a free entry is near.
            if self.len > self.limit
                || self.len * 2 > self.entries.len() && self.entries.len() < self.max_len()
            {
                self.make_room();
            }
        }
    }

    /// Returns true if each visitor was counted, and none estimated.
    pub(super) const fn is_exact(&self) -> bool {
        self.level == 0
    }

    /// Returns the counts by id, and empties the set for another day.
    pub(super) fn drain(&mut self) -> Vec<Distinct> {
        let level = self.level;
        let counts = self.counts.iter().map(|counts| counts.map(|count| u64::from(count) << level)).collect();
        self.counts.clear();
        // A large table is not emptied again for each small day.
        if self.len * 16 < self.entries.len() && self.entries.len() > FIRST_LEN {
            self.entries = vec![0; FIRST_LEN.max(self.len * 2)];
        } else {
            self.entries.fill(0);
        }
        // Not kept: most days have no second id, and then the table needs no memory for ids.
        self.ids = Vec::new();
        (self.len, self.level) = (0, 0);
        counts
    }

    #[inline(always)]
    fn keep_id(&mut self, place: usize, id: u32) {
        if self.ids.is_empty() && id != 0 {
            self.ids.resize(self.entries.len(), 0);
        }
        if let Some(kept) = self.ids.get_mut(place) {
            *kept = id;
        }
    }

    #[inline(always)]
    fn count(&mut self, id: u32, bits: u64) {
        let id = id as usize;
        if self.counts.len() <= id {
            self.counts.resize(id + 1, [0; BITS as usize]);
        }
        if let Some([seen, clicked, scanned, confirmed]) = self.counts.get_mut(id) {
            *seen += u32::from(bits & SEEN != 0);
            *clicked += u32::from(bits & CLICKED != 0);
            *scanned += u32::from(bits & SCANNED != 0);
            *confirmed += u32::from(bits & CONFIRMED != 0);
        }
    }

    /// Enlarges the table, or halves the sample if the limit is reached.
    #[cold]
    fn make_room(&mut self) {
        let is_full = self.len > self.limit;
        let (old, ids) = (std::mem::take(&mut self.entries), std::mem::take(&mut self.ids));
        let factor = if old.len() < SMALL_LEN { 4 } else { 2 };
        self.entries = vec![0; (old.len() * factor).min(self.max_len()).max(old.len())];
        if is_full {
            // The counts are made again below, because half of what they counted is dropped.
            self.level += 1;
            self.counts.clear();
        }
        self.len = 0;
        let mask = sample_mask(self.level);
        for (at, entry) in old.into_iter().enumerate() {
            if entry & BIT_MASK != 0 && entry & mask == 0 {
                let id = ids.get(at).copied().unwrap_or(0);
                self.put_back(entry, id);
                if is_full {
                    self.count(id, entry);
                }
            }
        }
    }

    /// Puts an entry into a new table, which does not have it.
    fn put_back(&mut self, entry: u64, id: u32) {
        let mut place = self.place(entry);
        loop {
            match self.entries.get_mut(place) {
                None => place = 0,
                Some(known) if *known & BIT_MASK != 0 => place += 1,
                Some(free) => {
                    *free = entry;
                    self.keep_id(place, id);
                    self.len += 1;
                    return;
                }
            }
        }
    }

    /// Returns the most entries of the table.
    const fn max_len(&self) -> usize {
        self.limit / 2 * 3
    }

    /// Returns the place at which the search for a pair begins: its upper half, scaled to the length.
    #[inline(always)]
    fn place(&self, pair: u64) -> usize {
        // Scaled and not reduced by a remainder, so that the length need not be a power of two.
        let place = ((pair >> 32) * (self.entries.len() as u64)) >> 32;
        usize::try_from(place).unwrap_or(0)
    }
}

/// Returns a number for a pair. All bits of it are as random as the visitor.
#[inline(always)]
fn mix(visitor: u64, id: u32) -> u64 {
    (visitor ^ u64::from(id).wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns the bits that are 0 in the pairs of a sample: the upper ones of the lower half, which are
/// mixed better than those below, and do not decide the place.
#[inline(always)]
fn sample_mask(level: u32) -> u64 {
    let level = level.min(28);
    ((1 << level) - 1) << (32 - level)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of a visitor, which is as random as a MAC.
    fn visitor(nth: u64) -> u64 {
        let mixed = (nth ^ (nth >> 30)).wrapping_add(1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) | 1 << 63
    }

    fn counted(limit: usize, visitors: u64) -> (Distinct, bool) {
        let mut set = DistinctSet::new(limit);
        for nth in 0..visitors {
            set.insert(visitor(nth), 0, class::VIEW);
            set.insert(visitor(nth), 0, class::VIEW);
            if nth % 4 == 0 {
                set.insert(visitor(nth), 0, class::CLICK);
            }
        }
        let is_exact = set.is_exact();
        (set.drain()[0], is_exact)
    }

    #[test]
    fn visitors_up_to_the_limit_are_counted_exactly() {
        assert_eq!(counted(4_096, 4_096), ([4_096, 1_024, 0, 0], true));
        assert_eq!(counted(1, 1_024), ([1_024, 256, 0, 0], true), "never fewer than 1,024");
    }

    /// The standard error of a sample of at least 10,000 is at most 1 %.
    #[test]
    fn visitors_beyond_the_limit_are_estimated() {
        let ([visitors, clicked, ..], is_exact) = counted(20_000, 300_000);
        assert!(!is_exact);
        assert!(visitors.abs_diff(300_000) < 12_000, "{visitors}");
        assert!(clicked.abs_diff(75_000) < 6_000, "{clicked}");
    }

    #[test]
    fn day_after_an_estimate_is_exact_again() {
        let mut set = DistinctSet::new(1_024);
        (0..5_000).for_each(|nth| set.insert(visitor(nth), 0, class::SCAN));
        assert!(!set.is_exact());
        set.drain();
        (0..10).for_each(|nth| set.insert(visitor(nth), 2, class::SCAN));
        assert!(set.is_exact());
        assert_eq!(set.drain(), [[0; 4], [0; 4], [10, 0, 10, 0]]);
    }

    #[test]
    fn event_without_a_visitor_is_not_counted() {
        let mut set = DistinctSet::new(1_024);
        set.insert(0, 0, class::VIEW);
        for ignored in [class::BOT, class::IGNORED, class::SKIPPED] {
            set.insert(visitor(1), 0, ignored);
        }
        assert!(set.drain().is_empty());
    }
}
