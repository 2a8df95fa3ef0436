//! International host names, as people type them.
//!
//! Letters of the scripts below are encoded by Punycode (RFC 3492) in lower case. That is what the URL
//! standard (UTS 46) does with them. Its tables map thousands of further characters, such as wide and
//! combined ones, and are not here: such a name has to be written as `xn--…`. What stands there is decoded
//! to see that it encodes a name.

const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const FIRST_BIAS: u32 = 72;
const FIRST_CODE: u32 = 0x80;
/// The longest label, in bytes.
const MAX_LABEL: usize = 63;

/// Returns a host in ASCII and lower case; `None` if it has a character that is not read, or a label
/// that begins with `xn--` and encodes none.
pub(crate) fn to_ascii(host: &str) -> Option<String> {
    let labels = host.split('.').map(label).collect::<Option<Vec<_>>>();
    labels.map(|labels| labels.join("."))
}

fn label(label: &str) -> Option<String> {
    let lower: String = label.chars().flat_map(char::to_lowercase).collect();
    if lower.is_ascii() {
        return lower.strip_prefix("xn--").is_none_or(is_encoded).then_some(lower);
    }
    let is_read = lower.len() <= 4 * MAX_LABEL && lower.chars().all(is_letter);
    let encoded = is_read.then(|| punycode(&lower)).flatten()?;
    Some(format!("xn--{encoded}"))
}

/// Returns true for letters and digits that stay as they are: Latin, Greek, Cyrillic, Armenian, Hebrew,
/// Arabic, the scripts of India, Thai, Georgian, Kana, Han and Hangul.
const fn is_letter(c: char) -> bool {
    matches!(c, 'a'..='z' | '0'..='9' | '-'
        | '\u{df}'..='\u{f6}' | '\u{f8}'..='\u{131}' | '\u{134}'..='\u{13e}' | '\u{141}'..='\u{148}'
        | '\u{14a}'..='\u{17e}' | '\u{180}'..='\u{1c3}' | '\u{1cd}'..='\u{1f0}' | '\u{1f4}'..='\u{233}'
        | '\u{3ac}'..='\u{3ce}' | '\u{430}'..='\u{45f}' | '\u{48a}'..='\u{52f}' | '\u{561}'..='\u{586}'
        | '\u{5d0}'..='\u{5ea}' | '\u{620}'..='\u{63f}' | '\u{641}'..='\u{64a}' | '\u{660}'..='\u{669}'
        | '\u{671}'..='\u{674}' | '\u{679}'..='\u{6d3}' | '\u{6f0}'..='\u{6ff}'
        | '\u{900}'..='\u{93b}' | '\u{93d}'..='\u{957}' | '\u{960}'..='\u{963}' | '\u{966}'..='\u{97f}'
        | '\u{e01}'..='\u{e32}' | '\u{e34}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{10d0}'..='\u{10fa}'
        | '\u{1ea0}'..='\u{1ef9}' | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fe}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// Returns true for the one encoding of a label that has other characters than ASCII, in lower case.
fn is_encoded(text: &str) -> bool {
    let is_kept = |c: char| !c.is_control() && c.to_lowercase().eq([c]);
    let is_name = |label: &str| !label.is_ascii() && label.chars().all(is_kept);
    text.len() <= MAX_LABEL
        && decoded(text)
            .is_some_and(|label| is_name(&label) && punycode(&label).is_some_and(|again| again == text))
}

/// Decodes a label by Punycode (RFC 3492, section 6.2).
fn decoded(text: &str) -> Option<String> {
    let (basic, digits) = text.rsplit_once('-').unwrap_or(("", text));
    let mut label: Vec<char> = basic.chars().collect();
    let (mut code, mut delta, mut bias) = (FIRST_CODE, 0_u32, FIRST_BIAS);
    let mut digits = digits.bytes().peekable();
    while digits.peek().is_some() {
        let before = delta;
        let (mut weight, mut k) = (1_u32, BASE);
        loop {
            let value = value_of(digits.next()?)?;
            delta = delta.checked_add(value.checked_mul(weight)?)?;
            let threshold = k.saturating_sub(bias).clamp(T_MIN, T_MAX);
            if value < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            k = k.checked_add(BASE)?;
        }
        let length = u32::try_from(label.len()).ok()?.checked_add(1)?;
        bias = adapt(delta - before, length, before == 0);
        code = code.checked_add(delta / length)?;
        let place = delta % length;
        label.insert(usize::try_from(place).ok()?, char::from_u32(code)?);
        delta = place + 1;
    }
    Some(label.into_iter().collect())
}

/// Returns the value of a digit in lower case.
fn value_of(digit: u8) -> Option<u32> {
    match digit {
        b'a'..=b'z' => Some(u32::from(digit - b'a')),
        b'0'..=b'9' => Some(u32::from(digit - b'0') + 26),
        _ => None,
    }
}

/// Encodes a label by Punycode (RFC 3492, section 6.3).
fn punycode(label: &str) -> Option<String> {
    let mut encoded: String = label.chars().filter(char::is_ascii).collect();
    let basic = u32::try_from(encoded.len()).ok()?;
    if basic > 0 {
        encoded.push('-');
    }
    let length = u32::try_from(label.chars().count()).ok()?;
    let (mut code, mut delta, mut bias, mut handled) = (FIRST_CODE, 0_u32, FIRST_BIAS, basic);
    while handled < length {
        let next = label.chars().map(u32::from).filter(|c| *c >= code).min()?;
        delta = delta.checked_add((next - code).checked_mul(handled.checked_add(1)?)?)?;
        code = next;
        for c in label.chars().map(u32::from) {
            if c < code {
                delta = delta.checked_add(1)?;
            }
            if c == code {
                push_integer(&mut encoded, delta, bias)?;
                bias = adapt(delta, handled.checked_add(1)?, handled == basic);
                delta = 0;
                handled = handled.checked_add(1)?;
            }
        }
        (delta, code) = (delta.checked_add(1)?, code.checked_add(1)?);
    }
    Some(encoded)
}

fn push_integer(encoded: &mut String, mut value: u32, bias: u32) -> Option<()> {
    let mut k = BASE;
    loop {
        let threshold = k.saturating_sub(bias).clamp(T_MIN, T_MAX);
        if value < threshold {
            encoded.push(digit(value)?);
            return Some(());
        }
        let rest = value - threshold;
        let span = BASE - threshold;
        encoded.push(digit(threshold + rest % span)?);
        value = rest / span;
        k = k.checked_add(BASE)?;
    }
}

/// Returns a digit: `a` to `z`, then `0` to `9`.
fn digit(value: u32) -> Option<char> {
    b"abcdefghijklmnopqrstuvwxyz0123456789".get(usize::try_from(value).ok()?).copied().map(char::from)
}

const fn adapt(delta: u32, handled: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / DAMP } else { delta / 2 };
    delta += delta / handled;
    let mut k = 0;
    while delta > ((BASE - T_MIN) * T_MAX) / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}
