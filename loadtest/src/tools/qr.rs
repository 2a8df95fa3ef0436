//! `qr/generate`, the one tool that is real: a QR code of `url`, exactly `size` pixels square, as SVG or PNG.

mod draw;
mod order;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue, VARY};
use hyper::{Method, Request, StatusCode};
use serde_json::{Value, json};

use super::answer::{Answer, AnswerBody, json, refusal, with_body};
use draw::Drawing;
use order::{Fault, Format, Order};

/// A body holds a URL of at most [`order::LONGEST_URL`] bytes and a number.
const MOST_BODY: usize = 16 * 1024;

pub(super) async fn respond(request: Request<Incoming>) -> Answer {
    let preferred = preferred_format(request.headers());
    let fields = match fields(request).await {
        Ok(fields) => fields,
        Err(refused) => return *refused,
    };
    match Order::parse(&fields, preferred).and_then(|order| draw::draw(&order).map_err(|fault| vec![fault])) {
        Ok(drawing) => answer(drawing),
        Err(faults) => refused(&faults),
    }
}

fn answer(drawing: Drawing) -> Answer {
    let (content_type, bytes) = match drawing {
        Drawing::Svg(text) => ("image/svg+xml", text.into()),
        Drawing::Png(bytes) => ("image/png", bytes.into()),
    };
    let mut answer = with_body(StatusCode::OK, content_type, AnswerBody::Whole(bytes));
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    answer
}

fn refused(faults: &[Fault]) -> Answer {
    let faults: Vec<Value> = faults
        .iter()
        .map(|fault| json!({ "field": fault.field, "code": fault.code, "message": fault.message }))
        .collect();
    let error =
        json!({ "code": "fields-invalid", "message": "no QR code can be made of this", "faults": faults });
    json(StatusCode::UNPROCESSABLE_ENTITY, &json!({ "error": error }))
}

/// What was asked for: a POST's JSON body, a GET's query.
async fn fields(request: Request<Incoming>) -> Result<Value, Box<Answer>> {
    let refuse = |status, code, message: &str| Box::new(refusal(status, code, message));
    if request.method() == Method::GET {
        return Ok(from_query(request.uri().query().unwrap_or_default()));
    }
    let body =
        Limited::new(request.into_body(), MOST_BODY).collect().await.map_err(|_too_long_or_cut_off| {
            refuse(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", "the body has more than 16 KiB")
        })?;
    let fields: Value = serde_json::from_slice(&body.to_bytes())
        .map_err(|cause| refuse(StatusCode::BAD_REQUEST, "body-not-json", &cause.to_string()))?;
    if !fields.is_object() {
        let wanted = r#"the body is a JSON object such as {"url": "https://example.com", "size": 256}"#;
        return Err(refuse(StatusCode::BAD_REQUEST, "body-not-object", wanted));
    }
    Ok(fields)
}

/// A query as the object that a body would be; the first of several values counts.
fn from_query(query: &str) -> Value {
    let mut fields = serde_json::Map::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let number = Some(&text).filter(|_| name == "size").and_then(|text| text.parse::<u64>().ok());
        fields.entry(name).or_insert_with(|| number.map_or_else(|| Value::from(&*text), Value::from));
    }
    Value::Object(fields)
}

/// PNG where `Accept` names it with a greater weight than SVG (RFC 9110 section 12.5.1), SVG otherwise.
fn preferred_format(headers: &HeaderMap) -> Format {
    let accept: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let accept = accept.join(",");
    if weight(&accept, "image/png") > weight(&accept, "image/svg+xml") { Format::Png } else { Format::Svg }
}

/// The weight in thousandths that `accept` gives a media type by the most specific range that holds it.
fn weight(accept: &str, media_type: &str) -> u32 {
    ["*/*", "image/*", media_type]
        .into_iter()
        .filter_map(|range| accept.split(',').find_map(|item| range_weight(item, range)))
        .next_back()
        .unwrap_or(0)
}

fn range_weight(item: &str, range: &str) -> Option<u32> {
    let mut parts = item.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case(range) {
        return None;
    }
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let Some(quality) = quality else { return Some(1000) };
    let (whole, fraction) = quality.split_once('.').unwrap_or((quality, ""));
    let thousandths = format!("{whole}{fraction:0<3}");
    thousandths.parse().ok().filter(|&weight| weight <= 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferred(accept: &'static str) -> Format {
        preferred_format(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]))
    }

    #[test]
    fn png_is_made_only_where_it_is_preferred() {
        for accept in ["image/png", "image/svg+xml;q=0.5, image/png", "image/*;q=0.1, IMAGE/PNG;q=0.2"] {
            assert_eq!(preferred(accept), Format::Png, "{accept}");
        }
        for accept in [
            "*/*",
            "image/*",
            "image/png;q=0",
            "image/png;q=0.5, */*",
            "text/html",
            "image/png, image/svg+xml",
        ] {
            assert_eq!(preferred(accept), Format::Svg, "{accept}");
        }
    }

    #[test]
    fn a_query_asks_for_the_same_as_a_body() {
        assert_eq!(
            from_query("url=https%3A%2F%2Fexample.com%2F%3Fa%3D1&size=300&size=9"),
            json!({ "url": "https://example.com/?a=1", "size": 300 })
        );
        assert_eq!(from_query("size=big"), json!({ "size": "big" }));
    }
}
