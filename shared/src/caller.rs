//! The client that attempts are counted against, under a pseudonym.

mod attempt_guard;

pub use attempt_guard::{AttemptGuard, GuardStep};

use crate::policy::ADMIN_ATTEMPTS;
use crate::problem::{Problem, codes};
use crate::quota::{Counts as _, Decision, Usage};
use crate::secret::MacKeys;
use crate::time::UnixMillis;
use core::net::IpAddr;

const DOMAIN: &[u8] = b"utg.caller.v1";

/// Returns a pseudonym for a client's address: a MAC of it under the signing secret, so that the
/// address cannot be found by trying all addresses. An IPv6 client counts as its /64, of which it
/// can use any address. Clients whose address is not known (`None`, or not an address) share one
/// name.
pub fn name(address: Option<&str>, keys: &MacKeys) -> String {
    let Some(address) = address.and_then(|text| text.trim().parse().ok()) else {
        return "caller_unknown".to_owned();
    };
    let (_, mac) = keys.current();
    let tag = mac.sign(&[DOMAIN, &network(address).to_be_bytes()]);
    let short = tag.first_chunk().copied().map(u128::from_be_bytes).unwrap_or_default();
    format!("caller_{short:032x}")
}

/// Returns the one of 65,536 buckets that a client's address falls into, for counters that need not
/// know who is counted: thousands of addresses share each bucket, and in another `scope` they share
/// it with others. Clients whose address is not known share one.
pub fn bucket(address: Option<&str>, scope: &str, keys: &MacKeys) -> u16 {
    bucket_of(address.and_then(|text| text.trim().parse().ok()).map_or(0, network), scope, keys)
}

/// Returns the bucket in a `scope` of the wider network that a client's address lies in, the /24 of an
/// IPv4 address or the /48 of an IPv6 address: one subscriber can have as many addresses.
pub fn network_bucket(address: Option<&str>, scope: &str, keys: &MacKeys) -> u16 {
    let wide = |address: IpAddr| match address.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_bits() >> 8 << 8),
        IpAddr::V6(address) => address.to_bits() >> 80 << 80,
    };
    bucket_of(address.and_then(|text| text.trim().parse().ok()).map_or(0, wide), scope, keys)
}

fn bucket_of(network: u128, scope: &str, keys: &MacKeys) -> u16 {
    let (_, mac) = keys.current();
    let tag = mac.sign(&[b"utg.bucket.v1", &network.to_be_bytes(), scope.as_bytes()]);
    tag.first_chunk().copied().map(u16::from_be_bytes).unwrap_or_default()
}

