//! The layout that all pages for people share.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use shared::document::SERVER;
use shared::response::Response;
use shared::secret::sha256;
use strum::VariantArray;

use super::highlight;
use super::host::Host;
use super::tokens::tokens_of;
use crate::NAME;
use crate::docs_page::MARKDOWN;
use crate::script::Script;

/// The media type of the API catalog (RFC 9727, section 4.2).
pub(crate) const CATALOG_TYPE: &str =
    "application/linkset+json; profile=\"https://www.rfc-editor.org/info/rfc9727\"";
/// `Link` of the API catalog itself (RFC 9727, section 3).
pub(crate) const CATALOG_LINK: &str = "</.well-known/api-catalog>; rel=\"api-catalog\"";
/// `Link` of responses that are about the service (RFC 8631).
pub const SERVICE_LINKS: &str = concat!(
    "</openapi.json>; rel=\"service-desc\"; type=\"application/json\", ",
    "</biolink/openapi.json>; rel=\"service-desc\"; type=\"application/json\", ",
    "</docs>; rel=\"service-doc\"; type=\"text/html\", ",
    "</v1/status>; rel=\"status\"; type=\"application/json\", ",
    "</.well-known/api-catalog>; rel=\"api-catalog\""
);

/// The mark of the service, and the icon of its pages. It is that of the console.
pub(crate) const MARK: &str = include_str!("../../web/src/mark.svg");
/// The typeface of the console, which all pages share. The build gives its name, and fails if this is another.
const FONT: &str = "/console/assets/geist-latin-wght-normal-BgDaEnEv.woff2";
/// The picture that networks show beside a link to the site. `scripts/social-image.mjs` makes it, and its name has its hash.
const SOCIAL_IMAGE: &str = "/console/assets/social-5adaee53.png";
const STYLE: &str = include_str!("style.css");
const STYLE_BEGIN: &str = "<style>";
const STYLE_END: &str = "</style>";

/// A part of the site that the header leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
#[allow(missing_docs, reason = "`path` says what each one is")]
pub(crate) enum Section {
    Docs,
    Status,
    Console,
}

impl Section {
    const ALL: [Self; 3] = *Self::VARIANTS.as_array().unwrap();

    /// Returns the sections that a host serves.
    fn on(host: Host) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |section| host == Host::Edge || *section == Self::Docs)
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Docs => "/docs",
            Self::Status => "/status",
            Self::Console => "/console",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Docs => "Docs",
            Self::Status => "Status",
            Self::Console => "Console",
        }
    }
}

/// A page: what differs from one to the other.
#[derive(Clone, Copy)]
pub(crate) struct Page<'a> {
    /// The title in the browser's tab.
    pub(crate) title: &'a str,
    /// One sentence for search engines.
    pub(crate) description: &'a str,
    /// The shell that serves the page.
    pub(crate) host: Host,
    /// The section that the header shows as the current one.
    pub(crate) section: Option<Section>,
    /// Rules of the page's own, after those that all pages share.
    pub(crate) style: &'a str,
    /// The one script of the page.
    pub(crate) script: Option<Script>,
    /// Whether the page has room for a column beside its content.
    pub(crate) wide: bool,
    /// Whether it says what networks show as the card of a link to it. It must be served with the server's address.
    pub(crate) card: bool,
    /// Other forms of the page: media types and paths.
    pub(crate) alternates: &'a [(&'static str, String)],
    /// The content of `main`.
    pub(crate) content: &'a Markup,
}

impl<'a> Page<'a> {
    /// Returns a page of the edge without its own section, script or style.
    pub(crate) const fn new(title: &'a str, description: &'a str, content: &'a Markup) -> Self {
        let (host, section, style, script) = (Host::Edge, None, "", None);
        let (wide, card, alternates) = (false, false, &[]);
        Self { title, description, host, section, style, script, wide, card, alternates, content }
    }

    /// Returns the page as HTML.
    pub(crate) fn html(&self) -> String {
        let font = format!(
            "@font-face{{font-family:Geist;font-weight:100 900;font-display:swap;src:url({FONT}) format(\"woff2\")}}"
        );
        let html = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="description" content=(self.description);
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    link rel="icon" type="image/svg+xml" href="/favicon.ico";
                    @for (media_type, path) in self.alternates { link rel="alternate" type=(media_type) href=(path); }
                    link rel="preload" as="font" type="font/woff2" href=(FONT) crossorigin;
                    @if self.card { (self.card()) }
                    style {
                        (PreEscaped(tokens_of(&[STYLE, self.style]))) (PreEscaped(font))
                        (PreEscaped(STYLE.replace('\n', ""))) (PreEscaped(self.style.replace('\n', "")))
                    }
                    @if let Some(script) = self.script { script src=(script.path()) defer {} }
                }
                body class=[self.wide.then_some("wide")] {
                    a.skip href="#main" { "Skip to the content" }
                    (self.header())
                    main id="main" { (self.content) }
                    (footer(self.host))
                }
            }
        };
        html.into_string()
    }

    /// Returns the page as a response.
    pub(crate) fn response(&self) -> Response {
        respond(self.html())
    }

    fn card(&self) -> Markup {
        html! {
            meta property="og:type" content="website";
            meta property="og:site_name" content=(NAME);
            meta property="og:title" content=(self.title);
            meta property="og:description" content=(self.description);
            meta property="og:image" content={ (SERVER) (SOCIAL_IMAGE) };
            meta property="og:image:width" content="1200";
            meta property="og:image:height" content="630";
            meta property="og:image:alt" content={ "The mark of " (NAME) " beside a page on a phone" };
            meta name="twitter:card" content="summary_large_image";
        }
    }

    fn header(&self) -> Markup {
        html! {
            header {
                div.bar {
                    a.name href="/" { (PreEscaped(MARK)) (NAME) }
                    nav aria-label="Site" {
                        @for section in Section::on(self.host) {
                            @let current = (self.section == Some(section)).then_some("true");
                            a href=(section.path()) aria-current=[current] { (section.name()) }
                        }
                    }
                }
            }
        }
    }
}

