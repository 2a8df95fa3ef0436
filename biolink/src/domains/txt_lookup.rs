//! Lookups of `TXT` records by DNS over HTTPS, in the JSON form that public resolvers have
//! (`application/dns-json`).

use serde_json::Value;
use thiserror::Error;

/// The type of a `TXT` record (RFC 1035, section 3.3.14).
const TXT: u64 = 16;
const NO_ERROR: u64 = 0;
const NX_DOMAIN: u64 = 3;
/// Records that are read.
const MAX_RECORDS: usize = 100;

/// A response of a resolver that says nothing of the name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TxtError {
    /// It is no `200`.
    #[error("the resolver responded with status {0}")]
    Status(u16),
    /// It is no JSON of this form.
    #[error("the resolver's response is not application/dns-json")]
    Malformed,
    /// The resolver could not find out: a response code of DNS.
    #[error("the resolver could not look the name up (DNS response code {0})")]
    Code(u64),
}

/// Returns the URL of a lookup.
pub fn txt_query(resolver: &str, name: &str) -> String {
    let separator = if resolver.contains('?') { '&' } else { '?' };
    format!("{resolver}{separator}name={name}&type=TXT")
}

/// Returns the texts of the records of a response. A name that does not exist has none.
///
/// # Errors
/// If the response says nothing of the name.
pub fn txt_values(status: u16, body: &[u8]) -> Result<Vec<String>, TxtError> {
    if status != 200 {
        return Err(TxtError::Status(status));
    }
    let body: Value = serde_json::from_slice(body).map_err(|_| TxtError::Malformed)?;
    match body.get("Status").and_then(Value::as_u64) {
        // The name does not exist: that is an answer. Any other code says nothing of the record.
        Some(NX_DOMAIN) => return Ok(Vec::new()),
        Some(NO_ERROR) => {}
        Some(code) => return Err(TxtError::Code(code)),
        None => return Err(TxtError::Malformed),
    }
    let records = body.get("Answer").and_then(Value::as_array).into_iter().flatten().take(MAX_RECORDS);
    // An answer may lead through a `CNAME`, which is among the records.
    let texts = records.filter(|record| record.get("type").and_then(Value::as_u64) == Some(TXT));
    Ok(texts.filter_map(|record| record.get("data").and_then(Value::as_str)).map(joined).collect())
}

/// Returns the text of a record: its quoted strings, one after another. Some resolvers leave the quotes
/// out.
fn joined(data: &str) -> String {
    if !data.starts_with('"') {
        return data.to_owned();
    }
    let (mut text, mut is_quoted, mut is_escaped) = (String::new(), false, false);
    for c in data.chars() {
        match c {
            _ if is_escaped => {
                text.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => text.push(c),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(body: &Value) -> Result<Vec<String>, TxtError> {
        txt_values(200, body.to_string().as_bytes())
    }

    #[test]
    fn query_names_the_record() {
        assert_eq!(
            txt_query("https://r.example/q", "_a.example"),
            "https://r.example/q?name=_a.example&type=TXT"
        );
        assert_eq!(txt_query("https://r.example/q?a=b", "a"), "https://r.example/q?a=b&name=a&type=TXT");
    }

    #[test]
    fn texts_of_records_are_joined() {
        let answer = json!([
            { "name": "_utg-verify.ada.example", "type": 5, "data": "other.example." },
            { "name": "other.example", "type": 16, "TTL": 300, "data": "\"utg-verify=\" \"abc\"" },
            { "type": 16, "data": "plain" },
            { "type": 16, "data": "\"a\\\"b\"" },
            { "type": 16 },
        ]);
        let found = values(&json!({ "Status": 0, "Answer": answer }));
        assert_eq!(found, Ok(["utg-verify=abc", "plain", "a\"b"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn name_without_records_has_none_and_a_failure_says_nothing() {
        assert_eq!(values(&json!({ "Status": 3 })), Ok(Vec::new()));
        assert_eq!(values(&json!({ "Status": 0 })), Ok(Vec::new()));
        assert_eq!(values(&json!({ "Status": 2, "Answer": [] })), Err(TxtError::Code(2)));
        for body in [json!({}), json!([]), json!({ "Status": "0" })] {
            assert_eq!(values(&body), Err(TxtError::Malformed), "{body}");
        }
        assert_eq!(txt_values(502, b"{}"), Err(TxtError::Status(502)));
        assert_eq!(txt_values(200, b"<html>"), Err(TxtError::Malformed));
    }
}
