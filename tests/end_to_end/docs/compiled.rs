//! The examples in Rust and Go. Those of a language are compiled into one program, which runs one of them
//! by its number.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use portal::docs_page::DocsPage;
use tests::{
    go::go,
    keys::ADMIN_SECRET,
    origin::Origin,
    process::{root, target},
    stack::Stack,
};

use super::{Client, Named, PNG, Section, is_of_gateway, page, retry_sample, used_up};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compiled {
    Rust,
    Go,
}

/// Packages of Go by the name that examples use.
const PACKAGES: [(&str, &str); 12] = [
    ("bytes", "bytes"),
    ("fmt", "fmt"),
    ("http", "net/http"),
    ("io", "io"),
    ("json", "encoding/json"),
    ("log", "log"),
    ("os", "os"),
    ("standardwebhooks", "github.com/standard-webhooks/standard-webhooks/libraries/go"),
    ("strconv", "strconv"),
    ("strings", "strings"),
    ("time", "time"),
    ("url", "net/url"),
];

/// An example, and how to run it: the key, further variables, and the statuses that it may get.
struct Example {
    name: String,
    code: String,
    run: Option<Run>,
}

struct Run {
    variables: Vec<(&'static str, String)>,
    statuses: Vec<String>,
}

impl Example {
    fn compiled_only(name: &str, code: String) -> Self {
        Self { name: name.to_owned(), code, run: None }
    }
}

impl Compiled {
    const fn class(self) -> &'static str {
        match self {
            Self::Rust => "rs",
            Self::Go => "go",
        }
    }

    /// Returns the folder of the program's source, made anew.
    fn folder(self) -> PathBuf {
        let folder = target().join("examples").join(self.class());
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// Compiles the examples and returns the program.
    fn compile(self, examples: &[Example]) -> PathBuf {
        let folder = self.folder();
        match self {
            Self::Rust => compile_rust(examples, &folder),
            Self::Go => compile_go(examples, &folder),
        }
    }
}

fn checked(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn compile_rust(examples: &[Example], folder: &Path) -> PathBuf {
    let mut source = "type Outcome = Result<(), Box<dyn std::error::Error>>;\n".to_owned();
    let mut arms = String::new();
    for (number, Example { name, code, .. }) in examples.iter().enumerate() {
        let received = if code.contains("&headers") { "body: Vec<u8>, headers: http::HeaderMap" } else { "" };
        let (head, end) = (format!("fn example_{number}({received}) -> Outcome"), "Ok(())");
        writeln!(source, "/// {name}\n{head} {{\n{code}\n{end}\n}}").unwrap();
        if received.is_empty() {
            writeln!(arms, "Some(\"{number}\") => example_{number}(),").unwrap();
        }
    }
    writeln!(source, "fn main() -> Outcome {{\nmatch std::env::args().nth(1).as_deref() {{\n{arms}_ => Err(\"no such example\".into()),\n}}\n}}").unwrap();
    let file = folder.join("examples.rs");
    fs::write(&file, source).unwrap();
    let manifest = root().join("tests/clients/examples/Cargo.toml");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked", "--quiet", "--manifest-path"]).arg(manifest);
    checked(&cargo.env("EXAMPLES", &file).env("CARGO_TARGET_DIR", target()).output().unwrap());
    target().join("debug/documented-examples")
}

fn compile_go(examples: &[Example], folder: &Path) -> PathBuf {
    let mut arms = String::new();
    for (number, Example { name, code, .. }) in examples.iter().enumerate() {
        let received =
            if code.contains("body, request.Header") { "body []byte, request *http.Request" } else { "" };
        // What declares a function stands beside others.
        let is_function = code.starts_with("func ");
        let head = format!("func example{number}({received})");
        let body = if is_function { code.clone() } else { format!("{head} {{\n{code}\n}}") };
        let used = PACKAGES.iter().filter(|(package, _)| uses(&body, package));
        let imports: Vec<_> = used.map(|(package, path)| format!("import {package} \"{path}\"")).collect();
        let source = format!("package main\n\n{}\n\n// {name}\n{body}\n", imports.join("\n"));
        fs::write(folder.join(format!("example{number}.go")), source).unwrap();
        if received.is_empty() && !is_function {
            writeln!(arms, "\tcase \"{number}\":\n\t\texample{number}()").unwrap();
        }
    }
    let main =
        format!("package main\n\nimport \"os\"\n\nfunc main() {{\n\tswitch os.Args[1] {{\n{arms}\t}}\n}}\n");
    fs::write(folder.join("main.go"), main).unwrap();
    let library = "github.com/standard-webhooks/standard-webhooks/libraries";
    let declared = root().join("tests/clients/examples/standardwebhooks");
    let module = format!(
        "module examples\n\ngo 1.22\n\nrequire {library} v0.0.1\n\nreplace {library} => {declared:?}\n"
    );
    fs::write(folder.join("go.mod"), module).unwrap();
    let program = folder.join("examples");
    let built = go().args(["build", "-o"]).arg(&program).current_dir(folder).output();
    checked(
        &built.unwrap_or_else(|error| panic!("Go does not start, scripts/python.sh installs it: {error}")),
    );
    program
}

/// Returns true if code in Go uses a package.
fn uses(code: &str, package: &str) -> bool {
    code.match_indices(&format!("{package}.")).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        before.is_none_or(|letter| !letter.is_alphanumeric() && !matches!(letter, '.' | '/' | '"'))
    })
}

