//! The operator's deny list: hosts that no page may lead to.

use serde_json::{Map, Value, json};
use shared::{
    fields::{Fields, text},
    problem::{FieldError, Problem},
    response::Response,
    sorting::sort_by,
};

use super::snapshot::Served;
use crate::{
    page::{InvalidValue, Link, PageDocument, WebUrl, is_public_host},
    route::VisitPart,
};

/// Names of hosts, each with everything below it. The default denies nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeniedHosts(Vec<String>);

impl DeniedHosts {
    /// The name under which the list is stored.
    pub const KEY: &str = "denied-hosts";
    /// Most names in the list.
    pub const MAX: usize = 5_000;

    /// Reads the body of a request, `{"hosts": […]}`. Names that are in it twice, or below another,
    /// count once.
    ///
    /// # Errors
    /// Returns `body-malformed`, or `fields-invalid` with every fault.
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        let mut fields = Fields::read(body)?;
        let mut hosts = fields.required_items("hosts", Self::MAX, |value| {
            let host = text(value)?.to_ascii_lowercase();
            let expected =
                "must be a public host name such as example.com: no scheme, port, path or wildcard, international names in punycode";
            if is_public_host(&host) { Ok(host) } else { Err(InvalidValue::from(expected)) }
        });
        fields.finish()?;
        // Sorted, because `contains` looks by bisection.
        sort_by(&mut hosts, String::cmp);
        hosts.dedup();
        let all = Self(hosts);
        let is_covered =
            |host: &&String| host.split_once('.').is_some_and(|(_, parent)| all.contains(parent));
        Ok(Self(all.0.iter().filter(|host| !is_covered(host)).cloned().collect()))
    }

    /// Reads a stored list.
    pub fn from_text(text: &str) -> Self {
        Self(text.lines().map(str::to_owned).collect())
    }

    /// Returns the list as it is stored: a line for each name, sorted.
    pub fn to_text(&self) -> String {
        self.0.join("\n")
    }

    /// Returns the list as the operator sees it.
    pub fn response(&self) -> Response {
        let body = json!({ "object": "denied_hosts", "count": self.0.len(), "hosts": self.0 });
        Response::json(body.to_string())
    }

    /// Returns true if the host is in the list, or below one that is.
    pub fn contains(&self, host: &str) -> bool {
        let is_listed = |name: &str| self.0.binary_search_by(|listed| listed.as_str().cmp(name)).is_ok();
        // By whole labels: a denied `ample.com` must not deny `example.com`.
        let parents = host.match_indices('.').filter_map(|(at, _)| host.get(at + 1..));
        !self.0.is_empty() && std::iter::once(host).chain(parents).any(is_listed)
    }

    fn denies(&self, url: &WebUrl) -> bool {
        self.contains(url.host())
    }

    fn denies_link(&self, link: &Link) -> bool {
        link.addresses().any(|url| self.denied_in(url).is_some())
    }

    /// Returns the denied host of an address.
    fn denied_in(&self, url: &str) -> Option<String> {
        let url = WebUrl::parse(url).ok().filter(|url| self.denies(url))?;
        Some(url.host().to_owned())
    }

    /// Returns an error for each address in a body that leads to a denied host. Addresses are the
    /// members named `url`. The client's own `metadata` are not looked at.
    pub(super) fn faults(&self, members: &Map<String, Value>) -> Vec<FieldError> {
        let mut faults = Vec::new();
        if !self.0.is_empty() {
            self.search(members, "#", &mut faults);
        }
        faults
    }

    fn search(&self, members: &Map<String, Value>, place: &str, faults: &mut Vec<FieldError>) {
        for (name, value) in members.iter().filter(|(name, _)| *name != "metadata") {
            match value {
                Value::Object(inner) => self.search(inner, &format!("{place}/{name}"), faults),
                Value::Array(items) => {
                    for (at, item) in
                        items.iter().enumerate().filter_map(|(at, item)| Some((at, item.as_object()?)))
                    {
                        self.search(item, &format!("{place}/{name}/{at}"), faults);
                    }
                }
                Value::String(url) if name == "url" => {
                    if let Some(host) = self.denied_in(url) {
                        let detail =
                            format!("leads to {host}, which the operator of this service has blocked");
                        faults.push(FieldError { pointer: format!("{place}/url"), detail });
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns what a visitor is served under this list: a page without what leads to denied hosts,
    /// and nothing any more in place of a link that does.
    pub fn screen(&self, mut served: Served, part: VisitPart) -> Served {
        let Served::Page { document, .. } = &mut served else { return served };
        if self.0.is_empty() {
            return served;
        }
        if let VisitPart::Link(id) = part
            && document.link(&id).is_some_and(|link| self.denies_link(link))
        {
            return Served::Gone;
        }
        self.strip(document);
        served
    }

    fn strip(&self, document: &mut PageDocument) {
        document.links.retain(|link| !self.denies_link(link));
        document.socials.retain(|social| !self.denies(&social.url));
        document.products.items.retain(|item| !self.denies(&item.url));
        let images = document.products.items.iter_mut().map(|item| &mut item.image);
        let own = document.links.iter_mut().map(|link| &mut link.image);
        for image in images.chain(own).chain([
            &mut document.avatar,
            &mut document.cover,
            &mut document.seo.image,
            &mut document.theme.image,
        ]) {
            image.take_if(|image| image.url.foreign().is_some_and(|url| self.denies(url)));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shared::{request_id::RequestId, time::UnixMillis};

    use super::*;
    use crate::page::{IdSource, Reader};

    fn list(hosts: &[&str]) -> DeniedHosts {
        DeniedHosts::read(json!({ "hosts": hosts }).to_string().as_bytes()).unwrap()
    }

    #[test]
    fn host_is_denied_with_everything_below_it() {
        let denied = list(&["Evil.example", "www.evil.example", "a.co.uk", "evil.example"]);
        assert_eq!(denied.to_text(), "a.co.uk\nevil.example");
        for host in ["evil.example", "www.evil.example", "a.b.evil.example", "a.co.uk"] {
            assert!(denied.contains(host), "{host}");
        }
        for host in ["notevil.example", "evil.example.org", "example", "co.uk", ""] {
            assert!(!denied.contains(host), "{host}");
        }
        assert_eq!(DeniedHosts::from_text(&denied.to_text()), denied);
        assert!(!DeniedHosts::from_text("").contains("") && !list(&[]).contains("evil.example"));
    }

    #[test]
    fn every_fault_of_a_list_is_named() {
        let body = json!({"hosts": ["ok.example", "https://a.example/", "*.a.example", "a.example:80", "com", 7,
            "b\u{fc}cher.example", "127.0.0.1"], "host": []});
        let problem = DeniedHosts::read(body.to_string().as_bytes()).unwrap_err().render(&RequestId([0; 16]));
        assert_eq!(problem.status, 422);
        for pointer in [
            "#/hosts/1",
            "#/hosts/2",
            "#/hosts/3",
            "#/hosts/4",
            "#/hosts/5",
            "#/hosts/6",
            "#/hosts/7",
            "#/host",
        ] {
            assert!(problem.body.contains(&format!("\"{pointer}\"")), "{pointer}: {}", problem.body);
        }
        assert!(!problem.body.contains("#/hosts/0"));
        let many: Vec<_> = (0..=DeniedHosts::MAX).map(|n| format!("h{n}.example")).collect();
        for (body, expected) in [
            (json!({ "hosts": many }), "has 5001 items; at most 5000"),
            (json!({ "hosts": "evil.example" }), "must be an array"),
            (json!({}), "is missing"),
        ] {
            let problem = DeniedHosts::read(body.to_string().as_bytes()).unwrap_err();
            assert!(problem.render(&RequestId([0; 16])).body.contains(expected), "{expected}");
        }
    }

    #[test]
    fn page_is_shown_without_what_leads_to_a_denied_host() {
        let image = |host: &str| json!({"url": format!("https://{host}/a.png"), "alt": "a"});
        let link = |url: &str| json!({"title": "x", "url": url});
        let members = json!({
            "title": "Ada", "avatar": image("cdn.evil.example"), "seo": {"image": image("evil.example")},
            "socials": [{"platform": "github", "url": "https://github.com/ada"}, {"platform": "website", "url": "https://evil.example/"}],
            "links": [link("https://evil.example/a"), link("https://example.com/"), {"title": "m", "type": "email", "url": "a@evil.example"}],
            "products": {"items": [{"title": "p", "url": "https://evil.example/"},
                {"title": "q", "url": "https://example.com/", "image": image("evil.example")}]},
        });
        let Value::Object(members) = members else { panic!() };
        let document = Reader::new(None, IdSource::new([1; 16])).page(members).unwrap().document;
        let (bad, good) = (document.links[0].id, document.links[1].id);
        let served = |part| {
            let page = crate::page::PageId::new([1; 12]);
            let served = Served::Page {
                account: shared::key::KeyId::new([1; 12]),
                page,
                revision: 1,
                code: None,
                published_at: UnixMillis(0),
                document: document.clone(),
            };
            list(&["evil.example"]).screen(served, part)
        };
        let Served::Page { document: shown, .. } = served(VisitPart::Page) else { panic!() };
        let text = serde_json::to_string(&shown).unwrap();
        assert!(!text.contains("https://evil") && !text.contains("cdn.evil"), "{text}");
        assert_eq!((shown.links.len(), shown.socials.len(), shown.products.items.len()), (2, 1, 1));
        assert_eq!(served(VisitPart::Link(bad)), Served::Gone);
        assert!(matches!(served(VisitPart::Link(good)), Served::Page { .. }));
    }

    proptest! {
        #[test]
        fn subdomains_of_a_listed_host_are_denied(label in "[a-z]{1,9}", host in "[a-z]{1,9}\\.[a-z]{2,9}") {
            let denied = DeniedHosts::from_text(&host);
            let below = format!("{label}.{host}");
            let beside = format!("{label}{host}");
            prop_assert!(denied.contains(&below));
            prop_assert!(!denied.contains(&beside));
        }
    }
}
