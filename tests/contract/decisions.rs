//! Comments that name a decision, against `docs/decisions/`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use tests::process::root;

/// What a comment writes before the name of a page.
const PLACE: &str = "docs/decisions/";
/// Folders of sources.
const FOLDERS: [&str; 11] = [
    "biolink",
    "conf",
    "edge-worker",
    "loadtest",
    "packaging",
    "portal",
    "proxy",
    "scripts",
    "shared",
    "tests",
    "tools",
];
/// Endings of files with comments.
const ENDINGS: [&str; 9] = ["css", "js", "mjs", "py", "rs", "sh", "svelte", "toml", "ts"];

/// Returns the headings of each page of decisions, in order.
fn headings() -> BTreeMap<String, Vec<String>> {
    let pages = fs::read_dir(root().join(PLACE)).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let headings = text.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_owned);
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), headings.collect())
    };
    pages.map(read).collect()
}

/// Returns the sources below the folders. What is built, installed or generated is left out.
fn sources() -> Vec<PathBuf> {
    let mut folders: Vec<_> = FOLDERS.map(|name| root().join(name)).into_iter().collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy();
            if path.is_dir() && !matches!(&*name, "build" | "dist" | "generated" | "node_modules" | "target")
            {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the text of a file as one line, without the marks of comments.
fn one_line(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let marks = |c: char| c.is_whitespace() || matches!(c, '/' | '!' | '#' | '*');
    text.lines().map(|line| line.trim_matches(marks)).collect::<Vec<_>>().join(" ")
}

/// Returns what follows [`PLACE`] at each reference of the sources, with the file that has it.
fn references() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for path in sources() {
        let text = one_line(&path);
        let named = text.split(PLACE).skip(1);
        let named = named.filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
        found.extend(named.map(|rest| (path.clone(), rest.to_owned())));
    }
    found
}

/// Returns what is wrong with a reference, given what follows [`PLACE`] in the source.
fn fault(rest: &str, pages: &BTreeMap<String, Vec<String>>) -> Option<String> {
    let (page, rest) = rest.split_once(".md")?;
    let Some(headings) = pages.get(page) else { return Some(format!("no page `{page}.md`")) };
    let quoted = rest.strip_prefix(", \"")?;
    let is_named =
        |heading: &String| quoted.strip_prefix(heading.as_str()).is_some_and(|end| end.starts_with('"'));
    if headings.iter().any(is_named) {
        return None;
    }
    Some(format!("no heading of {page}.md: {:?}", quoted.split('"').next().unwrap_or_default()))
}

#[test]
fn reference_to_a_decision_names_a_heading() {
    let pages = headings();
    let references = references();
    let fault =
        |(path, rest): &(PathBuf, String)| Some(format!("{}: {}", path.display(), fault(rest, &pages)?));
    let faults: Vec<_> = references.iter().filter_map(fault).collect();
    assert!(references.len() > 20, "{} references", references.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A decision that no code names has lost its reader.
#[test]
fn decision_is_named_by_the_code_that_it_explains() {
    let references = references();
    let is_named = |page: &str, heading: &str| {
        let name = format!("{page}.md, \"{heading}\"");
        references.iter().any(|(_, rest)| rest.starts_with(&name))
    };
    for (page, headings) in headings() {
        let unread: Vec<_> = headings.iter().filter(|heading| !is_named(&page, heading)).collect();
        assert!(unread.is_empty(), "no code names these of {page}.md: {unread:?}");
    }
}

#[test]
fn heading_of_a_decision_is_short_and_unique() {
    for (page, headings) in headings() {
        for heading in &headings {
            assert!(heading.chars().count() <= 70, "{page}.md: more than 70 characters: {heading}");
        }
        let distinct: BTreeSet<_> = headings.iter().collect();
        assert_eq!(distinct.len(), headings.len(), "{page}.md has a heading twice");
    }
}
