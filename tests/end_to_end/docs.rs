//! The reference at `/docs`: its examples are run as they stand there, against the whole gateway.

mod compiled;

use std::process::Command;

use portal::docs_page::DocsPage;
use serde_json::{Value, json};
use shared::tool::Tool;
use tempfile::TempDir;
use tests::{
    http::Request,
    keys::ADMIN_SECRET,
    origin::{Origin, OriginBehavior, http_response},
    stack::Stack,
};

/// The image that the examples send: a pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00,
    0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01,
    0x48, 0xaf, 0xa4, 0x71, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// A language of the examples that can be run here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Curl,
    JavaScript,
    Python,
}

impl Language {
    const ALL: [Self; 3] = [Self::Curl, Self::JavaScript, Self::Python];

    const fn class(self) -> &'static str {
        match self {
            Self::Curl => "sh",
            Self::JavaScript => "js",
            Self::Python => "py",
        }
    }

    /// Returns the command that runs code: a file in `folder`.
    fn command(self, code: &str, folder: &TempDir) -> Command {
        let (name, program) = match self {
            Self::Curl => ("example.sh", "bash"),
            Self::JavaScript => ("example.mjs", "node"),
            Self::Python => ("example.py", "python3"),
        };
        let file = folder.path().join(name);
        // curl prints the body and no status.
        let code = code.replace("curl -sS", "curl -w '%{stderr}%{http_code}' -sS");
        std::fs::write(&file, code).unwrap();
        let mut command = Command::new(program);
        command.arg(file).current_dir(folder.path());
        command
    }

    /// Returns the command that checks the syntax of code: a file in `folder`.
    fn syntax_check(self, code: &str, folder: &TempDir) -> Command {
        let (name, program, arguments): (_, _, &[&str]) = match self {
            Self::Curl => ("example.sh", "bash", &["-n"]),
            Self::JavaScript => ("example.mjs", "node", &["--check"]),
            Self::Python => {
                ("example.py", "python3", &["-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())"])
            }
        };
        let file = folder.path().join(name);
        std::fs::write(&file, code).unwrap();
        let mut command = Command::new(program);
        command.args(arguments).arg(file);
        command
    }
}

/// A section of a page.
struct Section {
    id: String,
    html: String,
}

impl Section {
    /// Returns the sections of this class on a page.
    fn of(page: &str, class: &str) -> Vec<Self> {
        let begin = format!("<section class=\"{class}\"");
        let parts = page.split(&begin).skip(1);
        let section = |part: &str| {
            let id = part.split("id=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
            Self { id, html: part.split("</section>").next().unwrap().to_owned() }
        };
        parts.map(section).collect()
    }

    /// Returns the code in a language.
    fn code(&self, language: Language) -> Vec<String> {
        self.code_of(language.class())
    }

    /// Returns the code in the language of this class.
    fn code_of(&self, class: &str) -> Vec<String> {
        let begin = format!("<pre class=\"in {class}\">");
        let parts = self.html.split(&begin).skip(1);
        parts.map(|part| text(part.split("</pre>").next().unwrap())).collect()
    }

    /// Returns the statuses that the section documents.
    fn statuses(&self) -> Vec<String> {
        let parts = self.html.split("<b class=\"status\">").skip(1);
        parts.map(|part| part.split('<').next().unwrap().to_owned()).collect()
    }
}

fn text(html: &str) -> String {
    let colors = ["<i>", "</i>", "<b>", "</b>", "<em>", "</em>"];
    let html = colors.into_iter().fold(html.to_owned(), |html, tag| html.replace(tag, ""));
    html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// Returns true if a page describes operations of the gateway, all of which can be called here.
fn is_of_gateway(html: &str) -> bool {
    html.contains("data-description=\"/openapi.json\"")
}

fn page(stack: &Stack, path: &str) -> String {
    let response = Request::get(path).send(stack.edge.addr);
    assert_eq!(response.status, 200, "{path}");
    response.text()
}

/// A key of the plan `business`, with a named secret, and an incident.
struct Client<'a> {
    stack: &'a Stack,
    key: String,
    id: String,
    secret_id: String,
    incident_id: String,
}

impl<'a> Client<'a> {
    fn new(stack: &'a Stack) -> Self {
        let body = json!({
            "email": "ada@example.com", "name": "Ada", "tier": "enterprise", "biolink_plan": "business",
            "admin_secret": ADMIN_SECRET,
        });
        let issued = Request::post("/v1/keys/issue", &body).send(stack.edge.addr).json();
        let text = |name: &str| issued[name].as_str().unwrap().to_owned();
        let incident = json!({ "title": "Slow", "impact": "minor", "message": "We look into it." });
        let incident = Request::post("/v1/status/incidents", &incident)
            .header("Authorization", &format!("Bearer {ADMIN_SECRET}"))
            .send(stack.edge.addr);
        let incident_id = incident.json()["id"].as_str().unwrap().to_owned();
        let client = Self { stack, key: text("key"), id: text("id"), secret_id: String::new(), incident_id };
        let secret = client.create("/v1/keys/me/secrets", &json!({ "name": "Nightly", "scopes": {} }));
        Self { secret_id: secret["id"].as_str().unwrap().to_owned(), ..client }
    }

