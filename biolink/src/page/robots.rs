//! `robots.txt` (RFC 9309).

use shared::response::Response;

/// Returns `/robots.txt`: pages may be listed. What only leads away from them may not be followed,
/// because a crawler is no visitor.
pub fn robots_txt() -> Response {
    let text = "User-agent: *\nDisallow: /*/l/\nDisallow: /*/report\nDisallow: /*/card.vcf\nDisallow: /q/\n";
    Response::public("text/plain; charset=utf-8", text.to_owned())
}
