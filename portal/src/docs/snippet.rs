//! Calls as code, in the languages that readers choose from.

use maud::{Markup, html};
use serde_json::Value;

use super::highlight;
use super::language::Language;
use super::model::{Authentication, Operation, Payload};
use crate::openapi::SERVER;

/// Returns the choice of a language for the whole page. It works without a script: the stylesheet
/// shows what is chosen.
pub(super) fn language_choice() -> Markup {
    html! {
        fieldset.languages {
            legend { "Examples in" }
            @for language in Language::ALL {
                label {
                    input type="radio" name="language" id=(format!("in-{}", language.class())) checked[language == Language::Curl];
                    (language.name())
                }
            }
        }
    }
}

/// The same code in every language.
#[derive(Clone, Debug)]
pub(super) struct Snippet(pub(super) [(Language, String); 5]);

impl Snippet {
    /// Returns the snippet of files in the order of [`Language::ALL`].
    pub(super) fn of(texts: [&str; 5]) -> Self {
        let mut texts = texts.into_iter();
        Self(Language::ALL.map(|language| (language, texts.next().unwrap_or_default().trim_end().to_owned())))
    }

    /// Returns the markup. The stylesheet shows the language that is chosen.
    pub(super) fn markup(&self) -> Markup {
        html! {
            @for (language, text) in &self.0 {
                pre class=(format!("in {}", language.class())) { (highlight::code(text, *language)) }
            }
        }
    }
}

/// The file that the examples send.
const FILE: &str = "photo.jpg";

/// A request as the examples send it.
pub(super) struct Call<'a> {
    pub(super) method: &'static str,
    /// The path and the query.
    pub(super) target: String,
    pub(super) authentication: Authentication,
    pub(super) body: Option<Payload<'a>>,
}

impl<'a> Call<'a> {
    /// Returns the example of an operation: required parameters, and those in the query that have an
    /// example.
    pub(super) fn of(operation: &Operation<'a>) -> Self {
        let mut target = operation.path.clone();
        for parameter in &operation.parameters {
            let Some(example) = &parameter.example else { continue };
            match parameter.place {
                "path" => target = target.replace(&format!("{{{}}}", parameter.name), example),
                "query" => {
                    target.push(if target.contains('?') { '&' } else { '?' });
                    // The parameters of a tool have no common name.
                    if !parameter.is_object {
                        target.push_str(&format!("{}=", parameter.name));
                    }
                    target.push_str(example);
                }
                _ => {}
            }
        }
        Self {
            method: operation.method,
            target,
            authentication: operation.authentication,
            body: operation.body.as_ref().and_then(|body| body.payload),
        }
    }

    /// Returns the code of the call in every language.
    pub(super) fn snippet(&self) -> Snippet {
        Snippet(Language::ALL.map(|language| (language, self.code(language))))
    }

    fn code(&self, language: Language) -> String {
        match language {
            Language::Curl => self.curl(),
            Language::JavaScript => self.javascript(),
            Language::Python => self.python(),
            Language::Rust => self.rust(),
            Language::Go => self.go(),
        }
    }

    fn url(&self) -> String {
        format!("{SERVER}{}", self.target)
    }

    fn json(&self) -> Option<String> {
        match self.body {
            Some(Payload::Json(value)) => Some(json(value)),
            Some(Payload::File) | None => None,
        }
    }

    const fn is_file(&self) -> bool {
        matches!(self.body, Some(Payload::File))
    }