    fn create(&self, path: &str, body: &Value) -> Value {
        let response = Request::post(path, body).key(&self.key).send(self.stack.edge.addr);
        assert_eq!(response.status, 201, "{}", response.text());
        response.json()
    }

    /// Returns the example of an operation with the ids of this key, secret and incident, and the admin secret.
    fn put_into(&self, code: &str) -> String {
        let code = code.replace("key_0123456789abcdefg", &self.id).replace('…', ADMIN_SECRET);
        let code = code.replace("inc_0123456789abcdefg", &self.incident_id);
        code.replace("sec_0123456789a", &self.secret_id)
    }

    /// Runs code and returns what it prints.
    ///
    /// # Panics
    /// If it fails.
    fn run(&self, language: Language, code: &str, variables: &[(&str, &str)]) -> String {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("photo.jpg"), PNG).unwrap();
        let mut command = language.command(code, &folder);
        command.env("KEY", &self.key).env("ADMIN_SECRET", ADMIN_SECRET).envs(variables.iter().copied());
        let ran = command.output().unwrap();
        let errors = String::from_utf8_lossy(&ran.stderr);
        let output = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success(), "{language:?}: {code}\n{output}{errors}");
        if language == Language::Curl { errors.into_owned() } else { output.into_owned() }
    }
}

/// The operations of the gateway, in every language that can be run here: each has a status that the
/// page documents.
#[test]
fn operation_examples_get_a_documented_status() {
    let stack = Stack::start();
    let pages =
        DocsPage::ALL.into_iter().map(|one| page(&stack, one.path())).filter(|html| is_of_gateway(html));
    let sections: Vec<_> = pages.flat_map(|html| Section::of(&html, "op")).collect();
    assert!(sections.len() >= 16, "{}", sections.len());
    for section in &sections {
        for language in Language::ALL {
            let client = Client::new(&stack);
            let [code] = <[String; 1]>::try_from(section.code(language)).unwrap();
            let code = client.put_into(&code);
            let output = client.run(language, &code, &[]);
            let status: String = output.chars().take(3).collect();
            assert!(
                section.statuses().contains(&status),
                "{}: {status} {:?}",
                section.id,
                section.statuses()
            );
        }
    }
}

/// The call that the start page shows makes a page at the address that it names.
#[test]
fn call_of_the_landing_page_makes_a_page() {
    let stack = Stack::start();
    let landing = page(&stack, "/");
    let call = landing.split("<pre><code>").nth(1).unwrap().split("</code>").next().unwrap();
    let client = Client::new(&stack);
    assert_eq!(client.run(Language::Curl, &text(call), &[]), "201");
    assert!(page(&stack, "/ada").contains("Read the notes"));
}

/// The things that the examples name, with the ids that they have here.
struct Named {
    page: String,
    webhook: String,
    source: String,
    push_secret: String,
}

impl Named {
    fn create(client: &Client<'_>, slug: &str) -> Self {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let page = text(
            &client.create("/pages", &json!({"title": "Ada", "slug": slug, "status": "published"}))["id"],
        );
        let hook = json!({"url": "https://hooks.example.com/biolink", "events": ["click"]});
        let webhook = text(&client.create("/webhooks", &hook)["id"]);
        let source = json!({"url": "https://shop.example.com/feed.xml", "push": {"enabled": true}});
        let source = client.create(&format!("/pages/{page}/product-sources"), &source);
        Self { page, webhook, push_secret: text(&source["push"]["secret"]), source: text(&source["id"]) }
    }

    /// Returns code with the ids of the examples replaced.
    fn put_into(&self, code: &str, slug: &str) -> String {
        let code = replace_id(code, "pg_", &self.page);
        let code = replace_id(&code, "whe_", &self.webhook);
        code.replace("\"ada\"", &format!("\"{slug}\""))
    }
}

/// Returns a text with every id of this kind replaced.
fn replace_id(text: &str, prefix: &str, id: &str) -> String {
    const DIGITS: usize = 17;
    let mut parts = text.split(prefix);
    let mut replaced = parts.next().unwrap().to_owned();
    for part in parts {
        let is_id = part.chars().take(DIGITS).filter(char::is_ascii_alphanumeric).count() == DIGITS;
        replaced.push_str(if is_id { id } else { prefix });
        replaced.push_str(if is_id { &part[DIGITS..] } else { part });
    }
    replaced
}

