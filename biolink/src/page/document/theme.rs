//! Colors and shapes of a page: a preset, and color tokens in its place.

use serde::{Deserialize, Serialize};
use strum::VariantArray;
use thiserror::Error;

use super::{
    Image,
    color::{AA_TEXT, Color},
};

/// The look of a page. What it has replaces what the preset has, one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    pub shape: Option<Shape>,
    /// The space between them.
    pub density: Density,
    /// The typeface.
    pub font: Option<Font>,
    /// The style of links.
    pub buttons: Option<Buttons>,
    /// What is behind the page.
    pub background: Option<Background>,
    /// The picture of [`Background::Image`].
    pub image: Option<Image>,
}

/// The looks of a preset beside its colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The shape of links.
    pub shape: Shape,
    /// The typeface.
    pub font: Font,
    /// The style of links.
    pub buttons: Buttons,
    /// What is behind the page.
    pub background: Background,
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
    /// The color in which a gradient ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Color>,
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
    /// The color in which a gradient ends.
    pub end: Color,
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
    /// The nearest color that can be read on everything behind it, or on as much as any color can.
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

    /// Returns the look: the preset's where the theme has none.
    pub fn look(&self) -> Look {
        let usual = self.preset.look();
        let background = match (self.background.unwrap_or(usual.background), &self.image) {
            (Background::Image, Some(image)) if image.url.is_allowed() => Background::Image,
            (Background::Image, _) => Background::Plain,
            (other, _) => other,
        };
        Look {
            shape: self.shape.unwrap_or(usual.shape),
            font: self.font.unwrap_or(usual.font),
            buttons: self.buttons.unwrap_or(usual.buttons),
            background,
        }
    }
}

impl Colors {
    /// Returns these colors with the page's own. A gradient of the page's colors ends near the accent.
    fn with(self, own: Palette) -> Self {
        let mut colors = Self {
            bg: own.bg.unwrap_or(self.bg),
            fg: own.fg.unwrap_or(self.fg),
            card: own.card.unwrap_or(self.card),
            accent: own.accent.unwrap_or(self.accent),
            end: self.end,
        };
        if own.bg.is_some() || own.fg.is_some() {
            colors.end = colors.bg.tinted(colors.accent, colors.fg, 90);
        }
        colors.end = own.end.unwrap_or(colors.end);
        colors
    }

    /// Returns the background of soft links: the card's with a bit of the accent.
    pub fn soft(&self) -> Color {
        self.card.tinted(self.accent, self.fg, 24)
    }

    /// Returns the color of text that steps back on a card: as near to the card as can be read, and no nearer than
    /// 40 %.
    pub fn muted(&self) -> Color {
        let behind = [self.card, self.soft()];
        let mixes = (0..=102).rev().map(|share| self.fg.mixed(self.card, share));
        { mixes }.find(|mix| behind.iter().all(|behind| mix.contrast(*behind) >= AA_TEXT)).unwrap_or(self.fg)
    }

    /// Returns the color of a price that is lower for a while: the accent, as far as it can be read on a card.
    pub fn sale(&self) -> Color {
        self.accent.nearest_readable(&[self.card, self.soft()]).unwrap_or(self.fg)
    }

    /// Returns the share of the background in hundredths that lies over a picture, so that text can be
    /// read whatever the picture shows: at least 55.
    pub fn veil(&self) -> u16 {
        let is_enough = |share: &u16| {
            let over = |picture: Color| self.bg.mixed(picture, (100 - share) * 255 / 100);
            [Color::BLACK, Color::WHITE]
                .iter()
                .all(|picture| self.fg.contrast(over(*picture)) >= AA_TEXT + 0.2)
        };
        (55..100).find(is_enough).unwrap_or(100)
    }

