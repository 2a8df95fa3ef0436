//! The style of a page: its colors as variables, then what all pages have.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::page::document::{Colors, Density, Mode, Shape, Theme};

const STYLE: &str = include_str!("style.css");

/// Returns the text of the `style` element.
pub(super) fn style(theme: &Theme) -> String {
    let mut style = String::with_capacity(STYLE.len() + 400);
    match theme.mode {
        Mode::Light => write_colors(&mut style, &theme.light()),
        Mode::Dark => write_colors(&mut style, &theme.dark()),
        Mode::Auto => {
            write_colors(&mut style, &theme.light());
            style.push_str("@media(prefers-color-scheme:dark){");
            write_colors(&mut style, &theme.dark());
            style.push('}');
        }
    }
    let radius = match theme.shape {
        Shape::Rounded => "12px",
        Shape::Pill => "28px",
        Shape::Square => "0",
    };
    let gap = match theme.density {
        Density::Normal => "12px",
        Density::Compact => "8px",
    };
    // Writing to a `String` cannot fail.
    let _written = write!(style, ":root{{--r:{radius};--g:{gap}}}");
    style.push_str(STYLE.trim_end());
    style
}

fn write_colors(style: &mut String, colors: &Colors) {
    let Colors { bg, fg, card, accent } = colors;
    let on = accent.text_on();
    let _written = write!(style, ":root{{--b:{bg};--f:{fg};--c:{card};--a:{accent};--o:{on}}}");
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
