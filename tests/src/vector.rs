//! The table of vectors: a request and the response that it must get from `shared`, from the built
//! worker and from the proxy binary alike. A new rule is a new row in `tests/vectors/`.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;

use crate::{
    http::{Request, Response},
    process::root,
};

/// A row of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// The rule, as a sentence.
    pub name: String,
    pub request: VectorRequest,
    pub answer: Expected,
    /// The boundaries at which the row holds: all unless it lists them, with the reason in
    /// `because`.
    #[serde(default = "Boundary::all")]
    pub at: Vec<Boundary>,
    /// Differences of a boundary. Anything not listed is as in `answer`.
    #[serde(default)]
    pub but: BTreeMap<Boundary, Expected>,
    #[serde(default)]
    pub because: String,
}

/// A boundary that responds to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boundary {
    Shared,
    Edge,
    Proxy,
    /// The proxy in direct mode. It responds as the edge unless a row says otherwise.
    Direct,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VectorRequest {
    #[serde(default = "get")]
    pub method: String,
    pub target: String,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default)]
    pub key: Credential,
    #[serde(default)]
    pub body: Option<String>,
    /// The number of header lines. Fillers are added up to it.
    #[serde(default)]
    pub lines: usize,
    /// The length of the target. The query is extended up to it.
    #[serde(default)]
    pub target_length: usize,
}

/// The credential of a request. For a valid one the proxy gets a grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Credential {
    #[default]
    None,
    /// A live key.
    Valid,
    /// A live key with one character changed.
    Mistyped,
    /// A key signed with another secret.
    Forged,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    #[serde(default)]
    pub status: Option<u16>,
    /// The problem's code.
    #[serde(default)]
    pub code: Option<String>,
    /// Headers with their exact values. `*` matches any value, and `null` the absence of the header.
    #[serde(default)]
    pub headers: BTreeMap<String, Option<String>>,
    /// Texts that the body contains.
    #[serde(default)]
    pub holds: Vec<String>,
}

impl Boundary {
    fn all() -> Vec<Self> {
        vec![Self::Shared, Self::Edge, Self::Proxy]
    }
}

fn get() -> String {
    "GET".to_owned()
}

/// Returns every row of every file, in the order of file names.
pub fn load() -> Vec<Vector> {
    let mut files: Vec<_> = fs::read_dir(root().join("tests/vectors"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
        .iter()
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            serde_json::from_str::<Vec<Vector>>(&text)
                .unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
        })
        .collect()
}

/// Sends every row that holds at `boundary` by `send`, and reports all differences together.
///
/// # Panics
/// If a response differs from its row, or no row holds here.
pub fn check_all(boundary: Boundary, mut send: impl FnMut(&Vector) -> Response) {
    let rows: Vec<Vector> = load().into_iter().filter(|row| row.holds_at(boundary)).collect();
    assert!(!rows.is_empty(), "no vector holds at {boundary:?}");
    let faults: Vec<String> = rows.iter().filter_map(|row| row.check(boundary, &send(row)).err()).collect();
    assert!(faults.is_empty(), "{} of {} rows differ:\n{}", faults.len(), rows.len(), faults.join("\n"));
}

impl Vector {
    /// Returns the request, with `key` as its credential.
    pub fn request(&self, key: Option<&str>) -> Request {
        let missing = self.request.target_length.saturating_sub(self.request.target.len());
        let target = format!("{}{}", self.request.target, "a".repeat(missing));
        let mut request = Request::new(&self.request.method, &target);
        request.headers.clone_from(&self.request.headers);
        if let Some(key) = key {
            request = request.key(key);
        }
        for line in request.headers.len()..self.request.lines {
            request = request.header(&format!("X-Filler-{line}"), "x");
        }
        match &self.request.body {
            Some(body)
                if request.headers.iter().any(|(name, _)| {
                    ["content-length", "transfer-encoding"].iter().any(|own| name.eq_ignore_ascii_case(own))
                }) =>
            {
                request.body = body.clone().into_bytes();
                request
            }
            Some(body) => request.body(body.as_str()),
            None => request,
        }
    }

    /// Returns true if the row holds at `boundary`.
    fn holds_at(&self, boundary: Boundary) -> bool {
        let stands_for =
            |at: &Boundary| *at == boundary || (*at, boundary) == (Boundary::Edge, Boundary::Direct);
        self.at.iter().any(stands_for)
    }

    fn expected(&self, boundary: Boundary) -> Expected {
        let mut expected = self.answer.clone();
        let edge = (boundary == Boundary::Direct).then_some(Boundary::Edge);
        for other in edge.into_iter().chain([boundary]).filter_map(|boundary| self.but.get(&boundary)) {
            expected.status = other.status.or(expected.status);
            expected.code = other.code.clone().or(expected.code);
            expected.headers.extend(other.headers.clone());
            expected.holds.extend(other.holds.clone());
        }
        expected
    }

    fn check(&self, boundary: Boundary, response: &Response) -> Result<(), String> {
        let expected = self.expected(boundary);
        let mut faults = Vec::new();
        if expected.status.is_some_and(|status| status != response.status) {
            faults.push(format!("status {}, not {:?}", response.status, expected.status));
        }
        if expected.code.as_ref().is_some_and(|code| *code != response.code()) {
            faults.push(format!("code `{}`, not {:?}", response.code(), expected.code));
        }
        for (name, value) in &expected.headers {
            let own = response.header(name);
            let is_as_expected = match value.as_deref() {
                Some("*") => own.is_some(),
                value => own == value,
            };
            if !is_as_expected {
                faults.push(format!("{name}: {own:?}, not {value:?}"));
            }
        }
        let (mark, code) = (response.header("x-gateway-problem").unwrap_or_default(), response.code());
        let is_html = response.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        if !response.body.is_empty() && !is_html && mark != code {
            faults.push(format!("X-Gateway-Problem is `{mark}` and the body's code `{code}`"));
        }
        let text = response.text();
        faults.extend(
            expected
                .holds
                .iter()
                .filter(|part| !text.contains(*part))
                .map(|part| format!("no {part:?} in {text}")),
        );
        if faults.is_empty() { Ok(()) } else { Err(format!("- {}: {}", self.name, faults.join("; "))) }
    }
}
