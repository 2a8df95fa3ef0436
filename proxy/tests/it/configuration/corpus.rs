//! Every file of the corpus gets exactly the messages that stand below it.

use std::{fmt::Write as _, fs, path::Path};

use proxy::check;
use shared::tool::Tool;
use transport::clock;

use super::{CORPUS, parse};

struct Case {
    title: String,
    file: String,
    messages: String,
}

/// Returns the cases of the files with this extension.
fn cases(of: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == of));
    files.sort();
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    texts.flat_map(|text| text.split("=== ").skip(1).map(case).collect::<Vec<_>>()).collect()
}

fn case(text: &str) -> Case {
    let (title, rest) = text.split_once('\n').unwrap();
    let (file, messages) = rest.split_once("---\n").unwrap();
    Case { title: title.to_owned(), file: file.to_owned(), messages: messages.trim_end().to_owned() }
}

/// Returns the file of a case, with the keys that it omits.
fn complete(case: &Case) -> String {
    let mut file = case.file.clone();
    if case.title.ends_with("(alone)") {
        return file;
    }
    if !file.contains("[grants]") {
        file.push_str("[grants]\nsecret = \"${SECRET}\"\n");
    }
    for tool in Tool::ALL.into_iter().filter(|tool| !case.file.contains(&format!("[pools.{tool}]"))) {
        write!(file, "[pools.{tool}]\nupstreams = [\"127.0.0.1:9100\"]\n").unwrap();
    }
    file
}

#[test]
fn bad_file_gets_exactly_the_expected_errors() {
    let cases = cases("txt");
    assert!(cases.len() >= 60, "{} cases", cases.len());
    let mut wrong = String::new();
    for case in &cases {
        let checked = parse(&complete(case)).and_then(|config| config.check_parts("proxy.toml"));
        let Err(faults) = checked else { panic!("{}: is taken", case.title) };
        let said = faults.to_string().replace("proxy.toml:", "").replace(CORPUS, "${CORPUS}");
        let said: Vec<_> = said.lines().map(str::trim).collect();
        let (count, messages) = said.split_last().unwrap();
        assert!(count.starts_with(&format!("{} fault", messages.len())), "{}: {count}", case.title);
        if messages.join("\n") != case.messages {
            writeln!(wrong, "=== {}\n{}---\n{}", case.title, case.file, messages.join("\n")).unwrap();
        }
    }
    assert!(wrong.is_empty(), "these messages were given, and others are expected:\n{wrong}");
}

/// What depends on the machine is left out: open files, and the name of a server.
#[test]
fn odd_file_gets_exactly_the_expected_warnings() {
    let mut wrong = String::new();
    for case in &cases("odd") {
        let config = parse(&complete(case)).unwrap_or_else(|faults| panic!("{}: {faults}", case.title));
        let found = check::findings(&config, Path::new("/tmp/proxy.toml"), clock::now());
        let of_file =
            found.iter().filter(|found| !["clients.connections", "server.grace"].contains(&&*found.key));
        let said: Vec<_> = of_file.map(ToString::to_string).collect();
        if said.join("\n") != case.messages {
            writeln!(wrong, "=== {}\n{}---\n{}", case.title, case.file, said.join("\n")).unwrap();
        }
    }
    assert!(wrong.is_empty(), "these warnings were given, and others are expected:\n{wrong}");
}

#[test]
fn error_never_contains_a_secret() {
    for case in cases("txt") {
        for secret in [super::SECRET, "hush-hush", "12345678901234567"] {
            let checked = parse(&complete(&case)).and_then(|config| config.check_parts("proxy.toml"));
            let said = checked.err().map(|faults| faults.to_string());
            assert!(!said.is_some_and(|said| said.contains(secret)), "{}", case.title);
        }
    }
}