    /// Returns the media type of the body.
    const fn media_type(&self) -> Option<&'static str> {
        match self.body {
            Some(Payload::Json(_)) => Some("application/json"),
            Some(Payload::File) => Some("application/octet-stream"),
            None => None,
        }
    }

    fn curl(&self) -> String {
        let url = self.url();
        // A shell expands `&` and `?`.
        let url = if url.contains('?') { format!("'{url}'") } else { url };
        let method = if self.method == "GET" { String::new() } else { format!(" -X {}", self.method) };
        let mut code = format!("curl -sS{method} {url}");
        match self.authentication {
            Authentication::None => {}
            Authentication::ApiKey => code.push_str(" \\\n  -H \"X-API-Key: $KEY\""),
            Authentication::AdminSecret => code.push_str(" \\\n  -H \"Authorization: Bearer $ADMIN_SECRET\""),
        }
        if let Some(media_type) = self.media_type() {
            let data = match self.json() {
                Some(json) => format!("-d '{}'", json.replace('\'', "'\\''")),
                None => format!("--data-binary @{FILE}"),
            };
            code.push_str(&format!(" \\\n  -H 'Content-Type: {media_type}' \\\n  {data}"));
        }
        code
    }

    fn javascript(&self) -> String {
        let mut headers = Vec::new();
        match self.authentication {
            Authentication::None => {}
            Authentication::ApiKey => headers.push("\"X-API-Key\": process.env.KEY".to_owned()),
            Authentication::AdminSecret => {
                headers.push("Authorization: `Bearer ${process.env.ADMIN_SECRET}`".to_owned());
            }
        }
        let mut options = Vec::new();
        if self.method != "GET" {
            options.push(format!("  method: \"{}\",\n", self.method));
        }
        if let Some(media_type) = self.media_type() {
            headers.push(format!("\"Content-Type\": \"{media_type}\""));
        }
        if !headers.is_empty() {
            options.push(format!("  headers: {{ {} }},\n", headers.join(", ")));
        }
        if self.is_file() {
            options.push(format!("  body: await readFile(\"{FILE}\"),\n"));
        }
        if let Some(json) = self.json() {
            options.push(format!("  body: JSON.stringify({}),\n", json.replace('\n', "\n  ")));
        }
        let options =
            if options.is_empty() { String::new() } else { format!(", {{\n{}}}", options.concat()) };
        let import = if self.is_file() { "import { readFile } from \"node:fs/promises\";\n\n" } else { "" };
        format!(
            "{import}const response = await fetch(\"{}\"{options});\nconsole.log(response.status, await response.text());",
            self.url()
        )
    }

    fn python(&self) -> String {
        let mut headers = Vec::new();
        match self.authentication {
            Authentication::None => {}
            Authentication::ApiKey => headers.push("\"X-API-Key\": os.environ[\"KEY\"]".to_owned()),
            Authentication::AdminSecret => {
                headers.push("\"Authorization\": f\"Bearer {os.environ['ADMIN_SECRET']}\"".to_owned());
            }
        }
        let needs_os = !headers.is_empty();
        if let Some(media_type) = self.media_type() {
            headers.push(format!("\"Content-Type\": \"{media_type}\""));
        }
        let mut code = if needs_os { "import os\n".to_owned() } else { String::new() };
        code.push_str(&format!(
            "import urllib.request\n\nrequest = urllib.request.Request(\n    \"{}\",\n",
            self.url()
        ));
        if self.method != "GET" {
            code.push_str(&format!("    method=\"{}\",\n", self.method));
        }
        if !headers.is_empty() {
            code.push_str(&format!("    headers={{{}}},\n", headers.join(", ")));
        }
        if self.is_file() {
            code.push_str(&format!("    data=open(\"{FILE}\", \"rb\").read(),\n"));
        }
        if let Some(json) = self.json() {
            code.push_str(&format!("    data=r'''{json}'''.encode(),\n"));
        }
        code.push_str(
            ")\nwith urllib.request.urlopen(request) as response:\n    print(response.status, response.read())",
        );
        code
    }

    fn rust(&self) -> String {
        let mut code =
            format!("let mut response = ureq::{}(\"{}\")\n", self.method.to_lowercase(), self.url());
        match self.authentication {
            Authentication::None => {}
            Authentication::ApiKey => code.push_str("    .header(\"X-API-Key\", std::env::var(\"KEY\")?)\n"),
            Authentication::AdminSecret => code.push_str(
                "    .header(\"Authorization\", format!(\"Bearer {}\", std::env::var(\"ADMIN_SECRET\")?))\n",
            ),
        }
        match self.json() {
            Some(json) => {
                // A color such as "#fff" would end the text.
                let hashes = if json.contains("\"#") { "##" } else { "#" };
                code.push_str(&format!(
                    "    .header(\"Content-Type\", \"application/json\")\n    .send(r{hashes}\"{json}\"{hashes})?;\n"
                ));
            }
            None if self.is_file() => code.push_str(&format!(
                "    .header(\"Content-Type\", \"application/octet-stream\")\n    .send(std::fs::File::open(\"{FILE}\")?)?;\n"
            )),
            None if matches!(self.method, "POST" | "PUT" | "PATCH") => code.push_str("    .send_empty()?;\n"),
            None => code.push_str("    .call()?;\n"),
        }
        code.push_str("println!(\"{} {}\", response.status(), response.body_mut().read_to_string()?);");
        code
    }

    fn go(&self) -> String {
        let mut code = String::new();
        let body = match self.json() {
            Some(json) => format!("strings.NewReader(`{json}`)"),
            None if self.is_file() => {
                code.push_str(&format!(
                    "photo, err := os.ReadFile(\"{FILE}\")\nif err != nil {{\n\tlog.Fatal(err)\n}}\n"
                ));
                "bytes.NewReader(photo)".to_owned()
            }
            None => "nil".to_owned(),
        };
        code +=
            &format!("request, err := http.NewRequest(\"{}\", \"{}\", {body})\n", self.method, self.url());
        code.push_str("if err != nil {\n\tlog.Fatal(err)\n}\n");
        match self.authentication {
            Authentication::None => {}
            Authentication::ApiKey => {
                code.push_str("request.Header.Set(\"X-API-Key\", os.Getenv(\"KEY\"))\n")
            }
            Authentication::AdminSecret => {
                code.push_str(
                    "request.Header.Set(\"Authorization\", \"Bearer \"+os.Getenv(\"ADMIN_SECRET\"))\n",
                );
            }
        }
        if let Some(media_type) = self.media_type() {
            code.push_str(&format!("request.Header.Set(\"Content-Type\", \"{media_type}\")\n"));
        }
        code.push_str("response, err := http.DefaultClient.Do(request)\nif err != nil {\n\tlog.Fatal(err)\n}\ndefer response.Body.Close()\nbody, err := io.ReadAll(response.Body)\nfmt.Println(response.Status, string(body), err)");
        code
    }
}

