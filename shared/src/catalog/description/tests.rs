use serde_json::json;

use super::*;
use crate::catalog::Catalog;
use crate::route::ToolsRoute;

fn parse(paths: Value, components: Value) -> Result<ToolDescription, DescriptionError> {
    let document = json!({ "openapi": "3.0.3", "paths": paths, "components": components });
    ToolDescription::parse(Tool::Qr, "", &document.to_string())
}

fn operation(members: Value) -> Value {
    let described = parse(json!({ "/generate": { "post": members } }), json!({})).unwrap();
    described.paths["/v1/qr/generate"]["post"].clone()
}

#[test]
fn action_is_a_path_of_the_gateway() {
    let item = json!({ "get": {}, "post": {}, "delete": {} });
    let document = json!({ "openapi": "3.1.0", "paths": {
        "/api/generate": item, "/api/a/b": item, "/api/{id}": item, "/generate": item, "/api": item,
        "/api/hidden": { "get": { "x-internal": true } },
    } });
    let described = ToolDescription::parse(Tool::Qr, "/api", &document.to_string()).unwrap();
    assert_eq!(described.paths.keys().collect::<Vec<_>>(), ["/v1/qr/generate"]);
    let methods: Vec<_> = described.paths["/v1/qr/generate"].as_object().unwrap().keys().collect();
    assert_eq!(methods, ["get", "post"]);
    assert_eq!(described.actions(), 1);
}

#[test]
fn operation_keeps_what_a_caller_needs_and_gets_the_gateways_problems() {
    let kept = operation(json!({
        "operationId": "x", "tags": ["y"], "security": [{}], "servers": [{}], "callbacks": {},
        "summary": "Makes a code", "description": 7, "deprecated": true,
        "responses": { "200": { "description": "A code" }, "401": { "description": "Send your key to x." } },
    }));
    let problem = json!({ "$ref": "#/components/responses/GatewayProblem" });
    assert_eq!(
        kept,
        json!({
            "operationId": "qr_generate_post", "tags": ["qr"], "summary": "Makes a code", "deprecated": true,
            "responses": { "200": { "description": "A code" }, "401": problem, "429": problem, "503": problem },
        })
    );
}

#[test]
fn parameters_of_the_path_are_those_of_the_operation() {
    let parameter =
        |name: &str, place: &str, text: &str| json!({ "name": name, "in": place, "description": text });
    let paths = json!({ "/a": {
        "parameters": [parameter("size", "query", "of path"), { "$ref": "#/components/parameters/Lang" }],
        "get": { "parameters": [parameter("size", "query", "own"), parameter("c", "cookie", "")] },
    } });
    let components = json!({ "parameters": { "Lang": parameter("lang", "query", "shared") } });
    let described = parse(paths, components).unwrap();
    assert_eq!(
        described.paths["/v1/qr/a"]["get"]["parameters"],
        json!([parameter("size", "query", "own"), parameter("lang", "query", "shared")])
    );
}

#[test]
fn parameter_that_the_gateway_withholds_is_left_out() {
    let header = |name: &str| json!({ "name": name, "in": "header" });
    let names = ["X-API-Key", "authorization", "Cookie", "X_Api_Key", "Accept-Language", "X-Size"];
    let kept = operation(json!({ "parameters": names.map(header) }));
    assert_eq!(kept["parameters"], json!([header("Accept-Language"), header("X-Size")]));
}

#[test]
fn texts_are_kept_without_what_no_reader_sees() {
    let hostile = "Makes\u{202e} a\u{1b}[31m co\u{200b}de\u{e0049}\u{e0050}";
    let kept = operation(json!({
        "summary": hostile,
        "requestBody": { "content": { "application/json": { "example": [hostile], "schema": {
            "type": "object", "properties": { "name": { "description": hostile } },
        } } } },
        "responses": { "200": { "description": hostile } },
    }));
    let seen = json!("Makes a[31m code");
    let content = &kept["requestBody"]["content"]["application/json"];
    assert_eq!((&kept["summary"], &kept["responses"]["200"]["description"]), (&seen, &seen));
    assert_eq!(
        (&content["example"][0], &content["schema"]["properties"]["name"]["description"]),
        (&seen, &seen)
    );
}

#[test]
fn hidden_character_in_what_calls_repeat_is_refused() {
    let hidden = "si\u{200b}ze";
    for schema in [
        json!({ "properties": { hidden: {} } }),
        json!({ "enum": ["small", hidden] }),
        json!({ "const": hidden }),
        json!({ "default": hidden }),
        json!({ "required": [hidden] }),
    ] {
        let body = json!({ "content": { "application/json": { "schema": schema } } });
        let refused = parse(json!({ "/a": { "post": { "requestBody": body } } }), json!({})).unwrap_err();
        assert!(matches!(refused, DescriptionError::Hidden(_)), "{refused}");
        assert!(refused.to_string().is_ascii(), "{refused}");
    }
    let parameters = json!([{ "in": "query", "name": hidden }]);
    let refused = parse(json!({ "/a": { "get": { "parameters": parameters } } }), json!({})).unwrap_err();
    assert_eq!(refused, DescriptionError::Hidden("name".to_owned()));
}