    /// Checks that text can be read: `fg` on `bg`, `card` and `end`, and `accent` on `bg`.
    ///
    /// # Errors
    /// Returns the first pair that cannot.
    pub fn check(&self) -> Result<(), ContrastError> {
        let check = |token, color: Color, behind: &[(&'static str, Color)]| {
            let poor = behind.iter().find(|(_, on)| color.contrast(*on) < AA_TEXT);
            let Some(&(other, on)) = poor else { return Ok(()) };
            let all: Vec<_> = behind.iter().map(|(_, on)| *on).collect();
            // A gradient's end follows the text unless the page has chosen it, so it comes last. If nothing
            // can be read on the background and the card, one of them is to be changed: what can be read on
            // this one is a start.
            let firm = all.get(..2).unwrap_or(&all);
            let nearest = [&all, firm, &[on]].iter().find_map(|behind| color.nearest_readable(behind));
            let nearest = nearest.unwrap_or_else(|| on.text_on());
            let ratio = hundredths(color.contrast(on));
            Err(ContrastError { token, ratio, other, on, nearest })
        };
        check("fg", self.fg, &[("bg", self.bg), ("card", self.card), ("end", self.end)])?;
        check("accent", self.accent, &[("bg", self.bg)])
    }
}

/// Returns a contrast, which is at most 21, in hundredths.
fn hundredths(ratio: f64) -> u32 {
    (0..2_100).rev().find(|hundredths| f64::from(*hundredths) <= ratio * 100.0).unwrap_or(0)
}

/// A preset: colors, a typeface and forms that go together.
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

/// A typeface of the visitor's system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Font {
    /// That of the system.
    #[default]
    Sans,
    /// With serifs.
    Serif,
    /// With round ends.
    Rounded,
    /// With letters of one width.
    Mono,
}

/// The style of links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Buttons {
    /// In the color of the card: with a bit of the accent, where a plain background would be much like it.
    #[default]
    Soft,
    /// In the accent.
    Filled,
    /// A line around them.
    Outline,
    /// A line, and a shadow with a sharp edge.
    Shadow,
}

/// What is behind a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Background {
    /// A color.
    #[default]
    Plain,
    /// From one color to another.
    Gradient,
    /// A picture below a veil.
    Image,
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

    const fn look(self) -> Look {
        use Background::{Gradient, Plain};
        let (shape, font, buttons, background) = match self {
            Self::Minimal => (Shape::Rounded, Font::Sans, Buttons::Soft, Plain),
            Self::Paper => (Shape::Square, Font::Serif, Buttons::Outline, Plain),
            Self::Ocean => (Shape::Pill, Font::Sans, Buttons::Soft, Gradient),
            Self::Forest => (Shape::Rounded, Font::Serif, Buttons::Filled, Plain),
            Self::Sunset => (Shape::Pill, Font::Rounded, Buttons::Filled, Gradient),
            Self::Lavender => (Shape::Rounded, Font::Rounded, Buttons::Shadow, Gradient),
            Self::Slate => (Shape::Square, Font::Mono, Buttons::Outline, Gradient),
            Self::Contrast => (Shape::Square, Font::Sans, Buttons::Shadow, Plain),
        };
        Look { shape, font, buttons, background }
    }

    const fn light(self) -> Colors {
        match self {
            Self::Minimal => colors([0xfa_fa_f9, 0x1c_19_17, 0xff_ff_ff, 0x1d_4e_d8, 0xe7_e5_e4]),
            Self::Paper => colors([0xfb_f7_ef, 0x29_22_18, 0xff_fd_f8, 0x8a_3f_0f, 0xf1_e3_c8]),
            Self::Ocean => colors([0xdd_f1_f9, 0x0b_2b_3a, 0xff_ff_ff, 0x0b_5f_80, 0x93_d2_ee]),
            Self::Forest => colors([0xf1_f7_ef, 0x17_2b_1a, 0xff_ff_ff, 0x1f_66_2e, 0xcf_e6_c9]),
            Self::Sunset => colors([0xff_f4_ee, 0x3a_17_12, 0xff_ff_ff, 0xb0_2a_14, 0xff_b8_9a]),
            Self::Lavender => colors([0xf6_f3_fd, 0x2a_1f_42, 0xff_ff_ff, 0x5b_34_b0, 0xd9_c6_fb]),
            Self::Slate => colors([0xf1_f5_f9, 0x0f_17_2a, 0xff_ff_ff, 0x03_69_a1, 0xcb_d5_e1]),
            Self::Contrast => colors([0xff_ff_ff, 0x00_00_00, 0xff_ff_ff, 0x00_00_00, 0xff_ff_ff]),
        }
    }

    const fn dark(self) -> Colors {
        match self {
            Self::Minimal => colors([0x0c_0a_09, 0xfa_fa_f9, 0x1c_19_17, 0x93_c5_fd, 0x29_25_24]),
            Self::Paper => colors([0x1d_18_11, 0xf7_ef_e2, 0x2a_23_19, 0xf0_b4_83, 0x3a_2c_18]),
            Self::Ocean => colors([0x07_1a_24, 0xe3_f4_fa, 0x17_42_5a, 0x7f_d3_f0, 0x0a_2f_45]),
            Self::Forest => colors([0x0d_18_0f, 0xe6_f3_e7, 0x17_28_1a, 0x8f_d6_9c, 0x1d_46_25]),
            Self::Sunset => colors([0x1f_0d_0a, 0xff_ec_e5, 0x31_17_12, 0xff_a4_8c, 0x74_25_1a]),
            Self::Lavender => colors([0x15_10_22, 0xf0_ea_fd, 0x22_1a_36, 0xc4_ae_fb, 0x3f_2a_72]),
            Self::Slate => colors([0x0b_11_20, 0xf1_f5_f9, 0x24_30_47, 0x7d_d3_fc, 0x17_20_33]),
            Self::Contrast => colors([0x00_00_00, 0xff_ff_ff, 0x00_00_00, 0xff_ff_ff, 0x00_00_00]),
        }
    }
}

