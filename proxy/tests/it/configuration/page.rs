//! `conf/README.md` lists exactly the keys of the reader, with their defaults.

use std::collections::BTreeSet;

use config::Config;

use super::{conf, parse, with};

/// A row of the page.
pub(super) struct Row {
    /// The path of the key.
    pub(super) path: String,
    /// The default, if the page gives a value.
    pub(super) default: Option<String>,
    pub(super) about: String,
}

/// Returns the rows of the page. Those of `[defaults]` also apply to each pool.
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
        let (Some(section), [key, default, about]) = (&section, cells.as_slice()) else { continue };
        let Some(key) = key.strip_prefix('`').and_then(|key| key.strip_suffix('`')) else { continue };
        // Other values follow the default.
        let default = default.strip_prefix('`').and_then(|values| values.split('`').next());
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

/// Returns the paths of all keys and of their sections.
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
fn page_lists_exactly_the_keys_of_the_reader() {
    let rows = rows();
    let listed = with_sections(rows.iter().map(|row| row.path.as_str()));
    let known = Config::keys();
    let missing: Vec<_> = known.difference(&listed).collect();
    let unknown: Vec<_> = listed.difference(&known).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}, unknown: {unknown:?}");
    assert!(rows.iter().all(|row| row.about.ends_with('.')), "every key is explained in sentences");
}

#[test]
fn explicit_default_changes_nothing() {
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
