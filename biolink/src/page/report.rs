//! A visitor's report that a page does harm.

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::codes;
use shared::problem::Problem;

/// The longest explanation of a report, in characters.
pub const MAX_REPORT_DETAILS: usize = 1_000;

/// A report, as the form of a page sends it. It holds nothing about who sent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbuseReport {
    /// The fault of the page.
    pub reason: ReportReason,
    /// More about it; empty for nothing.
    pub details: String,
}

/// The fault of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "`label` says what each one is")]
pub enum ReportReason {
    Phishing,
    Malware,
    Impersonation,
    Spam,
    Illegal,
    Other,
}

shared::named!(ReportReason);

impl ReportReason {
    /// Every reason once.
    pub const ALL: [Self; 6] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the text that visitors choose.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Phishing => "It asks for passwords or payments by deceit",
            Self::Malware => "It leads to harmful software",
            Self::Impersonation => "It pretends to be someone else",
            Self::Spam => "It is spam",
            Self::Illegal => "It shows illegal content",
            Self::Other => "Something else",
        }
    }
}

impl AbuseReport {
    /// Reads the body of the form (`application/x-www-form-urlencoded`). Other fields are ignored.
    ///
    /// # Errors
    /// Returns `fields-invalid` if there is no known reason or the details are too long.
    pub fn parse(body: &str) -> Result<Self, Problem> {
        let field = |name: &str| {
            let mut pairs = body.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(other, _)| *other == name).map_or_else(String::new, |(_, value)| decode(value))
        };
        let reason = field("reason");
        let reason = reason.parse().map_err(|_| {
            let names = ReportReason::ALL.map(ReportReason::as_str).join(", ");
            Problem::new(codes::FIELDS_INVALID, format!("`reason` must be one of {names}"))
        })?;
        let details = field("details");
        // A form's line break is CR LF, and counts as one character for the browser's `maxlength`.
        let details = details.replace("\r\n", "\n");
        let details: String = details.trim().chars().filter(|&c| c == '\n' || !c.is_control()).collect();
        // As the browser's `maxlength` counts, so that what the form takes is not refused here.
        let length = details.encode_utf16().count();
        if length > MAX_REPORT_DETAILS {
            let detail =
                format!("`details` has {length} characters; at most {MAX_REPORT_DETAILS} are allowed");
            return Err(Problem::new(codes::FIELDS_INVALID, detail));
        }
        Ok(Self { reason, details })
    }
}

/// Returns the value of a form's field. Bytes that are no UTF-8 become U+FFFD.
fn decode(value: &str) -> String {
    let value = value.replace('+', " ");
    percent_decode_str(&value).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_is_read_as_browsers_send_it() {
        let report = AbuseReport::parse("reason=phishing&details=It+asks%0D%0Afor+%C3%BC%26%2B&x=1").unwrap();
        assert_eq!(report.reason, ReportReason::Phishing);
        assert_eq!(report.details, "It asks\nfor ü&+");
        let bare = AbuseReport::parse("details=&reason=other").unwrap();
        assert_eq!(bare, AbuseReport { reason: ReportReason::Other, details: String::new() });
        for reason in ReportReason::ALL {
            assert_eq!(AbuseReport::parse(&format!("reason={}", reason.as_str())).unwrap().reason, reason);
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
    }

    #[test]
    fn report_without_reason_or_too_long_is_refused() {
        for body in ["", "reason=", "reason=boring", "details=x", "reason"] {
            assert_eq!(AbuseReport::parse(body).unwrap_err().code(), codes::FIELDS_INVALID, "{body}");
        }
        let body = |length| format!("reason=spam&details={}", "x".repeat(length));
        assert!(AbuseReport::parse(&body(MAX_REPORT_DETAILS)).is_ok());
        assert!(AbuseReport::parse(&body(MAX_REPORT_DETAILS + 1)).is_err());
    }
}
