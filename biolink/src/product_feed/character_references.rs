//! Character references of HTML: `&#8217;`, `&#x2019;` and `&rsquo;`.
//!
//! Every number is read, and the names of HTML 4 with those of HTML 5 for ASCII. Why not all:
//! docs/decisions/products.md, "References have the names of HTML 4".

/// The longest reference that is read, in bytes between `&` and `;`.
const MAX_LENGTH: usize = 12;

/// Returns a text with each reference replaced by its character, once: no reference is made from two.
/// What is no reference stays as it is.
pub(super) fn decode(text: &str) -> String {
    let (mut decoded, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        let end = after.bytes().take(MAX_LENGTH.saturating_add(1)).position(|byte| byte == b';');
        let reference = end.and_then(|end| after.split_at_checked(end));
        rest = match reference.and_then(|(name, rest)| Some((character(name)?, rest))) {
            Some((character, rest)) => {
                decoded.push(character);
                rest.strip_prefix(';').unwrap_or(rest)
            }
            None => {
                decoded.push('&');
                after
            }
        };
    }
    decoded.push_str(rest);
    decoded
}

/// Returns the character of the reference `&name;`.
pub(super) fn character(name: &str) -> Option<char> {
    match name.strip_prefix('#') {
        Some(number) => of_number(number),
        None => {
            let at = NAMES.binary_search_by_key(&name, |(name, _)| name).ok()?;
            NAMES.get(at).map(|(_, character)| *character)
        }
    }
}

/// Returns the character of a number, as HTML reads it: those from 128 to 159 are of Windows-1252, and
/// what is no character is U+FFFD.
fn of_number(number: &str) -> Option<char> {
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return None;
    }
    // More digits than fit stand for no character either.
    let code = u32::from_str_radix(digits, radix).unwrap_or(u32::MAX);
    let character = match u8::try_from(code) {
        // HTML reads numbers from 128 to 159 as Windows-1252, and 0 as the replacement character
        // (HTML, section 13.2.5.80).
        Ok(byte) => Some(windows_1252(byte)).filter(|character| *character != '\0'),
        Err(_) => char::from_u32(code),
    };
    Some(character.unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// Returns the character of a byte in Windows-1252, which is ISO-8859-1 with more characters from 128 to
/// 159 (WHATWG's Encoding Standard).
pub(super) fn windows_1252(byte: u8) -> char {
    let more = byte.checked_sub(0x80).and_then(|at| WINDOWS_1252.get(usize::from(at)));
    more.copied().unwrap_or_else(|| char::from(byte))
}

/// The characters from 128 to 159.
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2c6}',
    '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}', '\u{90}', '\u{2018}',
    '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}',
    '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

