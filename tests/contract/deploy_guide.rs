//! What of `docs/deploy.md` can be checked without an account: that its commands exist.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    thread,
};

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
    words.map(|words| words.map(|word| word.trim_matches('"').to_owned()).collect()).collect()
}

/// Returns what is wrong with a command, by the help of wrangler about it.
fn fault(words: &[String]) -> Option<String> {
    let (options, names): (Vec<_>, Vec<_>) = words.iter().partition(|word| word.starts_with("--"));
    let is_name = |word: &&String| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let names: Vec<_> = names.into_iter().take_while(is_name).collect();
    let mut program = Command::new("node");
    let ran = program
        .current_dir(ROOT)
        .arg("node_modules/wrangler/bin/wrangler.js")
        .args(&names)
        .arg("--help")
        .output();
    let help = String::from_utf8(ran.unwrap().stdout).unwrap();
    let known = help.starts_with(&format!("wrangler {}", names.first()?)) && !help.contains("\nCOMMANDS\n");
    let unknown = options.into_iter().find(|option| !help.contains(option.as_str()));
    match unknown {
        _ if !known => Some(format!("{words:?} is no command of wrangler: {help}")),
        Some(option) => Some(format!("{words:?}: wrangler does not know {option}")),
        None => None,
    }
}

#[test]
fn every_command_of_wrangler_exists_with_its_options() {
    let commands = wrangler_commands(&guide());
    assert!(commands.len() > 20, "{commands:?}");
    let commands: Vec<_> = commands.into_iter().collect();
    let halves: Vec<_> = commands.chunks(commands.len().div_ceil(2)).map(<[Vec<String>]>::to_vec).collect();
    let threads =
        halves.into_iter().map(|half| thread::spawn(move || half.iter().find_map(|words| fault(words))));
    let threads: Vec<_> = threads.collect();
    let faults: Vec<_> = threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
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
    assert_eq!(tables.len(), 6);
}

/// A name that differs would delete another queue, or nothing.
#[test]
fn names_are_those_of_wrangler_toml() {
    let guide = guide();
    let config: toml::Table =
        fs::read_to_string(Path::new(ROOT).join("wrangler.toml")).unwrap().parse().unwrap();
    let worker = format!("{}-production", config["name"].as_str().unwrap());
    let queue = config["env"]["production"]["queues"]["producers"][0]["queue"].as_str().unwrap();
    for command in [
        format!("npx wrangler queues create {queue} "),
        format!("npx wrangler queues create {queue}-dead "),
        format!("npx wrangler queues consumer remove {queue} {worker}\n"),
        format!("npx wrangler delete {worker}\n"),
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