#[test]
fn unusable_description_is_refused_with_its_reason() {
    let refused = |text: &str| ToolDescription::parse(Tool::Qr, "", text).unwrap_err().to_string();
    for (text, reason) in [
        ("{".to_owned(), "it is not JSON"),
        ("{}".to_owned(), "`openapi` is ``, expected 3.0.x or 3.1.x"),
        (r#"{"openapi":"2\n\""}"#.to_owned(), r#"`openapi` is `2\n\"`, expected"#),
        (r#"{"swagger":"2.0"}"#.to_owned(), "expected 3.0.x or 3.1.x"),
        (
            r#"{"openapi":"3.1.0","paths":{"/a/b":{"get":{}}}}"#.to_owned(),
            "no GET or POST on a path `/{action}`",
        ),
        (" ".repeat(MAX_DESCRIPTION + 1), "it has 262145 bytes"),
        (
            r##"{"openapi":"3.1.0","paths":{"/a":{"get":{"responses":{"$ref":"#/components/schemas/A"}}}}}"##
                .to_owned(),
            "the reference `#/components/schemas/A` does not lead",
        ),
    ] {
        assert!(refused(&text).contains(reason), "{}", refused(&text));
    }
    let many: Map<_, _> = (0..=MAX_ACTIONS).map(|n| (format!("/a{n}"), json!({ "get": {} }))).collect();
    assert_eq!(parse(many.into(), json!({})), Err(DescriptionError::TooManyActions(65)));
    let long = json!({ "/a": { "get": { "description": "x".repeat(KEPT.bytes) } } });
    assert!(matches!(parse(long, json!({})), Err(DescriptionError::TooMuch { .. })));
}

/// A few hundred KB of references open up into gigabytes. What is refused says where.
#[test]
fn references_that_open_up_beyond_a_bound_are_refused() {
    let to = |name: &str| json!({ "$ref": format!("#/components/headers/{name}") });
    let nested = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    let responses =
        |name: &str| json!({ "/a": { "get": { "responses": { "200": { "headers": { "x": to(name) } } } } } });
    for (headers, bound) in [
        (
            json!({ "a": { "description": "x".repeat(150_000) }, "b": vec![to("a"); 120], "c": vec![to("b"); 120] }),
            "65536 bytes",
        ),
        (json!({ "a": { "x": 1 }, "b": vec![to("a"); 100], "c": vec![to("b"); 100] }), "8192 values"),
        (json!({ "c": nested(60) }), "64 levels of objects and arrays"),
    ] {
        let refused = parse(responses("c"), json!({ "headers": headers })).unwrap_err().to_string();
        let expected = format!("with GET /a, the actions and their schemas have more than {bound}, expected");
        assert!(refused.starts_with(&expected), "{refused}");
    }
    let schemas = json!({ "A": { "description": "x".repeat(KEPT.bytes) } });
    let body = json!({ "/a": { "get": { "requestBody": { "$ref": "#/components/schemas/A" } } } });
    let refused = parse(body, json!({ "schemas": schemas })).unwrap_err().to_string();
    assert!(refused.starts_with("with the schema `A`, "), "{refused}");
    let document = json!({ "openapi": "3.1.0", "info": { "description": "x".repeat(KEPT.bytes) }, "paths": { "/a": { "get": {} } } });
    let refused = ToolDescription::parse(Tool::Qr, "", &document.to_string()).unwrap_err().to_string();
    assert!(refused.starts_with("with `info.description`, "), "{refused}");
}

/// The edge reads no JSON of more levels than this, so one tool would keep it from all tools.
#[test]
fn deepest_description_is_read_again_within_the_composed_one() {
    let deepest = |levels: usize| {
        let body = (0..levels).fold(json!({}), |inner, _| json!({ "items": inner, "nullable": true }));
        parse(json!({ "/a": { "post": { "requestBody": body } } }), json!({}))
    };
    let levels = (1..100).take_while(|levels| deepest(*levels).is_ok()).last().unwrap();
    assert!(levels > 10, "{levels}");
    let kept = deepest(levels).unwrap();
    let composed = Catalog::compose([(Tool::Qr, &kept)]).respond(ToolsRoute::OpenApi, "/").body;
    assert!(Catalog::from_json(&composed).is_some());
}
