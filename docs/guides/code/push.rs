// cargo add standardwebhooks ureq
let body = r#"{"upsert":[],"delete":["sku-3"]}"#;
let timestamp = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
let id = format!("msg_{timestamp}");
let webhook = standardwebhooks::Webhook::new(&std::env::var("PUSH_SECRET")?)?;
let signature = webhook.sign(&id, timestamp as i64, body.as_bytes())?;
let url = format!("https://server.invalid/hooks/products/{}", std::env::var("SOURCE")?);
let mut response = ureq::post(url)
    .header("Content-Type", "application/json")
    .header("webhook-id", &id)
    .header("webhook-timestamp", timestamp.to_string())
    .header("webhook-signature", &signature)
    .send(body)?;
println!("{} {}", response.status(), response.body_mut().read_to_string()?);