const fn colors([bg, fg, card, accent, end]: [u32; 5]) -> Colors {
    Colors {
        bg: Color::of(bg),
        fg: Color::of(fg),
        card: Color::of(card),
        accent: Color::of(accent),
        end: Color::of(end),
    }
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

    /// A card that is lighter than one end of a gradient and darker than the other looks like a stain, unless it has
    /// a shadow, or links are filled.
    #[test]
    fn card_is_lighter_than_all_of_the_gradient_behind() {
        for preset in Preset::ALL {
            let Look { buttons, background, .. } = preset.look();
            let is_bare = matches!(buttons, Buttons::Soft | Buttons::Outline);
            for colors in [preset.light(), preset.dark()] {
                for behind in [colors.bg, colors.end]
                    .into_iter()
                    .filter(|_| is_bare && background == Background::Gradient)
                {
                    let (card, behind) = (colors.card.contrast(Color::BLACK), behind.contrast(Color::BLACK));
                    assert!(card / behind > 1.08, "{preset:?}: {:.3}", card / behind);
                }
            }
        }
    }

    #[test]
    fn quiet_and_loud_texts_of_products_can_be_read() {
        let own = |fg: &str, card: &str, accent: &str| {
            let color = |text| Color::parse(text);
            let light =
                Palette { fg: color(fg), card: color(card), accent: color(accent), ..Palette::default() };
            Theme { light, ..Theme::default() }.light()
        };
        let owns = [
            own("#000", "#fff", "#ff0"),
            own("#767676", "#fff", "#767676"),
            own("#fff", "#777", "#888"),
            own("#123", "#9ab", "#c33"),
        ];
        let presets = Preset::ALL.into_iter().flat_map(|preset| [preset.light(), preset.dark()]);
        for colors in presets.chain(owns) {
            for behind in
                [colors.card, colors.soft()].into_iter().filter(|on| colors.fg.contrast(*on) >= AA_TEXT)
            {
                let ratios = [colors.muted(), colors.sale()].map(|color| color.contrast(behind));
                assert!(ratios.iter().all(|ratio| *ratio >= AA_TEXT), "{colors:?}: {ratios:?}");
            }
        }
    }

    #[test]
    fn veil_keeps_text_readable_over_any_picture() {
        for preset in Preset::ALL {
            for colors in [preset.light(), preset.dark()] {
                let veil = colors.veil();
                assert!((55..100).contains(&veil), "{preset:?}: {veil}");
                assert!(colors.fg.contrast(colors.soft()) >= AA_TEXT, "{preset:?}");
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