/// Returns JSON as people write it: on one line if it is short.
pub(super) fn json(value: &Value) -> String {
    const SHORT: usize = 72;
    let short = value.to_string();
    // Plain maps and strings always serialize.
    if short.len() <= SHORT { short } else { serde_json::to_string_pretty(value).unwrap_or(short) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(body: Option<&Value>) -> Call<'_> {
        Call {
            method: "POST",
            target: "/pages?dry_run=true".to_owned(),
            authentication: Authentication::ApiKey,
            body: body.map(Payload::Json),
        }
    }

    #[test]
    fn body_cannot_end_its_quotes() {
        let body = json!({ "title": "Ada's", "color": "#fff" });
        let call = call(Some(&body));
        assert!(call.curl().contains(r#""title":"Ada'\''s""#), "{}", call.curl());
        assert!(call.rust().contains(r###"r##"{"color":"#fff""###), "{}", call.rust());
    }

    #[test]
    fn every_language_names_method_address_and_key() {
        let body = json!({});
        for (language, code) in call(Some(&body)).snippet().0 {
            let method = if language == Language::Rust { "ureq::post" } else { "POST" };
            for part in
                [method, "https://server.invalid/pages?dry_run=true", "X-API-Key", "KEY", "application/json"]
            {
                assert!(code.contains(part), "{language:?}: {part} in {code}");
            }
        }
    }

    #[test]
    fn every_language_sends_a_file_as_it_is() {
        let call = Call { body: Some(Payload::File), ..call(None) };
        for (language, code) in call.snippet().0 {
            for part in ["application/octet-stream", FILE] {
                assert!(code.contains(part), "{language:?}: {part} in {code}");
            }
            assert!(!code.contains("the bytes of"), "{language:?}: {code}");
        }
    }

    #[test]
    fn call_without_a_body_sends_none() {
        for (language, code) in call(None).snippet().0 {
            assert!(!code.contains("application/json"), "{language:?}: {code}");
        }
        assert!(call(None).rust().contains(".send_empty()"));
    }
}
