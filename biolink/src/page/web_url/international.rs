//! International host names, as people type them.

use idna::AsciiDenyList;
use idna::uts46::{DnsLength, Hyphens, Uts46};

/// Returns a host in ASCII and lower case, as the URL standard maps it (UTS 46): composed, in the usual
/// width, with `.` for other full stops. `None` if it has a character that no host has, or a label that
/// begins with `xn--` and encodes none.
pub(crate) fn to_ascii(host: &str) -> Option<String> {
    let has_encoded = || host.split('.').any(|label| label.get(..4).is_some_and(is_marker));
    // Brackets of an IPv6 address and other signs are for the caller to judge, not for the mapping.
    if host.is_ascii() && !has_encoded() {
        return Some(host.to_ascii_lowercase());
    }
    // Hyphens and lengths are checked by the caller, as the URL standard does not.
    let mapped =
        Uts46::new().to_ascii(host.as_bytes(), AsciiDenyList::URL, Hyphens::Allow, DnsLength::Ignore);
    mapped.ok().map(std::borrow::Cow::into_owned)
}

const fn is_marker(start: &str) -> bool {
    start.eq_ignore_ascii_case("xn--")
}
