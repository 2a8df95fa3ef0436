//! Bare ampersands in XML: `Salt & Pepper`, and `?a=1&b=2` in an address.

use std::borrow::Cow;

/// The longest name of a reference, in bytes.
const MAX_NAME: usize = 32;

/// XML in which each bare ampersand is a reference, and where the first of them was.
pub(super) struct Escaped<'a> {
    pub(super) text: Cow<'a, str>,
    /// The line of the first, from 1, and how many items began before it.
    pub(super) first: Option<(usize, usize)>,
}

/// Escapes what is no reference. Comments and CDATA stay as they are.
pub(super) fn escaped(xml: &str) -> Escaped<'_> {
    let (mut text, mut rest, mut first) = (String::new(), xml, None);
    while let Some(at) = rest.find(['&', '<']) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        text.push_str(before);
        let closing =
            // Ampersands in these are text already.
            [("<![CDATA[", "]]>"), ("<!--", "-->")].into_iter().find(|(open, _)| after.starts_with(open));
        let length = match closing {
            Some((_, close)) => after.find(close).map_or(after.len(), |end| end.saturating_add(close.len())),
            None => 1,
        };
        let (kept, following) = after.split_at_checked(length).unwrap_or((after, ""));
        text.push_str(kept);
        if kept == "&" && !is_reference(following) {
            text.push_str("amp;");
            first = first.or_else(|| Some(place(xml, xml.len().saturating_sub(after.len()))));
        }
        rest = following;
    }
    if first.is_none() {
        return Escaped { text: Cow::Borrowed(xml), first };
    }
    text.push_str(rest);
    Escaped { text: Cow::Owned(text), first }
}

/// Returns true if a name or a number and a semicolon follow.
fn is_reference(text: &str) -> bool {
    // A semicolon far behind belongs to the text and not to a reference.
    let end = text.bytes().take(MAX_NAME).position(|byte| byte == b';');
    let Some(name) = end.and_then(|end| text.get(..end)) else { return false };
    let name = name.strip_prefix('#').unwrap_or(name);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Returns the line of a byte, and the number of items that begin before it.
fn place(xml: &str, at: usize) -> (usize, usize) {
    let before = xml.get(..at).unwrap_or_default();
    let lines = before.bytes().filter(|byte| *byte == b'\n').count().saturating_add(1);
    let items = before.match_indices("<item").chain(before.match_indices("<entry"));
    let begins = |(at, name): (usize, &str)| {
        before
            .get(at.saturating_add(name.len())..)
            .is_some_and(|rest| rest.starts_with(['>', ' ', '\n', '\r', '\t']))
    };
    (lines, items.filter(|item| begins(*item)).count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bare_ampersands_are_escaped() {
        for (xml, expected, first) in [
            ("<a>\n<item>Salt & Pepper</item></a>", "<a>\n<item>Salt &amp; Pepper</item></a>", Some((2, 1))),
            ("<a href=\"?a=1&b=2\"/>", "<a href=\"?a=1&amp;b=2\"/>", Some((1, 0))),
            ("<a>&amp;&#8217;&#x41;&eacute;</a>", "<a>&amp;&#8217;&#x41;&eacute;</a>", None),
            ("<a><![CDATA[a & b]]><!-- c & d --></a>", "<a><![CDATA[a & b]]><!-- c & d --></a>", None),
            ("<a>&&amp;&;&#;&</a>", "<a>&amp;&amp;&amp;;&amp;#;&amp;</a>", Some((1, 0))),
        ] {
            let escaped = escaped(xml);
            assert_eq!((&*escaped.text, escaped.first), (expected, first), "{xml}");
        }
    }

    proptest! {
        #[test]
        fn text_without_bare_ampersands_stays(text in "[a-z<>&;#! \n-]{0,60}") {
            let once = escaped(&text).text.into_owned();
            let twice = escaped(&once);
            prop_assert_eq!(&*twice.text, &once);
            prop_assert_eq!(twice.first, None);
        }
    }
}
