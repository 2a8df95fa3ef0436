//! Text of which a reader sees every character.

use std::borrow::Cow;

/// Returns a text without the characters that no reader sees: those that Unicode lets a display ignore, those
/// that change the direction of others, separators of lines, and controls but tab and line feed. One that joins
/// what is written (a joiner, or a variation selector, as within emoji) stays after a visible character, so that
/// a run of them carries nothing.
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let mut last = ' ';
    let kept: String = text
        .chars()
        .filter(|&c| {
            let is_kept = !is_hidden(c) || joins(last, c);
            if is_kept {
                last = c;
            }
            is_kept
        })
        .collect();
    if kept.len() == text.len() { Cow::Borrowed(text) } else { Cow::Owned(kept) }
}

/// Returns true if every character of a text is visible.
pub(super) fn is_visible(text: &str) -> bool {
    matches!(visible(text), Cow::Borrowed(_))
}

fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{2028}' | '\u{2029}') || is_ignorable(c)
}

/// Returns true for a joiner or variation selector after a character that it may change, and for the joiner that
/// follows a selector within emoji.
fn joins(last: char, c: char) -> bool {
    match c {
        '\u{200d}' if last == '\u{fe0f}' => true,
        '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' => !is_hidden(last) && !last.is_whitespace(),
        _ => false,
    }
}

/// Returns true for what Unicode calls `Default_Ignorable_Code_Point` or `Bidi_Control` (version 17).
const fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use icu_properties::CodePointSetData;
    use icu_properties::props::{BidiControl, DefaultIgnorableCodePoint};

    use super::*;

    #[test]
    fn ignorable_characters_are_those_of_unicode() {
        let (ignorable, bidi) =
            (CodePointSetData::new::<DefaultIgnorableCodePoint>(), CodePointSetData::new::<BidiControl>());
        for c in '\0'..=char::MAX {
            assert_eq!(is_ignorable(c), ignorable.contains(c) || bidi.contains(c), "{c:?}");
        }
    }

    #[test]
    fn hidden_characters_are_removed_and_all_others_stay() {
        for (text, seen) in [
            ("Makes a code\n\tof a URL", "Makes a code\n\tof a URL"),
            ("a\u{1b}[2Jb\rc\u{85}d\u{7f}", "a[2Jbcd"),
            ("\u{202e}evil\u{202c} \u{2066}x\u{2069}", "evil x"),
            ("a\u{e0041}\u{e0042}\u{200b}\u{feff}b", "ab"),
            // Bytes as variation selectors, of which the first could belong to the letter.
            ("a\u{fe0f}\u{fe0e}\u{fe0f}b \u{200d}c", "a\u{fe0f}b c"),
            (
                "👩\u{200d}👧 👨\u{200d}❤\u{fe0f}\u{200d}👨 می\u{200c}خواهم Größe 日本",
                "👩\u{200d}👧 👨\u{200d}❤\u{fe0f}\u{200d}👨 می\u{200c}خواهم Größe 日本",
            ),
        ] {
            assert_eq!(visible(text), seen);
            assert_eq!(is_visible(text), text == seen, "{text:?}");
        }
    }
}
