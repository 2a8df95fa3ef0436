//! The tokens of the web app of the console, which all pages share. The build script of `biolink` has this module too.
//!
//! Why: docs/decisions/portal.md, "Colors, sizes and times are tokens in one file".

const TOKENS: &str = include_str!("../../web/src/tokens.css");

/// Returns the tokens that rules use, without comments and the spaces that only people need.
pub(crate) fn tokens_of(styles: &[&str]) -> String {
    let is_used = |line: &str| match line.strip_prefix("--").and_then(|rest| rest.split_once(':')) {
        Some((name, _)) => styles.iter().any(|style| style.contains(&format!("var(--{name})"))),
        None => true,
    };
    let code = TOKENS.split("/*").enumerate().map(|(at, part)| match part.split_once("*/") {
        Some((_, code)) if at > 0 => code,
        _ => part,
    });
    let lines: String = code.flat_map(str::lines).map(str::trim).filter(|line| is_used(line)).collect();
    // A scheme or a preference that changes none of them has no rule.
    [
        (": ", ":"),
        (", ", ","),
        (" {", "{"),
        (";}", "}"),
        ("@media (prefers-reduced-motion:reduce){:root{}}", ""),
    ]
    .iter()
    .fold(lines, |css, (spaced, close)| css.replace(spaced, close))
}
