//! Texts of shops as a page shows them: one line, without markup, and not too long.

/// Returns a text as one line of at most `max` characters. Cuts a longer one at a space, if there is
/// one near the end, and marks the cut.
pub(super) fn one_line(text: &str, max: usize) -> String {
    let mut line = String::new();
    let visible = text.chars().filter(|c| !is_directional(*c));
    for c in visible.map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }) {
        if c != ' ' || !(line.is_empty() || line.ends_with(' ')) {
            line.push(c);
        }
    }
    let line = line.trim_end();
    if line.chars().count() <= max {
        return line.to_owned();
    }
    let cut: String = line.chars().take(max.saturating_sub(1)).collect();
    // Not near the beginning, or a long word would take the whole text with it.
    let space = cut.rfind(' ').filter(|space| *space > cut.len() / 2);
    let kept = space.and_then(|space| cut.get(..space)).unwrap_or(&cut);
    format!("{}\u{2026}", kept.trim_end())
}

/// Returns a piece of HTML with a space for each tag. A `<` that begins no tag stays.
pub(super) fn without_tags(html: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(html.len()), html);
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        if tag.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')) {
            text.push(' ');
            rest = tag.split_once('>').map_or("", |(_, after)| after);
        } else {
            text.push('<');
            rest = tag;
        }
    }
    text.push_str(rest);
    text
}

/// Returns true for Unicode's directional overrides, which make a text look like another one.
const fn is_directional(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_is_one_line_and_cut_at_a_space() {
        assert_eq!(one_line("  a\r\n\t b \u{202e}c ", 9), "a b c");
        assert_eq!(one_line("a mug of clay and glaze", 15), "a mug of clay\u{2026}");
        assert_eq!(one_line("abcdefghij", 5), "abcd\u{2026}");
    }

    #[test]
    fn markup_is_removed() {
        assert_eq!(
            one_line(&without_tags("<p>A &amp; <b class='x'>B</b>&nbsp;&lt;3</p><script"), 99),
            "A &amp; B &nbsp;&lt;3"
        );
        assert_eq!(without_tags("a < 3<!-- b --><br/>c"), "a < 3  c");
    }

    proptest! {
        #[test]
        fn text_is_never_too_long(text in "\\PC{0,60}", max in 1usize..40) {
            prop_assert!(one_line(&text, max).chars().count() <= max);
        }
    }
}
