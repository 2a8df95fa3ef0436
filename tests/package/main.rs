//! What `make dist` makes, from the programs of this build.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests fail by panicking")]

mod manifests;

use std::{
    collections::BTreeSet,
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use serde_json::Value;
use shared::secret::sha256;
use tempfile::TempDir;
use tests::process::{Process, binary, root};

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
    let key = make_signing_key(folder.path());
    run(Command::new("scripts/dist.sh")
        .env("SIGNING_KEY", key)
        .env("OUT", folder.path())
        .env("PROGRAMS", programs.parent().unwrap()));
    let tarball = file_of(folder.path(), ".tar.gz");
    run(Command::new("tar").arg("-xzf").arg(&tarball).arg("-C").arg(folder.path()));
    let tree = tarball.to_str().unwrap().strip_suffix(".tar.gz").unwrap().into();
    Release { tree, debian: file_of(folder.path(), ".deb"), folder }
});

/// Makes a throw-away key in a folder, with the file that says who may sign.
fn make_signing_key(folder: &Path) -> PathBuf {
    let key = folder.join("key");
    run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f"]).arg(&key));
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    fs::write(folder.join("allowed_signers"), format!("utg-release namespaces=\"file\" {public}")).unwrap();
    key
}

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
    assert_eq!(checked.lines().filter(|line| line.ends_with(": OK")).count(), 3, "{checked}");
}

/// Returns true if the commands of the guide that verify a release succeed in a folder.
fn is_verified(folder: &Path) -> bool {
    let guide = fs::read_to_string(root().join("docs/operating/install.md")).unwrap();
    let (_, rest) = guide.split_once("**Verify a release.**").unwrap();
    let commands = rest.split("```").nth(1).unwrap().strip_prefix("sh\n").unwrap();
    let ran = Command::new("sh").args(["-e", "-c", commands]).current_dir(folder).output().unwrap();
    ran.status.success()
}

#[test]
fn release_is_verified_unless_a_file_or_its_signer_is_another() {
    let copy = tempfile::tempdir().unwrap();
    let package = RELEASE.debian.file_name().unwrap().to_str().unwrap();
    let stranger = tempfile::tempdir().unwrap();
    make_signing_key(stranger.path());
    let copy_from = |folder: &Path, name: &str| fs::copy(folder.join(name), copy.path().join(name)).unwrap();
    for name in ["allowed_signers", "SHA256SUMS.sig", "SHA256SUMS", package] {
        copy_from(RELEASE.folder.path(), name);
    }
    assert!(is_verified(copy.path()));
    for name in [package, "SHA256SUMS"] {
        let mut content = fs::read(copy.path().join(name)).unwrap();
        content[0] ^= 1;
        fs::write(copy.path().join(name), content).unwrap();
        assert!(!is_verified(copy.path()), "{name} was changed");
        copy_from(RELEASE.folder.path(), name);
    }
    copy_from(stranger.path(), "allowed_signers");
    assert!(!is_verified(copy.path()), "another key");
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

/// The Workers are deployed by wrangler in a folder that has nothing but the artifact.
#[test]
fn workers_are_deployed_without_a_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let packed = file_of(RELEASE.folder.path(), ".tgz");
    run(Command::new("tar").args(["--strip-components=1", "-xzf"]).arg(&packed).arg("-C").arg(folder.path()));
    for (config, part) in [("wrangler.toml", "gateway"), ("wrangler.pages.toml", "pages")] {
        for environment in ["staging", "production"] {
            let mut wrangler = Command::new(root().join("node_modules/.bin/wrangler"));
            wrangler.args(["deploy", "--dry-run", "--strict", "--config", config, "--env", environment]);
            wrangler.args(["--outdir", "out", "--cwd"]).arg(folder.path());
            let output = run(wrangler.env("WRANGLER_SEND_METRICS", "false"));
            assert!(output.contains("env.METER") && output.contains("--dry-run: exiting now"), "{output}");
            let wasm = file_of(&folder.path().join("out"), ".wasm");
            let built = fs::read(root().join(format!("edge-worker/build/{part}/index_bg.wasm"))).unwrap();
            assert!(fs::read(wasm).unwrap() == built, "{config} {environment}: the module of the build");
            fs::remove_dir_all(folder.path().join("out")).unwrap();
        }
    }
}

#[test]
fn manual_describes_every_option_of_the_programs() {
    let unpacked = tempfile::tempdir().unwrap();
    run(Command::new("dpkg-deb").arg("--extract").arg(&RELEASE.debian).arg(unpacked.path()));
    let manual = unpacked.path().join("usr/share/man/man1");
    for page in ["utg-proxy.1.gz", "utg-proxy-ctl.1.gz"] {
        assert!(manual.join(page).exists(), "{page}");
    }
    for (program, page) in [("proxy", "utg-proxy.1"), ("loadtest", "loadtest-run.1")] {
        // roff writes a hyphen of an option with a backslash.
        let page = read(&format!("man/{page}")).replace('\\', "");
        let arguments = if program == "proxy" { vec!["--help"] } else { vec!["run", "--help"] };
        let help = run(Command::new(binary(program)).args(arguments));
        let options = help
            .split_whitespace()
            .filter(|word| word.starts_with("--"))
            .map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-'));
        for option in options {
            assert!(page.contains(option), "{program}: {option}");
        }
    }
    let changelog = unpacked.path().join("usr/share/doc/utg-proxy/changelog.Debian.gz");
    let parsed =
        run(Command::new("sh").args(["-c", "gunzip -c \"$0\" | dpkg-parsechangelog -l-"]).arg(changelog));
    assert!(parsed.starts_with("Source: utg-proxy\n"), "{parsed}");
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

/// The same content has the same number wherever it is built (RFC 9562, version 8).
#[test]
fn serial_number_of_an_sbom_is_the_hash_of_the_rest() {
    for program in ["proxy", "loadtest"] {
        let text = read(&format!("{program}.cdx.json"));
        let is_number = |line: &&str| line.contains("\"serialNumber\"");
        let (number, rest): (Vec<_>, Vec<_>) = text.split_inclusive('\n').partition(is_number);
        let mut hash = sha256(&[rest.concat().as_bytes()]);
        hash[6] = hash[6] & 0x0f | 0x80;
        hash[8] = hash[8] & 0x3f | 0x80;
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let uuid = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &hex[part]).join("-");
        assert_eq!(number, [format!("  \"serialNumber\": \"urn:uuid:{uuid}\",\n")], "{program}");
    }
}

