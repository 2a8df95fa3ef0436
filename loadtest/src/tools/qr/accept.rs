//! Content negotiation: the image format that `Accept` prefers (RFC 9110, section 12.5.1).

use hyper::header::{ACCEPT, HeaderMap};

use super::request::Format;

/// Returns PNG if `Accept` gives it a higher weight than SVG, otherwise SVG.
pub(super) fn preferred_format(headers: &HeaderMap) -> Format {
    let accept: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let accept = accept.join(",");
    if weight(&accept, "image/png") > weight(&accept, "image/svg+xml") { Format::Png } else { Format::Svg }
}

/// Returns the weight of a media type in thousandths, by the most specific matching range.
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
    use hyper::header::HeaderValue;

    fn preferred(accept: &'static str) -> Format {
        preferred_format(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]))
    }

    #[test]
    fn png_is_preferred_only_with_higher_weight() {
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
}
