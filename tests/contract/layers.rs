//! The structure of the crates: the layers of `shared` that ARCHITECTURE.md lists, import circles,
//! and what the edge and the proxy depend on.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use tests::imports::{Module, circles, modules};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

fn crate_modules(name: &str) -> Vec<Module> {
    modules(&Path::new(ROOT).join(name).join("src")).unwrap()
}

/// Returns the layers of `shared` as ARCHITECTURE.md lists them: each top-level module with the
/// number of its layer.
fn layers() -> BTreeMap<String, usize> {
    let text = read("ARCHITECTURE.md");
    let (_, section) = text.split_once("**`shared/`** decides.").unwrap();
    let (_, list) = section.split_once("list:\n").unwrap();
    let (list, _) = list.split_once(".\n").unwrap();
    let named = list.split('→').enumerate().flat_map(|(layer, names)| {
        let names = names.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        names.filter(|name| !name.is_empty()).map(move |name| (name.to_owned(), layer))
    });
    named.collect()
}

#[test]
fn module_of_shared_imports_lower_layers_only() {
    let (layers, modules) = (layers(), crate_modules("shared"));
    let names: BTreeSet<_> = modules.iter().map(Module::top).filter(|name| !name.is_empty()).collect();
    let listed: BTreeSet<_> = layers.keys().map(String::as_str).collect();
    assert_eq!(names, listed, "modules of shared, and the layers that ARCHITECTURE.md lists");
    let mut upward = Vec::new();
    for module in modules.iter().filter(|module| !module.top().is_empty()) {
        for import in module.imports.iter().map(|import| import.split("::").next().unwrap_or_default()) {
            if import != module.top() && layers.get(import) >= layers.get(module.top()) {
                upward.push(format!("{} imports {import}", module.name));
            }
        }
    }
    assert!(upward.is_empty(), "imports against the layers of ARCHITECTURE.md: {upward:#?}");
}

#[test]
fn modules_of_a_crate_form_no_import_circle() {
    for name in ["shared", "edge-worker", "proxy", "proxy/transport", "loadtest"] {
        let modules = crate_modules(name);
        assert!(modules.len() > 10, "{name}: only {} modules found", modules.len());
        let circles = circles(&modules);
        assert!(circles.is_empty(), "{name}: {circles:#?}");
    }
}

#[test]
fn crates_depend_on_lower_layers_only() {
    let forbidden = [
        ("edge-worker", "proxy"),
        ("edge-worker", "transport"),
        ("proxy", "edge-worker"),
        ("proxy/transport", "proxy"),
        ("proxy/transport", "edge-worker"),
        ("shared", "proxy"),
        ("shared", "transport"),
    ];
    for (name, other) in forbidden {
        let manifest = read(&format!("{name}/Cargo.toml"));
        let dependencies: Vec<_> =
            manifest.lines().filter_map(|line| line.split(['=', '.', ' ']).next()).collect();
        assert!(!dependencies.contains(&other), "{name} depends on {other}");
        assert!(manifest.contains(if name == "shared" { "serde" } else { "shared" }));
    }
}
