//! Sets of literals that are searched at every position of a text. `scripts/bot-lists.mjs` writes
//! their lines from isbot (npm, Unlicense).

/// The literals of patterns without an anchor, each with its program, or 0.
pub(super) static ANYWHERE: Literals = Literals::of(const { &entries(include_bytes!("anywhere.txt")) });
/// The literals of patterns that are anchored at the start, likewise.
pub(super) static STARTS: Literals = Literals::of(const { &entries(include_bytes!("starts.txt")) });

/// Literals in lower case, each with a value, grouped by their first byte.
pub(super) struct Literals {
    /// Length, value and text of each literal, group by group.
    entries: &'static [u8],
    /// For each first byte from the space on: where its literals start and end in `entries`, and
    /// the set of their second bytes, modulo 32.
    groups: [(u16, u16, u32); 96],
}

/// Lays out lines of a value, as a character from `0` on, and a literal. An entry is as long as its line.
#[allow(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "it runs when it is compiled")]
const fn entries<const N: usize>(lines: &[u8; N]) -> [u8; N] {
    let (mut entries, mut start, mut at) = ([0; N], 0, 0);
    while at < N {
        if lines[at] == b'\n' {
            (entries[start], entries[start + 1]) = ((at - start - 1) as u8, lines[start] - b'0');
            start = at + 1;
        } else if at > start {
            entries[at + 1] = lines[at];
        }
        at += 1;
    }
    entries
}

impl Literals {
    #[allow(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        reason = "it runs when it is compiled"
    )]
    const fn of(entries: &'static [u8]) -> Self {
        let (mut groups, mut at) = ([(0, 0, 0); 96], 0);
        while at < entries.len() {
            let (len, start) = (entries[at] as usize, at + 2);
            let group = &mut groups[(entries[start] - b' ') as usize];
            group.0 = if group.1 == 0 { at as u16 } else { group.0 };
            at = start + len;
            group.1 = at as u16;
            group.2 |= if len == 1 { u32::MAX } else { 1 << (entries[start + 1] & 31) };
        }
        Self { entries, groups }
    }

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
        self.entries.get(usize::from(*start)..usize::from(*end))
    }
}
