//! The structure of the crates: what each depends on, and that none has a circle of imports.

use std::{collections::BTreeSet, fs, path::Path};

use tests::imports::{Module, circles, modules};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

fn crate_modules(name: &str) -> Vec<Module> {
    modules(&Path::new(ROOT).join(name).join("src")).unwrap()
}

#[test]
fn modules_of_a_crate_form_no_import_circle() {
    for (name, _) in CRATES {
        let modules = crate_modules(name);
        assert!(modules.len() > 10, "{name}: only {} modules found", modules.len());
        let circles = circles(&modules);
        assert!(circles.is_empty(), "{name}: {circles:#?}");
    }
}

/// The crates of the product, and which of the others each may depend on.
const CRATES: [(&str, &[&str]); 7] = [
    ("shared", &[]),
    ("biolink", &["shared"]),
    ("portal", &["shared", "biolink"]),
    ("edge-worker", &["shared", "biolink", "portal"]),
    ("proxy/transport", &["shared"]),
    ("proxy", &["shared", "transport"]),
    ("loadtest", &["shared"]),
];

#[test]
fn crates_depend_on_lower_floors_only() {
    let names: BTreeSet<_> = CRATES.iter().map(|(path, _)| path.rsplit('/').next().unwrap()).collect();
    for (path, allowed) in CRATES {
        let manifest: toml::Table = read(&format!("{path}/Cargo.toml")).parse().unwrap();
        let dependencies = manifest["dependencies"].as_table().unwrap().keys().map(String::as_str);
        let own: BTreeSet<_> = dependencies.filter(|name| names.contains(name)).collect();
        assert_eq!(own, allowed.iter().copied().collect(), "{path}");
    }
}