/// Returns the network that a client is counted as: an IPv4 address, or the /64 of an IPv6 address,
/// because one subscriber can use every address of a /64.
///
/// ```
/// use shared::caller::network;
///
/// let of = |text: &str| network(text.parse().unwrap());
/// assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
/// assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
/// assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
/// ```
pub fn network(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

/// Returns the admin secret of an administrative call: `Authorization: Bearer …` (RFC 6750 section
/// 2.1).
///
/// # Errors
/// Returns `admin-required` if there is none.
pub fn bearer(authorization: Option<&str>) -> Result<&str, Problem> {
    let required = || Problem::new(codes::ADMIN_REQUIRED, "send the admin secret as Authorization: Bearer");
    bearer_token(authorization).ok_or_else(required)
}

/// Returns the token after `Bearer`, or `None` if there is none. Spaces and tabs may stand around the
/// value, and spaces before the token (RFC 9110, sections 5.6.3 and 11.4).
pub fn bearer_token(authorization: Option<&str>) -> Option<&str> {
    let (scheme, token) = authorization?.trim_matches([' ', '\t']).split_once(' ')?;
    let token = token.trim_start_matches(' ');
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Decides on an admin secret that a caller has presented, `right` or wrong. Only wrong ones are
/// counted, so that any number of right ones may come together. If a caller has sent too many wrong
/// ones, a right one is refused too, because the response must not show that a guess was right. A
/// right one that passes resets the count.
pub fn attempt(wrong: &mut Usage, right: bool, now: UnixMillis) -> Decision {
    wrong.roll(now);
    match (wrong.free(&ADMIN_ATTEMPTS), right) {
        // Counted as an attempt, any number of right secrets at the same time would lock their own
        // caller out.
        (1.., true) => {
            wrong.clear();
            Decision::Allow(wrong.status(&ADMIN_ATTEMPTS, now))
        }
        _ => wrong.admit(&ADMIN_ATTEMPTS, now),
    }
}

/// Returns true unless the next admin secret will be refused.
pub(crate) fn has_attempts_left(wrong: &Usage) -> bool {
    wrong.free(&ADMIN_ATTEMPTS) > 0
}

/// Turns the decision on an admin secret into a response.
///
/// # Errors
/// Returns `attempts-exceeded`, or `admin-secret-invalid` unless it was `right`.
pub fn admitted(decision: &Decision, right: bool) -> Result<(), Problem> {
    match decision {
        Decision::Deny(denial, _) => Err(attempts_exceeded(denial.retry_ms)),
        Decision::Allow(_) => compared(right),
    }
}

/// Turns the comparison of an admin secret that is taken into a response.
///
/// # Errors
/// Returns `admin-secret-invalid` unless it was `right`.
pub fn compared(right: bool) -> Result<(), Problem> {
    right.then_some(()).ok_or_else(|| Problem::new(codes::ADMIN_SECRET_INVALID, "the admin secret is wrong"))
}

/// Returns the refusal of a caller who has sent too many wrong admin secrets.
fn attempts_exceeded(retry_ms: u64) -> Problem {
    let seconds = retry_ms.div_ceil(1000).max(1);
    Problem::new(
        codes::ATTEMPTS_EXCEEDED,
        format!("too many wrong admin secrets from this address; the next attempt is taken in {seconds} s"),
    )
    .retry_after(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> String {
        name(Some(address), &MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap())
    }

    #[test]
    fn address_has_its_own_name_which_hides_it() {
        assert_eq!(of("192.0.2.1"), of(" 192.0.2.1"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"), "the same client over both stacks");
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert!(!of("192.0.2.1").contains("192"));
    }

    #[test]
    fn bearer_token_stands_between_spaces_only() {
        for header in ["Bearer x", "bearer x", " Bearer   x\t"] {
            assert_eq!(bearer_token(Some(header)), Some("x"), "{header:?}");
        }
        for header in ["", "Bearer", "Bearer ", "Basic x", "\u{b}Bearer x", "\u{a0}Bearer x"] {
            assert_eq!(bearer_token(Some(header)), None, "{header:?}");
        }
    }

    #[test]
    fn right_secret_passes_until_ten_were_wrong() {
        let (mut usage, now) = (Usage::default(), UnixMillis(1_763_712_000_000));
        let mut present =
            |right, now| admitted(&attempt(&mut usage, right, now), right).map_err(|p| p.code());
        assert!((0..50).all(|_| present(true, now).is_ok()));
        for _ in 0..10 {
            assert_eq!(present(false, now), Err(codes::ADMIN_SECRET_INVALID));
        }
        for right in [true, false] {
            assert_eq!(present(right, now), Err(codes::ATTEMPTS_EXCEEDED));
        }
        assert_eq!(present(true, now.plus(61_000)), Ok(()), "waiting is the way out");
    }

    #[test]
    fn ipv6_clients_of_one_64_share_a_name() {
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
    }

    #[test]
    fn bucket_depends_on_network_and_scope() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let of = |address, scope| bucket(Some(address), scope, &keys);
        assert_eq!(of("2001:db8:1:2::1", "a"), of("2001:db8:1:2::2", "a"));
        assert_ne!(of("192.0.2.1", "a"), of("192.0.2.2", "a"));
        assert_ne!(of("192.0.2.1", "a"), of("192.0.2.1", "b"));
        assert_eq!(bucket(None, "a", &keys), of("not an address", "a"));
    }

    #[test]
    fn network_bucket_is_shared_by_a_24_and_by_a_48() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let of = |address| network_bucket(Some(address), "a", &keys);
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.250"));
        assert_ne!(of("192.0.2.1"), of("192.0.3.1"));
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:ffff::9"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:2:2::1"));
        assert_eq!(network_bucket(None, "a", &keys), of("not an address"));
    }

    #[test]
    fn admin_secret_is_read_from_a_bearer_token() {
        assert_eq!(bearer(Some("Bearer  hush ")), Ok("hush"));
        for header in [None, Some(""), Some("hush"), Some("Bearer"), Some("Bearer "), Some("Basic hush")] {
            assert_eq!(bearer(header).map_err(|problem| problem.code()), Err(codes::ADMIN_REQUIRED));
        }
    }

    #[test]
    fn client_without_an_address_has_the_shared_name() {
        assert_eq!(of("not an address"), "caller_unknown");
    }
}
