//! Descriptions that are small, within the limit of what is read of a tool, and would open up into much.

use serde_json::{Map, Value, json};

/// A description that a tool publishes at the root of its paths, `/{action}` with this prefix.
pub struct Hostile {
    pub name: &'static str,
    pub text: String,
    /// Part of the reason for which it is refused. Without one it is kept.
    pub refused: Option<&'static str>,
}

/// Returns a good description with one action.
pub fn good(prefix: &str, action: &str) -> String {
    let item = json!({ "get": { "summary": "Does it" } });
    json!({ "openapi": "3.1.0", "paths": { format!("{prefix}/{action}"): item } }).to_string()
}

/// The description that ended a proxy with 17 tools: 14,400 copies of 150 KB.
pub fn copies_of_a_long_text(prefix: &str) -> String {
    let long = json!({ "description": "x".repeat(150_000) });
    let headers = json!({ "a": long, "b": vec![header("a"); 120], "c": vec![header("b"); 120] });
    with_headers(prefix, headers)
}

/// Returns a row for each way in which a few bytes become many.
pub fn hostile(prefix: &str) -> Vec<Hostile> {
    [references(prefix), values(prefix), kept(prefix)].into_iter().flatten().collect()
}

fn row(name: &'static str, text: String, refused: &'static str) -> Hostile {
    Hostile { name, text, refused: Some(refused) }
}

/// References that multiply what they lead to.
fn references(prefix: &str) -> Vec<Hostile> {
    let long_name = "n".repeat(400);
    let long_names = json!({
        "c": vec![header("b"); 100], "b": vec![header("a"); 300], "a": header(&long_name), (long_name): 1,
    });
    let level = |n: usize| (format!("h{n}"), Value::from(vec![header(&format!("h{}", n + 1)); 300]));
    let mut small: Map<_, _> = (0..4).map(level).collect();
    small.extend([("c".to_owned(), header("h0")), ("h4".to_owned(), json!({}))]);
    let levels = |next| (0..100).fold(header(next), |inner, _| json!({ "a": inner }));
    let levels = json!({ "c": levels("a"), "a": levels("b"), "b": levels("d"), "d": {} });
    let circle = json!({ "c": header("c") });
    vec![
        row("copies of a long text", copies_of_a_long_text(prefix), "65536 bytes"),
        row("copies of small values", with_headers(prefix, small.into()), "8192 values"),
        row("copies of a reference with a long name", with_headers(prefix, long_names), "8192 values"),
        row("levels within levels", with_headers(prefix, levels), "64 levels"),
        row("a circle", with_headers(prefix, circle), "opens up into too much"),
    ]
}

/// Values that are large by themselves.
fn values(prefix: &str) -> Vec<Hostile> {
    let post =
        |operation: Value| described(json!({ format!("{prefix}/a"): { "post": operation } }), json!({}));
    let objects = vec![json!({ "": 0 }); 30_000];
    let numbers: Vec<_> = (0..40_000).collect();
    // `1e15` is written as `1000000000000000.0`.
    let exponents = post(json!({ "requestBody": { "enum": "numbers" } }));
    let exponents = exponents.replace("\"numbers\"", &format!("[{}0]", "1e15,".repeat(8_000)));
    let many: Map<_, _> = (0..8_000).map(|n| (format!("{prefix}/a{n}"), json!({ "get": {} }))).collect();
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    vec![
        row("many objects", post(json!({ "requestBody": { "example": objects } })), "8192 values"),
        row("a wide enumeration", post(json!({ "requestBody": { "enum": numbers } })), "8192 values"),
        row("numbers that are written longer than they are read", exponents, "65536 bytes"),
        row("a long text", post(json!({ "summary": "\"".repeat(100_000) })), "65536 bytes"),
        row("many actions", described(many.into(), json!({})), "8000 actions"),
        row("more levels than a reader takes", nested, "not JSON"),
    ]
}

/// Descriptions that are kept, and that would take much room where they are shown, or much time.
fn kept(prefix: &str) -> Vec<Hostile> {
    let members: Map<_, _> = (0..2_800).map(|n| (format!("p{n}"), json!({}))).collect();
    let link = |n: usize| (format!("S{n}"), json!({ "allOf": [schema(&format!("S{}", (n + 1) % 500))] }));
    let chain = json!({ "schemas": (0..500).map(link).collect::<Map<_, _>>() });
    let first = json!({ format!("{prefix}/a"): { "post": { "requestBody": schema("S0") } } });
    let cookie = json!({ "c": { "in": "cookie", "name": "c", "description": "x".repeat(100_000) } });
    let parameters = vec![json!({ "$ref": "#/components/parameters/c" }); 3_000];
    let left_out = json!({ format!("{prefix}/a"): { "get": {}, "post": {}, "parameters": parameters } });
    [
        ("members in each action", bodies(prefix, json!({ "A": { "properties": members } }))),
        ("schemas in a circle", described(first, chain)),
        ("parameters that are left out", described(left_out, json!({ "parameters": cookie }))),
    ]
    .map(|(name, text)| Hostile { name, text, refused: None })
    .into()
}

fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

fn schema(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn described(paths: Value, components: Value) -> String {
    json!({ "openapi": "3.1.0", "paths": paths, "components": components }).to_string()
}

/// Describes an action whose response has the header `c`.
fn with_headers(prefix: &str, headers: Value) -> String {
    let responses = json!({ "200": { "headers": { "x": header("c") } } });
    described(
        json!({ format!("{prefix}/a"): { "get": { "responses": responses } } }),
        json!({ "headers": headers }),
    )
}

/// Describes 64 actions with the same body, whose schema is `A`.
fn bodies(prefix: &str, schemas: Value) -> String {
    let item = json!({ "post": { "requestBody": { "$ref": "#/components/requestBodies/A" } } });
    let paths: Map<_, _> = (0..64).map(|n| (format!("{prefix}/a{n}"), item.clone())).collect();
    let content = json!({ "application/json": { "schema": schema("A") } });
    described(paths.into(), json!({ "schemas": schemas, "requestBodies": { "A": { "content": content } } }))
}

#[cfg(test)]
mod tests {
    use shared::{
        catalog::{Catalog, MAX_DESCRIPTION, ToolDescription},
        route::ToolsRoute,
        tool::Tool,
    };

    use super::*;

    #[test]
    fn each_is_small_and_what_it_says() {
        for Hostile { name, text, refused } in hostile("/api") {
            assert!(text.len() <= MAX_DESCRIPTION, "{name}: {}", text.len());
            let parsed = ToolDescription::parse(Tool::Qr, "/api", &text);
            match refused {
                Some(reason) => {
                    let error = parsed.unwrap_err().to_string();
                    assert!(error.contains(reason), "{name}: {error}");
                }
                None => {
                    let kept = parsed.unwrap_or_else(|error| panic!("{name}: {error}"));
                    let composed =
                        Catalog::compose([(Tool::Qr, &kept)]).respond(ToolsRoute::OpenApi, "/").body;
                    assert!(composed.len() <= 80 * 1024, "{name}: {}", composed.len());
                    assert!(Catalog::from_json(&composed).is_some(), "{name}");
                }
            }
        }
    }
}
