//! The versions of the compared programs.

use std::path::Path;
use std::process::Command;

/// Returns a line with the version of each program that runs.
pub(crate) fn versions(programs: &Path) -> String {
    let proxy = programs.join("proxy");
    let commands = [
        (proxy.as_path(), "--version"),
        (Path::new("nginx"), "-v"),
        (Path::new("haproxy"), "-v"),
        (Path::new("caddy"), "version"),
        (Path::new("envoy"), "--version"),
    ];
    let lines: Vec<String> =
        commands.iter().filter_map(|(program, option)| first_line(program, option)).collect();
    format!("versions: {}", lines.join(", "))
}

/// Returns the first line that a program prints. nginx prints its version on standard error.
fn first_line(program: &Path, option: &str) -> Option<String> {
    let output = Command::new(program).arg(option).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| !line.trim().is_empty())?.trim();
    let name = program.file_name()?.to_str()?;
    Some(match name {
        // It prints the path of its program, a commit, its version and how it was built.
        "envoy" => format!("envoy {}", line.split('/').rev().nth(3)?),
        "caddy" => format!("caddy {line}"),
        _ => line.to_owned(),
    })
}
