//! The structure of the crates: what each depends on, and that none has a circle of imports.

use std::{collections::BTreeSet, fs, path::Path};

use tests::imports::{Module, circles, modules, reach, rooms};

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

#[test]
fn top_level_modules_of_a_crate_form_no_import_circle() {
    for (name, _) in CRATES {
        let rooms = rooms(&crate_modules(name));
        let circles = circles(&rooms);
        assert!(circles.is_empty(), "{name}: {circles:#?}");
    }
}

/// The parts of the limiter: what counts, lends and refuses calls.
const LIMITER: [&str; 4] = ["meter", "lease_cache", "quota", "counter"];

/// What the limiter must not know: what is called, where, and at what price.
const CALLED: [&str; 8] =
    ["tool", "catalog", "catalog_cache", "action", "prices", "route", "grant", "keys_api"];

#[test]
fn limiter_reaches_neither_tools_nor_routes() {
    let modules = crate_modules("shared");
    let top = |name: &str| name.split("::").next().unwrap().to_owned();
    for part in LIMITER {
        let own = modules.iter().filter(|module| module.top() == part);
        let reached: BTreeSet<_> = own.flat_map(|module| reach(&modules, &module.name)).map(top).collect();
        assert!(reached.contains("time"), "{part}: {reached:?}");
        assert!(CALLED.iter().all(|name| !reached.contains(*name)), "{part}: {reached:?}");
    }
    assert!(CALLED.iter().all(|name| modules.iter().any(|module| module.name == *name)));
}

/// `shared::json` finds a field by its place in the list of names, in which an alias would have its own place.
#[test]
fn types_of_states_and_messages_have_no_aliases() {
    let mut attributes = 0;
    let mut folders: Vec<_> =
        ["shared", "biolink", "edge-worker"].map(|name| Path::new(ROOT).join(name).join("src")).into();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                for attribute in text.split("#[serde(").skip(1).filter_map(|rest| rest.split(")]").next()) {
                    attributes += 1;
                    assert!(!attribute.contains("alias"), "{}: {attribute}", path.display());
                }
            }
        }
    }
    assert!(attributes > 300, "only {attributes} attributes found");
}

#[test]
fn gateway_of_the_edge_names_nothing_of_biolink() {
    let modules = crate_modules("edge-worker");
    let gateway: Vec<_> = modules.iter().filter(|module| module.top() == "gateway").collect();
    assert!(gateway.len() > 30, "only {} modules found", gateway.len());
    for Module { name, .. } in gateway {
        let text = read(&format!("edge-worker/src/{}.rs", name.replace("::", "/")));
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        // The folder and the crate have the same name.
        let named: Vec<_> = code.filter(|line| line.contains("biolink::")).collect();
        assert!(named.is_empty(), "{name}: {named:#?}");
    }
}

/// The crates of the product, and which of the others each may depend on.
const CRATES: [(&str, &[&str]); 11] = [
    ("shared", &[]),
    ("biolink", &["shared"]),
    ("portal", &["shared", "biolink"]),
    ("edge-worker", &["shared", "biolink", "portal"]),
    ("proxy/transport", &["shared"]),
    ("proxy/config", &["shared", "transport"]),
    ("proxy/upstreams", &["shared", "transport", "config"]),
    ("proxy/direct", &["shared", "transport", "config"]),
    ("proxy/phases", &["shared", "transport", "config", "upstreams", "direct"]),
    ("proxy", &["shared", "transport", "config", "upstreams", "direct", "phases"]),
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

/// Finds tests in targets with `test = false`, which spares the build a program: they would never run.
#[test]
fn targets_without_tests_hold_none() {
    let manifests =
        ["proxy", "loadtest", "portal", "tests", "tests/bench", "tests/bench/bare", "tests/bench/floor"];
    for folder in manifests {
        let manifest: toml::Table = read(&format!("{folder}/Cargo.toml")).parse().unwrap();
        let binaries = manifest.get("bin").and_then(toml::Value::as_array).into_iter().flatten();
        let library = manifest.get("lib").map(|lib| (lib, "src/lib.rs"));
        let targets = binaries.map(|bin| (bin, bin["path"].as_str().unwrap())).chain(library);
        let untested: Vec<_> =
            targets.filter(|(target, _)| target.get("test") == Some(&toml::Value::Boolean(false))).collect();
        assert!(!untested.is_empty(), "{folder}");
        for (_, path) in untested {
            let code = read(&format!("{folder}/{path}"));
            let tested = code.lines().find(|line| line.contains("test]") || line.contains("cfg(test)"));
            // A module of its own would be a file that nobody looks into.
            let module = code.lines().find(|line| line.starts_with("mod "));
            assert_eq!((tested, module), (None, None), "{folder}/{path}");
        }
    }
}
