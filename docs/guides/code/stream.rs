let mut response = ureq::post("https://server.invalid/v1/qr/generate")
    .header("X-API-Key", std::env::var("KEY")?)
    .header("Content-Type", "application/json")
    .send(r#"{"url":"https://example.com","size":256}"#)?;
println!("{}", response.status());
std::io::copy(&mut response.body_mut().as_reader(), &mut std::fs::File::create("qr.out")?)?;