/// Returns the relative links of the texts below a folder that lead to no file.
fn dead_links(top: &Path) -> Vec<String> {
    let texts = run(Command::new("find").arg(top).args(["-name", "*.md"]));
    let mut dead = Vec::new();
    for text in texts.lines().map(Path::new) {
        let content = fs::read_to_string(text).unwrap();
        let targets = content.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
        let relative = targets.filter(|target| !target.is_empty() && !target.contains(':'));
        let lost = relative.filter(|target| !text.parent().unwrap().join(target).exists());
        dead.extend(lost.map(|target| format!("{}: {target}", text.strip_prefix(top).unwrap().display())));
    }
    dead
}

#[test]
fn links_between_the_texts_of_a_release_hold() {
    let unpacked = tempfile::tempdir().unwrap();
    run(Command::new("dpkg-deb").arg("--extract").arg(&RELEASE.debian).arg(unpacked.path()));
    let package = unpacked.path().join("usr/share/doc/utg-proxy");
    for (texts, folder) in [("tarball", &RELEASE.tree), ("Debian package", &package)] {
        assert!(folder.join("docs/operating/README.md").exists(), "{texts}");
        assert_eq!(dead_links(folder), Vec::<String>::new(), "{texts}");
    }
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

/// Returns what follows an instruction of the Containerfile, word by word, for each time it is there.
fn instructions(instruction: &str) -> Vec<Vec<String>> {
    let lines: Vec<_> = read("Containerfile").lines().map(str::to_owned).collect();
    let rests = lines.iter().filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '));
    rests.map(|rest| rest.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn containerfile_is_clean_and_pins_its_base() {
    run(Command::new(".tools/python/bin/hadolint").arg(RELEASE.tree.join("Containerfile")));
    let base = instructions("FROM").concat().concat();
    let (_, digest) = base.split_once("@sha256:").unwrap();
    assert_eq!(digest.len(), 64, "{base}");
    assert_eq!(instructions("HEALTHCHECK").len(), 1);
}

/// A root file system with what the Containerfile copies, and with the libraries of this machine in
/// place of the base image's. Nothing else is there, and nothing can be written.
fn container_root() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for words in instructions("COPY") {
        let (target, sources) = words.split_last().unwrap();
        for source in sources {
            let mut path = root.path().join(target.trim_start_matches('/'));
            if target.ends_with('/') {
                path.push(Path::new(source).file_name().unwrap());
            }
            run(Command::new("install").arg("-D").arg(RELEASE.tree.join(source)).arg(path));
        }
    }
    let libraries = run(Command::new("ldd").arg(root.path().join("usr/bin/proxy")));
    for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
        run(Command::new("install").arg("-D").arg(library).arg(root.path().join(&library[1..])));
    }
    root
}

/// Runs as the image does: the entry point with its arguments and environment, as its user.
fn in_container(root: &TempDir) -> Command {
    let list = |instruction| -> Vec<String> {
        serde_json::from_str(&instructions(instruction).concat().join(" ")).unwrap()
    };
    let mut command = Command::new("chroot");
    command.arg(format!("--userspec={}", instructions("USER").concat().concat()));
    command.arg(root.path()).args(list("ENTRYPOINT")).args(list("CMD")).env_clear().env("PATH", env!("PATH"));
    command.envs(instructions("ENV").concat().iter().map(|word| word.split_once('=').unwrap()));
    let secret = ("GRANT_SECRET", "0123456789abcdef0123456789abcdef");
    command.envs([("DATA_CENTER", "fra1"), ("LISTEN", "127.0.0.1:0"), ("ADMIN", "127.0.0.1:0"), secret]);
    command
}

#[test]
fn container_starts_without_rights_and_without_a_writable_folder() {
    let root = container_root();
    let checked = in_container(&root).arg("--check").output().unwrap();
    let report = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{report}");
    assert!(report.contains("warning: server.upgrade_socket: "), "{report}");
    let announced = |line: &str| serde_json::from_str::<Value>(line).ok()?["admin"].as_str()?.parse().ok();
    let (mut process, admin): (_, SocketAddr) = Process::start(&mut in_container(&root), announced);
    let mut health = TcpStream::connect(admin).unwrap();
    health.write_all(b"GET /healthz HTTP/1.1\r\nHost: utg\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    health.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    process.signal("TERM");
    process.kill();
}
