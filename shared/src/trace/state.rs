//! The value of a `tracestate` header.

/// Maximum number of members (W3C Trace Context, section 3.3.1.1).
const MAX_MEMBERS: usize = 32;

/// Returns true if a `tracestate` header has a valid value (W3C Trace Context, section 3.3.1). An
/// invalid one must not be forwarded.
pub(super) fn is_trace_state(value: &str) -> bool {
    let members = || {
        let trimmed = value.split(',').map(|member| member.trim_matches([' ', '\t']));
        trimmed.filter(|member| !member.is_empty())
    };
    let is_valid = |(nth, member): (usize, &str)| {
        let Some((key, value)) = member.split_once('=') else { return false };
        let is_repeated = members().take(nth).any(|earlier| has_key(earlier, key));
        is_key(key) && is_value(value) && !is_repeated
    };
    members().count() <= MAX_MEMBERS && members().enumerate().all(is_valid)
}

fn has_key(member: &str, key: &str) -> bool {
    member.split_once('=').is_some_and(|(other, _)| other == key)
}

/// Returns true for a simple key, and for a tenant and a system (section 3.3.1.3.1).
fn is_key(key: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase();
    let is_first_of_tenant = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    match key.split_once('@') {
        None => is_name(key, 256, is_letter),
        Some((tenant, system)) => is_name(tenant, 241, is_first_of_tenant) && is_name(system, 14, is_letter),
    }
}

fn is_name(name: &str, most: usize, is_first: impl Fn(u8) -> bool) -> bool {
    let is_rest = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-' | b'*' | b'/')
    };
    name.len() <= most && name.bytes().next().is_some_and(is_first) && name.bytes().all(is_rest)
}

/// Returns true for 1 to 256 printable characters that do not end with a space (section 3.3.1.3.2).
fn is_value(value: &str) -> bool {
    let is_printable = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b',' | b'=');
    (1..=256).contains(&value.len()) && !value.ends_with(' ') && value.bytes().all(is_printable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_up_to_32_members_is_valid() {
        let list = |count: usize| (0..count).map(|n| format!("k{n}=v")).collect::<Vec<_>>().join(",");
        let long = format!("{}={}", "k".repeat(256), "v".repeat(256));
        let of_a_tenant = format!("1{}@{}=v", "a".repeat(240), "s".repeat(14));
        for text in ["", "a=1", "a=1 , b=2,\t,c= 3", "a/-*_0=~!", &list(32), &long, &of_a_tenant] {
            assert!(is_trace_state(text), "{text}");
        }
        assert!(!is_trace_state(&list(33)));
    }

    #[test]
    fn malformed_or_repeated_member_is_invalid() {
        let long_key = format!("{}=v", "k".repeat(257));
        let long_value = format!("k={}", "v".repeat(257));
        let long_system = format!("t@{}=v", "s".repeat(15));
        for text in [
            "a",
            "=1",
            "a=",
            "A=1",
            "1a=1",
            "a@=1",
            "@a=1",
            "a@1=1",
            "a@b@c=1",
            "a=1=2",
            "a=é",
            "a=1;b=2\u{7}",
            "a =1",
            "a=1,b=2,a=3",
            &long_key,
            &long_value,
            &long_system,
        ] {
            assert!(!is_trace_state(text), "{text}");
        }
    }
}
