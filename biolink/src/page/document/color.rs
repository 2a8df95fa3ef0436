//! The contrast of colors (WCAG 2.2, success criterion 1.4.3), and the nearest color that has
//! enough.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The least contrast of text, at level AA.
pub(crate) const AA_TEXT: f64 = 4.5;

/// An opaque color in sRGB, written `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Color {
    /// Red.
    pub r: u8,
    /// Green.
    pub g: u8,
    /// Blue.
    pub b: u8,
}

impl Color {
    /// White.
    pub const WHITE: Self = Self { r: 255, g: 255, b: 255 };
    /// Black.
    pub const BLACK: Self = Self { r: 0, g: 0, b: 0 };

    /// Returns the contrast ratio to another color, from 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Returns black or white, whichever can be read better on this color. One of them always has a
    /// contrast of 4.5.
    pub fn text_on(self) -> Self {
        if self.contrast(Self::WHITE) >= self.contrast(Self::BLACK) { Self::WHITE } else { Self::BLACK }
    }

    /// Returns the color nearest to this one whose contrast to each of `others` is at least 4.5 (WCAG
    /// 2.2, 1.4.3), between it and black or white; `None` if neither has enough.
    pub fn nearest_readable(self, others: &[Self]) -> Option<Self> {
        let enough = |color: Self| others.iter().all(|other| color.contrast(*other) >= AA_TEXT);
        let mixes = |end: Self| (0..=255u16).map(move |share| (share, self.mixed(end, share)));
        let first = |end: Self| mixes(end).find(|(_, color)| enough(*color));
        let (dark, light) = (first(Self::BLACK), first(Self::WHITE));
        dark.into_iter().chain(light).min_by_key(|(share, _)| *share).map(|(_, color)| color)
    }

    /// Relative luminance, from 0 to 1.
    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.r) + 0.7152 * linear(self.g) + 0.0722 * linear(self.b)
    }

    /// Returns this color with as much of another one, at most `most` of 255, as leaves `text` readable.
    pub(super) fn tinted(self, other: Self, text: Self, most: u16) -> Self {
        let mixes = (0..=most).rev().map(|share| self.mixed(other, share));
        { mixes }.find(|mix| text.contrast(*mix) >= AA_TEXT).unwrap_or(self)
    }

    /// Returns this color with `share` of 255 of another one.
    pub(super) fn mixed(self, other: Self, share: u16) -> Self {
        let mix = |a: u8, b: u8| {
            let mixed = (u16::from(a) * (255 - share) + u16::from(b) * share) / 255;
            u8::try_from(mixed).unwrap_or(u8::MAX)
        };
        Self { r: mix(self.r, other.r), g: mix(self.g, other.g), b: mix(self.b, other.b) }
    }
}

impl Color {
    /// Returns the color of `0xrrggbb`.
    pub(super) const fn of(rgb: u32) -> Self {
        let [_, r, g, b] = rgb.to_be_bytes();
        Self { r, g, b }
    }

    /// Reads `#rrggbb` or `#rgb`, in either case; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: Vec<u8> = text
            .strip_prefix('#')?
            .chars()
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()?;
        match digits[..] {
            [r, g, b] => Some(Self { r: r * 17, g: g * 17, b: b * 17 }),
            [r1, r2, g1, g2, b1, b2] => Some(Self { r: r1 * 16 + r2, g: g1 * 16 + g2, b: b1 * 16 + b2 }),
            _ => None,
        }
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.r, self.g, self.b)
    }
}

impl Serialize for Color {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Color {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("not a color"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn color() -> impl Strategy<Value = Color> {
        any::<[u8; 3]>().prop_map(|[r, g, b]| Color { r, g, b })
    }

    #[test]
    fn ratios_are_those_of_the_standard() {
        assert!((Color::WHITE.contrast(Color::BLACK) - 21.0).abs() < 1e-9);
        let grey = Color::parse("#767676").unwrap();
        assert!((grey.contrast(Color::WHITE) - 4.54).abs() < 0.005, "{}", grey.contrast(Color::WHITE));
    }

    proptest! {
        #[test]
        fn nearest_readable_color_is_readable(from in color(), on in color()) {
            let found = from.nearest_readable(&[on]).unwrap();
            prop_assert!(found.contrast(on) >= AA_TEXT);
            if from.contrast(on) >= AA_TEXT {
                prop_assert_eq!(found, from);
            }
        }

        #[test]
        fn black_or_white_is_readable_on_every_color(on in color()) {
            prop_assert!(on.text_on().contrast(on) >= AA_TEXT);
        }
    }
}
