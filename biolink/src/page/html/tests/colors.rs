//! Contrast.

use super::*;

/// Returns the colors of each rule that sets them: background, text, card, accent, text on accent, end, soft.
fn colors_of(style: &str) -> Vec<[Color; 7]> {
    let rules = style.split(":root{--b:").skip(1);
    let color = |text: &str| Color::parse(text).unwrap();
    let read = |rule: &str| {
        let rule = rule.split('}').next().unwrap();
        let values: Vec<_> =
            rule.split(';').take(7).map(|part| color(part.rsplit(':').next().unwrap())).collect();
        values.try_into().unwrap()
    };
    rules.map(read).collect()
}

fn check_contrast(page: &Response) {
    let elements = check(page);
    let rules = colors_of(&named(&elements, "style")[0].text);
    assert!(!rules.is_empty());
    for [background, text, card, accent, on_accent, end, soft] in rules {
        for (color, behind) in [
            (text, background),
            (text, card),
            (accent, background),
            (on_accent, accent),
            (text, end),
            (text, soft),
        ] {
            assert!(color.contrast(behind) >= 4.5, "{color} on {behind}");
        }
    }
}

#[test]
fn every_preset_meets_aa_in_both_modes() {
    for preset in Preset::ALL {
        for mode in ["auto", "light", "dark"] {
            check_contrast(&shown(&document(
                json!({"title": "Ada", "theme": {"preset": preset, "mode": mode}}),
            )));
        }
    }
}

fn palette() -> impl Strategy<Value = Palette> {
    let color = || proptest::option::of(any::<[u8; 3]>().prop_map(|[r, g, b]| Color { r, g, b }));
    (color(), color(), color(), color()).prop_map(|(bg, fg, card, accent)| Palette {
        bg,
        fg,
        card,
        accent,
        end: None,
    })
}

/// Returns the colors with what the refusals suggest in their place.
fn repaired(mut own: Palette, colors: impl Fn(Palette) -> Colors) -> Palette {
    for _token in ["fg", "accent"] {
        match colors(own).check() {
            Ok(()) => {}
            Err(error) if error.token == "fg" => own.fg = Some(error.nearest),
            Err(error) => own.accent = Some(error.nearest),
        }
    }
    own
}

/// Checks that what the refusals of a theme suggest is accepted, and can be read on the page.
fn check_repaired(preset: Preset, light: Palette, dark: Palette) {
    let theme = |light, dark| Theme { preset, light, dark, ..Theme::default() };
    let light = repaired(light, |light| theme(light, dark).light());
    let dark = repaired(dark, |dark| theme(light, dark).dark());
    let body = json!({"title": "Ada", "theme": theme(light, dark)});
    let read = Reader::new(None, IdSource::new([7; 16])).page(body.as_object().cloned().unwrap());
    let readable = [theme(light, dark).light(), theme(light, dark).dark()]
        .iter()
        .all(|colors| colors.fg.nearest_readable(&[colors.bg, colors.card]).is_some());
    assert_eq!(read.is_ok(), readable, "what the refusals suggest is accepted, if anything can be");
    if let Ok(page) = read {
        check_contrast(&shown(&page.document));
    }
}

/// The text is light, so the gradient ends dark, and nothing can be read on its end and on the card. Dark text can.
#[test]
fn suggested_text_ignores_the_end_that_follows_it() {
    let [bg, card, accent] =
        [[0, 144, 159], [0, 136, 0], [0, 0, 109]].map(|[r, g, b]| Some(Color { r, g, b }));
    check_repaired(Preset::Minimal, Palette::default(), Palette { bg, card, accent, ..Palette::default() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn accepted_theme_meets_aa(light in palette(), dark in palette(), preset in 0..Preset::ALL.len()) {
        check_repaired(Preset::ALL[preset], light, dark);
    }
}
