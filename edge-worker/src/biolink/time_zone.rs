//! Time zones, which the runtime knows.

use biolink::analytics::Zone;
use shared::time::UnixMillis;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{Object, Reflect};

#[wasm_bindgen]
extern "C" {
    /// `Intl.DateTimeFormat`. `js_sys` has it too, and there an unknown zone is a panic.
    type DateTimeFormat;

    #[wasm_bindgen(constructor, js_namespace = Intl, catch)]
    fn new(locale: &str, options: &Object) -> Result<DateTimeFormat, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn format(this: &DateTimeFormat, at: f64) -> Result<String, JsValue>;
}

/// Returns the zone of this IANA name between two moments; `None` if there is none.
pub(crate) fn find(name: &str, (from, to): (UnixMillis, UnixMillis)) -> Option<Zone> {
    let options = Object::new();
    for (option, value) in [("timeZone", name), ("timeZoneName", "longOffset"), ("year", "numeric")] {
        Reflect::set(&options, &option.into(), &value.into()).ok()?;
    }
    let format = DateTimeFormat::new("en-US", &options).ok()?;
    #[allow(clippy::cast_precision_loss, reason = "a date of JavaScript is a float")]
    Zone::build(from, to, |at| offset(&format.format(at.0 as f64).ok()?))
}

/// Returns the seconds in a text such as `2026, GMT+05:45`, or `2026, GMT` for none.
fn offset(text: &str) -> Option<i32> {
    let (_, offset) = text.rsplit_once("GMT")?;
    let (sign, offset) = match offset.split_at_checked(1) {
        None => return Some(0),
        Some(("+", offset)) => (1, offset),
        Some(("-" | "\u{2212}", offset)) => (-1, offset),
        Some(_) => return None,
    };
    let mut parts = offset.split(':').map(str::parse::<i32>);
    let (hours, minutes) = (parts.next()?.ok()?, parts.next().unwrap_or(Ok(0)).ok()?);
    let seconds = parts.next().unwrap_or(Ok(0)).ok()?;
    Some(sign * (hours * 3600 + minutes * 60 + seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_of_each_form_is_read() {
        let read = ["2026, GMT", "2026, GMT+05:45", "2026, GMT-03:30", "2026, GMT+00:19:32"].map(offset);
        assert_eq!(read, [Some(0), Some(20_700), Some(-12_600), Some(1_172)]);
        assert_eq!(["2026", "2026, GMT+x"].map(offset), [None, None]);
    }
}
