//! What `make dist` makes, from the programs of this build.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use serde_json::Value;
use tempfile::TempDir;
use tests::process::{binary, root};

/// A release of this build, made once.
struct Release {
    folder: TempDir,
    /// The unpacked tarball.
    tree: PathBuf,
    debian: PathBuf,
}

static RELEASE: LazyLock<Release> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let programs = binary("proxy");
    run(Command::new("scripts/dist.sh")
        .env("OUT", folder.path())
        .env("PROGRAMS", programs.parent().unwrap()));
    let tarball = file_of(folder.path(), ".tar.gz");
    run(Command::new("tar").arg("-xzf").arg(&tarball).arg("-C").arg(folder.path()));
    let tree = tarball.to_str().unwrap().strip_suffix(".tar.gz").unwrap().into();
    Release { tree, debian: file_of(folder.path(), ".deb"), folder }
});

/// Runs a command in the checkout, and returns what it prints.
fn run(command: &mut Command) -> String {
    let ran = command.current_dir(root()).output().unwrap();
    let (output, errors) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{command:?}: {output}{errors}");
    output.into_owned()
}

fn file_of(folder: &Path, suffix: &str) -> PathBuf {
    let mut paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.to_str().unwrap().ends_with(suffix)).unwrap()
}

fn read(name: &str) -> String {
    fs::read_to_string(RELEASE.tree.join(name)).unwrap()
}

#[test]
fn checksums_are_those_of_tarball_and_package() {
    let checked = run(Command::new("sh")
        .arg("-c")
        .arg(format!("cd '{}' && sha256sum --check --strict SHA256SUMS", RELEASE.folder.path().display())));
    assert_eq!(checked.lines().filter(|line| line.ends_with(": OK")).count(), 2, "{checked}");
}

#[test]
fn tarball_has_stripped_programs_that_run() {
    for program in ["proxy", "loadtest"] {
        let path = RELEASE.tree.join("bin").join(program);
        run(Command::new(&path).arg("--version"));
        let sections = run(Command::new("readelf").arg("--sections").arg(&path));
        assert!(!sections.contains(".debug_info") && !sections.contains(".symtab"), "{program} is stripped");
    }
}

/// Every crate of the bill of materials that is linked has its license in the release.
#[test]
fn sbom_lists_what_is_linked_and_no_path_of_this_machine() {
    let licenses = read("THIRD-PARTY-LICENSES.txt");
    for program in ["proxy", "loadtest"] {
        let text = read(&format!("{program}.cdx.json"));
        assert!(!text.contains(root().to_str().unwrap()), "{program}: a path of this machine");
        let sbom: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&sbom["bomFormat"], &sbom["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
        let components = sbom["components"].as_array().unwrap();
        let names: BTreeSet<_> =
            components.iter().map(|component| component["name"].as_str().unwrap()).collect();
        assert!(["tokio", "hyper", "serde"].iter().all(|name| names.contains(name)), "{program}: {names:?}");
        assert!(components.iter().all(|component| component["licenses"].is_array()), "{program}: licenses");
    }
    for linked in ["pingora-core ", "tokio ", "hyper ", "mimalloc "] {
        assert!(licenses.lines().any(|line| line.starts_with(linked)), "{linked}");
    }
    assert!(licenses.contains("Permission is hereby granted") && licenses.contains("Apache License"));
    assert!(!licenses.contains("\nproptest "), "tests are not linked");
}

/// The second package differs by its version alone.
#[test]
fn debian_package_is_installed_upgraded_and_removed() {
    let second = tempfile::tempdir().unwrap();
    let first = &RELEASE.debian;
    let packed =
        ["--quiet", "--package", "proxy", "--no-build", "--no-strip", "--fast", "--deb-version", "99.0.0-1"];
    run(Command::new(".tools/bin/cargo-deb").args(packed).arg("--output").arg(second.path()));
    let second = file_of(second.path(), ".deb");
    let mut lifecycle = Command::new("unshare");
    let output = run(lifecycle.arg("--mount").arg("tests/package/lifecycle.sh").arg(first).arg(second));
    assert!(output.ends_with("ok    installed, upgraded, removed, purged\n"), "{output}");
}

#[test]
fn containerfile_is_clean_and_copies_what_the_tarball_has() {
    let containerfile = RELEASE.tree.join("Containerfile");
    run(Command::new(".tools/python/bin/hadolint").arg(&containerfile));
    let text = fs::read_to_string(&containerfile).unwrap();
    let copied = text.lines().filter_map(|line| line.strip_prefix("COPY ")).flat_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        words.split_last().unwrap().1.to_vec()
    });
    let copied: Vec<_> = copied.collect();
    assert!(copied.contains(&"bin/proxy"), "{copied:?}");
    for name in copied {
        assert!(RELEASE.tree.join(name).exists(), "{name}");
    }
    assert!(text.contains("\nUSER 65532") && text.contains("\nHEALTHCHECK "), "no root, and a health check");
}
