//! The last calls of a key: `GET /v1/usage/calls?tool=&status=&code=&request_id=&from=&to=&limit=&cursor=&format=`.

use serde_json::{Value, json};

use crate::meter::{CallFilter, CallPage, LoggedCall};
use crate::problem::Problem;
use crate::query::{invalid, not_a_cursor, parameters, unknown_parameter};
use crate::request_id::RequestId;
use crate::response::Response;
use crate::time::UnixMillis;

/// Calls on a page when the request does not say.
const DEFAULT_LIMIT: usize = 50;
/// Maximum number of calls on a page.
const MAX_LIMIT: usize = 1_000;
/// The columns of the table.
const COLUMNS: &str = "time,request_id,tool,action,path,status,code,secret_id,tool_ms,edge_ms,request_bytes,response_bytes,sampled,repeated";

/// A request for the last calls of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallsRequest {
    filter: CallFilter,
    is_csv: bool,
}

impl CallsRequest {
    /// Reads the query.
    ///
    /// # Errors
    /// Returns `fields-invalid` for a parameter that is unknown or sent twice, a value out of bounds, or
    /// a cursor that was never handed out.
    pub fn read(query: Option<&str>) -> Result<Self, Problem> {
        let mut filter = CallFilter { limit: DEFAULT_LIMIT, ..CallFilter::default() };
        let mut is_csv = false;
        for (name, value) in parameters(query)? {
            match (name, &*value) {
                ("cursor", "") => {}
                ("tool", tool) => filter.tool = Some(tool.to_owned()),
                ("status", text) => filter.status = Some(read_status(text)?),
                ("code", code) => filter.code = Some(code.to_owned()),
                ("request_id", text) => filter.request_id = Some(read_id(text)?),
                ("from", text) => filter.from = read_moment(text)?,
                ("to", text) => filter.to = Some(read_moment(text)?),
                ("limit", text) => filter.limit = read_limit(text)?,
                ("cursor", text) => filter.after = Some(read_cursor(text).ok_or_else(not_a_cursor)?),
                ("format", "json") => is_csv = false,
                ("format", "csv") => is_csv = true,
                ("format", _) => return Err(invalid("format is json or csv")),
                _ => {
                    return Err(unknown_parameter(
                        name,
                        "tool, status, code, request_id, from, to, limit, cursor and format",
                    ));
                }
            }
        }
        Ok(Self { filter, is_csv })
    }

    /// Returns what the key's meter must tell.
    pub const fn filter(&self) -> &CallFilter {
        &self.filter
    }

    /// Returns the response.
    pub fn response(&self, page: &CallPage) -> Response {
        if self.is_csv { table(page) } else { Response::json(object(page).to_string()) }
    }
}

/// Returns the range of statuses that a class such as `4xx`, or a status, means.
fn read_status(text: &str) -> Result<(u16, u16), Problem> {
    let range = match text {
        "2xx" => Some((200, 299)),
        "3xx" => Some((300, 399)),
        "4xx" => Some((400, 499)),
        "5xx" => Some((500, 599)),
        _ => text.parse().ok().filter(|status| (200..=599).contains(status)).map(|status| (status, status)),
    };
    range.ok_or_else(|| invalid("status is 2xx, 3xx, 4xx, 5xx, or a number from 200 to 599"))
}

fn read_id(text: &str) -> Result<RequestId, Problem> {
    RequestId::parse(text).ok_or_else(|| invalid("request_id is 32 lower-case hexadecimal digits"))
}

fn read_moment(text: &str) -> Result<UnixMillis, Problem> {
    let moment = UnixMillis::from_rfc3339(text);
    moment.ok_or_else(|| invalid("from and to are moments such as 2026-01-05T09:42:00Z"))
}

fn read_limit(text: &str) -> Result<usize, Problem> {
    let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.ok_or_else(|| invalid("limit must be a whole number from 1 to 1000"))
}

/// The cursor is the last call of a page. It needs no signature: it only says where to continue among the
/// calls of the key that sends it.
fn cursor(call: &LoggedCall) -> String {
    format!("{}-{}", call.at.0, call.request_id)
}

fn read_cursor(text: &str) -> Option<(UnixMillis, RequestId)> {
    let (at, id) = text.split_once('-')?;
    Some((UnixMillis(at.parse().ok()?), RequestId::parse(id)?))
}

fn object(page: &CallPage) -> Value {
    let last = page.calls.last().filter(|_| page.has_more);
    json!({
        "object": "calls",
        "calls": page.calls.iter().map(describe).collect::<Value>(),
        "dropped": page.dropped,
        "cursor": last.map(cursor),
    })
}

fn describe(call: &LoggedCall) -> Value {
    json!({
        "time": call.at.to_rfc3339(),
        "request_id": call.request_id,
        "tool": call.tool,
        "action": call.action,
        "path": call.path,
        "status": call.status,
        "code": call.code,
        "secret_id": call.secret_id,
        "tool_ms": call.tool_ms,
        "edge_ms": call.edge_ms,
        "request_bytes": call.request_bytes,
        "response_bytes": call.response_bytes,
        "sampled": call.sampled,
        "repeated": call.repeated,
    })
}