#[test]
fn guides_run_as_they_stand() {
    let stack = Stack::start();
    let mut count = 0;
    for language in Language::ALL {
        let client = Client::new(&stack);
        let slug = format!("ada-{}", language.class());
        let named = Named::create(&client, &slug);
        let variables = [("SOURCE", named.source.as_str()), ("PUSH_SECRET", named.push_secret.as_str())];
        for path in DocsPage::ALL.map(DocsPage::path) {
            for section in Section::of(&page(&stack, path), "guide") {
                // A page of this slug is there already.
                let code = section.code(language);
                for code in &code {
                    let code = named.put_into(code, &format!("{slug}-{count}"));
                    let output = client.run(language, &code, &variables);
                    // What verifies a signature is a function, and calls nothing.
                    let is_call = code.contains("http://");
                    assert!(output.starts_with('2') || !is_call, "{}: {output}", section.id);
                    count += 1;
                }
            }
        }
    }
    assert!(count >= 3 * 15, "{count}");
}

/// What importers such as Postman fill in for a tool is what the simulated tool describes, and is taken.
#[test]
fn body_example_of_each_tool_is_taken_by_the_simulated_tool() {
    let stack = Stack::start();
    let client = Client::new(&stack);
    let document: Value = serde_json::from_str(&page(&stack, "/openapi.json")).unwrap();
    let described: Value = serde_json::from_str(&page(&stack, "/tools/openapi.json")).unwrap();
    for tool in Tool::ALL {
        let post = &document["paths"][format!("/v1/{tool}/{{action}}")]["post"];
        let body = &post["requestBody"]["content"]["application/json"]["example"];
        let action = post["parameters"].as_array().unwrap().iter().find(|one| one["name"] == "action");
        let path = format!("/v1/{tool}/{}", action.unwrap()["example"].as_str().unwrap());
        let operation = &described["paths"][&path]["post"];
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let referred = schema["$ref"].as_str().and_then(|to| described.pointer(to.trim_start_matches('#')));
        let schema = referred.unwrap_or(schema);
        let members = schema["properties"].as_object().unwrap_or_else(|| panic!("{path}: {schema}"));
        assert!(
            body.as_object().is_some_and(|body| body.keys().all(|name| members.contains_key(name))),
            "{path}"
        );
        let response = Request::post(&path, body).key(&client.key).send(stack.edge.addr);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
    }
}

/// The sample for a page runs in node as it stands.
#[test]
fn sample_for_browsers_runs_in_node() {
    let stack = Stack::start();
    let page = page(&stack, "/docs/browsers");
    let guide = Section::of(&page, "guide").into_iter().find(|section| section.id == "browsers").unwrap();
    let sample = guide.html.split("<pre").nth(1).unwrap().split("</pre>").next().unwrap();
    let code = text(sample.split_once('>').unwrap().1);
    let code = code.trim_start_matches("<code>").trim_end_matches("</code>");
    let client = Client::new(&stack);
    let printed = client.run(Language::JavaScript, code, &[]);
    assert!(printed.starts_with("\"minute\";r="), "{printed}: {code}");
}

/// A server at which the key's day is used up, for hours.
fn used_up() -> Origin {
    let headers =
        ["Retry-After: 21112", "X-Gateway-Problem: quota-exceeded", "Content-Type: application/problem+json"];
    let body = r#"{"code":"quota-exceeded"}"#;
    Origin::start(OriginBehavior::Foreign(http_response("429 Too Many Requests", &headers, body)))
}

/// Returns the sample of a retry in the language of this class, against another server.
fn retry_sample(stack: &Stack, class: &str, server: &Origin) -> String {
    let html = page(stack, DocsPage::Retries.path());
    let guides = Section::of(&html, "guide");
    let guide = guides.iter().find(|section| section.id == "retries").unwrap();
    let code = guide.code_of(class).remove(0);
    let own = format!("http://{}", stack.edge.addr);
    assert!(code.contains(&own), "{code}");
    code.replace(&own, &server.url())
}

#[test]
fn retry_sample_does_not_wait_for_a_used_up_day() {
    let stack = Stack::shared();
    for language in Language::ALL {
        let server = used_up();
        let code = retry_sample(&stack, language.class(), &server);
        let folder = tempfile::tempdir().unwrap();
        // One that waits is ended, and has no output.
        let sample = language.command(&code, &folder);
        let mut bounded = Command::new("timeout");
        bounded.arg("120").arg(sample.get_program()).args(sample.get_args()).env("KEY", "utg_live_x");
        let ran = bounded.current_dir(folder.path()).output().unwrap();
        let output =
            [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.contains("429") && output.contains("quota-exceeded"), "{language:?}: {output}");
        assert_eq!(server.arrivals().len(), 1, "{language:?}");
    }
}

/// Every example in a language that needs no compiler is well-formed, those too that are not run here.
#[test]
fn every_example_has_valid_syntax() {
    let stack = Stack::shared();
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for path in DocsPage::ALL.map(DocsPage::path) {
        let html = page(&stack, path);
        for section in Section::of(&html, "op").iter().chain(&Section::of(&html, "guide")) {
            for language in Language::ALL {
                for code in section.code(language) {
                    let checked = language.syntax_check(&code, &folder).output().unwrap();
                    let errors = String::from_utf8_lossy(&checked.stderr);
                    assert!(checked.status.success(), "{} {language:?}: {errors}{code}", section.id);
                    count += 1;
                }
            }
        }
    }
    assert!(count >= 3 * 70, "{count}");
}