/// The names, sorted.
#[rustfmt::skip]
const NAMES: [(&str, char); 292] = [
    ("AElig", 'Æ'), ("AMP", '&'), ("Aacute", 'Á'), ("Acirc", 'Â'), ("Agrave", 'À'), ("Alpha", 'Α'),
    ("Aring", 'Å'), ("Atilde", 'Ã'), ("Auml", 'Ä'), ("Beta", 'Β'), ("Ccedil", 'Ç'), ("Chi", 'Χ'),
    ("Dagger", '‡'), ("Delta", 'Δ'), ("ETH", 'Ð'), ("Eacute", 'É'), ("Ecirc", 'Ê'),
    ("Egrave", 'È'), ("Epsilon", 'Ε'), ("Eta", 'Η'), ("Euml", 'Ë'), ("GT", '>'), ("Gamma", 'Γ'), ("Hat", '^'),
    ("Iacute", 'Í'), ("Icirc", 'Î'), ("Igrave", 'Ì'), ("Iota", 'Ι'), ("Iuml", 'Ï'), ("Kappa", 'Κ'),
    ("LT", '<'), ("Lambda", 'Λ'), ("Mu", 'Μ'), ("NewLine", '\n'), ("Ntilde", 'Ñ'), ("Nu", 'Ν'),
    ("OElig", 'Œ'), ("Oacute", 'Ó'), ("Ocirc", 'Ô'), ("Ograve", 'Ò'), ("Omega", 'Ω'), ("Omicron", 'Ο'),
    ("Oslash", 'Ø'), ("Otilde", 'Õ'), ("Ouml", 'Ö'), ("Phi", 'Φ'), ("Pi", 'Π'), ("Prime", '″'), ("Psi", 'Ψ'),
    ("QUOT", '"'), ("Rho", 'Ρ'), ("Scaron", 'Š'), ("Sigma", 'Σ'), ("THORN", 'Þ'), ("Tab", '\t'), ("Tau", 'Τ'),
    ("Theta", 'Θ'), ("Uacute", 'Ú'), ("Ucirc", 'Û'), ("Ugrave", 'Ù'), ("UnderBar", '_'), ("Upsilon", 'Υ'),
    ("Uuml", 'Ü'), ("VerticalLine", '|'), ("Xi", 'Ξ'), ("Yacute", 'Ý'), ("Yuml", 'Ÿ'), ("Zeta", 'Ζ'),
    ("aacute", 'á'), ("acirc", 'â'), ("acute", '´'), ("aelig", 'æ'), ("agrave", 'à'), ("alefsym", 'ℵ'),
    ("alpha", 'α'), ("amp", '&'), ("and", '∧'), ("ang", '∠'), ("apos", '\''), ("aring", 'å'), ("ast", '*'),
    ("asymp", '≈'), ("atilde", 'ã'), ("auml", 'ä'), ("bdquo", '„'), ("beta", 'β'), ("brvbar", '¦'),
    ("bsol", '\\'), ("bull", '•'), ("cap", '∩'), ("ccedil", 'ç'), ("cedil", '¸'), ("cent", '¢'), ("chi", 'χ'),
    ("circ", 'ˆ'), ("clubs", '♣'), ("colon", ':'), ("comma", ','), ("commat", '@'), ("cong", '≅'),
    ("copy", '©'), ("crarr", '↵'), ("cup", '∪'), ("curren", '¤'), ("dArr", '⇓'), ("dagger", '†'),
    ("darr", '↓'), ("deg", '°'), ("delta", 'δ'), ("diams", '♦'), ("divide", '÷'), ("dollar", '$'),
    ("eacute", 'é'), ("ecirc", 'ê'), ("egrave", 'è'), ("empty", '∅'), ("emsp", '\u{2003}'),
    ("ensp", '\u{2002}'), ("epsilon", 'ε'), ("equals", '='), ("equiv", '≡'), ("eta", 'η'), ("eth", 'ð'),
    ("euml", 'ë'), ("euro", '€'), ("excl", '!'), ("exist", '∃'), ("fnof", 'ƒ'), ("forall", '∀'),
    ("frac12", '½'), ("frac14", '¼'), ("frac34", '¾'), ("frasl", '\u{2044}'), ("gamma", 'γ'), ("ge", '≥'),
    ("grave", '`'), ("gt", '>'), ("hArr", '⇔'), ("harr", '↔'), ("hearts", '♥'), ("hellip", '…'),
    ("iacute", 'í'), ("icirc", 'î'), ("iexcl", '¡'), ("igrave", 'ì'), ("image", 'ℑ'), ("infin", '∞'),
    ("int", '∫'), ("iota", 'ι'), ("iquest", '¿'), ("isin", '∈'), ("iuml", 'ï'), ("kappa", 'κ'), ("lArr", '⇐'),
    ("lambda", 'λ'), ("lang", '⟨'), ("laquo", '«'), ("larr", '←'), ("lbrace", '{'), ("lbrack", '['),
    ("lceil", '⌈'), ("lcub", '{'), ("ldquo", '“'), ("le", '≤'), ("lfloor", '⌊'), ("lowast", '∗'),
    ("lowbar", '_'), ("loz", '◊'), ("lpar", '('), ("lrm", '\u{200e}'), ("lsaquo", '‹'), ("lsqb", '['),
    ("lsquo", '‘'), ("lt", '<'), ("macr", '¯'), ("mdash", '—'), ("micro", 'µ'), ("midast", '*'),
    ("middot", '·'), ("minus", '−'), ("mu", 'μ'), ("nabla", '∇'), ("nbsp", '\u{a0}'), ("ndash", '–'),
    ("ne", '≠'), ("ni", '∋'), ("not", '¬'), ("notin", '∉'), ("nsub", '⊄'), ("ntilde", 'ñ'), ("nu", 'ν'),
    ("num", '#'), ("oacute", 'ó'), ("ocirc", 'ô'), ("oelig", 'œ'), ("ograve", 'ò'), ("oline", '‾'),
    ("omega", 'ω'), ("omicron", 'ο'), ("oplus", '⊕'), ("or", '∨'), ("ordf", 'ª'), ("ordm", 'º'),
    ("oslash", 'ø'), ("otilde", 'õ'), ("otimes", '⊗'), ("ouml", 'ö'), ("para", '¶'), ("part", '∂'),
    ("percnt", '%'), ("period", '.'), ("permil", '‰'), ("perp", '⊥'), ("phi", 'φ'), ("pi", 'π'), ("piv", 'ϖ'),
    ("plus", '+'), ("plusmn", '±'), ("pound", '£'), ("prime", '′'), ("prod", '∏'), ("prop", '∝'),
    ("psi", 'ψ'), ("quest", '?'), ("quot", '"'), ("rArr", '⇒'), ("radic", '√'), ("rang", '⟩'), ("raquo", '»'),
    ("rarr", '→'), ("rbrace", '}'), ("rbrack", ']'), ("rceil", '⌉'), ("rcub", '}'), ("rdquo", '”'),
    ("real", 'ℜ'), ("reg", '®'), ("rfloor", '⌋'), ("rho", 'ρ'), ("rlm", '\u{200f}'), ("rpar", ')'),
    ("rsaquo", '›'), ("rsqb", ']'), ("rsquo", '’'), ("sbquo", '‚'), ("scaron", 'š'), ("sdot", '⋅'),
    ("sect", '§'), ("semi", ';'), ("shy", '\u{ad}'), ("sigma", 'σ'), ("sigmaf", 'ς'), ("sim", '∼'),
    ("sol", '/'), ("spades", '♠'), ("sub", '⊂'), ("sube", '⊆'), ("sum", '∑'), ("sup", '⊃'), ("sup1", '¹'),
    ("sup2", '²'), ("sup3", '³'), ("supe", '⊇'), ("szlig", 'ß'), ("tau", 'τ'), ("there4", '∴'),
    ("theta", 'θ'), ("thetasym", 'ϑ'), ("thinsp", '\u{2009}'), ("thorn", 'þ'), ("tilde", '˜'), ("times", '×'),
    ("trade", '™'), ("uArr", '⇑'), ("uacute", 'ú'), ("uarr", '↑'), ("ucirc", 'û'), ("ugrave", 'ù'),
    ("uml", '¨'), ("upsih", 'ϒ'), ("upsilon", 'υ'), ("uuml", 'ü'), ("verbar", '|'), ("vert", '|'),
    ("weierp", '℘'), ("xi", 'ξ'), ("yacute", 'ý'), ("yen", '¥'), ("yuml", 'ÿ'), ("zeta", 'ζ'),
    ("zwj", '\u{200d}'), ("zwnj", '\u{200c}'),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn references_are_decoded_once() {
        for (text, expected) in [
            ("Women&#8217;s T&#8211;Shirt", "Women\u{2019}s T\u{2013}Shirt"),
            ("Women&#x2019;s &#X1F455;", "Women\u{2019}s \u{1f455}"),
            ("Caf&eacute; &ndash; 3 &euro; &hellip; &excl;", "Caf\u{e9} \u{2013} 3 \u{20ac} \u{2026} !"),
            ("&#146;&#0;&#xD800;&#99999999999;", "\u{2019}\u{fffd}\u{fffd}\u{fffd}"),
            ("&amp;lt; &amp;#8217;", "&lt; &#8217;"),
            (
                "a & b; &; &unknown; &#; &#x; &#12a; &eacute &AMPersandAndMore;",
                "a & b; &; &unknown; &#; &#x; &#12a; &eacute &AMPersandAndMore;",
            ),
            ("&&amp;&", "&&&"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }

    #[test]
    fn names_are_sorted_and_short() {
        assert!(NAMES.is_sorted_by(|(left, _), (right, _)| left < right));
        assert!(NAMES.iter().all(|(name, character)| super::character(name) == Some(*character)));
        assert!(NAMES.iter().all(|(name, _)| name.len() <= MAX_LENGTH));
    }

    proptest! {
        /// Oracle: html5gum, which reads HTML as its standard says.
        #[test]
        fn references_are_those_of_html(reference in "#[0-9]{1,7}|#x[0-9a-fA-F]{1,6}", at in 0..NAMES.len()) {
            for name in [reference.as_str(), NAMES[at].0] {
                let text = format!("&{name};");
                let tokens: Vec<_> = html5gum::Tokenizer::new(text.as_str()).flatten().collect();
                let read = tokens.iter().find_map(|token| match token {
                    html5gum::Token::String(text) => Some(String::from_utf8_lossy(text).into_owned()),
                    _ => None,
                });
                prop_assert_eq!(Some(decode(&text)), read);
            }
        }
    }
}
