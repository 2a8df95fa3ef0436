//! What ARCHITECTURE.md and the documentation of modules say of files.

use std::{fs, path::Path};

use tests::process::root;

/// More words than these nobody reads before the first change.
const MAX_WORDS: usize = 2_000;
const CRATES: [&str; 12] = [
    "shared",
    "biolink",
    "portal",
    "edge-worker",
    "proxy",
    "proxy/config",
    "proxy/direct",
    "proxy/phases",
    "proxy/transport",
    "proxy/upstreams",
    "loadtest",
    "tests",
];

fn page() -> String {
    fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap()
}

/// Returns what stands in back quotes, without blocks of code.
fn quoted(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn architecture_is_short_and_names_what_exists() {
    let page = page();
    let words = page.split_whitespace().count();
    assert!(words <= MAX_WORDS, "{words} words");
    let is_path = |text: &&str| text.contains('/') && !text.contains(' ');
    let paths: Vec<_> = quoted(&page).into_iter().filter(is_path).collect();
    assert!(paths.len() > 60, "{paths:?}");
    let missing: Vec<_> = paths.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// A recipe names files and, in parentheses behind them, what a reader finds there.
#[test]
fn recipe_names_what_its_files_have() {
    let page = page();
    let (_, recipes) = page.split_once("## Where to put a new …").unwrap();
    let (mut files, mut checked) = (Vec::new(), 0);
    let mut parts = recipes.split('`');
    let mut before = parts.next().unwrap();
    while let (Some(text), Some(after)) = (parts.next(), parts.next()) {
        if before.trim_end().ends_with('(') || before.trim() == "," && !text.contains('/') {
            for file in &files {
                let content = fs::read_to_string(root().join(file)).unwrap();
                assert!(content.contains(text), "{file} has no `{text}`");
                checked += 1;
            }
        } else if root().join(text).is_file() {
            // Files of one list share what follows it; any other word begins a new list.
            if !matches!(before.trim(), "," | "or" | "and") {
                files.clear();
            }
            files.push(text);
        }
        before = after;
    }
    assert!(checked > 20, "{checked}");
}

/// Calls `visit` with each source file below a folder that belongs to this crate.
fn visit_sources(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit_sources(&path, visit);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            visit(&path);
        }
    }
}

/// A path is relative to the repository, the crate's sources, or the module's folder.
#[test]
fn file_named_in_a_module_document_exists() {
    let (mut named, mut missing) = (0, Vec::new());
    for name in CRATES {
        let sources = root().join(name).join("src");
        visit_sources(&sources, &mut |path| {
            let text = fs::read_to_string(path).unwrap();
            let lines: Vec<_> = text.lines().take_while(|line| line.starts_with("//!")).collect();
            let document = lines.join("\n");
            for file in quoted(&document).into_iter().filter(|text| text.ends_with(".rs")) {
                named += 1;
                // Beside the proxy, `crate/file.rs` is in the sources of that crate.
                let beside = file.split_once('/').map(|(name, file)| format!("proxy/{name}/src/{file}"));
                let places = [
                    root().join(file),
                    sources.join(file),
                    path.with_file_name(file),
                    path.with_extension("").join(file),
                    root().join(beside.unwrap_or_default()),
                ];
                if !places.iter().any(|place| place.is_file()) {
                    missing.push(format!("{}: {file}", path.display()));
                }
            }
        });
    }
    assert!(named > 100, "{named}");
    assert!(missing.is_empty(), "{missing:#?}");
}
