//! Distinct visitors of one page and day.

use super::rows::class;

/// What a visitor did, as bits: the places of a [`Distinct`].
const SEEN: u32 = 0b0001;
const CLICKED: u32 = 0b0010;
const SCANNED: u32 = 0b0100;
const CONFIRMED: u32 = 0b1000;
const BITS: u32 = 4;

/// The number of distinct visitors who were seen, clicked and scanned, and of confirmed views.
pub(super) type Distinct = [u64; BITS as usize];

/// An open-addressing hash set of pairs of a visitor and an id, which stands for a value of a group
/// or for a bucket.
///
/// It is exact up to a limit. From there on it is a sample (adaptive sampling, Wegman): each time
/// that it is full, it keeps half of the visitors, and each counts for twice as many.
#[derive(Clone, Debug)]
pub(super) struct DistinctSet {
    /// The visitor in two halves, and the id above the bits of what it did. An entry without a bit is
    /// free.
    entries: Vec<[u32; 3]>,
    len: usize,
    limit: usize,
    /// A visitor is kept if as many of its lowest bits are 0.
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
            entries: vec![[0; 3]; FIRST_LEN],
            len: 0,
            limit: limit.max(FIRST_LEN),
            level: 0,
            counts: Vec::new(),
        }
    }

    /// Records an event of a class. Visitor 0 is none, and ids are below 2^28.
    pub(super) fn insert(&mut self, visitor: u64, id: u32, class: u8) {
        let bits = match class {
            class::VIEW => SEEN,
            class::CLICK => SEEN | CLICKED,
            class::SCAN => SEEN | SCANNED,
            class::CONFIRM => CONFIRMED,
            _ => return,
        };
        if visitor != 0 && visitor & sample_mask(self.level) == 0 {
            self.insert_bits(visitor, id, bits);
        }
    }

    fn insert_bits(&mut self, visitor: u64, id: u32, bits: u32) {
        let (low, high, tag) = (lower(visitor), lower(visitor >> 32), id << BITS);
        let mut place = self.place(visitor, id);
        let new = loop {
            let Some(entry) = self.entries.get_mut(place) else {
                place = 0;
                continue;
            };
            let [known_low, known_high, known_tag] = *entry;
            if known_tag & BIT_MASK == 0 {
                *entry = [low, high, tag | bits];
                self.len += 1;
                break bits;
            }
            if known_low == low && known_high == high && known_tag & !BIT_MASK == tag {
                let new = bits & !known_tag;
                *entry = [low, high, known_tag | bits];
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
            self.entries = Vec::new();
            self.entries.resize(FIRST_LEN.max(self.len * 2), [0; 3]);
        } else {
            self.entries.fill([0; 3]);
        }
        (self.len, self.level) = (0, 0);
        counts
    }

    fn count(&mut self, id: u32, bits: u32) {
        let id = id as usize;
        if self.counts.len() <= id {
            self.counts.resize(id + 1, [0; BITS as usize]);
        }
        if let Some([seen, clicked, scanned, confirmed]) = self.counts.get_mut(id) {
            *seen += bits & 1;
            *clicked += (bits >> 1) & 1;
            *scanned += (bits >> 2) & 1;
            *confirmed += (bits >> 3) & 1;
        }
    }

    /// Enlarges the table, or halves the sample if the limit is reached.
    #[cold]
    fn make_room(&mut self) {
        let mut kept = std::mem::take(&mut self.entries);
        let factor = if kept.len() < SMALL_LEN { 4 } else { 2 };
        let len = (kept.len() * factor).min(self.max_len()).max(kept.len());
        // In place, and not into the new table at once, so that there are never two large ones.
        kept.retain(|[_, _, tag]| tag & BIT_MASK != 0);
        kept.shrink_to_fit();
        self.entries = vec![[0; 3]; len];
        if self.len > self.limit {
            self.level += 1;
            self.counts.clear();
            self.len = 0;
            for [low, high, tag] in kept {
                let visitor = visitor(low, high);
                if visitor & sample_mask(self.level) == 0 {
                    self.insert_bits(visitor, tag >> BITS, tag & BIT_MASK);
                }
            }
        } else {
            kept.into_iter().for_each(|entry| self.put_back(entry));
        }
    }

    /// Puts an entry that is counted into an enlarged table.
    fn put_back(&mut self, entry: [u32; 3]) {
        let [low, high, tag] = entry;
        let mut place = self.place(visitor(low, high), tag >> BITS);
        loop {
            match self.entries.get_mut(place) {
                None => place = 0,
                Some([_, _, known]) if *known & BIT_MASK != 0 => place += 1,
                Some(free) => {
                    *free = entry;
                    return;
                }
            }
        }
    }

    /// Returns the most entries of the table.
    const fn max_len(&self) -> usize {
        self.limit / 2 * 3
    }

    /// Returns the place at which the search for a pair begins: the upper half of a product, scaled
    /// to the length.
    fn place(&self, visitor: u64, id: u32) -> usize {
        let mixed =
            (visitor ^ u64::from(id).wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = ((mixed >> 32) * (self.entries.len() as u64)) >> 32;
        usize::try_from(place).unwrap_or(0)
    }
}

const BIT_MASK: u32 = (1 << BITS) - 1;

fn sample_mask(level: u32) -> u64 {
    (1 << level.min(63)) - 1
}

fn visitor(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn lower(number: u64) -> u32 {
    u32::try_from(number & u64::from(u32::MAX)).unwrap_or(0)
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
