//! A set of literals that is searched at every position of a text.

/// Literals in lower case, each with a value, grouped by their first byte.
pub(super) struct Literals {
    /// Length, value and text of each literal, group by group.
    pub(super) entries: &'static str,
    /// For each first byte from the space on: where its literals start and end in `entries`, and
    /// the set of their second bytes, modulo 32.
    pub(super) groups: [(u16, u16, u32); 96],
}

impl Literals {
    /// Returns length and value of each literal that `text` begins with.
    pub(super) fn at(&self, text: &[u8]) -> impl Iterator<Item = (usize, u8)> {
        let mut entries = self.candidates(text).unwrap_or_default();
        std::iter::from_fn(move || {
            while let [len, value, rest @ ..] = entries {
                let (literal, next) = rest.split_at_checked(usize::from(*len))?;
                entries = next;
                if text.starts_with(literal) {
                    return Some((literal.len(), *value));
                }
            }
            None
        })
    }

    /// Returns every position in `text` where a literal may begin, by its first two bytes.
    pub(super) fn positions(&self, text: &[u8]) -> impl Iterator<Item = usize> {
        let pairs = text.windows(2).enumerate();
        let found =
            pairs.filter(|(_, pair)| matches!(pair, [first, second] if self.may_begin(*first, *second)));
        found.map(|(at, _)| at).chain(text.len().checked_sub(1))
    }

    fn may_begin(&self, first: u8, second: u8) -> bool {
        let group = self.groups.get(usize::from(first.wrapping_sub(b' ')));
        group.is_some_and(|(_, _, seconds)| seconds >> (second & 31) & 1 == 1)
    }

    /// Returns the entries of the group of the text's first byte.
    fn candidates(&self, text: &[u8]) -> Option<&'static [u8]> {
        let (start, end, _) = self.groups.get(usize::from(text.first()?.checked_sub(b' ')?))?;
        self.entries.as_bytes().get(usize::from(*start)..usize::from(*end))
    }
}
