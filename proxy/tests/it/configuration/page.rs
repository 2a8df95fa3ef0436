//! `conf/README.md` lists every key that the reader knows, and no other, with the default that it really has.

use std::collections::BTreeSet;

use proxy::config::Config;

use super::{conf, parse, with};

/// One row of the page.
pub(super) struct Row {
    /// The key's whole path.
    pub(super) path: String,
    /// The default, when the page gives a value.
    pub(super) default: Option<String>,
    pub(super) about: String,
}

/// The page's rows; those of `[defaults]` for each pool as well, as the page says.
pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut section = None;
    for line in conf("README.md").lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = match heading.strip_prefix("`[").and_then(|heading| heading.strip_suffix("]`")) {
                Some(name) => Some(format!("{name}.")),
                None => (heading == "The file itself").then(String::new),
            };
        }
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (Some(section), [key, _unit, default, about]) = (&section, cells.as_slice()) else { continue };
        let Some(key) = key.strip_prefix('`').and_then(|key| key.strip_suffix('`')) else { continue };
        let default = default.strip_prefix('`').and_then(|default| default.strip_suffix('`'));
        for section in [section.clone(), section.replace("defaults.", "pools.{tool}.")] {
            let (default, about) = (default.map(str::to_owned), (*about).to_owned());
            rows.push(Row { path: format!("{section}{key}"), default, about });
            if section == *section.replace("defaults.", "") {
                break;
            }
        }
    }
    rows
}

/// The paths, and the sections that they are in.
pub(super) fn with_sections<'a>(paths: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for path in paths {
        all.insert(path.to_owned());
        let mut rest = path;
        while let Some((section, _key)) = rest.rsplit_once('.') {
            all.insert(section.trim_end_matches("[]").to_owned());
            rest = section;
        }
    }
    all
}

#[test]
fn the_page_lists_the_keys_that_the_reader_knows_and_no_other() {
    let rows = rows();
    let listed = with_sections(rows.iter().map(|row| row.path.as_str()));
    let known = Config::keys();
    let missing: Vec<_> = known.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&known).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}, unknown: {unknown:?}");
    assert!(rows.iter().all(|row| row.about.ends_with('.')), "every key is explained in sentences");
}

#[test]
fn a_default_that_is_written_out_changes_nothing() {
    let left_out = format!("{:?}", parse(&with("")).unwrap_or_else(|faults| panic!("{faults}")));
    let mut compared = 0;
    for row in rows() {
        let Some(default) = &row.default else { continue };
        let path = row.path.replace("{tool}", "qr");
        if path.contains('[') {
            continue;
        }
        let texts = [format!("{path} = \"{default}\""), format!("{path} = {default}")];
        let written = texts.iter().find_map(|text| parse(&with(text)).ok());
        let written = written.unwrap_or_else(|| panic!("{path} does not take its default {default}"));
        assert_eq!(format!("{written:?}"), left_out, "{path} is not {default} by default");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}
