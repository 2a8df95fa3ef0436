//! The command line, for the report.

/// Names of headers whose values are credentials.
const SECRET_HEADERS: [&str; 4] = ["authorization", "x-api-key", "cookie", "proxy-authorization"];

/// Returns the arguments of this process as they can be typed, without credentials of headers.
pub(super) fn text(arguments: impl Iterator<Item = String>) -> String {
    let shown = arguments.skip(1).map(|argument| quoted(&without_secret(&argument)));
    std::iter::once("loadtest".to_owned()).chain(shown).collect::<Vec<_>>().join(" ")
}

fn without_secret(argument: &str) -> String {
    let (option, header) = match argument.strip_prefix("--header=") {
        Some(header) => ("--header=", header),
        None => ("", argument),
    };
    // Reports are passed on and published, so they must not hold the key of `--header`.
    let Some((name, _)) = header.split_once(':') else { return argument.to_owned() };
    let is_secret = SECRET_HEADERS.contains(&name.trim().to_ascii_lowercase().as_str());
    if is_secret { format!("{option}{name}: …") } else { argument.to_owned() }
}

fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_can_be_typed_and_has_no_secret() {
        let text = |arguments: &[&str]| text(arguments.iter().map(|&argument| argument.to_owned()));
        assert_eq!(
            text(&["/bin/loadtest", "run", "--rate", "5", "--fail-if", "p99>50ms", "--body", "it's"]),
            r"loadtest run --rate 5 --fail-if 'p99>50ms' --body 'it'\''s'"
        );
        for header in ["X-API-Key: hush", "authorization:Bearer hush", "--header=Cookie: a=hush"] {
            let text = text(&["loadtest", "run", "--header", header]);
            assert!(!text.contains("hush") && text.contains('…'), "{text}");
        }
        assert!(text(&["loadtest", "run", "--header", "accept: image/png"]).contains("'accept: image/png'"));
    }
}
