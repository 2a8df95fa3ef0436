let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
let mut attempt = 1;
let mut response = loop {
    let response = agent
        .get("https://server.invalid/v1/keys/me")
        .header("X-API-Key", std::env::var("KEY")?)
        .call()?;
    // Without X-Gateway-Problem, the tool responded.
    let is_own = response.headers().contains_key("X-Gateway-Problem");
    let is_temporary = is_own && matches!(response.status().as_u16(), 429 | 503);
    let after = response.headers().get("Retry-After").and_then(|value| value.to_str().ok()?.parse().ok());
    let seconds = after.unwrap_or(1 << attempt);
    // A used-up day ends in hours: the caller is told now.
    if !is_temporary || attempt == 5 || seconds > 61 {
        break response;
    }
    std::thread::sleep(std::time::Duration::from_secs(seconds));
    attempt += 1;
};
let text = response.body_mut().read_to_string()?;
let problem = response.headers().get("X-Gateway-Problem").map_or("", |code| code.to_str().unwrap_or(""));
println!("{} {problem} {text}", response.status());
