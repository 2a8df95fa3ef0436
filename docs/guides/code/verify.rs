// cargo add standardwebhooks
let webhook = standardwebhooks::Webhook::new(&std::env::var("WEBHOOK_SECRET")?)?;
// `body` has the bytes as they came, `headers` is an http::HeaderMap.
webhook.verify(&body, &headers)?;
