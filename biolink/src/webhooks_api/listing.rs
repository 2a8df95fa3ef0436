//! The responses with deliveries and events.

use serde_json::{Value, json};
use shared::{response::Response, time::UnixMillis};

use super::{
    delivery::Delivery,
    query::{DeliveryQuery, EventQuery},
};

impl DeliveryQuery {
    /// Returns the response. `found` are the deliveries that match, and one more than the reader wants
    /// if there are more. `ids_of` returns the ids of events by their sequences. `probe` is as for
    /// [`Delivery::describe`].
    ///
    /// # Errors
    /// Returns those of `ids_of`.
    pub fn render<E>(
        &self,
        mut found: Vec<Delivery>,
        probe: Option<UnixMillis>,
        ids_of: impl Fn(&[u64]) -> Result<Vec<String>, E>,
    ) -> Result<Response, E> {
        let has_more = cut(&mut found, self.limit);
        let next = found.last().filter(|_| has_more).map(|last| last.id);
        let described = found.iter().map(|delivery| Ok(delivery.describe(&ids_of(&delivery.events)?, probe)));
        let data = described.collect::<Result<Vec<Value>, E>>()?;
        let body = json!({ "object": "list", "data": data, "has_more": has_more, "next_cursor": next });
        Ok(Response::json(body.to_string()))
    }
}

impl EventQuery {
    /// Returns the response. `found` are the sequences and envelopes of the events that match, and one
    /// more than the reader wants if there are more. `oldest` is the first event that is kept.
    pub fn render(&self, mut found: Vec<(u64, String)>, oldest: Option<u64>) -> Response {
        let has_more = cut(&mut found, self.limit);
        // Without an event, the reader's own place, so that it never begins again.
        let after = found.last().map_or(self.after, |(sequence, _)| *sequence);
        let bodies: Vec<String> = found.into_iter().map(|(_, body)| body).collect();
        // The events are JSON already.
        Response::json(format!(
            r#"{{"object":"list","data":[{}],"has_more":{has_more},"next_after":{after},"oldest_sequence":{}}}"#,
            bodies.join(","),
            json!(oldest)
        ))
    }
}

impl Delivery {
    /// Returns the response to a request to send it, as [`Delivery::describe`] does.
    pub fn accepted(&self, event_ids: &[String], probe: Option<UnixMillis>) -> Response {
        accepted(&self.describe(event_ids, probe))
    }
}

/// Returns the response to a replay of this many deliveries.
pub fn replay_accepted(deliveries: usize) -> Response {
    accepted(&json!({ "object": "webhook_replay", "deliveries": deliveries }))
}

fn accepted(body: &Value) -> Response {
    Response { status: 202, ..Response::json(body.to_string()) }
}

/// Leaves `limit` items. Returns true if there were more.
fn cut<T>(found: &mut Vec<T>, limit: u64) -> bool {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = found.len() > limit;
    found.truncate(limit);
    has_more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(count: u64) -> Vec<(u64, String)> {
        (1..=count).map(|sequence| (sequence, format!(r#"{{"sequence":{sequence}}}"#))).collect()
    }

    fn rendered(query: &str, found: Vec<(u64, String)>, oldest: Option<u64>) -> Value {
        let query = EventQuery::read(Some(query)).unwrap();
        serde_json::from_str(&query.render(found, oldest).body).unwrap()
    }

    #[test]
    fn list_of_events_says_where_the_next_part_begins() {
        let part = rendered("limit=2", events(3), Some(1));
        let expected = json!({
            "object": "list", "data": [{ "sequence": 1 }, { "sequence": 2 }], "has_more": true,
            "next_after": 2, "oldest_sequence": 1,
        });
        assert_eq!(part, expected);
        let last = rendered("after=7", Vec::new(), None);
        assert_eq!((&last["next_after"], &last["has_more"]), (&json!(7), &json!(false)));
        assert_eq!(last["oldest_sequence"], Value::Null);
    }
}
