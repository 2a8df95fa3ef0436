//! What a QR code looks like.

use percent_encoding::percent_decode_str;
use shared::problem::Problem;

use crate::{
    codes,
    page::{
        ImageId, ImageUrl, Via,
        document::{Color, Platform},
    },
};

/// The look of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QrOptions {
    /// The side in pixels, 64 to 2,048.
    pub size: u16,
    /// The share of the code that may be damaged.
    pub correction: Correction,
    /// The margin in modules, 4 to 16: what readers need around a code (ISO/IEC 18004).
    pub margin: u8,
    /// The color of dark modules.
    pub fg: Color,
    /// The color of light modules and the margin.
    pub bg: Color,
    /// The name by which its scans are counted.
    pub via: Option<Via>,
    /// The logo in the middle, with which the level of correction is [`Correction::H`].
    pub logo: Option<LogoName>,
}

/// A logo as a client names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoName {
    /// The icon of a site.
    Site(Platform),
    /// An image of the page's account.
    Image(ImageId),
}

/// A level of error correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// 7 %.
    L,
    /// 15 %.
    M,
    /// 25 %.
    Q,
    /// 30 %.
    H,
}

impl Default for QrOptions {
    fn default() -> Self {
        Self {
            size: 512,
            correction: Correction::M,
            margin: 4,
            fg: Color::BLACK,
            bg: Color::WHITE,
            via: None,
            logo: None,
        }
    }
}

impl QrOptions {
    /// Reads the query of an image's address: `size`, `ecc`, `margin`, `fg` and `bg`.
    ///
    /// # Errors
    /// Returns `fields-invalid` for another parameter, a value out of its range, and colors that
    /// readers would not tell apart.
    pub fn parse(query: Option<&str>) -> Result<Self, Problem> {
        let mut options = Self::default();
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy();
            match name {
                "size" => options.size = number(&value, 64, 2_048, "`size` must be from 64 to 2048 pixels")?,
                "margin" => {
                    let margin = number(&value, 4, 16, "`margin` must be from 4 to 16 modules")?;
                    options.margin = u8::try_from(margin).unwrap_or(u8::MAX);
                }
                "ecc" => options.correction = correction(&value)?,
                "fg" => options.fg = color(&value, "`fg` must be a color such as 1d4ed8")?,
                "bg" => options.bg = color(&value, "`bg` must be a color such as ffffff")?,
                "via" => {
                    let expected = "`via` must have 2 to 24 of a-z, 0-9, - and _, and not be qr";
                    options.via = Some(Via::parse(&value).ok_or_else(|| invalid(expected))?);
                }
                "logo" => {
                    let expected = "`logo` must be the platform of a profile, such as instagram, or the id of an \
                                    uploaded image, such as img_…";
                    options.logo = Some(logo(&value).ok_or_else(|| invalid(expected))?);
                }
                _ => {
                    return Err(invalid(
                        "a QR code has the parameters size, ecc, margin, fg, bg, via and logo",
                    ));
                }
            }
        }
        options.check_colors()?;
        if options.logo.is_some() {
            // The icon covers modules, and only this level can do without so many.
            options.correction = Correction::H;
        }
        Ok(options)
    }

    /// Readers look for dark on light, and not for the reverse.
    fn check_colors(self) -> Result<(), Problem> {
        let (bg, fg) = (self.bg, self.fg);
        if bg.contrast(fg) < 4.5 {
            let ratio = bg.contrast(fg);
            return Err(invalid(&format!(
                "`fg` and `bg` have a contrast of {ratio:.2}, and readers need 4.5"
            )));
        }
        if fg.contrast(Color::WHITE) < bg.contrast(Color::WHITE) {
            return Err(invalid("`fg` must be darker than `bg`"));
        }
        Ok(())
    }
}

/// An image is named by its id, or by its path on a page.
fn logo(value: &str) -> Option<LogoName> {
    let image = ImageUrl::own(value).or_else(|| ImageId::parse(value)).map(LogoName::Image);
    let site = || Platform::ALL.iter().find(|platform| platform.as_str() == value);
    image.or_else(|| site().copied().map(LogoName::Site))
}

fn number(value: &str, min: u16, max: u16, expected: &str) -> Result<u16, Problem> {
    let number = value.parse().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| invalid(expected))
}

fn correction(value: &str) -> Result<Correction, Problem> {
    match value {
        "l" | "L" => Ok(Correction::L),
        "m" | "M" => Ok(Correction::M),
        "q" | "Q" => Ok(Correction::Q),
        "h" | "H" => Ok(Correction::H),
        _ => Err(invalid("`ecc` must be one of L, M, Q and H")),
    }
}

/// A color with or without `#`, which would end the query if it were not encoded.
fn color(value: &str, expected: &str) -> Result<Color, Problem> {
    Color::parse(&format!("#{}", value.trim_start_matches('#'))).ok_or_else(|| invalid(expected))
}

/// Returns the refusal of a code.
pub(super) fn invalid(detail: &str) -> Problem {
    Problem::new(codes::FIELDS_INVALID, detail.to_owned())
}
