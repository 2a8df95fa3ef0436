//! `qr/generate`, the only tool that is real: returns a QR code of `url`, exactly `size` pixels
//! square, as SVG or PNG.

mod accept;
mod image;
mod request;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{HeaderValue, VARY};
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};

use super::response::{ToolBody, ToolResponse, error, error_with, with_body};
use image::QrImage;
use request::{FieldError, QrRequest};

/// The maximum size of a request body: a URL of at most [`request::MAX_URL_BYTES`] bytes and some
/// fields.
const MAX_BODY_BYTES: usize = 16 * 1024;

/// Returns a QR code, or the reasons why the request is invalid.
pub(super) async fn respond(request: Request<Incoming>) -> ToolResponse {
    let preferred = accept::preferred_format(request.headers());
    let fields = match read_fields(request).await {
        Ok(fields) => fields,
        Err(invalid) => return *invalid,
    };
    let parsed = QrRequest::parse(&fields, preferred);
    match parsed.and_then(|request| image::render(&request).map_err(|error| vec![error])) {
        Ok(image) => image_response(image),
        Err(errors) => error_response(&errors),
    }
}

fn image_response(image: QrImage) -> ToolResponse {
    let (content_type, bytes) = match image {
        QrImage::Svg(text) => ("image/svg+xml", text.into()),
        QrImage::Png(bytes) => ("image/png", bytes.into()),
    };
    let mut response = with_body(StatusCode::OK, content_type, ToolBody::Full(bytes));
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    response
}

/// Returns 422 with all field errors, each with a JSON Pointer to its field (RFC 6901).
fn error_response(errors: &[FieldError]) -> ToolResponse {
    let each = |error: &FieldError| json!({ "pointer": format!("#/{}", error.field), "code": error.code, "detail": error.message });
    let members = [("errors".to_owned(), errors.iter().map(each).collect())].into_iter().collect();
    let detail = "the fields of the request are invalid";
    error_with(StatusCode::UNPROCESSABLE_ENTITY, "fields-invalid", detail, members)
}

/// Reads the fields from the JSON body of a POST or the query of a GET.
async fn read_fields(request: Request<Incoming>) -> Result<Value, Box<ToolResponse>> {
    let invalid = |status, code, message: &str| Box::new(error(status, code, message));
    if request.method() == Method::GET {
        return Ok(from_query(request.uri().query().unwrap_or_default()));
    }
    let body = Limited::new(request.into_body(), MAX_BODY_BYTES).collect().await.map_err(
        |_too_long_or_cut_off| {
            invalid(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body-too-large",
                "the body is larger than the limit of 16 KiB",
            )
        },
    )?;
    let fields: Value = serde_json::from_slice(&body.to_bytes())
        .map_err(|error| invalid(StatusCode::UNPROCESSABLE_ENTITY, "body-not-json", &error.to_string()))?;
    if !fields.is_object() {
        let message = r#"the body is not a JSON object: expected for example {"url": "https://example.com", "size": 256}"#;
        return Err(invalid(StatusCode::UNPROCESSABLE_ENTITY, "body-not-object", message));
    }
    Ok(fields)
}

/// Returns a query as the equivalent JSON object. The first of several values counts.
fn from_query(query: &str) -> Value {
    let mut fields = serde_json::Map::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let number = Some(&text).filter(|_| name == "size").and_then(|text| text.parse::<u64>().ok());
        fields.entry(name).or_insert_with(|| number.map_or_else(|| Value::from(&*text), Value::from));
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_is_parsed_like_a_body() {
        assert_eq!(
            from_query("url=https%3A%2F%2Fexample.com%2F%3Fa%3D1&size=300&size=9"),
            json!({ "url": "https://example.com/?a=1", "size": 300 })
        );
        assert_eq!(from_query("size=big"), json!({ "size": "big" }));
    }
}