/// Returns the same rows as comma-separated values (RFC 4180). No value needs quotes, and what is not
/// known is empty.
fn table(page: &CallPage) -> Response {
    let mut body = format!("{COLUMNS}\r\n");
    for call in &page.calls {
        let row = describe(call);
        let cells: Vec<String> = COLUMNS.split(',').map(|column| cell(row.get(column))).collect();
        body += &cells.join(",");
        body += "\r\n";
    }
    Response::csv("calls", body)
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::codes;

    /// 2025-11-21T08:00:00Z
    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);
    const ID: &str = "000102030405060708090a0b0c0d0e0f";

    fn call() -> LoggedCall {
        let known = LoggedCall::new(RequestId::parse(ID).unwrap(), NOW, 429);
        LoggedCall {
            tool: Some("qr".to_owned()),
            action: Some("generate".to_owned()),
            code: Some("quota-exceeded".to_owned()),
            edge_ms: Some(0),
            repeated: 7,
            ..known
        }
    }

    fn read(query: &str) -> CallsRequest {
        CallsRequest::read(Some(query)).unwrap()
    }

    #[test]
    fn query_says_which_calls_and_how_many() {
        let all = CallFilter { limit: 50, ..CallFilter::default() };
        assert_eq!(CallsRequest::read(None).unwrap().filter, all);
        assert_eq!(read("cursor=").filter, all);
        let query = format!(
            "tool=qr&status=4xx&code=quota-exceeded&request_id={ID}&from=2025-11-21T08:00:00Z&to=2025-11-21T10:00:00%2B01:00&limit=7"
        );
        let expected = CallFilter {
            tool: Some("qr".to_owned()),
            status: Some((400, 499)),
            code: Some("quota-exceeded".to_owned()),
            request_id: RequestId::parse(ID),
            from: NOW,
            to: Some(NOW.plus(3_600_000)),
            limit: 7,
            after: None,
        };
        assert_eq!(read(&query).filter, expected);
        assert_eq!(read("status=204").filter.status, Some((204, 204)));
    }

    #[test]
    fn cursor_is_the_last_call_if_there_are_more() {
        let mut page = CallPage { calls: vec![call()], has_more: true, dropped: 3 };
        let body: Value = serde_json::from_str(&read("").response(&page).body).unwrap();
        let next = read(&format!("cursor={}", body["cursor"].as_str().unwrap()));
        assert_eq!(next.filter.after, Some((NOW, call().request_id)));
        assert_eq!(body["dropped"], 3);
        page.has_more = false;
        let body: Value = serde_json::from_str(&read("").response(&page).body).unwrap();
        assert_eq!(body["cursor"], Value::Null);
    }

    /// What is not known is null, not 0.
    #[test]
    fn call_is_shown_with_what_is_known() {
        let page = CallPage { calls: vec![call()], ..CallPage::default() };
        let body: Value = serde_json::from_str(&read("").response(&page).body).unwrap();
        let expected = json!({
            "time": "2025-11-21T08:00:00Z", "request_id": ID, "tool": "qr", "action": "generate", "path": null,
            "status": 429, "code": "quota-exceeded", "secret_id": null, "tool_ms": null, "edge_ms": 0,
            "request_bytes": null, "response_bytes": null, "sampled": 1, "repeated": 7,
        });
        assert_eq!(body["calls"], json!([expected]));
        let table = read("format=csv").response(&page);
        let row = format!("2025-11-21T08:00:00Z,{ID},qr,generate,,429,quota-exceeded,,,0,,,1,7");
        assert_eq!(table.body, format!("{COLUMNS}\r\n{row}\r\n"));
        assert_eq!(table.header("content-disposition"), Some("attachment; filename=\"calls.csv\""));
    }

    #[test]
    fn query_out_of_bounds_is_refused_with_what_is_expected() {
        for (query, expected) in [
            ("status=6xx", "2xx"),
            ("status=199", "200 to 599"),
            ("request_id=7", "32 lower-case"),
            ("from=yesterday", "2026-01-05T09:42:00Z"),
            ("to=5", "2026-01-05T09:42:00Z"),
            ("limit=0", "1 to 1000"),
            ("limit=1001", "1 to 1000"),
            ("cursor=7", "cursor"),
            ("cursor=-7", "cursor"),
            ("format=xml", "json or csv"),
            ("address=1", "unknown parameter `address`"),
            ("tool=qr&tool=pdf", "twice"),
        ] {
            let problem = CallsRequest::read(Some(query)).unwrap_err();
            assert_eq!((problem.status(), problem.code()), (422, codes::FIELDS_INVALID));
            assert!(problem.detail().contains(expected), "{query}: {}", problem.detail());
        }
    }
}
