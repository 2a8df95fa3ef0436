//! Numbers as people write them: with a point or a comma before the fraction, and groups of digits.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// Most digits before the point.
const MAX_WHOLE: usize = 9;
/// Most digits behind the point.
pub(super) const MAX_FRACTION: usize = 3;
/// The first digit of scripts whose ten digits follow each other: Arabic, Persian, Devanagari and those
/// of full width.
const ZEROS: [char; 4] = ['\u{660}', '\u{6f0}', '\u{966}', '\u{ff10}'];

/// The number format of a source's prices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum NumberFormat {
    /// All prices of a feed together show it.
    #[default]
    Auto,
    /// `1,299.00`
    Dot,
    /// `1.299,00`
    Comma,
}

shared::named!(NumberFormat);

impl NumberFormat {
    /// Every number format once.
    pub const ALL: [Self; 3] = *Self::VARIANTS.as_array().unwrap();
}

/// A number, by the formats in which it can be read. Amounts are in the form of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// The same in each: `1299` and `1 299`.
    Plain(String),
    /// With a point only: `1299.00`.
    Dot(String),
    /// With a comma only: `1.299,00`.
    Comma(String),
    /// One separator before three digits: `1.299` and `1,299`.
    Either {
        /// Whether the separator is a point.
        is_point: bool,
        /// The amount if it ends the whole part.
        fraction: String,
        /// The amount if it stands between groups.
        groups: String,
    },
}

impl Number {
    /// Reads a number. Returns `None` for a text that is one in no format, and for one with other digits
    /// than zeros behind the third of its fraction: no price is rounded.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text: String = text.chars().map(plain).collect();
        // Arabic has separators of its own, which mean one thing.
        if text.contains(['\u{66b}', '\u{66c}']) {
            let is_mixed = text.contains(['.', ',']);
            let text = text.replace('\u{66b}', ".").replace('\u{66c}', ",");
            return if is_mixed { None } else { decimal(&text, '.', ',').map(Self::Plain) };
        }
        match (decimal(&text, '.', ','), decimal(&text, ',', '.')) {
            // Both readings say the same, so the text shows no format.
            (Some(dot), Some(comma)) if dot == comma => Some(Self::Plain(dot)),
            (Some(fraction), Some(groups)) if text.contains('.') => {
                Some(Self::Either { is_point: true, fraction, groups })
            }
            (Some(groups), Some(fraction)) => Some(Self::Either { is_point: false, fraction, groups }),
            (Some(dot), None) => Some(Self::Dot(dot)),
            (None, Some(comma)) => Some(Self::Comma(comma)),
            (None, None) => None,
        }
    }
}

/// Returns a character of a number in ASCII, where it has one: digits of other scripts, spaces of every
/// width, and apostrophes.
fn plain(c: char) -> char {
    let digit = |zero: &char| {
        let value = u32::from(c).checked_sub(u32::from(*zero)).filter(|value| *value < 10)?;
        char::from_digit(value, 10)
    };
    match c {
        '\u{ff0e}' => '.',
        '\u{ff0c}' => ',',
        '\u{2018}' | '\u{2019}' | '\u{2bc}' | '`' | '\u{b4}' => '\'',
        '\u{2010}'..='\u{2015}' => '-',
        c if c.is_whitespace() => ' ',
        c => ZEROS.iter().find_map(digit).unwrap_or(c),
    }
}

/// Returns a decimal number with this point, and perhaps with groups, in the form in which pages have it.
fn decimal(text: &str, point: char, comma: char) -> Option<String> {
    let (whole, fraction) = match text.split_once(point) {
        // Whole amounts of German, Swiss and Nordic shops: `15,-`.
        Some((whole, "-" | "--")) => (whole, ""),
        Some(parts) => parts,
        None => (text, ""),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(fraction) {
        return None;
    }
    let whole = match whole.find(|c: char| !c.is_ascii_digit()).and_then(|at| whole.get(at..)?.chars().next())
    {
        None => whole.to_owned(),
        Some(separator) if separator == comma || matches!(separator, ' ' | '\'') => {
            let groups: Vec<&str> = whole.split(separator).collect();
            // Digits that are not grouped as numbers are two numbers, such as those of a range.
            has_groups(&groups, separator == ',').then(|| groups.concat())?
        }
        Some(_) => return None,
    };
    let whole = match whole.trim_start_matches('0') {
        "" if whole.is_empty() => return None,
        "" => "0",
        whole => whole,
    };
    let (kept, rest) = fraction.split_at_checked(MAX_FRACTION).unwrap_or((fraction, ""));
    // A price is never rounded: more digits than fit are refused, unless they are zeros.
    if whole.len() > MAX_WHOLE || rest.bytes().any(|digit| digit != b'0') {
        return None;
    }
    // A third digit that is zero says nothing.
    let kept = if kept.len() == MAX_FRACTION { kept.strip_suffix('0').unwrap_or(kept) } else { kept };
    Some(if kept.is_empty() { whole.to_owned() } else { format!("{whole}.{kept}") })
}

/// Returns true for groups of three digits (`1,299,000`), or, where commas may stand so, those of India,
/// which are of two but for the last (`12,99,000`). The first one begins with no zero.
fn has_groups(groups: &[&str], is_comma: bool) -> bool {
    let is_group = |group: &&str, length: usize| {
        group.len() == length && group.bytes().all(|byte| byte.is_ascii_digit())
    };
    let [first, middle @ .., last] = groups else { return false };
    let is_first = |max: usize| {
        (1..=max).contains(&first.len())
            && !first.starts_with('0')
            && first.bytes().all(|byte| byte.is_ascii_digit())
    };
    let are = |length: usize| middle.iter().all(|group| is_group(group, length));
    is_group(last, 3) && ((is_first(3) && are(3)) || (is_comma && is_first(2) && are(2)))
}
