// cargo add serde_json ureq
let key = std::env::var("KEY")?;
let mut created = ureq::post("https://server.invalid/webhooks")
    .header("X-API-Key", &key)
    .header("Content-Type", "application/json")
    .send(r#"{"url": "https://hooks.example.com/biolink", "events": ["click", "page_view"]}"#)?;
let webhook: serde_json::Value = serde_json::from_str(&created.body_mut().read_to_string()?)?;
println!("{} {webhook}", created.status());
let id = webhook["id"].as_str().unwrap_or_default(); // webhook["secret"] verifies what comes

let tested = ureq::post(format!("https://server.invalid/webhooks/{id}/test"))
    .header("X-API-Key", &key)
    .header("Content-Type", "application/json")
    .send(r#"{"type": "click"}"#)?;
println!("{}", tested.status());
let mut deliveries = ureq::get(format!("https://server.invalid/webhooks/{id}/deliveries"))
    .header("X-API-Key", &key)
    .call()?;
println!("{} {}", deliveries.status(), deliveries.body_mut().read_to_string()?);
