//! The style of a page: its colors as variables, what all pages have, and the rules of the parts that it has.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::page::document::{Background, Buttons, Colors, Density, Font, Mode, Shape, Theme};

const STYLE: &str = include_str!("style.css");
const PRINT: &str = include_str!("print.css");

/// Returns the text of the `style` element of a page with this body.
pub(super) fn style(theme: &Theme, body: &str) -> String {
    let mut style = String::with_capacity(STYLE.len() + PRINT.len() + 1_200);
    let has_products = body.contains("class=\"products");
    let write = |style: &mut String, colors: &Colors| {
        write_colors(style, colors);
        if has_products {
            // Writing to a `String` cannot fail.
            let _written = write!(style, ":root{{--m:{};--p:{}}}", colors.muted(), colors.sale());
        }
    };
    match theme.mode {
        Mode::Light => write(&mut style, &theme.light()),
        Mode::Dark => write(&mut style, &theme.dark()),
        Mode::Auto => {
            write(&mut style, &theme.light());
            style.push_str("@media(prefers-color-scheme:dark){");
            write(&mut style, &theme.dark());
            style.push('}');
        }
    }
    let look = theme.look();
    let (radius, inner) = match look.shape {
        Shape::Rounded => ("14px", "8px"),
        Shape::Pill => ("32px", "50%"),
        Shape::Square => ("0", "0"),
    };
    let gap = match theme.density {
        Density::Normal => "14px",
        Density::Compact => "8px",
    };
    let font = match look.font {
        Font::Sans => "system-ui,sans-serif",
        Font::Serif => "ui-serif,Charter,\"Iowan Old Style\",\"Palatino Linotype\",Georgia,serif",
        Font::Rounded => {
            "ui-rounded,\"Hiragino Maru Gothic ProN\",Nunito,Quicksand,\"Arial Rounded MT Bold\",Calibri,sans-serif"
        }
        Font::Mono => "ui-monospace,\"Cascadia Code\",Menlo,Consolas,\"DejaVu Sans Mono\",monospace",
    };
    // Writing to a `String` cannot fail.
    let _written = write!(style, ":root{{--r:{radius};--i:{inner};--g:{gap}}}body{{font:1rem/1.5 {font}}}");
    for part in STYLE.split("/* ") {
        // Before the rules of a part is the HTML that it has, which no text of a user can be.
        let (marker, rules) = part.split_once(" */").unwrap_or(("", part));
        if body.contains(marker) {
            style.push_str(rules.trim());
        }
    }
    style.push_str(match look.buttons {
        // A tint on a gradient of the same color is a stain. Why: docs/decisions/pages.md, "A tint on a gradient is left out".
        Buttons::Soft if look.background == Background::Gradient => "",
        Buttons::Soft => SOFT,
        Buttons::Filled => FILLED,
        Buttons::Outline => OUTLINE,
        Buttons::Shadow => SHADOW,
    });
    style.push_str(match look.background {
        Background::Plain => "",
        Background::Gradient => GRADIENT,
        Background::Image => IMAGE,
    });
    style.push_str(PRINT.trim_end());
    style
}

const SOFT: &str = ".link{background:var(--s)}";
const FILLED: &str = "main nav .link{background:var(--a);color:var(--o)}main nav .link.top{background:var(--f);color:var(--b)}";
const OUTLINE: &str = ".link{border-color:var(--f)}.top{border-color:var(--a)}";
const SHADOW: &str = ".link{border-color:var(--f);box-shadow:4px 4px 0 var(--f)}";
const GRADIENT: &str = "body{background:linear-gradient(165deg,var(--b),var(--e))}";
/// The picture behind the page, and a veil over it.
const IMAGE: &str = ".back{position:fixed;inset:0;width:100%;height:100%;object-fit:cover;z-index:-2}body{background:0}body::before{content:\"\";position:fixed;inset:0;z-index:-1;background:var(--b);opacity:var(--v)}html{background:var(--b)}";

fn write_colors(style: &mut String, colors: &Colors) {
    let Colors { bg, fg, card, accent, end } = colors;
    let (on, soft, veil) = (accent.text_on(), colors.soft(), colors.veil());
    let _written = write!(
        style,
        ":root{{--b:{bg};--f:{fg};--c:{card};--a:{accent};--o:{on};--e:{end};--s:{soft};--v:{veil}%}}"
    );
}

/// Returns the value of `color-scheme`.
pub(super) const fn color_scheme(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "light dark",
        Mode::Light => "light",
        Mode::Dark => "dark",
    }
}

/// Returns the color of the browser's own bars, for each mode that the page has.
pub(super) fn theme_colors(theme: &Theme) -> Markup {
    let (light, dark) = (theme.light().bg, theme.dark().bg);
    match theme.mode {
        Mode::Light => html! { meta name="theme-color" content=(light); },
        Mode::Dark => html! { meta name="theme-color" content=(dark); },
        Mode::Auto => html! {
            meta name="theme-color" content=(light) media="(prefers-color-scheme:light)";
            meta name="theme-color" content=(dark) media="(prefers-color-scheme:dark)";
        },
    }
}

/// Returns the icon of the page as an address that holds it: a disc in the page's accent.
pub(super) fn favicon(theme: &Theme) -> String {
    let colors = if matches!(theme.mode, Mode::Dark) { theme.dark() } else { theme.light() };
    let accent = colors.accent.to_string().replace('#', "%23");
    format!(
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 2 2'%3E%3Ccircle cx='1' cy='1' r='1' fill='{accent}'/%3E%3C/svg%3E"
    )
}
