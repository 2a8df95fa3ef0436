//! The documents: each link between them leads to a file, and to a heading of it, and together they are not too long.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tests::process::root;

/// The most words of all documents, blocks of code and tables included (`wc -w`). What is new replaces what is said twice.
const MAX_WORDS: usize = 75_000;

/// Returns the documents that belong to the repository.
fn documents() -> Vec<PathBuf> {
    let ran = Command::new("git").current_dir(root()).args(["ls-files", "*.md"]).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    text.lines().map(|name| root().join(name)).filter(|path| path.exists()).collect()
}

/// Returns the text without blocks of code.
fn prose(text: &str) -> String {
    let mut in_block = false;
    let is_prose = |line: &&str| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence
    };
    text.lines().filter(is_prose).collect::<Vec<_>>().join("\n")
}

/// Returns the anchors that GitHub gives the headings of a document.
fn anchors(path: &Path) -> BTreeSet<String> {
    let text = prose(&fs::read_to_string(path).unwrap());
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let kept = heading.trim_start_matches('#').trim().chars();
        let kept = kept.filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    headings.map(anchor).collect()
}

/// Returns what is wrong with a link of a document.
fn fault(document: &Path, link: &str) -> Option<String> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => document.to_owned(),
        file => document.parent()?.join(file),
    };
    if !target.exists() {
        return Some(format!("{}: no file {link}", document.display()));
    }
    let is_page = target.extension().is_some_and(|extension| extension == "md");
    let is_lost = is_page && !anchor.is_empty() && !anchors(&target).contains(anchor);
    is_lost.then(|| format!("{}: no heading {link}", document.display()))
}

#[test]
fn link_between_documents_leads_to_a_heading() {
    let (mut links, mut faults) = (0, Vec::new());
    for document in documents() {
        let text = prose(&fs::read_to_string(&document).unwrap());
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        for link in targets.filter(|target| !target.contains(':') && !target.starts_with('/')) {
            links += 1;
            faults.extend(fault(&document, link));
        }
    }
    assert!(links > 200, "{links} links");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The documents had 111,000 words once, of which many stood in two or three places. Those below `tests` are not for readers.
#[test]
fn documents_have_no_more_words_than_people_read() {
    let pages = documents().into_iter().filter(|path| !path.starts_with(root().join("tests")));
    let words: usize = pages.map(|path| fs::read_to_string(path).unwrap().split_whitespace().count()).sum();
    assert!((50_000..=MAX_WORDS).contains(&words), "{words} words");
}

/// What an alert, a comment or a setting says of a page is a path without a link.
#[test]
fn document_named_outside_the_documents_exists() {
    let args =
        ["grep", "-Ihoe", r"docs/[a-z/-]*\.md\(#[a-z0-9-]*\)\?", "--", ".", ":!*.md", ":!portal/src/docs"];
    let ran = Command::new("git").current_dir(root()).args(args).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let named: BTreeSet<_> = text.lines().collect();
    assert!(named.len() > 20, "{named:?}");
    let faults: Vec<_> =
        named.into_iter().filter_map(|name| fault(&root().join("README.md"), name)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
