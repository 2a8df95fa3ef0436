//! The response to a request: its id, and the form that its era has.

use serde_json::{Map, Value, json};
use shared::response::Response;

use super::revision::{Era, NEWEST_LEGACY, SUPPORTED, is_legacy};
use super::rpc_error::RpcError;
use crate::NAME;
use crate::openapi;

/// Time for which a client may keep the list of tools, in milliseconds.
const LIST_TTL_MS: u64 = 300_000;
/// Time for which a client may keep what `server/discover` says, in milliseconds.
const DISCOVERY_TTL_MS: u64 = 3_600_000;
/// Tells a model once what the descriptions of tools do not repeat.
const INSTRUCTIONS: &str = "call_tool reaches every tool of the gateway; an action that its tool describes is also a tool of its own, such as qr_generate. The others read and change bio-link pages, links, product sources and webhooks, read the event log, and report analytics and usage. Ids come from what lists, reads and creates. `dry_run` validates a change and returns what would be stored. `if_match` takes the `etag` of a read (in `_meta`) and keeps a change of another client; without it the last write wins. `idempotency_key`, a UUID, makes a repeated call return the first result for 24 hours. `cursor` takes `next_cursor` of the page before. In a body, null resets a member. A change returns what the read of the same thing returns. An error is a problem with a stable `code`; wait `retry-after` seconds after quota-exceeded.";

/// The request that a response belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Responder {
    id: Value,
    era: Era,
}

impl Responder {
    pub(super) const fn new(id: Value, era: Era) -> Self {
        Self { id, era }
    }

    /// Returns the result of `initialize`: the revision that the client wants if it begins with a
    /// handshake and is served, and the newest such one otherwise.
    pub fn initialized(&self, wanted: &str) -> Response {
        // A revision that is not served is answered with one that is, and the client decides.
        let version = if is_legacy(wanted) { wanted } else { NEWEST_LEGACY };
        self.send(
            Map::new(),
            &json!({
                "protocolVersion": version,
                "capabilities": { "tools": { "listChanged": false } },
                "serverInfo": server_info(),
                "instructions": INSTRUCTIONS,
            }),
        )
    }

    /// Returns the result of `server/discover`.
    pub fn discovered(&self) -> Response {
        self.send(
            Map::new(),
            &json!({
                "supportedVersions": SUPPORTED,
                "capabilities": { "tools": {} },
                "instructions": INSTRUCTIONS,
                "ttlMs": DISCOVERY_TTL_MS,
                "cacheScope": "public",
            }),
        )
    }

    /// Returns the result of `ping`.
    pub fn pong(&self) -> Response {
        self.send(Map::new(), &json!({}))
    }

    /// Returns the result of `tools/list`. `tools` is the text of its array, and `next` the cursor of the page
    /// that follows.
    pub fn listed(&self, tools: &str, next: Option<&str>) -> Response {
        let head = match self.era {
            Era::Legacy => String::new(),
            // The list depends on the key's plan.
            Era::Modern => {
                let meta = json!({ SERVER_INFO: server_info() });
                format!(
                    r#""resultType":"complete","ttlMs":{LIST_TTL_MS},"cacheScope":"private","_meta":{meta},"#
                )
            }
        };
        let next = next.map(|next| format!(r#","nextCursor":{}"#, Value::from(next))).unwrap_or_default();
        self.respond(&format!(r#"{{{head}"tools":{tools}{next}}}"#))
    }

    /// Returns the result of a call that made no request, with the reason.
    pub fn failed(&self, reason: &str) -> Response {
        let content = json!([{ "type": "text", "text": reason }]);
        self.send(Map::new(), &json!({ "content": content, "isError": true }))
    }

    /// Returns the error for a tool that this endpoint does not have.
    pub fn unknown_tool(&self, name: &str) -> Response {
        // The specification counts an unknown tool among the errors of the protocol, and not of a
        // call.
        let message = format!("unknown tool `{name}`; tools/list has those of this endpoint");
        RpcError::invalid_params(&message).of(self.id.clone()).response()
    }

    /// Returns true if structured content may be any JSON value, and not only an object.
    pub(super) fn takes_any_json(&self) -> bool {
        self.era == Era::Modern
    }

    /// Returns the response with a result of these members.
    pub(super) fn send(&self, mut meta: Map<String, Value>, members: &Value) -> Response {
        let mut result = members.as_object().cloned().unwrap_or_default();
        if self.era == Era::Modern {
            meta.insert(SERVER_INFO.to_owned(), server_info());
            result.insert("resultType".to_owned(), "complete".into());
        }
        if !meta.is_empty() {
            result.insert("_meta".to_owned(), meta.into());
        }
        self.respond(&Value::Object(result).to_string())
    }

    fn respond(&self, result: &str) -> Response {
        Response::json(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, self.id))
    }
}

/// The member of `_meta` with the server.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

fn server_info() -> Value {
    json!({ "name": "unified-tool-gateway", "title": NAME, "version": openapi::VERSION })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::revision::MODERN;

    fn result(response: &Response) -> Value {
        let message: Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!((response.status, &message["id"]), (200, &json!(7)));
        message["result"].clone()
    }

    #[test]
    fn handshake_agrees_on_a_legacy_revision() {
        let legacy = Responder::new(json!(7), Era::Legacy);
        for (wanted, agreed) in
            [("2025-06-18", "2025-06-18"), ("2024-11-05", NEWEST_LEGACY), (MODERN, NEWEST_LEGACY)]
        {
            assert_eq!(result(&legacy.initialized(wanted))["protocolVersion"], agreed, "{wanted}");
        }
    }

    #[test]
    fn modern_result_says_its_type_and_the_server() {
        let modern = Responder::new(json!(7), Era::Modern);
        for response in [modern.discovered(), modern.listed("[]", None), modern.failed("why")] {
            let result = result(&response);
            assert_eq!(result["resultType"], "complete");
            assert_eq!(result["_meta"][SERVER_INFO]["name"], "unified-tool-gateway");
        }
        let listed = result(&modern.listed("[]", None));
        assert_eq!((&listed["cacheScope"], &listed["tools"]), (&json!("private"), &json!([])));
        assert_eq!(result(&modern.discovered())["supportedVersions"], json!(SUPPORTED));
    }

    #[test]
    fn legacy_result_has_no_member_of_the_modern_era() {
        let legacy = Responder::new(json!(7), Era::Legacy);
        assert_eq!(result(&legacy.pong()), json!({}));
        assert_eq!(result(&legacy.listed("[]", None)), json!({"tools": []}));
        assert_eq!(result(&legacy.listed("[]", Some("qr_a")))["nextCursor"], "qr_a");
        assert!(result(&legacy.failed("why")).get("resultType").is_none());
    }
}
