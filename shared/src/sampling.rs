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
pub struct Sampling {
    /// 0 to 1,000,000.
    millionths: u32,
}

impl Sampling {
    /// Every line.
    pub const ALL: Self = Self { millionths: 1_000_000 };

    /// Parses a number from 0 to 1 with at most six decimals; `None` for anything else.
    // The standard library's parser would bring a table of 10 KiB into the worker.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if fraction.len() > 6
            || !matches!(whole, "0" | "1")
            || !fraction.bytes().all(|digit| digit.is_ascii_digit())
        {
            return None;
        }
        let millionths = format!("{whole}{fraction:0<6}").parse().ok()?;
        (millionths <= Self::ALL.millionths).then_some(Self { millionths })
    }

    /// Returns the share, so that a reader of the log can scale counts up.
    pub fn share(self) -> f64 {
        f64::from(self.millionths) / f64::from(Self::ALL.millionths)
    }

    /// Returns true if the line of a request with this status is kept. The request's id decides, so
    /// that all lines of a request are kept or none.
    pub fn keeps(self, id: &RequestId, status: u16) -> bool {
        let place = u64::from(id.place());
        status >= 400 || place * u64::from(Self::ALL.millionths) < u64::from(self.millionths) << 32
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
        assert_eq!(Sampling::parse(" 0.000001 ").unwrap().share(), 0.000_001);
        for text in ["", "-0.1", "1.1", "1.000001", "0.0000001", "0.+5", ".", "2", "NaN", "inf", "all"] {
            assert_eq!(Sampling::parse(text), None, "{text}");
        }
    }
}
