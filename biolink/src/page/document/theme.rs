//! Colors and shapes of a page: a preset, and color tokens in its place.

use serde::{Deserialize, Serialize};
use strum::VariantArray;
use thiserror::Error;

use super::color::{AA_TEXT, Color};

/// The look of a page. Tokens replace the preset's colors one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Theme {
    /// The preset.
    pub preset: Preset,
    /// Light, dark, or as the visitor's system says.
    pub mode: Mode,
    /// Colors of the light mode in place of the preset's.
    pub light: Palette,
    /// Colors of the dark mode in place of the preset's.
    pub dark: Palette,
    /// The shape of links.
    pub shape: Shape,
    /// The space between them.
    pub density: Density,
}

/// Colors of one mode. An absent one is the preset's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Palette {
    /// The background of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bg: Option<Color>,
    /// Text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fg: Option<Color>,
    /// The background of links and products.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub card: Option<Color>,
    /// Highlighted links, focus and icons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accent: Option<Color>,
}

/// The colors of one mode, all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colors {
    /// The background of the page.
    pub bg: Color,
    /// Text.
    pub fg: Color,
    /// The background of links and products.
    pub card: Color,
    /// Highlighted links and icons.
    pub accent: Color,
}

/// Text that cannot be read well enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "has a contrast of {}.{:02} to {other} `{on}`, and needs 4.5 (WCAG AA); the nearest color that has enough is {nearest}",
    ratio / 100,
    ratio % 100
)]
pub struct ContrastError {
    /// The token to change: `fg` or `accent`.
    pub token: &'static str,
    /// Its contrast, in hundredths.
    pub ratio: u32,
    /// The token of the color behind it.
    pub other: &'static str,
    /// The color behind it.
    pub on: Color,
    /// The nearest color that can be read on everything behind it.
    pub nearest: Color,
}

impl Theme {
    /// Returns the colors of the light mode.
    pub fn light(&self) -> Colors {
        self.preset.light().with(self.light)
    }

    /// Returns the colors of the dark mode.
    pub fn dark(&self) -> Colors {
        self.preset.dark().with(self.dark)
    }
}

impl Colors {
    fn with(self, own: Palette) -> Self {
        Self {
            bg: own.bg.unwrap_or(self.bg),
            fg: own.fg.unwrap_or(self.fg),
            card: own.card.unwrap_or(self.card),
            accent: own.accent.unwrap_or(self.accent),
        }
    }

    /// Checks that text can be read: `fg` on `bg` and on `card`, and `accent` on `bg`.
    ///
    /// # Errors
    /// Returns the first pair that cannot.
    pub fn check(&self) -> Result<(), ContrastError> {
        let check = |token, color: Color, behind: &[(&'static str, Color)]| {
            let poor = behind.iter().find(|(_, on)| color.contrast(*on) < AA_TEXT);
            let Some(&(other, on)) = poor else { return Ok(()) };
            let all: Vec<_> = behind.iter().map(|(_, on)| *on).collect();
            // If nothing can be read on both, one of them is to be changed: what can be read on
            // this one is a start.
            let nearest = color.nearest_readable(&all).or_else(|| color.nearest_readable(&[on]));
            let nearest = nearest.unwrap_or_else(|| on.text_on());
            let ratio = hundredths(color.contrast(on));
            Err(ContrastError { token, ratio, other, on, nearest })
        };
        check("fg", self.fg, &[("bg", self.bg), ("card", self.card)])?;
        check("accent", self.accent, &[("bg", self.bg)])
    }
}

/// Returns a contrast, which is at most 21, in hundredths.
fn hundredths(ratio: f64) -> u32 {
    (0..2_100).rev().find(|hundredths| f64::from(*hundredths) <= ratio * 100.0).unwrap_or(0)
}

/// A set of colors that go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, VariantArray)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is a look of its own")]
pub enum Preset {
    #[default]
    Minimal,
    Paper,
    Ocean,
    Forest,
    Sunset,
    Lavender,
    Slate,
    Contrast,
}

/// The color scheme in which a page is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As the visitor's system says.
    #[default]
    Auto,
    /// Always light.
    Light,
    /// Always dark.
    Dark,
}

