//! Sets of header names that are looked up for every header of every call.

/// Names are shorter than this.
const LENGTHS: usize = 40;
/// 512 bits: with 50 names, it rejects nine of ten other names.
const FILTER_WORDS: usize = 8;

/// A set of names in lower case. Most other names are rejected by a Bloom filter with one hash
/// function; others are compared with the names of their length.
pub(super) struct NameSet {
    names: &'static [&'static str],
    /// For each length, the place of the first name that is not shorter.
    starts: [usize; LENGTHS + 1],
    filter: [u64; FILTER_WORDS],
}

impl NameSet {
    /// Builds the set at compile time. `names` must be in the order of their lengths.
    #[allow(clippy::indexing_slicing, reason = "the compiler runs it")]
    pub(super) const fn new(names: &'static [&'static str]) -> Self {
        let mut starts = [names.len(); LENGTHS + 1];
        let mut filter = [0; FILTER_WORDS];
        let mut place = names.len();
        let mut length = LENGTHS;
        while place > 0 {
            place -= 1;
            assert!(names[place].len() <= length, "the names are not in the order of their lengths");
            length = names[place].len();
            starts[length] = place;
            let (word, bit) = filter_place(names[place].as_bytes());
            filter[word] |= bit;
        }
        // A length that no name has starts where the next one does.
        let mut length = LENGTHS;
        while length > 0 {
            length -= 1;
            if starts[length] > starts[length + 1] {
                starts[length] = starts[length + 1];
            }
        }
        Self { names, starts, filter }
    }

    /// Returns true if the set holds `name`, in any case.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.place(name).is_some()
    }

    /// Returns the place of `name` in the list that the set was made of. `name` in any case.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        let (word, bit) = filter_place(name.as_bytes());
        if self.filter.get(word)? & bit == 0 {
            return None;
        }
        let (&start, &end) = self.starts.get(name.len()).zip(self.starts.get(name.len() + 1))?;
        let names = self.names.get(start..end)?;
        names.iter().position(|other| other.eq_ignore_ascii_case(name)).map(|nth| start + nth)
    }

    /// Returns the names, shorter ones first.
    pub(super) const fn names(&self) -> &'static [&'static str] {
        self.names
    }
}

/// Returns the word and the bit of the filter for a name in any case.
const fn filter_place(name: &[u8]) -> (usize, u64) {
    let (first, last) = match name {
        [first, .., last] => (*first, *last),
        [only] => (*only, *only),
        [] => (0, 0),
    };
    // Bit 5 is the case of a letter.
    let hash = name.len() * 13 + (first & 0x1f) as usize * 5 + (last & 0x1f) as usize * 31;
    (hash / 64 % FILTER_WORDS, 1 << (hash % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_found_at_its_place_in_any_case() {
        static SET: NameSet = NameSet::new(&["a", "te", "x-a", "x-b", "x-long-name"]);
        for (place, name) in SET.names().iter().enumerate() {
            assert_eq!(SET.place(&name.to_ascii_uppercase()), Some(place), "{name}");
        }
        for other in ["", "b", "ta", "x-c", "x-ab", "x-long-names", &"x".repeat(LENGTHS), &"x".repeat(99)] {
            assert!(!SET.holds(other), "{other}");
        }
    }
}