/// Returns every example of the reference. Operations of the gateway and guides are run.
fn examples(stack: &Stack, language: Compiled) -> Vec<Example> {
    let mut examples = Vec::new();
    let slug = format!("ada-{}", language.class());
    let client = Client::new(stack);
    let named = Named::create(&client, &slug);
    for path in DocsPage::ALL.map(DocsPage::path) {
        let html = page(stack, path);
        for section in Section::of(&html, "op") {
            for code in section.code_of(language.class()) {
                examples.push(if is_of_gateway(&html) {
                    let own = Client::new(stack);
                    let code = own.put_into(&code);
                    let run = Run { variables: variables(&own, None), statuses: section.statuses() };
                    Example { name: section.id.clone(), code, run: Some(run) }
                } else {
                    Example::compiled_only(&section.id, code)
                });
            }
        }
        for section in Section::of(&html, "guide") {
            for code in section.code_of(language.class()) {
                // Go compiles against declarations of the library, and functions have nothing to print.
                let is_run = code.contains("http://")
                    && !code.starts_with("func ")
                    && (language == Compiled::Rust || !code.contains("standardwebhooks"));
                let code = named.put_into(&code, &format!("{slug}-{}", examples.len()));
                let run = Run { variables: variables(&client, Some(&named)), statuses: Vec::new() };
                examples.push(Example { name: section.id.clone(), code, run: is_run.then_some(run) });
            }
        }
    }
    examples
}

fn variables(client: &Client<'_>, named: Option<&Named>) -> Vec<(&'static str, String)> {
    let mut variables = vec![("KEY", client.key.clone()), ("ADMIN_SECRET", ADMIN_SECRET.to_owned())];
    if let Some(named) = named {
        variables.extend([("SOURCE", named.source.clone()), ("PUSH_SECRET", named.push_secret.clone())]);
    }
    variables
}

/// Returns the sample of a retry against a server at which the day is used up. A function of Go becomes a value that is
/// called.
fn retry(stack: &Stack, language: Compiled, server: &Origin) -> Example {
    let mut code = retry_sample(stack, language.class(), server);
    if language == Compiled::Go {
        code = code.replacen("func call(", "call := func(", 1);
        code.push_str("\nif _, err := call(\"/v1/keys/me\"); err != nil {\n\tlog.Fatal(err)\n}");
    }
    let variables = vec![("KEY", "utg_live_x".to_owned())];
    Example {
        name: "retries".to_owned(),
        code,
        run: Some(Run { variables, statuses: vec!["429".to_owned()] }),
    }
}

fn compile_and_run(language: Compiled) {
    let (stack, server) = (Stack::start(), used_up());
    let mut examples = examples(&stack, language);
    examples.push(retry(&stack, language, &server));
    let program = language.compile(&examples);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("photo.jpg"), PNG).unwrap();
    let mut count = 0;
    for (number, Example { name, code, run }) in examples.iter().enumerate() {
        let Some(Run { variables, statuses }) = run else { continue };
        // An example that waits for hours is ended.
        let mut command = Command::new("timeout");
        command
            .arg("120")
            .arg(&program)
            .arg(number.to_string())
            .current_dir(folder.path())
            .envs(variables.iter().cloned());
        let ran = command.output().unwrap();
        let (output, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{name}: {code}\n{output}{errors}");
        let status: String = output.chars().take(3).collect();
        let is_documented = statuses.contains(&status) || (statuses.is_empty() && status.starts_with('2'));
        assert!(is_documented, "{name}: {output}{errors}\n{code}");
        assert!(name != "retries" || statuses.is_empty() || output.contains("quota-exceeded"), "{output}");
        count += 1;
    }
    assert_eq!(server.arrivals().len(), 1);
    assert!(count >= 25 && examples.len() >= 70, "{count} of {}", examples.len());
}

#[test]
fn rust_examples_compile_and_run() {
    compile_and_run(Compiled::Rust);
}

#[test]
fn go_examples_compile_and_run() {
    compile_and_run(Compiled::Go);
}
