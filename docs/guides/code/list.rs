// cargo add serde_json ureq
let key = std::env::var("KEY")?;
let get = |path: &str, next: &[(&str, String)]| -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let mut response = ureq::get(format!("https://server.invalid{path}"))
        .query("limit", "10")
        .query_pairs(next.iter().map(|(name, value)| (*name, value.as_str())))
        .header("X-API-Key", &key)
        .call()?;
    println!("{} {path}", response.status());
    Ok(serde_json::from_str(&response.body_mut().read_to_string()?)?)
};

// The pages. Deliveries are the same below /webhooks/{webhook_id}/deliveries.
let mut next = Vec::new();
loop {
    let pages = get("/pages", &next)?;
    for page in pages["data"].as_array().into_iter().flatten() {
        println!("{}", page["id"]);
    }
    let Some(cursor) = pages["next_cursor"].as_str() else { break };
    next = vec![("cursor", cursor.to_owned())];
}

// The calls of a key. The operator's list of keys is the same.
let mut next = Vec::new();
loop {
    let calls = get("/v1/usage/calls", &next)?;
    for call in calls["calls"].as_array().into_iter().flatten() {
        println!("{}", call["request_id"]);
    }
    let Some(cursor) = calls["cursor"].as_str() else { break };
    next = vec![("cursor", cursor.to_owned())];
}

// The log of events. Keep `after`, and continue from there later.
let mut after = "0".to_owned();
loop {
    let events = get("/events", &[("after", after)])?;
    for event in events["data"].as_array().into_iter().flatten() {
        println!("{}", event["id"]);
    }
    after = events["next_after"].to_string();
    if events["has_more"] != true {
        break;
    }
}
