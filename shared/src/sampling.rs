//! Sampling of the access log.

use crate::request_id::RequestId;

/// The share of successful requests whose log lines are kept. Refusals and errors are always kept.
///
/// ```
/// use shared::{request_id::RequestId, sampling::Sampling};
///
/// let half = Sampling::parse("0.5").unwrap();
/// assert!(half.keeps(&RequestId([0x00; 16]), 200) && !half.keeps(&RequestId([0xff; 16]), 200));
/// assert!(half.keeps(&RequestId([0xff; 16]), 429));
/// assert_eq!(Sampling::parse("50%"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling(f64);

impl Sampling {
    /// Every line.
    pub const ALL: Self = Self(1.0);

    /// Parses a number from 0 to 1; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|share| (0.0..=1.0).contains(share)).map(Self)
    }

    /// Returns the share, so that a reader of the log can scale counts up.
    pub const fn share(self) -> f64 {
        self.0
    }

    /// Returns true if the line of a request with this status is kept. The request's id decides, so
    /// that all lines of a request are kept or none.
    pub fn keeps(self, id: &RequestId, status: u16) -> bool {
        let [a, b, c, d, ..] = id.0;
        status >= 400 || f64::from(u32::from_be_bytes([a, b, c, d])) < self.0 * 4_294_967_296.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::sha256;

    #[test]
    fn share_of_the_requests_is_kept() {
        let ids = (0..10_000u32).map(|n| {
            let digest = sha256(&[&n.to_be_bytes()]);
            RequestId(digest[..16].try_into().unwrap())
        });
        let sampling = Sampling::parse("0.05").unwrap();
        let kept = ids.filter(|id| sampling.keeps(id, 200)).count();
        assert!((400..600).contains(&kept), "{kept}");
    }

    #[test]
    fn ends_of_the_range_keep_all_and_nothing() {
        for (text, kept) in [("1", true), ("0", false)] {
            for byte in [0, 0x7f, 0xff] {
                assert_eq!(Sampling::parse(text).unwrap().keeps(&RequestId([byte; 16]), 204), kept);
            }
        }
        assert_eq!(Sampling::parse("1"), Some(Sampling::ALL));
        for text in ["", "-0.1", "1.1", "NaN", "inf", "all"] {
            assert_eq!(Sampling::parse(text), None, "{text}");
        }
    }
}
