//! What one process in direct mode tells another of a call, while one hands over to the other.

use shared::{key::KeyId, tool::Tool};

use crate::hand_over::Word;

/// Something that happened to a key's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// A call passed.
    Passed(KeyId),
    /// A call of this tool ended with this status; `uncharged` when it is given back to the day.
    Ended {
        /// Whose it was.
        id: KeyId,
        /// The tool.
        tool: Tool,
        /// The status.
        status: u16,
        /// Whether it is given back.
        uncharged: bool,
    },
}

const PASSED: u8 = 0;
const CHARGED: u8 = 1;
const UNCHARGED: u8 = 2;

impl Counted {
    /// As a word: the key, what happened, the tool and the status.
    #[must_use]
    pub fn to_word(self) -> Word {
        let (id, what, tool, status) = match self {
            Self::Passed(id) => (id, PASSED, 0, 0),
            Self::Ended { id, tool, status, uncharged } => {
                (id, if uncharged { UNCHARGED } else { CHARGED }, tool.code(), status)
            }
        };
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *id.as_bytes();
        let [high, low] = status.to_be_bytes();
        [a, b, c, d, e, f, g, h, i, j, k, l, what, tool, high, low]
    }

    /// What [`Self::to_word`] made; `None` for any other word.
    #[must_use]
    pub fn from_word(word: Word) -> Option<Self> {
        let [id @ .., what, tool, high, low] = word;
        let (id, status) = (KeyId::new(id), u16::from_be_bytes([high, low]));
        let ended = |uncharged| Some(Self::Ended { id, tool: Tool::from_code(tool)?, status, uncharged });
        match what {
            PASSED => Some(Self::Passed(id)),
            CHARGED => ended(false),
            UNCHARGED => ended(true),
            _ => None,
        }
    }

    pub(super) const fn id(&self) -> &KeyId {
        match self {
            Self::Passed(id) | Self::Ended { id, .. } => id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_as_it_was_written_and_no_other_is() {
        let id = KeyId::new(*b"abcdefghijkl");
        let ended = |uncharged| Counted::Ended { id, tool: Tool::Yt, status: 503, uncharged };
        for counted in [Counted::Passed(id), ended(true), ended(false)] {
            assert_eq!(Counted::from_word(counted.to_word()), Some(counted));
        }
        assert_eq!(Counted::from_word([u8::MAX; 16]), None);
    }
}