fn footer(host: Host) -> Markup {
    html! {
        footer.foot {
            nav aria-label="For programs" {
                a href="/openapi.json" { "OpenAPI" }
                @if host == Host::Edge { a href="/biolink/openapi.json" { "OpenAPI of bio-link pages" } }
                a href="/v1/status" { "Status as JSON" }
            }
        }
    }
}

/// Returns the HTML of a [`Page`] as a response, with the policy that fits it.
pub(crate) fn respond(html: String) -> Response {
    let policy = content_security_policy(&html);
    Response::public("text/html; charset=utf-8", html)
        .with_headers([("content-security-policy", policy), ("referrer-policy", "no-referrer".to_owned())])
}

/// Returns the Markdown of a page as a response.
pub(crate) fn respond_markdown(text: String) -> Response {
    Response::public(format!("{MARKDOWN}; charset=utf-8"), text)
}

/// Returns the markup of a command or a message. It wraps rather than scrolls, so that it needs no
/// place among what the keyboard reaches.
pub(super) fn sample(text: &str) -> Markup {
    html! {
        pre { code { (highlight::sample(text)) } }
    }
}

/// Returns `Content-Security-Policy` for a page: its own style, images of this host, and its script
/// if it has one. Must be given HTML of [`Page::html`], where text is escaped: the first `<style>`
/// and the first `<script` are those of the layout.
fn content_security_policy(html: &str) -> String {
    let head = html.split("<body").next().unwrap_or_default();
    let style = head.split(STYLE_BEGIN).nth(1).and_then(|rest| rest.split(STYLE_END).next());
    let digest = STANDARD.encode(sha256(&[style.unwrap_or_default().as_bytes()]));
    let has = |script: &Script| head.contains(&format!("<script src=\"{}\"", script.path()));
    let scripts = match Script::ALL.into_iter().find(has) {
        Some(Script::Docs) => "script-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; ",
        None => "",
    };
    // Without `connect-src`, a browser's own tools cannot read robots.txt for the page.
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; font-src 'self'; img-src 'self'; connect-src 'self'; {scripts}base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_for_networks_is_named_by_its_bytes_and_has_the_size_that_pages_state() {
        let picture = include_bytes!("../../web/public/assets/social-5adaee53.png");
        let hash = sha256(&[picture]).iter().take(4).map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(SOCIAL_IMAGE, format!("/console/assets/social-{hash}.png"));
        let (signature, header) = picture.split_at(8);
        assert_eq!(signature, b"\x89PNG\r\n\x1a\n");
        let length = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().unwrap());
        assert_eq!((&header[4..8], length(8), length(12)), (&b"IHDR"[..], 1_200, 630));
        let content = html! {};
        let page = Page { card: true, ..Page::new("Title", "About", &content) };
        let html = page.html();
        for tag in [
            "property=\"og:image:width\" content=\"1200\"".to_owned(),
            "property=\"og:image:height\" content=\"630\"".to_owned(),
            format!("property=\"og:image\" content=\"{SERVER}{SOCIAL_IMAGE}\""),
        ] {
            assert!(html.contains(&tag), "{tag}");
        }
    }

    #[test]
    fn site_has_the_colors_and_sizes_of_the_tokens_alone() {
        let is_hex = |text: &str| text.chars().take_while(char::is_ascii_hexdigit).count() >= 3;
        for style in
            [STYLE, include_str!("landing.css"), include_str!("reference.css"), include_str!("status.css")]
        {
            let tokens = tokens_of(&[style]);
            assert!(!tokens.contains("/*") && !tokens.contains('\n'), "{tokens}");
            for name in style.split("var(--").skip(1).filter_map(|rest| rest.split(')').next()) {
                assert!(tokens.contains(&format!("--{name}:")), "--{name} is no token");
            }
            let is_own = style.split('#').skip(1).any(is_hex) || style.contains("rgb(");
            assert!(!is_own, "a color that is no token");
        }
    }
}
