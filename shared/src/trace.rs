//! Trace ids of W3C Trace Context.

/// Returns the trace id of a `traceparent` header (W3C Trace Context, section 3.2.2): 32 lower-case
/// hexadecimal digits. Returns `None` if the value is malformed or the id is all zeros.
///
/// ```
/// let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// assert_eq!(shared::trace::trace_id(traceparent), Some("0af7651916cd43dd8448eb211c80319c"));
/// ```
pub fn trace_id(traceparent: &str) -> Option<&str> {
    let mut parts = traceparent.split('-');
    let (_version, id) = (parts.next()?, parts.next()?);
    let well_formed = id.len() == 32 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    (well_formed && id.bytes().any(|b| b != b'0')).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_traceparent_has_no_trace_id() {
        for text in [
            "",
            "00",
            "00-\"}-x",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7-01",
        ] {
            assert_eq!(trace_id(text), None, "{text}");
        }
    }
}
