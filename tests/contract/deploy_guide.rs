//! What of `docs/deploy.md` can be checked without an account: that its commands exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use tests::process::node;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn guide() -> String {
    fs::read_to_string(Path::new(ROOT).join("docs/deploy.md")).unwrap()
}

/// Returns the blocks of a language.
fn blocks(guide: &str, language: &str) -> Vec<String> {
    let fences = guide.split("```").skip(1).step_by(2);
    fences.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).map(str::to_owned).collect()
}

/// Returns the arguments of each `npx wrangler` in the guide, in blocks and in the text.
fn wrangler_commands(guide: &str) -> BTreeSet<Vec<String>> {
    let commands = guide.split("npx wrangler ").skip(1);
    let ends = |c: char| matches!(c, '\n' | '`' | '#' | '&');
    let words = commands.map(|rest| rest.split(ends).next().unwrap_or_default().split_whitespace());
    let words = words.map(|words| words.map(|word| word.trim_matches('"').to_owned()).collect::<Vec<_>>());
    words.filter(|words| !words.is_empty()).collect()
}

/// Prints the options of each command of wrangler as JSON. Its help would take a start for each of them.
const OPTIONS: &str = r#"
const { registry, globalFlags } = require("wrangler").experimental_getWranglerCommands();
const options = {};
function add(names, { definition, subtree }) {
  if (definition?.type === "command") options[names.join(" ")] = Object.keys({ ...globalFlags, ...definition.args });
  for (const [name, node] of subtree) add([...names, name], node);
}
add([], registry);
console.log(JSON.stringify(options));"#;

/// Returns the options of each command of wrangler.
fn options() -> BTreeMap<String, Vec<String>> {
    let ran = Command::new(node()).current_dir(ROOT).args(["-e", OPTIONS]).output().unwrap();
    serde_json::from_slice(&ran.stdout).unwrap()
}

/// Returns what is wrong with a command.
fn fault(words: &[String], options: &BTreeMap<String, Vec<String>>) -> Option<String> {
    let mut names = (1..=words.len()).rev().filter_map(|count| Some(words.get(..count)?.join(" ")));
    let Some(known) = names.find_map(|names| options.get(&names)) else {
        return Some(format!("{words:?} is no command of wrangler"));
    };
    let mut given = words.iter().filter_map(|word| word.strip_prefix("--"));
    let unknown = given.find(|option| !known.iter().any(|name| name == option))?;
    Some(format!("{words:?}: wrangler does not know --{unknown}"))
}

#[test]
fn every_command_of_wrangler_exists_with_its_options() {
    let commands = wrangler_commands(&guide());
    assert!(commands.len() > 20, "{commands:?}");
    let options = options();
    let faults: Vec<_> = commands.iter().filter_map(|words| fault(words, &options)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_block_is_of_its_language() {
    let guide = guide();
    for block in blocks(&guide, "sh") {
        let mut shell = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
        shell.stdin.take().unwrap().write_all(block.as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success(), "{block}");
    }
    let tables: Vec<_> =
        blocks(&guide, "toml").iter().map(|block| block.parse::<toml::Table>().unwrap()).collect();
    assert_eq!(tables.len(), 5);
}

/// The very first deployment leaves the lines out that name the other worker, which does not exist yet.
#[test]
fn first_deployment_names_no_worker_of_pages() {
    let guide = guide();
    let command = guide.lines().find(|line| line.starts_with("grep ")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::copy(Path::new(ROOT).join("wrangler.toml"), folder.path().join("wrangler.toml")).unwrap();
    let ran = Command::new("bash").args(["-ec", command]).current_dir(folder.path()).status().unwrap();
    assert!(ran.success(), "{command}");
    let [whole, first]: [toml::Table; 2] = ["wrangler.toml", "wrangler.first.toml"]
        .map(|file| fs::read_to_string(folder.path().join(file)).unwrap().parse().unwrap());
    let production = &first["env"]["production"];
    for section in [&toml::Value::from(first.clone()), production, &first["env"]["staging"]] {
        assert!(section.get("services").is_none());
        let objects = section["durable_objects"]["bindings"].as_array().unwrap();
        assert_eq!(objects.len(), 3, "{objects:?}");
        assert!(objects.iter().all(|object| object.get("script_name").is_none()), "{objects:?}");
    }
    assert_eq!((&first["migrations"], &first["main"]), (&whole["migrations"], &whole["main"]));
    let then = guide.split(command).nth(1).unwrap().trim_start();
    assert!(
        then.starts_with("npx wrangler deploy --config wrangler.first.toml --env production\n"),
        "{then}"
    );
}

/// A name that differs would delete another queue, or nothing.
#[test]
fn names_are_those_of_the_files() {
    let guide = guide();
    let [config, pages]: [toml::Table; 2] = ["wrangler.toml", "wrangler.pages.toml"]
        .map(|file| fs::read_to_string(Path::new(ROOT).join(file)).unwrap().parse().unwrap());
    let worker = format!("{}-production", config["name"].as_str().unwrap());
    let pages_worker = pages["env"]["production"]["name"].as_str().unwrap();
    let queue = pages["env"]["production"]["queues"]["producers"][0]["queue"].as_str().unwrap();
    for command in [
        format!("npx wrangler queues create {queue} "),
        format!("npx wrangler queues create {queue}-dead "),
        // That of one Worker, and the end.
        format!("npx wrangler queues consumer remove {queue} {worker}\n"),
        format!("npx wrangler queues consumer remove {queue} {pages_worker}\n"),
        format!("npx wrangler delete {worker}\nnpx wrangler delete {pages_worker}\n"),
        format!("npx wrangler queues delete {queue}\n"),
        format!("npx wrangler queues delete {queue}-dead\n"),
    ] {
        assert!(guide.contains(&command), "{command}");
    }
    for script in guide.split("scripts/").skip(1) {
        let name =
            script.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))).next().unwrap();
        assert!(Path::new(ROOT).join("scripts").join(name).exists(), "scripts/{name}");
    }
}