/// The shape of links and products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Rounded corners.
    #[default]
    Rounded,
    /// Half circles at both ends.
    Pill,
    /// Square corners.
    Square,
}

/// The space between links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Density {
    /// The usual one.
    #[default]
    Normal,
    /// Less.
    Compact,
}

impl Preset {
    /// Every preset once.
    pub const ALL: [Self; 8] = *Self::VARIANTS.as_array().unwrap();

    const fn light(self) -> Colors {
        match self {
            Self::Minimal => colors(0xfa_fa_f9, 0x1c_19_17, 0xff_ff_ff, 0x1d_4e_d8),
            Self::Paper => colors(0xfb_f7_ef, 0x29_22_18, 0xff_fd_f8, 0x8a_3f_0f),
            Self::Ocean => colors(0xec_f8_fb, 0x0b_2b_3a, 0xff_ff_ff, 0x0b_5f_80),
            Self::Forest => colors(0xf1_f7_ef, 0x17_2b_1a, 0xff_ff_ff, 0x1f_66_2e),
            Self::Sunset => colors(0xff_f4_ee, 0x3a_17_12, 0xff_ff_ff, 0xb0_2a_14),
            Self::Lavender => colors(0xf6_f3_fd, 0x2a_1f_42, 0xff_ff_ff, 0x5b_34_b0),
            Self::Slate => colors(0xf1_f5_f9, 0x0f_17_2a, 0xff_ff_ff, 0x33_41_55),
            Self::Contrast => colors(0xff_ff_ff, 0x00_00_00, 0xff_ff_ff, 0x00_00_00),
        }
    }

    const fn dark(self) -> Colors {
        match self {
            Self::Minimal => colors(0x0c_0a_09, 0xfa_fa_f9, 0x1c_19_17, 0x93_c5_fd),
            Self::Paper => colors(0x1d_18_11, 0xf7_ef_e2, 0x2a_23_19, 0xf0_b4_83),
            Self::Ocean => colors(0x07_1a_24, 0xe3_f4_fa, 0x0f_2a_38, 0x7f_d3_f0),
            Self::Forest => colors(0x0d_18_0f, 0xe6_f3_e7, 0x17_28_1a, 0x8f_d6_9c),
            Self::Sunset => colors(0x1f_0d_0a, 0xff_ec_e5, 0x31_17_12, 0xff_a4_8c),
            Self::Lavender => colors(0x15_10_22, 0xf0_ea_fd, 0x22_1a_36, 0xc4_ae_fb),
            Self::Slate => colors(0x0f_17_2a, 0xf1_f5_f9, 0x1e_29_3b, 0xcb_d5_e1),
            Self::Contrast => colors(0x00_00_00, 0xff_ff_ff, 0x00_00_00, 0xff_ff_ff),
        }
    }
}

const fn colors(bg: u32, fg: u32, card: u32, accent: u32) -> Colors {
    Colors { bg: Color::of(bg), fg: Color::of(fg), card: Color::of(card), accent: Color::of(accent) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_read() {
        for preset in Preset::ALL {
            for colors in [preset.light(), preset.dark()] {
                assert_eq!(colors.check(), Ok(()), "{preset:?}");
            }
        }
    }

    #[test]
    fn text_that_cannot_be_read_gets_a_color_that_can() {
        let grey = Palette { fg: Color::parse("#999"), ..Palette::default() };
        let theme = Theme { light: grey, ..Theme::default() };
        let error = theme.light().check().unwrap_err();
        assert!(error.to_string().contains("WCAG AA"), "{error}");
        let better = Theme { light: Palette { fg: Some(error.nearest), ..grey }, ..theme };
        assert_eq!((error.token, better.light().check()), ("fg", Ok(())));
    }
}
